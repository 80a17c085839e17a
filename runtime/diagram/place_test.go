package diagram_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestPlaceOf marks the nodes of threads that stand at several places.
func TestPlaceOf(t *testing.T) {
	asks := func(ctx context.Context, _ Order) (u OrderUpdate, err error) {
		_, err = approve.Ask(ctx, "?")
		return u, err
	}
	inner := compile(t, "inner", func(g *builder) {
		nodes(g, "check")
		g.Node("ask", asks, approve)
		g.Chain(graph.Start, "check", "ask", graph.End)
	}, graph.SubgraphOnly())
	type marks = map[graph.ID]diagram.Mark
	for name, c := range map[string]struct {
		build func(g *builder)
		opts  []graph.Option
		want  diagram.Place
	}{
		"done": {
			func(g *builder) { nodes(g, "a", "b"); g.Chain(graph.Start, "a", "b", graph.End) }, nil,
			diagram.Place{Marks: marks{"a": diagram.Done, "b": diagram.Done}, Inside: map[graph.ID]*diagram.Place{}},
		},
		"a stop": {
			func(g *builder) { nodes(g, "a", "b"); g.Chain(graph.Start, "a", "b", graph.End) },
			[]graph.Option{graph.InterruptBefore("b")},
			diagram.Place{Marks: marks{"a": diagram.Done, "b": diagram.Waiting}, Inside: map[graph.ID]*diagram.Place{}},
		},
		"a failure next to a node that has finished": {
			func(g *builder) {
				nodes(g, "a", "good")
				g.Node("bad", func(context.Context, Order) (u OrderUpdate, err error) { return u, errors.New("no") })
				g.Edge(graph.Start, "a")
				g.Edge("a", "good")
				g.Edge("a", "bad")
				g.Edge("good", graph.End)
				g.Edge("bad", graph.End)
			}, nil,
			diagram.Place{Marks: marks{"a": diagram.Done, "good": diagram.Due, "bad": diagram.Failed}, Inside: map[graph.ID]*diagram.Place{}},
		},
		"a timer": {
			func(g *builder) {
				g.Node("sleep", func(ctx context.Context, _ Order) (u OrderUpdate, err error) { return u, graph.Sleep(ctx, time.Hour) })
				g.Chain(graph.Start, "sleep", graph.End)
			}, nil,
			diagram.Place{Marks: marks{"sleep": diagram.Waiting}, Inside: map[graph.ID]*diagram.Place{}},
		},
		"a signal": {
			func(g *builder) {
				g.Node("payment", func(ctx context.Context, _ Order) (u OrderUpdate, err error) {
					_, err = paid.Receive(ctx)
					return u, err
				}, paid)
				g.Chain(graph.Start, "payment", graph.End)
			}, nil,
			diagram.Place{Marks: marks{"payment": diagram.Waiting}, Inside: map[graph.ID]*diagram.Place{}},
		},
		"a question of a send's subgraph": {
			func(g *builder) {
				each := graph.TaskSubgraph[Order, OrderUpdate, wire.String](g, "each", inner,
					func(context.Context, Order, wire.String) (u OrderUpdate, err error) { return u, nil },
					func(context.Context, Order, wire.String, Order) (u OrderUpdate, err error) { return u, nil })
				nodes(g, "split")
				g.Edge(graph.Start, "split")
				g.Route("split", func(context.Context, Order) (next graph.Next, err error) {
					next.Add(each.Send("x"))
					next.Add(each.Send("y"))
					return next, nil
				}, each.ID)
				g.Edge(each.ID, graph.End)
			}, nil,
			diagram.Place{
				Marks: marks{"split": diagram.Done, "each": diagram.Waiting},
				Inside: map[graph.ID]*diagram.Place{
					"each": {Marks: marks{"ask": diagram.Waiting}, Inside: map[graph.ID]*diagram.Place{}},
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			app := compile(t, name, c.build, append(c.opts, graph.Saver(memory.New()))...)
			thread := app.Thread("t")
			_, _ = thread.Invoke(t.Context(), OrderUpdate{}) // the state says how it ended
			head, err := thread.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var older []graph.Snapshot[Order]
			for s, err := range thread.History(t.Context(), checkpoint.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				older = append(older, s)
			}
			if got := diagram.PlaceOf(head, older...); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestExpandHasALimit expands a graph that contains another one a million times.
func TestExpandHasALimit(t *testing.T) {
	app := compile(t, "one", func(g *builder) { nodes(g, "step"); g.Chain(graph.Start, "step", graph.End) })
	for range 20 {
		inner := app
		app = compile(t, "twice", func(g *builder) {
			g.Subgraph("left", inner)
			g.Subgraph("right", inner)
			g.Chain(graph.Start, "left", "right", graph.End)
		})
	}
	if n := len(diagram.Mermaid(app.Describe(), diagram.Expand())); n > 10<<20 {
		t.Errorf("the picture has %d bytes", n)
	}
}
