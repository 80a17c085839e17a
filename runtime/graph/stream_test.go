package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// events writes a stream down, one word an event.
func events(t *testing.T, seq func(func(graph.Event[work, update], error) bool)) (string, error) {
	t.Helper()
	var words []string
	var last error
	for e, err := range seq {
		switch e.Kind {
		case graph.EventUpdate:
			words = append(words, "update:"+string(e.Node))
		case graph.EventState:
			words = append(words, "value:"+strings.Join(e.State.Log, "+"))
		case graph.EventRunEnded:
			words = append(words, "end:"+e.Result.Status.String())
		default:
			t.Errorf("got an event of kind %d", e.Kind)
		}
		last = err
	}
	return strings.Join(words, " "), last
}

func TestStreamYieldsUpdatesInTaskOrder(t *testing.T) {
	th, _ := newThread(t, forkJoin())
	got, err := events(t, th.Stream(t.Context(), input))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "events", got, "update:short update:long1 update:long2 update:joined end:done")
}

func TestStreamYieldsValues(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
	got, err := events(t, th.Stream(t.Context(), logged("in"), graph.Events(graph.EventState|graph.EventUpdate)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "events", got, "value:in update:a value:in+a end:paused")
	got, err = events(t, th.ResumeStream(t.Context(), graph.Events(graph.EventState)))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "events of the resume", got, "value:in+a+b end:done")
}

func TestValuesOfAStreamStayAsTheyWere(t *testing.T) {
	th, _ := newThread(t, chain("a", "b", "c"))
	var kept []work
	for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventState)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == graph.EventState {
			kept = append(kept, e.State)
		}
	}
	var got []string
	for _, s := range kept {
		got = append(got, strings.Join(s.Log, ""))
	}
	same(t, "values", got, []string{"", "a", "ab", "abc"})
}

func TestLeavingAStreamStopsTheRunAtACheckpoint(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, s := newThread(t, chain("a", "b", "c"), d)
		for e, err := range th.Stream(t.Context(), input) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Node == "b" {
				break
			}
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "thread", snap.Status, checkpoint.Ready)
		same(t, "log", snap.State.Log, []string{"a", "b"})
		chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "holder", chain.Thread.Holder, "")
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "b", "c"})
	})
}

func TestAPanicOfTheConsumerLeavesTheThreadResumable(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		for _, err := range th.Stream(t.Context(), input) {
			panic(fmt.Sprint("the consumer broke: ", err))
		}
	}()
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "b"})
}

func TestAStreamEndsWithTheRunsError(t *testing.T) {
	var broken atomic.Bool
	broken.Store(true)
	th, _ := newThread(t, flaky(&broken, new(counter)), graph.Concurrency(1))
	got, err := events(t, th.Stream(t.Context(), input))
	if !errors.Is(err, errBroken) {
		t.Errorf("got %v, want errBroken", err)
	}
	same(t, "events", got, "end:failed")
}

func TestEachRangeIsARunOfItsOwn(t *testing.T) {
	th, _ := newThread(t, chain("a"))
	seq := th.Stream(t.Context(), input)
	for range 2 {
		if _, err := events(t, seq); err != nil {
			t.Fatal(err)
		}
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "log", snap.State.Log, []string{"a", "a"})
}

// tokens is a graph of two concurrent nodes that emit values.
func tokens(emit func(ctx context.Context, name string)) *graph.Builder[work, update] {
	b := newWork()
	for _, id := range []graph.ID{"a", "b"} {
		b.Node(id, func(ctx context.Context, _ work) (update, error) {
			emit(ctx, string(id))
			return logged(string(id)), ctx.Err()
		})
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	return b
}

func TestAStreamShowsTasksWhileTheyRun(t *testing.T) {
	b := tokens(func(ctx context.Context, name string) {
		for i := range 5 {
			graph.Emit(ctx, fmt.Sprint(name, i))
		}
	})
	th, _ := newThread(t, b)
	byNode := map[graph.ID][]string{}
	var order []string
	for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventAll)) {
		if err != nil {
			t.Fatal(err)
		}
		note := map[graph.EventKind]string{
			graph.EventRunStarted: "run started", graph.EventTaskStarted: "start", graph.EventTaskEnded: "end",
			graph.EventTaskUpdate: "not committed", graph.EventCustom: fmt.Sprint(e.Custom),
			graph.EventUpdate: "update", graph.EventState: "value", graph.EventCheckpoint: fmt.Sprint("checkpoint ", e.Next), graph.EventRunEnded: "over",
		}[e.Kind]
		if e.Node == "" {
			order = append(order, note)
		} else {
			byNode[e.Node] = append(byNode[e.Node], note)
		}
	}
	for _, id := range []graph.ID{"a", "b"} {
		n := string(id)
		same(t, n, byNode[id], []string{"start", n + "0", n + "1", n + "2", n + "3", n + "4", "end", "not committed", "update"})
	}
	same(t, "others", order, []string{"run started", "value", "checkpoint [a b]", "value", "checkpoint []", "over"})
}

func TestASlowConsumerSlowsTheRun(t *testing.T) {
	var sent atomic.Int32
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		for i := range 100 {
			graph.Emit(ctx, i)
			sent.Store(int32(i + 1))
		}
		return update{}, nil
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	th, _ := newThread(t, b)
	got := 0
	for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventCustom)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind != graph.EventCustom {
			continue
		}
		same(t, "event", e.Custom, any(got))
		if ahead := int(sent.Load()) - got; ahead > 1 {
			t.Errorf("the node is %d events ahead, want at most 1", ahead)
		}
		got++
	}
	same(t, "events", got, 100)
}

func TestLeavingAStreamWhileANodeRunsCancelsTheNode(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var ran counter
		b := newWork()
		b.Node("first", say("first"))
		b.Node("quick", func(context.Context, work) (update, error) { ran.add("quick"); return logged("quick"), nil })
		b.Node("slow", func(ctx context.Context, _ work) (update, error) {
			ran.add("slow")
			if ran.counts()["slow"] > 1 {
				return logged("slow"), nil
			}
			graph.Emit(ctx, "token")
			<-ctx.Done()
			return update{}, ctx.Err()
		})
		b.Edge(graph.Start, "first")
		b.Edge("first", "quick")
		b.Edge("first", "slow")
		b.Edge("quick", graph.End)
		b.Edge("slow", graph.End)
		th, _ := newThread(t, b, d, graph.Concurrency(1))
		for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventCustom)) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == graph.EventCustom {
				break
			}
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "thread", snap.Status, checkpoint.Ready)
		same(t, "log", snap.State.Log, []string{"first"})
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"first", "quick", "slow"})
		same(t, "runs", ran.counts(), map[string]int{"quick": 1, "slow": 2})
	})
}

func TestWhatNobodyHearsIsDropped(t *testing.T) {
	left := make(chan context.Context, 1)
	b := tokens(func(ctx context.Context, name string) {
		graph.Emit(ctx, name)
		if name == "a" {
			select {
			case left <- ctx:
			default:
			}
		}
	})
	th, _ := newThread(t, b)
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventCustom)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == graph.EventRunEnded {
			graph.Emit(<-left, "too late")
		}
	}
	graph.Emit(t.Context(), "outside")
}

func TestAStreamYieldsQuestions(t *testing.T) {
	th, _ := newThread(t, asker(new(counter)))
	kinds := graph.Events(graph.EventQuestion | graph.EventTaskEnded)
	var got []string
	for e, err := range th.Stream(t.Context(), input, kinds) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case graph.EventQuestion:
			got = append(got, "question "+e.Question.Question)
		case graph.EventTaskEnded:
			got = append(got, fmt.Sprint("end of ", e.Node, ": ", e.Outcome, e.Err))
		case graph.EventRunEnded:
			got = append(got, e.Result.Status.String())
		}
	}
	slices.Sort(got[:3]) // the question comes when the other node runs, or has run
	same(t, "events", got, []string{"end of ask: waiting <nil>", "end of sibling: done <nil>", "question refund", "waiting"})
}

func TestDrain(t *testing.T) {
	s, g := memory.New(), newGated()
	b := newWork()
	b.Node("a", g.node("a"))
	b.Node("b", say("b"))
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	app := compile(t, b, graph.Saver(s))
	first := background(func() (result, error) { return app.Thread("t").Invoke(t.Context(), input) })
	<-g.running
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := app.Drain(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 runs are still in progress") {
		t.Errorf("with a context that ends: got %v, want context.Canceled", err)
	}
	if _, err := app.Thread("u").Invoke(t.Context(), input); !errors.Is(err, graph.ErrDraining) {
		t.Errorf("a new run: got %v, want ErrDraining", err)
	}
	if _, err := app.Run(t.Context(), input); !errors.Is(err, graph.ErrDraining) {
		t.Errorf("a new run without a thread: got %v, want ErrDraining", err)
	}
	close(g.open)
	if err := app.Drain(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
	o := <-first
	res := done(t, graph.Ready)(o.res, o.err)
	same(t, "due", res.Next, []graph.ID{"b"})
	res = done(t, graph.Done)(compile(t, b, graph.Saver(s)).Thread("t").Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"a", "b"})
}
