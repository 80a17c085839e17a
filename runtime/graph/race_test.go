package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// racing is an any-of join of runners, alongside another node. Each runner runs as run says.
func racing(run func(ctx context.Context, name string) (update, error), names ...graph.ID) *graph.Builder[work, update] {
	b := newWork()
	for _, id := range names {
		b.Node(id, func(ctx context.Context, _ work) (update, error) { return run(ctx, string(id)) })
		b.Edge(graph.Start, id)
	}
	b.Node("sibling", say("sibling"))
	b.Edge(graph.Start, "sibling")
	b.Edge("sibling", graph.End)
	b.JoinAny(names, "after")
	b.Node("after", say("after"))
	b.Edge("after", graph.End)
	return b
}

// onlyThird is a run in which the third runner returns once the two others have begun, which wait
// for the end.
func onlyThird(returned *atomic.Int32) func(ctx context.Context, name string) (update, error) {
	begun := make(chan struct{}, 100)
	return func(ctx context.Context, name string) (update, error) {
		if name == "c" {
			for range 2 {
				select {
				case <-begun:
				case <-ctx.Done():
					return update{}, ctx.Err()
				}
			}
			return logged(name), nil
		}
		begun <- struct{}{}
		<-ctx.Done()
		returned.Add(1)
		return logged(name), ctx.Err()
	}
}

func TestTheFirstOfAnAnyOfJoinCounts(t *testing.T) {
	var returned atomic.Int32
	b := racing(onlyThird(&returned), "a", "b", "c")
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"c", "sibling", "after"})
	same(t, "waited for", returned.Load(), int32(2))
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, b, d)
		res := done(t, graph.Done)(th.Invoke(t.Context(), input))
		same(t, "log", res.State.Log, []string{"c", "sibling", "after"})
		var updates []string
		for e, err := range th.Stream(t.Context(), input) {
			if err != nil {
				t.Fatal(err)
			}
			updates = append(updates, string(e.Node))
		}
		same(t, "updates", updates, []string{"c", "sibling", "after", ""})
	})
}

func TestAFailureInAnAnyOfJoinCountsWhenNobodySucceeds(t *testing.T) {
	run := func(fails string) func(context.Context, string) (update, error) {
		return func(_ context.Context, name string) (update, error) {
			if strings.Contains(fails, name) {
				return update{}, fmt.Errorf("%s: %w", name, errBroken)
			}
			return logged(name), nil
		}
	}
	res := done(t, graph.Done)(compile(t, racing(run("ac"), "a", "b", "c"), graph.Concurrency(1)).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"b", "sibling", "after"})
	_, err := compile(t, racing(run("abc"), "a", "b", "c"), graph.Concurrency(1)).Run(t.Context(), input)
	if !errors.Is(err, errBroken) || strings.Count(err.Error(), "it broke") != 3 {
		t.Errorf("got %v, want three failures", err)
	}
}

func TestTheWinnerOfAnAnyOfJoinStandsAfterAFailure(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var broken atomic.Bool
		var returned atomic.Int32
		broken.Store(true)
		b := racing(onlyThird(&returned), "a", "b", "c")
		b.Node("bad", func(context.Context, work) (update, error) {
			if broken.Load() {
				return update{}, errBroken
			}
			return logged("bad"), nil
		})
		b.Edge(graph.Start, "bad")
		b.Edge("bad", graph.End)
		b.Join([]graph.ID{"a", "sibling"}, "after")
		th, s := newThread(t, b, d)
		if _, err := th.Invoke(t.Context(), input); err == nil {
			t.Fatal("got no error")
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var winners int
		for _, task := range snap.Tasks {
			if task.Finished && strings.Contains("abc", string(task.Node)) {
				winners++
			}
		}
		if winners > 1 {
			t.Errorf("%d results of one race are stored", winners)
		}
		broken.Store(false)
		// Now a would win, if c had not.
		again := racing(func(ctx context.Context, name string) (update, error) {
			if name != "a" && winners == 0 {
				<-ctx.Done()
			}
			return logged(name), ctx.Err()
		}, "a", "b", "c")
		again.Node("bad", say("bad"))
		again.Edge(graph.Start, "bad")
		again.Edge("bad", graph.End)
		again.Join([]graph.ID{"a", "sibling"}, "after")
		res := done(t, graph.Done)(compile(t, again, graph.Saver(s), d).Thread("t").Resume(t.Context()))
		want := map[int]string{1: "c sibling bad after", 0: "a sibling bad after"}[winners]
		same(t, "log", strings.Join(res.State.Log, " "), want)
	})
}

func TestARaceIsDecidedOnceWhateverCrashes(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for left, more := 1, true; more; left++ {
			more = false
			for _, after := range []bool{false, true} {
				what := fmt.Sprintf("crash at call %d, after it was made %t", left, after)
				s := memory.New()
				first := racing(onlyThird(new(atomic.Int32)), "a", "b", "c")
				_, err := compile(t, first, graph.Saver(&crashing{Saver: s, left: left, after: after}), d).Thread("t").Invoke(t.Context(), input)
				if err == nil {
					continue
				}
				more = true
				chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
				if err != nil {
					t.Fatal(err)
				}
				stored := map[string]bool{}
				for _, w := range chain.Writes {
					stored[w.Task] = w.Kind == checkpoint.Result
				}
				th := compile(t, racing(onlyThird(new(atomic.Int32)), "a", "b", "c"), graph.Saver(s), d).Thread("t")
				res, err := th.Resume(t.Context(), graph.TakeOver())
				if errors.Is(err, checkpoint.ErrNotFound) {
					res, err = th.Invoke(t.Context(), input)
				}
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				same(t, what, res.State.Log, []string{"c", "sibling", "after"})
			}
		}
	})
}

func TestTheFirstSendOfAnAnyOfJoinCounts(t *testing.T) {
	b := newWork()
	try := graph.TaskNode(b, "try", func(ctx context.Context, _ work, d doc) (update, error) {
		if d.Name != "fast" {
			<-ctx.Done()
			return update{}, ctx.Err()
		}
		return logged(d.Name), nil
	})
	b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
		next := try.Send(doc{Name: "slow"})
		next.Add(try.Send(doc{Name: "fast"}))
		next.Add(try.Send(doc{Name: "slower"}))
		return next, nil
	}, "try")
	b.JoinAny([]graph.ID{"try"}, "after")
	b.Node("after", say("after"))
	b.Edge("after", graph.End)
	th, _ := newThread(t, b, graph.Strict())
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "log", res.State.Log, []string{"fast", "after"})
}

func TestAQuestionLosesARace(t *testing.T) {
	b := newWork()
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		_, err := amount.Ask(ctx, "how much?")
		return update{}, err
	}, amount)
	b.Node("guess", say("guess"))
	b.Edge(graph.Start, "ask")
	b.Edge(graph.Start, "guess")
	b.JoinAny([]graph.ID{"ask", "guess"}, "after")
	b.Node("after", say("after"))
	b.Edge("after", graph.End)
	th, s := newThread(t, b, graph.Concurrency(1))
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "log", res.State.Log, []string{"guess", "after"})
	same(t, "questions", len(waitingThreads(t, s)), 0)
}

func TestAnyOfJoinsInCompile(t *testing.T) {
	b := newWork()
	b.Node("a", idle)
	b.Node("b", idle)
	b.Edge(graph.Start, "a")
	b.Edge("b", graph.End)
	b.JoinAny(nil, "b")
	b.JoinAny([]graph.ID{"a", "a", "x", graph.Start}, "b")
	b.JoinAny([]graph.ID{"a"}, "b")
	same(t, "faults", faults(t, b), []string{
		`any-of join of [] -> b: the join has no nodes to wait for; name at least one`,
		`any-of join of [a a x Start] -> b names a twice`,
		`any-of join of [a a x Start] -> b: no node "x"`,
		`any-of join of [a a x Start] -> b: Start has always run; leave it out`,
		`any-of join of [a] -> b: a leads to another any-of join already`,
	})
}
