package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// customers sends a doc to a task node for each customer. The node names the customer as its
// summary. For bob it asks, and for eve it fails while broken is set.
func customers(tb testing.TB, broken *atomic.Bool, opts ...graph.Option) *app {
	tb.Helper()
	b := newWork()
	charge := graph.TaskNode(b, "charge", func(ctx context.Context, _ work, d doc) (update, error) {
		graph.Summary(ctx, "customer "+d.Name)
		switch {
		case d.Name == "bob":
			if _, err := refund.Ask(ctx, d); err != nil {
				return update{}, err
			}
		case d.Name == "eve" && broken.Load():
			return update{}, errBroken
		}
		return logged(d.Name), nil
	}, refund)
	b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
		var next graph.Next
		for _, name := range []string{"ada", "bob", "eve"} {
			next.Add(charge.Send(doc{Name: name}))
		}
		return next, nil
	}, "charge")
	b.Edge("charge", graph.End)
	return compile(tb, b, append(opts, graph.Concurrency(1))...)
}

func TestASummaryNamesTheTasksThatWaitAndFail(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var broken atomic.Bool
		broken.Store(true)
		s := memory.New()
		_, err := customers(t, &broken, graph.Saver(s), d).Thread("t").Invoke(t.Context(), input)
		var node *graph.NodeError
		if !errors.As(err, &node) || node.Summary != "customer eve" || !strings.Contains(err.Error(), `node "charge" (send 2) "customer eve": it broke`) {
			t.Errorf("got %v, want a *NodeError with the summary", err)
		}

		g := customers(t, &broken, graph.Saver(s), d) // as in another process
		snap, err := g.Thread("t").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "tasks", timeless(t, snap.Tasks), []graph.TaskState{
			{Node: "charge", Finished: true},
			{Node: "charge", Index: 1, Summary: "customer bob"},
			{Node: "charge", Index: 2, Failure: "it broke", Attempt: 1, Summary: "customer eve"},
		})
		same(t, "summary of the question", snap.Questions[0].Summary, "customer bob")
		if !strings.Contains(snap.Reason, "customer eve") {
			t.Errorf("the reason is %q, want the summary in it", snap.Reason)
		}
		for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			listed, err := graph.OpenQuestions(th)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "listed question", listed, snap.Questions)
		}

		broken.Store(false)
		res := done(t, graph.Waiting)(g.Thread("t").Resume(t.Context()))
		same(t, "question of the resume", res.Questions, snap.Questions)
		res = done(t, graph.Done)(g.Thread("t").Resume(t.Context(), refund.Answer(res.Questions[0], true)))
		same(t, "log", res.State.Log, []string{"ada", "bob", "eve"})
	})
}

func TestEventsShowTheSummaryOfTheirTask(t *testing.T) {
	var n labels
	b := newWork()
	attempt := 0
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		graph.Emit(ctx, "before")
		if attempt++; attempt == 1 {
			graph.Summary(ctx, "first")
			return update{}, errBroken
		}
		if attempt == 2 {
			graph.Emit(ctx, "still that of the first attempt")
			graph.Summary(ctx, "second")
			graph.Emit(ctx, "after")
		}
		_, err := amount.Ask(ctx, "how much?")
		return logged("a"), err
	}, amount, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
	b.Chain(graph.Start, "a", graph.End)
	th, _ := newThread(t, b, graph.Observe(&n))
	var got []string
	var asked graph.OpenQuestion
	note := func(e graph.Event[work, update], err error) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Node != "" {
			got = append(got, fmt.Sprintf("%v %d: %s", e.Kind, e.Attempt, e.Summary))
		}
		if e.Kind == graph.EventQuestion {
			asked = e.Question
		}
	}
	for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventAll)) {
		note(e, err)
	}
	same(t, "events", got, []string{
		"task started 1: ", "custom 1: ", "task ended 1: first", "task retry 1: first",
		"task started 2: first", "custom 2: first", "custom 2: first", "custom 2: second", "task ended 2: second", "question 0: second",
	})
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for what, q := range map[string]graph.OpenQuestion{"event": asked, "snapshot": snap.Questions[0]} {
		if v, err := amount.Decode(q); err != nil || v == "" {
			t.Errorf("the question of the %s is %q, %v", what, v, err)
		}
	}
	got = nil
	for e, err := range th.ResumeStream(t.Context(), graph.Events(graph.EventAll), amount.Answer(asked, 7)) {
		note(e, err)
	}
	same(t, "events of the resume", got, []string{
		"task started 1: second", "custom 1: second", "task ended 1: second", "task update 1: second", "update 0: second",
	})
	same(t, "observed", n.lines, []string{
		"task started 1: ", "task ended 1: first", "task retry 1: first", "task started 2: first", "task ended 2: second",
		"task started 1: second", "task ended 1: second",
	})
}

// labels is an Observer that writes down the summaries of tasks.
type labels struct {
	mu    sync.Mutex
	lines []string
}

func (l *labels) Observe(_ context.Context, o graph.RunEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.Node != "" {
		l.lines = append(l.lines, fmt.Sprintf("%v %d: %s", o.Kind, o.Attempt, o.Summary))
	}
}

func TestAStuckTaskHasItsSummary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n labels
		b := newWork()
		b.Node("deaf", func(ctx context.Context, _ work) (update, error) {
			graph.Summary(ctx, "customer 42")
			time.Sleep(time.Minute)
			return update{}, nil
		}, graph.Timeout(time.Second))
		b.Chain(graph.Start, "deaf", graph.End)
		done(t, graph.Done)(compile(t, b, graph.Observe(&n)).Run(t.Context(), input))
		if !slices.Contains(n.lines, "task stuck 1: customer 42") {
			t.Errorf("got %q, want a stuck task with its summary", n.lines)
		}
	})
}

func TestASummaryCanChangeWhileATaskWaits(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		runs := 0
		b := newWork()
		b.Node("a", func(ctx context.Context, _ work) (update, error) {
			runs++
			n, err := amount.Ask(ctx, "how much?")
			graph.Summary(ctx, fmt.Sprint("run ", runs)) // after the question
			if err == nil {
				_, err = amount.Ask(ctx, "how much more?", graph.As("more"))
			}
			return logged(fmt.Sprint(n)), err
		}, amount)
		b.Chain(graph.Start, "a", graph.End)
		th, _ := newThread(t, b, d)
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		same(t, "first summary", res.Questions[0].Summary, "run 1")
		res = done(t, graph.Waiting)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 7)))
		same(t, "second summary", res.Questions[0].Summary, "run 2")
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "summary of the task", snap.Tasks[0].Summary, "run 2")
		res = done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 8)))
		same(t, "log", res.State.Log, []string{"7"})
	})
}

func TestASummaryInASubgraph(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		inner := newWork()
		inner.Node("ask", func(ctx context.Context, _ work) (update, error) {
			graph.Summary(ctx, "inner")
			_, err := amount.Ask(ctx, "how much?")
			return update{}, err
		}, amount)
		inner.Chain(graph.Start, "ask", graph.End)
		child := nested(t, inner)
		b := newWork()
		b.Subgraph("sub", child)
		b.Chain(graph.Start, "sub", graph.End)
		th, _ := newThread(t, b, d)
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		same(t, "summary of the question", res.Questions[0].Summary, "inner")
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "stored questions", snap.Questions, res.Questions)
		same(t, "summary of the call", snap.Tasks[0].Summary, "")
		in, err := graph.Inside(th, snap.Calls[0], child).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "summary of the task in the call", in.Tasks[0].Summary, "inner")
		done(t, graph.Done)(th.Resume(t.Context(), amount.Answer(res.Questions[0], 1)))
	})
}

func TestASummaryIsCutBetweenTwoCharacters(t *testing.T) {
	for text, want := range map[string]int{
		strings.Repeat("x", 200): 200, strings.Repeat("x", 201): 200, "x" + strings.Repeat("é", 200): 199, "": 0,
	} {
		b := newWork()
		b.Node("a", func(ctx context.Context, _ work) (update, error) {
			graph.Summary(ctx, "another")
			graph.Summary(ctx, text)
			return update{}, errBroken
		})
		b.Chain(graph.Start, "a", graph.End)
		_, err := compile(t, b).Run(t.Context(), input)
		var node *graph.NodeError
		if !errors.As(err, &node) || len(node.Summary) != want || !strings.HasPrefix(text, node.Summary) || !utf8.ValidString(node.Summary) {
			t.Errorf("of %.20q...: got %v, want its first %d bytes", text, err, want)
		}
	}
}

// TestSummaryOutsideOfATask: it does nothing in a route, after the node has returned, and under
// any other context.
func TestSummaryOutsideOfATask(t *testing.T) {
	graph.Summary(t.Context(), "nobody")
	var left sync.WaitGroup
	returned := make(chan struct{})
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		left.Go(func() {
			<-returned
			graph.Summary(ctx, "left behind")
			graph.Emit(ctx, "left behind")
		})
		return logged("a"), nil
	})
	b.Node("b", func(context.Context, work) (update, error) {
		close(returned)
		left.Wait()
		return update{}, errBroken
	})
	b.Edge(graph.Start, "a")
	b.Route("a", func(ctx context.Context, _ work) (graph.Next, error) {
		graph.Summary(ctx, "route")
		return graph.To("b"), nil
	}, "b")
	b.Edge("b", graph.End)
	_, err := compile(t, b).Run(t.Context(), input)
	var node *graph.NodeError
	if !errors.As(err, &node) || node.Summary != "" {
		t.Errorf("got %v, want an error without a summary", err)
	}
}

func TestTheErrorsOfAMergeHaveTheSummariesOfTheTasks(t *testing.T) {
	for name, test := range map[string]struct {
		change func(u *update)
		want   string
	}{
		"conflict": {func(u *update) { u.Status.Set("x") }, `nodes "charge" (send 0) "customer ada" and "charge" (send 1) "customer bob" both set Status`},
		"overflow": {func(u *update) { u.Count.Add(math.MaxInt) }, `an addition to Count by node "charge" (send 0) "customer ada" and node "charge" (send 1) "customer bob"`},
	} {
		b := newWork()
		charge := graph.TaskNode(b, "charge", func(ctx context.Context, _ work, d doc) (u update, _ error) {
			graph.Summary(ctx, "customer "+d.Name)
			test.change(&u)
			return u, nil
		})
		b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
			next := charge.Send(doc{Name: "ada"})
			next.Add(charge.Send(doc{Name: "bob"}))
			return next, nil
		}, "charge")
		b.Edge("charge", graph.End)
		th, _ := newThread(t, b)
		if _, err := th.Invoke(t.Context(), update{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}
