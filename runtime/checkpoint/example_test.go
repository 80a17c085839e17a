package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A listing of the threads that failed. A damaged thread does not end it.
func ExampleSaver_threads() {
	ctx := context.Background()
	var saver checkpoint.Saver = memory.New()
	for thread, status := range map[string]checkpoint.Status{"t-1": checkpoint.Done, "t-2": checkpoint.Failed} {
		id, err := checkpoint.NewID()
		if err != nil {
			log.Fatal(err)
		}
		_, err = saver.Append(ctx, checkpoint.Append{
			Thread: thread, Open: &checkpoint.Opening{Holder: "example"}, End: true, Status: status,
			Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true}},
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Status: checkpoint.Failed}) {
		if errors.Is(err, checkpoint.ErrDamaged) {
			log.Print(err)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(t.ID, t.Status)
	}
	// Output: t-2 failed
}
