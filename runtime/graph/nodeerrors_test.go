package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// TestNodeErrorsListsTheFailedTasks: two of four sends fail, in a graph and in its subgraph.
func TestNodeErrorsListsTheFailedTasks(t *testing.T) {
	failing := func() *graph.Builder[work, update] {
		b := newWork()
		read := graph.TaskNode(b, "read", func(ctx context.Context, _ work, d doc) (update, error) {
			graph.Summary(ctx, "doc "+d.Name)
			if d.Name == "b" || d.Name == "d" {
				return update{}, fmt.Errorf("%s: %w", d.Name, errBroken)
			}
			return logged(d.Name), nil
		}, graph.ContinueOnError(), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
		b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
			var next graph.Next
			for _, name := range []string{"a", "b", "c", "d"} {
				next.Add(read.Send(doc{Name: name}))
			}
			return next, nil
		}, "read")
		b.Edge("read", graph.End)
		return b
	}
	listed := func(err error) (lines []string) {
		for _, e := range graph.NodeErrors(err) {
			lines = append(lines, fmt.Sprintf("%s %s %d %d %q %v %t", e.Graph, e.Node, e.Index, e.Attempt, e.Summary, e.Err, errors.Is(e, errBroken)))
		}
		return lines
	}
	want := []string{`g read 1 2 "doc b" b: it broke true`, `g read 3 2 "doc d" d: it broke true`}
	_, err := compile(t, failing()).Run(t.Context(), update{})
	same(t, "failures", listed(err), want)
	same(t, "failures in a wrapped error", listed(errors.Join(errBroken, fmt.Errorf("the job: %w", err))), want)
	same(t, "failures in other errors", len(graph.NodeErrors(nil))+len(graph.NodeErrors(errBroken)), 0)

	outer := newWork()
	outer.Subgraph("sub", compile(t, failing(), graph.SubgraphOnly()))
	_, err = compile(t, line(outer, "sub")).Run(t.Context(), update{})
	calls := graph.NodeErrors(err)
	if len(calls) != 1 || calls[0].Node != "sub" {
		t.Fatalf("got the failures %v, want that of the subgraph", calls)
	}
	same(t, "failures in the subgraph", listed(calls[0].Err), want)
}
