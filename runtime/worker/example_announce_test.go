package worker_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/file"
)

// One part of a program submits an order. The worker of another part runs it immediately,
// although it polls only once per hour.
func ExampleAnnounce() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	dir, err := os.MkdirTemp("", "orders")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	files, err := file.Open(filepath.Join(dir, "orders"))
	if err != nil {
		log.Fatal(err)
	}
	engine := new(worker.Hub)
	saver := worker.Announce(files, engine, nil)

	b := graph.New("orders", JobSchema)
	b.Node("charge", say("charged"))
	b.Edge(graph.Start, "charge")
	b.Edge("charge", graph.End)
	orders, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	w := worker.New(saver, worker.Options{Engine: engine, Poll: time.Hour, OnEvent: func(e worker.Event) {
		if e.Kind == worker.EventEnded {
			fmt.Println(e.Thread, e.Status)
			stop() // a service runs until it is shut down
		}
	}}, orders)
	go func() {
		if _, err := orders.Thread("order-7").Submit(ctx, JobUpdate{}); err != nil {
			log.Fatal(err)
		}
	}()
	if err := w.Run(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(saver.Close())
	// Output:
	// order-7 done
	// <nil>
}
