// Package graphtest runs one node of a graph under test, without a graph.
package graphtest

import (
	"cmp"
	"context"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// Context returns a context under parent in which [graph.CurrentTask] reports t. A Key or Attempt that t leaves
// out is "key of <node>" or 1. Questions asked under it wait for ever.
func Context(parent context.Context, t graph.Task) context.Context {
	return asking(parent, t, new(task.Asks))
}

func asking(parent context.Context, t graph.Task, asks *task.Asks) context.Context {
	w := new(task.Worker)
	w.Init(parent, t, key(cmp.Or(t.Key, "key of "+t.Node)))
	return w.Begin(t.Node, t.Index, t.Step, max(t.Attempt, 1), asks)
}

// key is the key of a task.
type key string

// Key implements task.Keys.
func (k key) Key(*graph.Task) string { return string(k) }

// Run runs node on s once, as a graph would: in a context of a task, on a copy of s. It returns the update, and
// the state after its merge. A node that writes to the state it is given fails the test, and so does an
// update that cannot be merged; an error of the node is returned, with s as it was.
//
// What the node asks gets the answers given, each made by its Question's Answer with a zero [graph.Waiting]: the first
// to the first call of that question, and so on; for AskAs the Waiting has the name as its ID. A question without an
// answer is graph.ErrWaiting to the node.
func Run[S, U any](tb testing.TB, schema *state.Schema[S, U], node func(context.Context, S) (U, error), s S, answers ...graph.ResumeOption) (U, S, error) {
	tb.Helper()
	given := schema.Clone(s)
	t := graph.Task{Graph: "graphtest", Node: tb.Name()}
	u, err := node(asking(tb.Context(), t, &task.Asks{Answers: places(tb, answers)}), given)
	if fields := state.FieldNames(schema.Diff(s, given)); len(fields) > 0 {
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

// places tells which answer is to which call of a question.
func places(tb testing.TB, answers []graph.ResumeOption) map[string][]byte {
	tb.Helper()
	byPlace := make(map[string][]byte)
	calls := make(map[string]int)
	for _, a := range answers {
		encoded, ok := a.(interface {
			Encoded() (id, question string, payload []byte, err error)
		})
		if !ok {
			tb.Fatalf("graphtest: %T is no answer", a)
		}
		as, question, payload, err := encoded.Encoded()
		if err != nil {
			tb.Fatalf("graphtest: answer to %q: %v", question, err)
		}
		place := question + ":" + as
		if as == "" {
			calls[question]++
			if place = question; calls[question] > 1 {
				place = fmt.Sprintf("%s#%d", question, calls[question])
			}
		}
		byPlace[place] = payload
	}
	return byPlace
}
