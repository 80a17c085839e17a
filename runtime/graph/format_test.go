package graph_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// reader is a saver that reads records as older code has stored them. The namespaces of calls were
// the keys of their tasks, and no record had a format.
type reader struct {
	checkpoint.Saver
	old   bool
	calls map[string]string // by old namespace
}

func (s *reader) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if key, _, ok := strings.Cut(a.Namespace, "-"); ok {
		s.calls[key] = a.Namespace
	}
	return s.Saver.Append(ctx, a)
}

func (s *reader) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if call := s.calls[p.Namespace]; s.old && call != "" {
		p.Namespace = call
	}
	c, err := s.Saver.Load(ctx, p)
	if s.old {
		c.Last.Meta = maps.Clone(c.Last.Meta)
		delete(c.Last.Meta, "format")
	}
	return c, err
}

// TestASubgraphCallOfAnotherFormatIsRefused stops in a subgraph, in one durability each. Code that
// stores calls in another format must not begin the call again as if nothing were stored of it.
func TestASubgraphCallOfAnotherFormatIsRefused(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async, graph.OnExit} {
		t.Run(d.String(), func(t *testing.T) {
			s := &reader{Saver: memory.New(), calls: make(map[string]string)}
			inner := graph.New("inner", teststate.WorkSchema)
			inner.Node("in", step(nil, "in"))
			line(inner, "in")
			child, err := inner.Compile(graph.SubgraphOnly(), graph.InterruptBefore("in"))
			if err != nil {
				t.Fatal(err)
			}
			outer := graph.New("outer", teststate.WorkSchema)
			outer.Node("before", step(nil, "before"))
			outer.Subgraph("sub", child)
			line(outer, "before", "sub")
			app, err := outer.Compile(graph.Saver(s), d)
			if err != nil {
				t.Fatal(err)
			}
			th := app.Thread("t")
			res, err := th.Invoke(t.Context(), update{})
			if err != nil || res.Status != graph.Paused {
				t.Fatalf("Invoke: %v, %v; want paused", res.Status, err)
			}

			s.old = true
			_, err = th.Resume(t.Context())
			if !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), "format 1") || !strings.Contains(err.Error(), "format 3") {
				t.Errorf("Resume: %v, want ErrGraphChanged with both formats", err)
			}
			if _, err := th.UpdateState(t.Context(), update{}); !errors.Is(err, graph.ErrGraphChanged) {
				t.Errorf("UpdateState: %v, want ErrGraphChanged", err)
			}
			s.old = false
			if res, err = th.Resume(t.Context()); err != nil || res.Status != graph.Done {
				t.Errorf("Resume by the code that wrote it: %v, %v; want finished", res.Status, err)
			}

			s.old = true
			if res, err = th.Invoke(t.Context(), update{}); err != nil || res.Status != graph.Paused {
				t.Errorf("Invoke on a finished thread of older code: %v, %v; want paused", res.Status, err)
			}
			if res, err = th.Invoke(t.Context(), update{}, graph.DiscardPending()); err != nil || res.Status != graph.Paused {
				t.Errorf("Invoke that drops what is due: %v, %v; want paused", res.Status, err)
			}
		})
	}
}

// TestANodeThatBecameASubgraph was due as another kind of node: nothing is stored of a call, in
// any format.
func TestANodeThatBecameASubgraph(t *testing.T) {
	s := memory.New()
	done(t, graph.Paused)(compile(t, chain("a", "b"), graph.Saver(s), graph.InterruptBefore("b")).Thread("t").Invoke(t.Context(), input))

	b := newWork()
	b.Node("a", say("a"))
	b.Subgraph("b", compile(t, chain("in"), graph.SubgraphOnly()))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	res := done(t, graph.Done)(compile(t, b, graph.Saver(s)).Thread("t").Resume(t.Context()))
	same(t, "log", strings.Join(res.State.Log, " "), "a in")
}
