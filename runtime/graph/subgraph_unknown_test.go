package graph_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
	ref "github.com/graphgen-go/graphgen/testdata/golden/reference"
)

// newer makes the messages in subgraphs' checkpoints have a field that the code does not have.
type newer struct{ checkpoint.Saver }

func (s newer) Load(ctx context.Context, p checkpoint.Place) (checkpoint.Chain, error) {
	c, err := s.Saver.Load(ctx, p)
	if p.Namespace == "" {
		return c, err
	}
	for i := range c.Records {
		c.Records[i].Payload = bytes.ReplaceAll(c.Records[i].Payload, []byte("\xa4Role"), []byte("\xa4Rank"))
	}
	return c, err
}

func TestSubgraphsDropWhatTheirParentDrops(t *testing.T) {
	inner := graph.New("inner", ref.EverythingSchema)
	inner.Node("a", func(context.Context, ref.Everything) (ref.EverythingUpdate, error) {
		var u ref.EverythingUpdate
		u.Messages.Upsert(ref.Message{ID: "1", Role: "user"})
		return u, nil
	})
	inner.Node("b", func(context.Context, ref.Everything) (ref.EverythingUpdate, error) {
		return ref.EverythingUpdate{}, nil
	})
	inner.Edge(graph.Start, "a")
	inner.Edge("a", "b")
	inner.Edge("b", graph.End)
	child, err := inner.Compile(graph.Nested(), graph.InterruptBefore("b"))
	if err != nil {
		t.Fatal(err)
	}
	b := newWork()
	graph.Subgraph(b, "sub", child,
		func(context.Context, work) (ref.EverythingUpdate, error) { return ref.EverythingUpdate{}, nil },
		func(_ context.Context, _ work, s ref.Everything) (update, error) {
			return logged(s.Messages[0].ID + " " + string(s.Messages[0].Role)), nil
		})
	b.Edge(graph.Start, "sub")
	b.Edge("sub", graph.End)
	s := memory.New()
	done(t, graph.Paused)(compile(t, b, graph.Saver(s)).Thread("t").Invoke(t.Context(), input))

	if err := checkpoint.Copy(t.Context(), s, "t", 0, s, "copy"); err != nil {
		t.Fatal(err)
	}
	app := compile(t, b, graph.Saver(newer{s}))
	if _, err := app.Thread("copy").Resume(t.Context()); !errors.Is(err, graph.ErrGraphChanged) {
		t.Fatalf("got %v, want ErrGraphChanged", err)
	}
	th := app.Thread("t")
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := graph.Inside(th, snap.Calls[0], child).State(t.Context()); !errors.Is(err, graph.ErrGraphChanged) {
		t.Fatalf("inside: got %v, want ErrGraphChanged", err)
	}
	th = compile(t, b, graph.Saver(newer{s}), graph.DropUnknown()).Thread("t")
	in, err := graph.Inside(th, snap.Calls[0], child).State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "inside", in.State.Messages, []ref.Message{{ID: "1"}})
	res := done(t, graph.Finished)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"1 "})
}
