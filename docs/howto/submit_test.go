package howto_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func ExampleOrder() {
	ctx, saver := context.Background(), memory.New()
	read := func(_ context.Context, name string) (string, error) { return "the text of " + name, nil }
	app, err := howto.NewReader(read, saver)
	if err != nil {
		log.Fatal(err)
	}
	for range 2 { // the second call repeats the first
		if err := howto.Order(ctx, app, "7", howto.StateUpdate{Names: state.Append("a", "b")}); err != nil {
			log.Fatal(err)
		}
	}
	if err := howto.Order(ctx, app, "8", howto.StateUpdate{Names: state.Append("c")}); err != nil {
		log.Fatal(err)
	}
	if err := howto.Withdraw(ctx, app, "8", "the customer left"); err != nil {
		log.Fatal(err)
	}
	work(ctx, app, saver)
	for _, id := range []string{"order-7", "order-8"} {
		snap, err := app.Thread(id).State(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(id, snap.Status, snap.State.Log)
	}
	// Output:
	// order-7 done [read 2 documents, 0 failed]
	// order-8 cancelled []
}

// work runs what is due, as a worker does.
func work(ctx context.Context, app *graph.Graph[howto.State, howto.StateUpdate], saver checkpoint.Saver) {
	names, err := app.Serves(saver)
	if err != nil {
		log.Fatal(err)
	}
	for {
		found, err := saver.Ready(ctx, checkpoint.ReadyQuery{Graphs: names, Limit: 10})
		if err != nil {
			log.Fatal(err)
		}
		if len(found.Threads) == 0 {
			return
		}
		for _, t := range found.Threads {
			if _, err := app.ResumeDue(ctx, t, graph.DueOptions{}); err != nil {
				log.Fatal(err)
			}
		}
	}
}
