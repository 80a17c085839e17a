package memory_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A thread that was made in memory, in a test say, is copied to a saver that keeps it.
func ExampleNew() {
	ctx := context.Background()
	saver, kept := memory.New(), memory.New()
	id, err := checkpoint.NewID()
	if err != nil {
		log.Fatal(err)
	}
	_, err = saver.Append(ctx, checkpoint.Append{
		Thread: "t", Open: &checkpoint.Opening{Holder: "me"}, End: true, Status: checkpoint.Done,
		Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true}},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := checkpoint.Copy(ctx, saver, "t", 0, kept, "a copy of t"); err != nil {
		log.Fatal(err)
	}
	chain, err := kept.Load(ctx, checkpoint.Ref{Thread: "a copy of t"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(chain.Thread.Status, chain.Last.Seq, chain.Head == id)
	// Output: done 1 true
}
