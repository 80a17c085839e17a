package file_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/file"
)

// A program opens a saver once and gives it to its graphs. The next process finds the stored
// threads.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "threads")
	if err != nil {
		log.Fatal(err)
	}

	saver, err := file.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	id, err := checkpoint.NewID()
	if err != nil {
		log.Fatal(err)
	}
	// A graph does this; it is what a run's first write looks like.
	_, err = saver.Append(ctx, checkpoint.Append{
		Thread:  "ticket/17",
		Open:    &checkpoint.Opening{Holder: "worker 1"},
		Records: []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: []byte{0x80}}},
	})
	if err != nil {
		log.Fatal(err)
	}

	// Another process is kept out while the run holds the thread.
	other, err := file.Open(dir)
	if err != nil {
		log.Fatal(err)
	}
	var busy *checkpoint.BusyError
	if err := other.Delete(ctx, "ticket/17"); errors.As(err, &busy) {
		fmt.Println("held by", busy.Holder)
	}
	for thread, err := range other.Threads(ctx, checkpoint.ThreadQuery{Prefix: "ticket/"}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(thread.ID, thread.Status)
	}
	if err := errors.Join(other.Close(), saver.Close(), os.RemoveAll(dir)); err != nil {
		log.Fatal(err)
	}
	// Output:
	// held by worker 1
	// ticket/17 running
}
