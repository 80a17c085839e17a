package howto

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/file"
)

// isolating is a graph with the nodes of the page. A route and a node after the sends write down
// the failures that they see.
func isolating(l load, isolates bool) *graph.Builder[State, StateUpdate] {
	g := graph.New("reader", StateSchema)
	opts := []graph.NodeOption{graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1})}
	if !isolates {
		opts = append(opts, graph.ContinueOnError())
	}
	read := graph.TaskNode(g, "read", l.read, opts...)
	if isolates {
		graph.TaskFallback(g, read, unread)
	}
	g.Node("many failed", func(context.Context, State) (StateUpdate, error) { return StateUpdate{}, errors.New("too many failed") })
	g.Node("report", func(_ context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		for _, f := range s.Failed {
			u.Log.Append(fmt.Sprintf("node: %s, attempt %d, timeout %t: %s", f.Doc, f.Attempts, f.TimedOut, f.Error))
		}
		return u, nil
	})
	g.Route(graph.Start, func(_ context.Context, s State) (graph.Next, error) {
		var next graph.Next
		for _, name := range s.Names {
			next.Add(read.Send(Doc{Name: name}))
		}
		return next, nil
	}, read.ID)
	g.Route(read.ID, func(_ context.Context, s State) (graph.Next, error) {
		for _, f := range s.Failed {
			if f.Doc != "doc 17" && f.Doc != "doc 998" {
				return graph.To("many failed"), nil
			}
		}
		if isolates != (len(s.Failed) == 2) {
			return graph.To("many failed"), nil
		}
		return graph.To("report"), nil
	}, "report", "many failed")
	g.Edge("many failed", graph.End)
	g.Edge("report", graph.End)
	return g
}

// reopened returns a graph over the threads in dir, as each process has one of its own.
func reopened(t *testing.T, g *graph.Builder[State, StateUpdate], dir string, opts ...graph.Option) *graph.Graph[State, StateUpdate] {
	t.Helper()
	s, err := file.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	app, err := g.Compile(append(opts, graph.Saver(s))...)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// documents is an input of 1,000 documents, and badly a load that cannot read two of them.
func documents() StateUpdate {
	var in StateUpdate
	for i := range 1000 {
		in.Names.Append(fmt.Sprint("doc ", i))
	}
	return in
}

func badly(_ context.Context, name string) (string, error) {
	switch name {
	case "doc 17":
		return "", errors.New("no such page")
	case "doc 998":
		return "", context.DeadlineExceeded
	}
	return "text", nil
}

var durabilities = map[string]graph.Durability{"Sync": graph.Sync, "Async": graph.Async, "OnExit": graph.OnExit}

// TestFailuresOfSendsAreDataOfTheNextNode: the route and the node run in another process than the
// sends.
func TestFailuresOfSendsAreDataOfTheNextNode(t *testing.T) {
	for name, d := range durabilities {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "threads")
			g := isolating(badly, true)
			stop := graph.InterruptAfter("read")
			res, err := reopened(t, g, dir, d, stop, graph.BeforeRoute()).Thread("t").Invoke(t.Context(), documents())
			if err != nil || res.Status != graph.Paused {
				t.Fatalf("got %s, %v; want the stop after the sends", res.Status, err)
			}
			res, err = reopened(t, g, dir, d).Thread("t").Resume(t.Context())
			if err != nil || res.Status != graph.Done {
				t.Fatalf("got %s, %v; want the run done", res.Status, err)
			}
			want := []string{
				"node: doc 17, attempt 2, timeout false: no such page",
				"node: doc 998, attempt 2, timeout true: context deadline exceeded",
			}
			if diff := cmp.Diff(want, res.State.Log); diff != "" {
				t.Errorf("the failures differ (-want +got):\n%s", diff)
			}
			if len(res.State.Found) != 998 {
				t.Errorf("%d documents were read, want 998", len(res.State.Found))
			}
		})
	}
}

// TestFailuresOfSendsAreInTheError: all others finish first, and another process runs only the
// failed ones.
func TestFailuresOfSendsAreInTheError(t *testing.T) {
	for name, d := range durabilities {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "threads")
			_, err := reopened(t, isolating(badly, false), dir, d).Thread("t").Invoke(t.Context(), documents())
			want := []string{
				"send 17 to read failed at attempt 2: no such page",
				"send 998 to read failed at attempt 2: context deadline exceeded",
			}
			if diff := cmp.Diff(want, Lines(err)); diff != "" {
				t.Errorf("the failures of %v differ (-want +got):\n%s", err, diff)
			}
			calls := make(chan string, 1000)
			mended := func(_ context.Context, name string) (string, error) { calls <- name; return "text", nil }
			res, err := reopened(t, isolating(mended, false), dir, d).Thread("t").Resume(t.Context())
			if err != nil || res.Status != graph.Done || len(res.State.Found) != 1000 {
				t.Errorf("got %s, %d documents, %v; want all 1,000", res.Status, len(res.State.Found), err)
			}
			if len(calls) != 2 {
				t.Errorf("the resume read %d documents, want the 2 that failed", len(calls))
			}
		})
	}
}
