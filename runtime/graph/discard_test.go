package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestAnInputThatDiscardsBeginsWhateverRunPassesIt: the end of the run leaves the thread due now
// (rules 21.2 and 21.7).
func TestAnInputThatDiscardsBeginsWhateverRunPassesIt(t *testing.T) {
	discards := func(t *testing.T, th thread) {
		t.Helper()
		submit(t, th, "two", graph.DiscardPending())
	}
	for name, pass := range map[string]func(t *testing.T, g *app, s checkpoint.Saver){
		"Invoke of another process": func(t *testing.T, g *app, s checkpoint.Saver) {
			t.Helper()
			done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("zero")))
			discards(t, compile(t, asksLater(), graph.Saver(s)).Thread("t"))
			done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), logged("one")))
		},
		"Invoke of a new thread": func(t *testing.T, g *app, _ checkpoint.Saver) {
			t.Helper()
			discards(t, g.Thread("t"))
			done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), logged("one")))
		},
		"Invoke that its caller leaves": func(t *testing.T, g *app, _ checkpoint.Saver) {
			t.Helper()
			done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("zero")))
			discards(t, g.Thread("t"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for _, err := range g.Thread("t").Stream(ctx, logged("one")) {
				if cancel(); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		},
		"a worker that begins the input before": func(t *testing.T, g *app, _ checkpoint.Saver) {
			t.Helper()
			submit(t, g.Thread("t"), "one")
			discards(t, g.Thread("t"))
		},
		"Resume with an edit": func(t *testing.T, g *app, s checkpoint.Saver) {
			t.Helper()
			submit(t, g.Thread("t"), "one")
			serve(t, g, s)
			discards(t, g.Thread("t"))
			done(t, graph.Waiting)(g.Thread("t").Edit(logged("one")).Resume(t.Context()))
		},
		"Resume with an edit of a finished thread": func(t *testing.T, g *app, _ checkpoint.Saver) {
			t.Helper()
			done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("zero")))
			discards(t, g.Thread("t"))
			done(t, graph.Done)(g.Thread("t").Edit(logged("one")).Resume(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.New()
			g := compile(t, asksLater(), graph.Saver(s))
			pass(t, g, s)
			serve(t, g, s)
			log := snapshot(t, g.Thread("t")).State.Log
			same(t, "newest lines", log[len(log)-2:], []string{"one", "two"})
			same(t, "messages left", untaken(t, g.Thread("t")), []checkpoint.MessageKind(nil))
		})
	}
}

// TestAnInputThatDiscardsBeginsAfterAFailure: the failed task does not run again.
func TestAnInputThatDiscardsBeginsAfterAFailure(t *testing.T) {
	s, b, ran := memory.New(), newWork(), &counter{}
	b.Node("a", func(_ context.Context, w work) (update, error) {
		line := w.Log[len(w.Log)-1]
		if ran.add(line); line == "one" {
			return update{}, errors.New("it broke")
		}
		return update{}, nil
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g := compile(t, b, graph.Saver(s))
	done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("zero")))
	submit(t, g.Thread("t"), "two", graph.DiscardPending())
	var failed *graph.NodeError
	if _, err := g.Thread("t").Invoke(t.Context(), logged("one")); !errors.As(err, &failed) {
		t.Errorf("got %v, want a NodeError", err)
	}
	same(t, "openings", serve(t, g, s), 1)
	same(t, "runs", ran.counts(), map[string]int{"zero": 1, "one": 1, "two": 1})
}

// TestAnInvokePastACancelRefusesTheInputsBeforeIt: the Invoke looks into the inbox because inputs
// wait, and the cancel does not end it.
func TestAnInvokePastACancelRefusesTheInputsBeforeIt(t *testing.T) {
	s := memory.New()
	g := compile(t, asksLater(), graph.Saver(s))
	th := g.Thread("t")
	done(t, graph.Done)(th.Invoke(t.Context(), logged("zero")))
	submit(t, th, "two", graph.DiscardPending())
	if err := th.Cancel(t.Context(), "no stock"); err != nil {
		t.Fatal(err)
	}
	done(t, graph.Waiting)(th.Invoke(t.Context(), logged("one")))
	same(t, "refused", refusals(t, th), []string{"cancelled: no stock"})
	same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	same(t, "openings", serve(t, g, s), 0)
}
