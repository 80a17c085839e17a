package howto_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func ExampleFulfil() {
	saver := memory.New()
	read := func(_ context.Context, name string) (string, error) { return "the text of " + name, nil }
	app, err := howto.NewReader(read, saver)
	if err != nil {
		log.Fatal(err)
	}
	w := worker.New(saver, worker.Options{}, app) // usually in another process
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- w.Run(ctx) }()
	fmt.Println(howto.Fulfil(ctx, app, "7", howto.StateUpdate{Names: state.Append("a", "b")}))
	cancel()
	if err := <-stopped; err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
	// Output:
	// [read 2 documents, 0 failed] <nil>
}
