// Package graphtest tests parts of graphs. Run and RunTask run one node without a graph. Lock
// finds changes of a graph that stored threads do not survive, and Replay checks exported threads.
package graphtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Context returns a child context of parent in which [graph.CurrentTask] returns t. The default
// Key is "key of <node>", and the default Attempt is 1. A question that is asked in the context is
// never answered. A sleep ends immediately. A durable call is made, and its result is kept in
// memory. A note of graph.Progress is dropped.
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
	return w.Begin(&task.Attempt{
		Node: t.Node, Index: t.Index, Step: t.Step, Number: max(t.Attempt, 1), Carried: task.Carried{Asks: asks},
	})
}

// key is the key of a task.
type key string

// Key implements task.Host.
func (k key) Key(*graph.Task) string { return string(k) }

// Calls implements task.Host.
func (k key) Calls(*graph.Task, bool) *task.Calls { return new(task.Calls) }

// Asks implements task.Host.
func (k key) Asks(*graph.Task) *task.Asks { return new(task.Asks) }

// Progress implements task.Host.
func (k key) Progress(*graph.Task, string) {}

// LastProgress implements task.Host.
func (k key) LastProgress(*graph.Task) (string, bool) { return "", false }

// Run runs node once on a copy of s, in the context of a task, as a graph would. It returns the
// update, and the state after merging the update. If the node returns an error, Run returns the
// error and s. The test fails if the node modifies its copy of s, or if the update cannot be
// merged. Run does not recover a panic of node.
//
// given are the answers to questions that the node asks, and the signals that it receives. Create
// each answer by the Answer method of its Question with a zero [graph.OpenQuestion]. The first
// answer to a question is for the first call, the second for the second call. For a call with
// graph.As, set the ID of the OpenQuestion to the name. Create each signal by its With method. The
// node receives the signals of a name and a key in the given order. A question without an answer
// and a receive without a signal return graph.ErrWaiting to the node.
func Run[S, U any](tb testing.TB, schema *state.Schema[S, U], node func(context.Context, S) (U, error), s S, given ...Given) (U, S, error) {
	tb.Helper()
	return run(tb, schema, node, s, given)
}

// RunTask is Run for the function of a task node, which gets in, the payload of a send. in is
// encoded and decoded before, as on a thread. The test fails if that is not possible.
func RunTask[S, U, In any, P wire.Generated[In]](
	tb testing.TB, schema *state.Schema[S, U], node func(context.Context, S, In) (U, error), s S, in In, given ...Given,
) (U, S, error) {
	tb.Helper()
	b, err := P(&in).AppendWire(nil)
	var sent In
	if err == nil {
		err = P(&sent).DecodeWire(b)
	}
	if err != nil {
		tb.Fatalf("graphtest: payload: %v", err)
	}
	return run(tb, schema, func(ctx context.Context, s S) (U, error) { return node(ctx, s, sent) }, s, given)
}

// run runs a node once.
func run[S, U any](tb testing.TB, schema *state.Schema[S, U], node func(context.Context, S) (U, error), s S, given []Given) (U, S, error) {
	tb.Helper()
	view := schema.Clone(s)
	t := graph.Task{Graph: "graphtest", Node: tb.Name()}
	answers, signals := sorted(given)
	asks := &task.Asks{Answers: places(tb, answers), Take: inbox(tb, signals)}
	u, err := node(asking(tb.Context(), t, asks), view)
	if fields := state.FieldNames(schema.Diff(s, view)); len(fields) > 0 {
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

// Given is an answer or a signal for Run: a [graph.AnswerOption] or a [graph.SentSignal].
type Given interface {
	Encoded() (id, name string, payload []byte, err error)
}

// sorted returns the answers and the signals among given.
func sorted(given []Given) (answers []Given, signals []graph.SentSignal) {
	for _, g := range given {
		if s, ok := g.(graph.SentSignal); ok {
			signals = append(signals, s)
			continue
		}
		answers = append(answers, g)
	}
	return answers, signals
}

// inbox returns the function by which the node receives signals, each once.
func inbox(tb testing.TB, signals []graph.SentSignal) func(task.Awaited) ([]byte, error) {
	tb.Helper()
	var messages []checkpoint.Message
	for i, s := range signals {
		key, name, payload, err := s.Encoded()
		if err != nil {
			tb.Fatalf("graphtest: %v", err)
		}
		messages = append(messages, checkpoint.Message{Number: uint64(i + 1), ID: fmt.Sprint(i + 1), Name: name, Key: key, Payload: payload})
	}
	var mu sync.Mutex
	return func(w task.Awaited) ([]byte, error) {
		mu.Lock()
		defer mu.Unlock()
		i := slices.IndexFunc(messages, func(m checkpoint.Message) bool { return m.Name == w.Signal && m.Key == w.Key })
		if i < 0 {
			return nil, nil
		}
		m := messages[i]
		messages = slices.Delete(messages, i, i+1)
		return journal.AppendSignal(nil, &m), nil
	}
}

// places maps each call of a question to its answer.
func places(tb testing.TB, answers []Given) map[string][]byte {
	tb.Helper()
	byPlace := make(map[string][]byte)
	calls := make(map[string]int)
	for _, a := range answers {
		as, question, payload, err := a.Encoded()
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
