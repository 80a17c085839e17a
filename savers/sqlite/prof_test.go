package sqlite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

func BenchmarkRowsReady(b *testing.B) {
	dir := "/dev/shm/kvprof"
	os.RemoveAll(dir)
	os.MkdirAll(dir, 0o700)
	defer os.RemoveAll(dir)
	ctx := context.Background()
	for _, side := range []string{"old", "rows"} {
		p := filepath.Join(dir, side+".db")
		var s checkpoint.Saver
		if side == "old" {
			s = must(Open(p, Synchronous(Normal)))
		} else {
			s = must(openRows(p, Synchronous(Normal)))
		}
		for i := range 5_000 {
			thread := fmt.Sprintf("many%d", i)
			open := openAppend(thread, map[string]string{"customer": fmt.Sprint(i % 200), "region": fmt.Sprint(i % 3)})
			for j := range open.Records {
				open.Records[j].Graph = "many"
			}
			must(s.Append(ctx, open))
			must(s.PutWrites(ctx, checkpoint.PutWrites{Thread: thread, Fence: open.Records[0].ID, End: true, Status: checkpoint.Ready, Wake: time.Now().Add(-time.Hour)}))
		}
		b.Run(side+"/ready", func(b *testing.B) {
			for b.Loop() {
				got := must(s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"many"}, Limit: 6, Reserve: time.Millisecond}))
				if len(got.Threads) != 6 {
					b.Fatalf("%d ready", len(got.Threads))
				}
			}
		})
		b.Run(side+"/list", func(b *testing.B) {
			for b.Loop() {
				n := 0
				for _, err := range s.Threads(ctx, checkpoint.ThreadQuery{Order: checkpoint.NewestFirst, Labels: map[string]string{"customer": "7"}, Limit: 25}) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
			}
		})
	}
}
