// Package graphtest tests parts of graphs. Run runs one node without a graph. Lock finds changes
// of a graph that stored threads do not survive, and Replay checks exported threads.
package graphtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// Context returns a child context of parent in which [graph.CurrentTask] returns t. The default
// Key is "key of <node>", and the default Attempt is 1. A question that is asked in the context is
// never answered. A sleep ends immediately. A durable call is made, and its result is kept in
// memory.
func Context(parent context.Context, t graph.Task) context.Context {
	return asking(parent, t, new(task.Asks))
}

// WithLabels returns a child context of parent in which [graph.ThreadLabel] finds the given
// labels. Pass it to Context.
func WithLabels(parent context.Context, labels map[string]string) context.Context {
	return task.WithLabels(parent, task.NewLabels(maps.Clone(labels), nil))
}

func asking(parent context.Context, t graph.Task, asks *task.Asks) context.Context {
	w := new(task.Worker)
	w.Init(parent, t, key(cmp.Or(t.Key, "key of "+t.Node)))
	return w.Begin(task.Attempt{Node: t.Node, Index: t.Index, Step: t.Step, Number: max(t.Attempt, 1), Asks: asks})
}

// key is the key of a task.
type key string

// Key implements task.Host.
func (k key) Key(*graph.Task) string { return string(k) }

// Calls implements task.Host.
func (k key) Calls(*graph.Task, bool) *task.Calls { return new(task.Calls) }

// Asks implements task.Host.
func (k key) Asks(*graph.Task) *task.Asks { return new(task.Asks) }

// Run runs node once on a copy of s, in the context of a task, as a graph would. It returns the
// update, and the state after merging the update. If the node returns an error, Run returns the
// error and s. The test fails if the node modifies its copy of s, or if the update cannot be
// merged.
//
// answers are the answers to questions that the node asks. Create each by the Answer method of its
// Question with a zero [graph.OpenQuestion]. The first answer to a question is for the first call,
// the second for the second call. For AskNamed, set the ID of the OpenQuestion to the name. A
// question without an answer returns graph.ErrWaiting to the node.
func Run[S, U any](tb testing.TB, schema *state.Schema[S, U], node func(context.Context, S) (U, error), s S, answers ...graph.ResumeOption) (U, S, error) {
	tb.Helper()
	given := schema.Clone(s)
	t := graph.Task{Graph: "graphtest", Node: tb.Name()}
	u, err := node(asking(tb.Context(), t, &task.Asks{Answers: places(tb, answers)}), given)
	if fields := state.FieldNames(schema.Diff(s, given)); len(fields) > 0 {
		tb.Errorf("graphtest: the node modified its copy of the state: %v", fields)
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

// places maps each call of a question to its answer.
func places(tb testing.TB, answers []graph.ResumeOption) map[string][]byte {
	tb.Helper()
	byPlace := make(map[string][]byte)
	calls := make(map[string]int)
	for _, a := range answers {
		encoded, ok := a.(interface {
			Encoded() (id, question string, payload []byte, err error)
		})
		if !ok {
			tb.Fatalf("graphtest: %T is not an answer", a)
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
