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

// A refund is at most what was paid. A wrong answer is refused before it is stored, and the
// question stays open.
func ExampleQuestion_Check() {
	back := graph.NewQuestion[wire.Int, wire.Int]("refund").Check(func(paid, back wire.Int) error {
		if back > paid {
			return fmt.Errorf("at most %d euros were paid", paid)
		}
		return nil
	})
	b := graph.New("refund", TicketSchema)
	b.Node("pay", func(ctx context.Context, _ Ticket) (TicketUpdate, error) {
		euros, err := back.Ask(ctx, 40)
		return TicketUpdate{Log: state.Append(fmt.Sprint("paid back: ", euros))}, err
	}, back)
	b.Chain(graph.Start, "pay", graph.End)
	app, err := b.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}

	ctx, t := context.Background(), app.Thread("refund-8")
	res, err := t.Invoke(ctx, TicketUpdate{})
	if err != nil {
		log.Fatal(err)
	}
	open := res.Questions[0]
	_, err = t.Resume(ctx, back.Answer(open, 400))
	if refused := (*graph.AnswerError)(nil); errors.As(err, &refused) {
		fmt.Println("refused:", refused.Err)
	}
	res, err = t.Resume(ctx, back.Answer(open, 4))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.State.Log)
	// Output:
	// refused: at most 40 euros were paid
	// done [paid back: 4]
}
