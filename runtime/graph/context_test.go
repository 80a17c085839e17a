package graph_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// left are the contexts of attempts that have returned.
type left struct {
	mu       sync.Mutex
	contexts []context.Context
}

// keep keeps a context that the goroutine of a node that returns may still have.
//
//graphvet:ignore graphkeep the tests use contexts after their nodes
func (l *left) keep(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.contexts = append(l.contexts, ctx)
}

// check reports what the contexts of attempts that have returned can still do.
func (l *left) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, ctx := range l.contexts {
		if got := graph.CurrentTask(ctx); got != (graph.Task{}) {
			return fmt.Errorf("context %d, whose attempt has returned: got the task %+v, want none", i, got)
		}
		if _, err := refund.Ask(ctx, doc{Name: "left behind"}); !errors.Is(err, graph.ErrNotAskable) {
			return fmt.Errorf("context %d: a question: got %v, want ErrNotAskable", i, err)
		}
		graph.Emit(ctx, "left behind")
		select {
		case <-ctx.Done():
		default:
			return fmt.Errorf("context %d: Done is open, want it closed", i)
		}
		if err := ctx.Err(); !errors.Is(err, context.Canceled) {
			return fmt.Errorf("context %d: got %v, want context.Canceled", i, err)
		}
	}
	return nil
}

// sendAll is a route that sends as many times to a node.
func sendAll(to graph.Sender[doc], times int) func(context.Context, work) (graph.Next, error) {
	return func(context.Context, work) (graph.Next, error) {
		var next graph.Next
		for i := range times {
			next.Add(to.Send(doc{Pages: []int{i}}))
		}
		return next, nil
	}
}

func TestAContextBelongsToOneAttempt(t *testing.T) {
	var l left
	b := newWork()
	each := graph.TaskNode(b, "each", func(ctx context.Context, _ work, d doc) (update, error) {
		if err := l.check(); err != nil {
			return update{}, err
		}
		defer l.keep(ctx)
		task := graph.CurrentTask(ctx)
		if task.Node != "each" || task.Index != d.Pages[0] || ctx.Err() != nil {
			return update{}, fmt.Errorf("got the task %+v and %v, want send %d", task, ctx.Err(), d.Pages[0])
		}
		if d.Pages[0]%2 == 0 && ctx.Done() == nil { // every other context is waited on
			return update{}, errors.New("its own context has no Done")
		}
		if task.Attempt == 1 {
			return update{}, errBroken
		}
		return update{}, nil
	}, refund, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1, If: func(err error) bool { return errors.Is(err, errBroken) }}))
	b.Route(graph.Start, sendAll(each, 100), "each")
	b.Edge("each", graph.End)
	th, _ := newThread(t, b, graph.Concurrency(1)) // what ran before has returned
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "contexts", len(l.contexts), 200)
}

func TestAContextOfATaskThatRanAtOnceWithOthers(t *testing.T) {
	var l left
	b := newWork()
	first := graph.TaskNode(b, "first", func(ctx context.Context, _ work, _ doc) (update, error) {
		derived, cancel := context.WithCancel(ctx)
		t.Cleanup(cancel)
		l.keep(ctx)
		l.keep(derived)
		return update{}, nil
	}, refund)
	second := graph.TaskNode(b, "second", func(context.Context, work, doc) (update, error) { return update{}, l.check() }, refund)
	b.Route(graph.Start, sendAll(first, 100), "first")
	b.Route("first", sendAll(second, 100), "second")
	b.Edge("second", graph.End)
	th, _ := newThread(t, b, graph.Concurrency(8))
	done(t, graph.Done)(th.Invoke(t.Context(), input))
}

func TestAGoroutineLeftBehindIsNotTheNextTask(t *testing.T) {
	var l left
	b := newWork()
	from := graph.Start
	for _, id := range []graph.ID{"a", "b", "c"} {
		b.Node(id, func(ctx context.Context, _ work) (update, error) {
			err := l.check()
			l.keep(ctx)
			return logged(string(id)), err
		}, refund)
		b.Edge(from, id)
		from = id
	}
	b.Edge(from, graph.End)
	th, _ := newThread(t, b)
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "log", res.State.Log, []string{"a", "b", "c"})
	if err := l.check(); err != nil {
		t.Error(err)
	}
}
