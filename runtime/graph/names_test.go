package graph_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/teststate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// named is a graph of the given name, a then b.
func named(t *testing.T, name string, opts ...graph.Option) *app {
	t.Helper()
	b := graph.New(name, teststate.WorkSchema)
	b.Node("a", say("a"))
	b.Node("b", say("b"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	return compile(t, b, opts...)
}

// calls are all ways to use a thread, at its head and at one of its checkpoints.
func calls(t *testing.T, th thread, at checkpoint.ID) map[string]error {
	t.Helper()
	ctx, errs := t.Context(), map[string]error{}
	_, errs["Invoke"] = th.Invoke(ctx, input)
	_, errs["Invoke, DiscardPending"] = th.Invoke(ctx, input, graph.DiscardPending())
	_, errs["Invoke, RequestID"] = th.Invoke(ctx, input, graph.RequestID("r"))
	for _, err := range th.Stream(ctx, input) {
		errs["Stream"] = err
	}
	for _, err := range th.ResumeStream(ctx) {
		errs["ResumeStream"] = err
	}
	for where, th := range map[string]thread{"": th, ", At": th.At(at)} {
		_, errs["Resume"+where] = th.Resume(ctx)
		_, errs["UpdateState"+where] = th.UpdateState(ctx, input)
		_, errs["UpdateState as a"+where] = th.UpdateState(ctx, input, graph.AsNode("a"))
		_, errs["State"+where] = th.State(ctx)
		for _, err := range th.History(ctx, checkpoint.Query{}) {
			errs["History"+where] = err
		}
	}
	return errs
}

func TestAGraphRefusesTheThreadOfAnother(t *testing.T) {
	for what, opts := range map[string][]graph.Option{"finished": nil, "paused": {graph.InterruptBefore("b")}} {
		s := memory.New()
		before, err := named(t, "old", append(opts, graph.Saver(s))...).Thread("t").Invoke(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range calls(t, named(t, "new", graph.Saver(s), graph.FormerNames("older")).Thread("t"), before.Checkpoint) {
			if !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), `"old"`) || !strings.Contains(err.Error(), `"new"`) {
				t.Errorf("%s, %s: got %v, want ErrGraphChanged that names both graphs", what, name, err)
			}
		}
		snap, err := named(t, "old", graph.Saver(s)).Thread("t").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, what+": head after refused calls", snap.Checkpoint, before.Checkpoint)
	}
}

func TestAGraphTakesUpTheThreadsOfItsFormerNames(t *testing.T) {
	s := memory.New()
	before := done(t, graph.Paused)(named(t, "old", graph.Saver(s), graph.InterruptBefore("b")).Thread("t").Invoke(t.Context(), input))
	th := named(t, "new", graph.Saver(s), graph.FormerNames("older", "old")).Thread("t")
	if _, err := th.State(t.Context()); err != nil {
		t.Error(err)
	}
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "b"})
	if _, err := named(t, "old", graph.Saver(s)).Thread("t").State(t.Context()); !errors.Is(err, graph.ErrGraphChanged) {
		t.Errorf("the old name after the new one: got %v, want ErrGraphChanged", err)
	}
	n := 0
	for _, err := range th.History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	same(t, "checkpoints of both names", n, 4)
	done(t, graph.Done)(th.At(before.Checkpoint).Resume(t.Context()))
}

// TestASubgraphRefusesTheCallsOfAnother: a call that stopped, and what one remembers.
func TestASubgraphRefusesTheCallsOfAnother(t *testing.T) {
	around := func(t *testing.T, name string, s checkpoint.Saver, stop bool, opts ...graph.Option) thread {
		t.Helper()
		if stop {
			opts = append(opts, graph.InterruptBefore("b"))
		}
		b := newWork()
		graph.MapSubgraph(b, "sub", named(t, name, append(opts, graph.SubgraphOnly())...),
			func(context.Context, work) (update, error) { return update{}, nil },
			func(_ context.Context, _ work, child work) (update, error) { return logged(child.Log...), nil }, graph.Stateful())
		return compile(t, line(b, "sub"), graph.Saver(s)).Thread("t")
	}
	for _, stop := range []bool{true, false} {
		s := memory.New()
		old := around(t, "old", s, stop)
		if _, err := old.Invoke(t.Context(), input); err != nil {
			t.Fatal(err)
		}
		run := func(th thread) (result, error) {
			if stop {
				return th.Resume(t.Context())
			}
			return th.Invoke(t.Context(), input)
		}
		_, err := run(around(t, "new", s, stop))
		if !errors.Is(err, graph.ErrGraphChanged) || !strings.Contains(err.Error(), `"old"`) || !strings.Contains(err.Error(), `"new"`) {
			t.Errorf("stop %v: got %v, want ErrGraphChanged that names both graphs", stop, err)
		}
		th := around(t, "new", s, stop, graph.FormerNames("old"))
		if stop {
			snap, err := th.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]error{"new": graph.ErrGraphChanged, "old": nil} {
				if _, err := graph.Inside(th, snap.Calls[0], named(t, name)).State(t.Context()); !errors.Is(err, want) {
					t.Errorf("Inside as %s: got %v, want %v", name, err, want)
				}
			}
		}
		res := done(t, graph.Done)(th.Resume(t.Context()))
		if stop {
			same(t, "log", res.State.Log, []string{"a", "b"})
		} else {
			same(t, "log", res.State.Log, []string{"a", "b", "a", "b", "a", "b"})
		}
	}
}

func TestNamesThatCompileRefuses(t *testing.T) {
	b := graph.New("", teststate.WorkSchema)
	b.Node("a", idle)
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	same(t, "faults", faults(t, b, graph.FormerNames("old", "", "old")), []string{
		`the graph has no name; pass one to graph.New, since it tells the graph's threads from those of others`,
		`FormerNames lists ""; want other names than the graph's own, each once`,
		`FormerNames lists "old"; want other names than the graph's own, each once`,
	})
	b = chain("a")
	same(t, "faults", faults(t, b, graph.FormerNames("g")), []string{`FormerNames lists "g"; want other names than the graph's own, each once`})
}
