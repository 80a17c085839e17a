package graph_test

import (
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestAThreadIsThereAfterItsSubmit reads a thread before a worker has begun its first input, and
// before the first one after a release.
func TestAThreadIsThereAfterItsSubmit(t *testing.T) {
	s := memory.New()
	g := compile(t, chain("a"), graph.Saver(s))
	for _, what := range []string{"a new thread", "a released thread"} {
		th := g.Thread("t")
		if _, err := th.State(t.Context()); !errors.Is(err, checkpoint.ErrNotFound) {
			t.Errorf("%s, before the Submit: got %v, want ErrNotFound", what, err)
		}
		submit(t, g.Thread("t2"), "of another thread with the same prefix")
		submit(t, th, "one", graph.Title("title"), graph.Label("user", "ada"))
		submit(t, th, "two")
		snap := snapshot(t, th)
		same(t, what+": status", snap.Status, graph.Ready)
		same(t, what+": inputs", snap.Inputs, 2)
		same(t, what+": step, checkpoint and log", []any{snap.Step, snap.Checkpoint, len(snap.State.Log)}, []any{0, checkpoint.ID{}, 0})
		same(t, what+": title and labels", []any{snap.Title, snap.Labels}, []any{"title", map[string]string{"user": "ada"}})
		same(t, what+": text", snap.String(), "t, step 0, ready; inputs that wait: 2")
		d := described(t, th)
		same(t, what+": description", []any{d.ID, d.Version, d.Status, d.Inputs}, []any{"t", 0, graph.Ready, 2})
		serve(t, g, s)
		snap = snapshot(t, th)
		same(t, what+": log", snap.State.Log, []string{"one", "a", "two", "a"})
		same(t, what+": inputs at the end", snap.Inputs, 0)
		if _, err := th.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
