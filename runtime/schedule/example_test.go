package schedule_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A report is written each night, and once more now.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	saver := memory.New()
	b := graph.New("report", JobSchema)
	b.Node("write", func(ctx context.Context, j Job) (u JobUpdate, err error) {
		id, _, _ := schedule.Tick(graph.CurrentTask(ctx).Thread)
		fmt.Println(id, "writes", j.Log)
		stop() // a service runs until it is shut down
		return u, nil
	})
	b.Edge(graph.Start, "write")
	b.Edge("write", graph.End)
	report, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}

	schedules, err := schedule.New(saver)
	if err != nil {
		log.Fatal(err)
	}
	nightly := schedule.Spec{Cron: "30 2 * * *", Zone: "Europe/Lisbon", Jitter: 10 * time.Minute}
	err = schedules.Create(ctx, "nightly", nightly, schedule.Submit(report, JobUpdate{Log: state.Append("the sales")}))
	if err != nil {
		log.Fatal(err)
	}
	if err := schedules.Trigger(ctx, "nightly"); err != nil {
		log.Fatal(err)
	}
	if err := worker.New(saver, worker.Options{}, schedules, report).Run(ctx); err != nil {
		log.Fatal(err)
	}
	d, err := schedules.Describe(context.Background(), "nightly")
	fmt.Println(d.Fired, "fired,", len(d.Recent), "recent", err)
	// Output:
	// nightly writes [the sales]
	// 1 fired, 1 recent <nil>
}
