package graph_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A node makes a value of each failure of its tools. A tool that asks a person has not failed.
func ExampleInterrupted() {
	sure := graph.NewQuestion[wire.String, wire.Bool]("sure")
	refund := func(ctx context.Context) (string, error) {
		yes, err := sure.Ask(ctx, "pay 40 euros?")
		return fmt.Sprint("refunded: ", yes), err
	}
	search := func(context.Context) (string, error) { return "", errors.New("no route to host") }

	b := graph.New("agent", TicketSchema)
	b.Node("tools", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		var u TicketUpdate
		for _, tool := range []func(context.Context) (string, error){search, refund} {
			text, err := tool(ctx)
			if graph.Interrupted(ctx, err) {
				return u, err
			}
			if err != nil {
				text = "failed: " + err.Error()
			}
			u.Log.Append(text)
		}
		return u, nil
	}, sure)
	b.Chain(graph.Start, "tools", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}

	ctx, t := context.Background(), app.Thread("t")
	res, err := t.Invoke(ctx, TicketUpdate{Status: state.Set("open")})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status)
	if res, err = t.Resume(ctx, sure.Answer(res.Questions[0], true)); err != nil {
		log.Fatal(err)
	}
	for _, line := range res.State.Log {
		fmt.Println(line)
	}
	// Output:
	// waiting
	// failed: no route to host
	// refunded: true
}
