package graph_test

import (
	"context"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A node asks a person. The run ends, and Resume brings the answer, perhaps days later in another
// process.
func ExampleQuestion() {
	approve := graph.NewQuestion[wire.String, wire.Bool]("approve")
	b := graph.New("refund", TicketSchema)
	b.Node("pay", func(ctx context.Context, s Ticket) (TicketUpdate, error) {
		yes, err := approve.Ask(ctx, wire.String("pay "+s.Status+"?"))
		if err != nil {
			return TicketUpdate{}, err // ErrWaiting: the node runs again after the answer
		}
		return TicketUpdate{Log: state.Append(fmt.Sprint("approved: ", yes))}, nil
	}, approve)
	b.Chain(graph.Start, "pay", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}

	ctx, t := context.Background(), app.Thread("refund-7")
	res, err := t.Invoke(ctx, TicketUpdate{Status: state.Set("40 euros")})
	if err != nil {
		log.Fatal(err)
	}
	open := res.Questions[0]
	text, err := approve.Decode(open)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, open, text)

	res, err = t.Resume(ctx, approve.Answer(open, true))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	// Output:
	// waiting approve at pay pay 40 euros?
	// done [approved: true]
}
