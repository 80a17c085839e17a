package memrows_test

import (
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/rows"
	"github.com/graphgen-go/graphgen/savers/internal/rows/memrows"
)

func BenchmarkCommit(b *testing.B) {
	s := rows.New("m", memrows.New(), rows.Options{})
	id := func() checkpoint.ID { i, _ := checkpoint.NewID(); return i }
	first := id()
	ctx := b.Context()
	if _, err := s.Append(ctx, checkpoint.Append{Thread: "t", Open: &checkpoint.Opening{Holder: "h"}, Records: []checkpoint.Record{{ID: first, Base: first, Line: first, Source: checkpoint.Input, Snapshot: true, Payload: []byte{0x80}, Due: []checkpoint.Task{{Node: "a"}}}}}); err != nil {
		b.Fatal(err)
	}
	head := first
	payload := make([]byte, 200)
	ran := []string{"first"}
	due := []checkpoint.Task{{Node: "first"}}
	b.ReportAllocs()
	for b.Loop() {
		n := id()
		if _, err := s.Append(ctx, checkpoint.Append{Thread: "t", After: head, Fence: first, Records: []checkpoint.Record{{
			ID: n, Parent: head, Base: n, Line: first, Commits: head, Source: checkpoint.Loop, Ran: ran, Due: due, Created: time.Now(), Payload: payload,
		}}}); err != nil {
			b.Fatal(err)
		}
		head = n
	}
}
