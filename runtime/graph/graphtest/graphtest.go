// Package graphtest runs one node of a graph under test, without a graph.
package graphtest

import (
	"cmp"
	"context"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// Context returns a context under parent in which [graph.CurrentTask] reports t. A Key or Attempt that t leaves
// out is "key of <node>" or 1.
func Context(parent context.Context, t graph.Task) context.Context {
	ctx := new(task.Context)
	ctx.Init(parent, t, func(*graph.Task) string { return cmp.Or(t.Key, "key of "+t.Node) })
	ctx.Aim(t.Node, t.Index, t.Step, max(t.Attempt, 1))
	return ctx
}

// Run runs node on s once, as a graph would: in a context of a task, on a copy of s. It returns the update, and
// the state after its merge. A node that writes to the state it is given fails the test, and so does an
// update that cannot be merged; an error of the node is returned, with s as it was.
func Run[S, U any](tb testing.TB, schema *state.Schema[S, U], node func(context.Context, S) (U, error), s S) (U, S, error) {
	tb.Helper()
	given := schema.Clone(s)
	u, err := node(Context(tb.Context(), graph.Task{Graph: "graphtest", Node: tb.Name()}), given)
	if fields := schema.Changed(s, given); len(fields) > 0 {
		tb.Errorf("graphtest: the node wrote to the state it was given: %v", fields)
	}
	if err != nil {
		return u, s, err
	}
	merged, err := state.Apply(schema, s, u)
	if err != nil {
		tb.Errorf("graphtest: merge: %v", err)
	}
	return u, merged, nil
}
