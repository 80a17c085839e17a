package graph_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// Each tenant has two calls at the same time and 600 a minute, in all processes.
func ExamplePerLabel() {
	saver := memory.New()
	calls := graph.PerLabel("tenant", func(tenant string) graph.Limiter {
		return graph.MaxConcurrentGlobal(saver, "model of "+tenant, 2)
	})
	rate := graph.PerLabel("tenant", func(tenant string) graph.Limiter {
		return graph.RateGlobal(saver, "model of "+tenant, 600, time.Minute)
	})
	b := graph.New("answers", TicketSchema)
	b.Node("ask", func(ctx context.Context, _ Ticket) (u TicketUpdate, err error) {
		for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Prefix: "__"}) {
			fmt.Println(t.Title, err)
		}
		u.Status = state.Set("answered")
		return u, nil
	}, graph.Limit(calls, rate))
	b.Chain(graph.Start, "ask", graph.End)
	app, err := b.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	for _, tenant := range []string{"ada", "bob"} {
		res, err := app.Thread("of "+tenant).Invoke(context.Background(), TicketUpdate{}, graph.Label("tenant", tenant))
		fmt.Println(res.State.Status, err)
	}
	// Output:
	// limit model of ada <nil>
	// rate model of ada <nil>
	// answered <nil>
	// limit model of bob <nil>
	// rate model of ada <nil>
	// rate model of bob <nil>
	// answered <nil>
}
