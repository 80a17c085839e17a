// Graphgen runs the graphs of the comparison on this module.
package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/graphgen-go/graphgen/bench/flow"
	"github.com/graphgen-go/graphgen/bench/peers/measure"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

var ctx = context.Background()

func say(_ context.Context, s flow.Conversation) (u flow.ConversationUpdate, err error) {
	u.Step.Set(s.Step + 1)
	u.Messages.Append(flow.Message{Role: "assistant", Text: measure.Text})
	return u, nil
}

func addOne(context.Context, flow.Counter) (flow.CounterUpdate, error) {
	return flow.CounterUpdate{N: state.Add(1)}, nil
}

func main() {
	loop := graph.New("loop", flow.ConversationSchema)
	loop.Node("say", say)
	loop.Edge(graph.Start, "say")
	loop.Route("say", func(_ context.Context, s flow.Conversation) (graph.Next, error) {
		if len(s.Messages) < measure.Loop {
			return graph.To("say"), nil
		}
		return graph.To(graph.End), nil
	}, "say", graph.End)
	threads := 0
	app, err := loop.Compile(graph.Saver(memory.New()), graph.MaxSteps(2*measure.Loop))
	measure.Row("loop, in memory", measure.Loop, func() error {
		if err != nil {
			return err
		}
		threads++
		id := fmt.Sprint(threads)
		res, err := app.Thread(id).Invoke(ctx, flow.ConversationUpdate{})
		if err != nil {
			return err
		}
		return measure.Want("messages", len(res.State.Messages), measure.Loop)
	})
	count("chain", measure.Chain, func(b *graph.Builder[flow.Counter, flow.CounterUpdate], ids []graph.ID) {
		from := graph.Start
		for _, id := range ids {
			b.Edge(from, id)
			from = id
		}
		b.Edge(from, graph.End)
	})
	count("fan-out", measure.Fan, func(b *graph.Builder[flow.Counter, flow.CounterUpdate], ids []graph.ID) {
		for _, id := range ids {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
	})
	turns()
}

// count measures a graph of n nodes that add 1.
func count(name string, n int, wire func(b *graph.Builder[flow.Counter, flow.CounterUpdate], ids []graph.ID)) {
	b := graph.New(name, flow.CounterSchema)
	var ids []graph.ID
	for i := range n {
		ids = append(ids, b.Node(graph.ID(fmt.Sprintf("n%03d", i)), addOne))
	}
	wire(b, ids)
	app, err := b.Compile()
	measure.Row(name, n, func() error {
		if err != nil {
			return err
		}
		res, err := app.Run(ctx, flow.CounterUpdate{})
		if err != nil {
			return err
		}
		return measure.Want("count", res.State.N, n)
	})
}

// turns measures a conversation of one node on SQLite, one call a turn.
func turns() {
	dir, remove := measure.Temp()
	defer remove()
	saver, err := sqlite.Open(filepath.Join(dir, "threads.db"))
	if err != nil {
		measure.Fail("SQLite", err)
		return
	}
	defer func() {
		if err := saver.Close(); err != nil {
			measure.Fail("SQLite", err)
		}
	}()
	b := graph.New("turns", flow.ConversationSchema)
	b.Node("say", say)
	b.Edge(graph.Start, "say")
	b.Edge("say", graph.End)
	app, err := b.Compile(graph.Saver(saver))
	n := 0
	measure.Turns("SQLite", func() error {
		if err != nil {
			return err
		}
		n++
		res, err := app.Thread("t").Invoke(ctx, flow.ConversationUpdate{})
		if err != nil {
			return err
		}
		return measure.Want("messages", len(res.State.Messages), n)
	})
}
