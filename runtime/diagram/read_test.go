package diagram_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func broken(context.Context, Order) (u OrderUpdate, err error) { return u, errors.New("no") }

// deep is a graph with a subgraph, which has a subgraph of two nodes that are due together. One of
// them fails. Before that, another subgraph is finished.
func deep(t *testing.T, bad func(context.Context, Order) (OrderUpdate, error), stops []graph.Option, opts ...graph.Option) *graph.Graph[Order, OrderUpdate] {
	t.Helper()
	inner := compile(t, "inner", func(g *builder) {
		nodes(g, "first", "good")
		g.Node("bad", bad)
		g.Edge(graph.Start, "first")
		g.Edge("first", "good")
		g.Edge("first", "bad")
		g.Edge("good", graph.End)
		g.Edge("bad", graph.End)
	}, append(stops, graph.SubgraphOnly())...)
	middle := compile(t, "middle", func(g *builder) {
		nodes(g, "before", "after")
		g.Subgraph("inner", inner)
		g.Chain(graph.Start, "before", "inner", "after", graph.End)
	}, graph.SubgraphOnly())
	return compile(t, "deep", func(g *builder) {
		nodes(g, "a", "z")
		g.Subgraph("over", inner2(t))
		g.Subgraph("middle", middle)
		g.Chain(graph.Start, "a", "over", "middle", "z", graph.End)
	}, opts...)
}

// TestReadPlace marks nodes inside subgraphs: done, due and failed ones.
func TestReadPlace(t *testing.T) {
	type marks = map[graph.ID]diagram.Mark
	place := func(m marks, inside map[graph.ID]*diagram.Place) *diagram.Place {
		if inside == nil {
			inside = map[graph.ID]*diagram.Place{}
		}
		return &diagram.Place{Marks: m, Inside: inside}
	}
	over := place(marks{"read": diagram.Done, "write": diagram.Done}, nil)
	asks := func(ctx context.Context, _ Order) (u OrderUpdate, err error) { return u, graph.Sleep(ctx, time.Hour) }
	for name, c := range map[string]struct {
		bad   func(context.Context, Order) (OrderUpdate, error)
		stops []graph.Option
		want  *diagram.Place
	}{
		"failed": {broken, nil, place(marks{"a": diagram.Done, "over": diagram.Done, "middle": diagram.Failed}, map[graph.ID]*diagram.Place{
			"over": over,
			"middle": place(marks{"before": diagram.Done, "inner": diagram.Failed}, map[graph.ID]*diagram.Place{
				"inner": place(marks{"first": diagram.Done, "good": diagram.Due, "bad": diagram.Failed}, nil),
			}),
		})},
		"waiting": {asks, nil, place(marks{"a": diagram.Done, "over": diagram.Done, "middle": diagram.Waiting}, map[graph.ID]*diagram.Place{
			"over": over,
			"middle": place(marks{"before": diagram.Done, "inner": diagram.Waiting}, map[graph.ID]*diagram.Place{
				"inner": place(marks{"first": diagram.Done, "good": diagram.Due, "bad": diagram.Waiting}, nil),
			}),
		})},
		"stopped": {work, []graph.Option{graph.InterruptBefore("bad")}, place(
			marks{"a": diagram.Done, "over": diagram.Done, "middle": diagram.Waiting}, map[graph.ID]*diagram.Place{
				"over": over,
				"middle": place(marks{"before": diagram.Done, "inner": diagram.Waiting}, map[graph.ID]*diagram.Place{
					"inner": place(marks{"first": diagram.Done, "good": diagram.Due, "bad": diagram.Waiting}, nil),
				}),
			},
		)},
		"done": {work, nil, place(marks{"a": diagram.Done, "over": diagram.Done, "middle": diagram.Done, "z": diagram.Done}, map[graph.ID]*diagram.Place{
			"over": over,
			"middle": place(marks{"before": diagram.Done, "inner": diagram.Done, "after": diagram.Done}, map[graph.ID]*diagram.Place{
				"inner": place(marks{"first": diagram.Done, "good": diagram.Done, "bad": diagram.Done}, nil),
			}),
		})},
	} {
		t.Run(name, func(t *testing.T) {
			saver := memory.New()
			app := deep(t, c.bad, c.stops, graph.Saver(saver))
			_, _ = app.Thread("t").Invoke(t.Context(), OrderUpdate{}) // the place says how it ended
			got, err := diagram.ReadPlace(t.Context(), saver, app.Describe(), checkpoint.Ref{Thread: "t"})
			if err != nil || !reflect.DeepEqual(&got, c.want) {
				t.Errorf("got %s, %v\nwant %s", text(&got), err, text(c.want))
			}
		})
	}
}

// TestReadPlaceOfACall reads the place inside a subgraph, as seen from there.
func TestReadPlaceOfACall(t *testing.T) {
	saver := memory.New()
	asks := func(ctx context.Context, _ Order) (u OrderUpdate, err error) { return u, graph.Sleep(ctx, time.Hour) }
	app := deep(t, asks, nil, graph.Saver(saver))
	_, _ = app.Thread("t").Invoke(t.Context(), OrderUpdate{}) // the place says how it ended
	head, err := app.Thread("t").State(t.Context())
	if err != nil || len(head.Calls) != 1 {
		t.Fatal(head.Calls, err)
	}
	ref := checkpoint.Ref{Thread: "t", Namespace: head.Calls[0].Namespace}
	got, err := diagram.ReadPlace(t.Context(), saver, app.Describe().Nodes[3].Subgraph, ref)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := diagram.ReadPlace(t.Context(), saver, app.Describe(), checkpoint.Ref{Thread: "t"})
	if want := whole.Inside["middle"]; err != nil || !reflect.DeepEqual(&got, want) {
		t.Errorf("got %s, %v\nwant %s", text(&got), err, text(want))
	}
}

// TestReadPlaceOfThreads reads threads with several inputs and branches, and older checkpoints.
func TestReadPlaceOfThreads(t *testing.T) {
	type marks = map[graph.ID]diagram.Mark
	saver := memory.New()
	left, torn := true, false
	right := compile(t, "right", func(g *builder) {
		g.Node("read", func(context.Context, Order) (u OrderUpdate, err error) {
			if torn {
				err = errors.New("torn")
			}
			return u, err
		})
		nodes(g, "write")
		g.Chain(graph.Start, "read", "write", graph.End)
	}, graph.SubgraphOnly())
	app := compile(t, "turns", func(g *builder) {
		nodes(g, "pick", "end")
		g.Subgraph("left", inner2(t))
		g.Subgraph("right", right)
		g.Edge(graph.Start, "pick")
		g.Route("pick", func(context.Context, Order) (graph.Next, error) {
			if left {
				return graph.To("left"), nil
			}
			return graph.To("right"), nil
		}, "left", "right")
		g.Edge("left", "end")
		g.Edge("right", "end")
		g.Edge("end", graph.End)
	}, graph.Saver(saver))
	ctx := t.Context()
	th := app.Thread("t")
	inside := func() *diagram.Place {
		return &diagram.Place{Marks: marks{"read": diagram.Done, "write": diagram.Done}, Inside: map[graph.ID]*diagram.Place{}}
	}
	check := func(when string, at checkpoint.ID, want marks, in ...graph.ID) {
		t.Helper()
		got, err := diagram.ReadPlace(ctx, saver, app.Describe(), checkpoint.Ref{Thread: "t", At: at})
		p := diagram.Place{Marks: want, Inside: map[graph.ID]*diagram.Place{}}
		for _, id := range in {
			p.Inside[id] = inside()
		}
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%s: got %s, %v\nwant %s", when, text(&got), err, text(&p))
		}
	}
	if _, err := th.Invoke(ctx, OrderUpdate{}); err != nil {
		t.Fatal(err)
	}
	check("the first input", checkpoint.ID{}, marks{"pick": diagram.Done, "left": diagram.Done, "end": diagram.Done}, "left")
	left = false
	if _, err := th.Invoke(ctx, OrderUpdate{}); err != nil {
		t.Fatal(err)
	}
	check("the second input", checkpoint.ID{}, marks{"pick": diagram.Done, "right": diagram.Done, "end": diagram.Done}, "right")
	for s, err := range th.History(ctx, checkpoint.Query{Next: "right", Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		check("before the subgraph", s.Checkpoint, marks{"pick": diagram.Done, "right": diagram.Due})
		torn = true
		_, _ = th.At(s.Checkpoint).Resume(ctx) // the place says how it ended
		got, err := diagram.ReadPlace(ctx, saver, app.Describe(), checkpoint.Ref{Thread: "t"})
		want := diagram.Place{Marks: marks{"pick": diagram.Done, "right": diagram.Failed}, Inside: map[graph.ID]*diagram.Place{
			"right": {Marks: marks{"read": diagram.Failed}, Inside: map[graph.ID]*diagram.Place{}},
		}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("a replay that fails: got %s, %v\nwant %s", text(&got), err, text(&want))
		}
	}
	for s, err := range th.History(ctx, checkpoint.Query{Next: "pick", Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		left = true
		if _, err := th.At(s.Checkpoint).Resume(ctx); err != nil {
			t.Fatal(err)
		}
	}
	check("a replay", checkpoint.ID{}, marks{"pick": diagram.Done, "left": diagram.Done, "end": diagram.Done}, "left")
	if _, err := diagram.ReadPlace(ctx, saver, app.Describe(), checkpoint.Ref{Thread: "other"}); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("no thread: got %v, want ErrNotFound", err)
	}
}

// text returns a place as JSON.
func text(p *diagram.Place) string {
	b, err := json.Marshal(p)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
