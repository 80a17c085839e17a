package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// perTenant lets two attempts of each tenant run at the same time, in all processes.
type perTenant struct{ saver checkpoint.Saver }

func (p perTenant) Acquire(ctx context.Context) (release func(), err error) {
	tenant, err := graph.ThreadLabel(ctx, "tenant")
	if err != nil {
		return nil, err
	}
	return graph.MaxConcurrentGlobal(p.saver, "model of "+tenant, 2).Acquire(ctx)
}

// The label of the thread is part of the name of the limit.
func ExampleMaxConcurrentGlobal() {
	saver := memory.New()
	b := graph.New("answers", TicketSchema)
	b.Node("ask", func(ctx context.Context, _ Ticket) (u TicketUpdate, err error) {
		for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Prefix: "__limit/"}) {
			fmt.Println(t.Title, err)
		}
		u.Status = state.Set("answered")
		return u, nil
	}, graph.Limit(perTenant{saver}))
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
	// answered <nil>
	// limit model of bob <nil>
	// answered <nil>
}
