package worker_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A deployment interrupts a run. The worker of the next process continues it.
func Example() {
	saver := memory.New()
	compile := func(charge func()) *graph.Graph[Job, JobUpdate] {
		g := graph.New("orders", JobSchema)
		g.Node("charge", func(context.Context, Job) (JobUpdate, error) {
			charge()
			return said("charged"), nil
		})
		g.Node("ship", say("shipped"))
		g.Edge(graph.Start, "charge")
		g.Edge("charge", "ship")
		g.Edge("ship", graph.End)
		app, err := g.Compile(graph.Saver(saver))
		if err != nil {
			log.Fatal(err)
		}
		return app
	}

	var old *graph.Graph[Job, JobUpdate]
	old = compile(func() {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		_ = old.Drain(now) // the shutdown of the old process; it does not wait for this node
	})
	res, err := old.Thread("order-7").Invoke(context.Background(), JobUpdate{})
	fmt.Println(res.Status, res.State.Log, err)

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	w := worker.New(saver, worker.Options{OnEvent: func(e worker.Event) {
		if e.Kind == worker.EventEnded {
			fmt.Println(e.Thread, e.Status, e.Err)
			stop() // a service runs until it is shut down
		}
	}}, compile(func() {}))
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
	chain, err := saver.Load(context.Background(), checkpoint.Ref{Thread: "order-7"})
	fmt.Println(chain.Thread.Status, err)
	// Output:
	// ready [charged] <nil>
	// order-7 done <nil>
	// done <nil>
}
