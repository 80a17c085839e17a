package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// raceOf is a race of a graph as the node "slow" with the given node "fast". "won" follows the
// result of the faster one.
func raceOf(slow *app, fast func(context.Context, work) (update, error), opts ...graph.NodeOption) *graph.Builder[work, update] {
	b := newWork()
	b.Subgraph("slow", slow, opts...)
	b.Node("fast", fast)
	b.Node("won", say("won"))
	b.Edge(graph.Start, "slow")
	b.Edge(graph.Start, "fast")
	b.JoinAny([]graph.ID{"slow", "fast"}, "won")
	b.Edge("won", graph.End)
	return b
}

// asksOne is a graph that asks.
func asksOne() *graph.Builder[work, update] {
	b := newWork()
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		_, err := amount.Ask(ctx, "how much?")
		return logged("answered"), err
	}, amount)
	return line(b, "ask")
}

// TestNothingIsLeftOfARaceInASubgraph: what asked and stopped there and lost is withdrawn, also
// where the subgraph has nothing else to store.
func TestNothingIsLeftOfARaceInASubgraph(t *testing.T) {
	slows := map[string]*app{
		"asks":  compile(t, asksOne(), graph.SubgraphOnly()),
		"stops": compile(t, stopping(), graph.SubgraphOnly(), graph.InterruptBefore("b")),
	}
	eachDepth(t, func(t *testing.T, where string, depth int, own bool, d graph.Durability) {
		for what, slow := range slows {
			for _, then := range []graph.ID{"", "then"} { // the race is in the last superstep of its graph, or not
				b := raceOf(slow, say("fast"))
				if then != "" {
					b.Node(then, say(string(then)))
					b.Edge("won", then)
					b.Edge(then, graph.End)
				}
				b, opts := inside(t, b, depth, own, graph.Concurrency(1))
				if depth > 0 {
					opts = append(opts, graph.Concurrency(1))
				}
				th, s := newThread(t, b, append(opts, d)...)
				res := done(t, graph.Done)(th.Invoke(t.Context(), input))
				what := fmt.Sprint(where, ", ", what, ", then ", then)
				same(t, what, strings.Join(res.State.Log, " "), strings.TrimSpace("fast won "+string(then)))
				same(t, what+": what is open", len(threadOf(t, s).Questions), 0)
			}
		}
	})
}

// TestNothingIsLeftOfARaceInASubgraphWhoseResultIsStored: another node of the superstep fails, so
// that the result of the subgraph is stored before the superstep commits.
func TestNothingIsLeftOfARaceInASubgraphWhoseResultIsStored(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		broken := true
		b := newWork()
		b.Subgraph("race", compile(t, raceOf(compile(t, asksOne(), graph.SubgraphOnly()), say("fast")), graph.SubgraphOnly(), graph.Concurrency(1)))
		b.Node("breaks", func(context.Context, work) (update, error) {
			if broken {
				return update{}, errBroken
			}
			return logged("mended"), nil
		})
		for _, id := range []graph.ID{"race", "breaks"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		th, s := newThread(t, b, d, graph.Concurrency(1))
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("got %v", err)
		}
		broken = false
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"fast", "won", "mended"})
		same(t, "what is open", len(threadOf(t, s).Questions), 0)
	})
}

// loading calls before with how many Loads of the log of a subgraph call there have been.
type loading struct {
	checkpoint.Saver
	n      map[string]int
	before func(namespace string, n int)
}

func (l *loading) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if p.Namespace != "" {
		l.n[p.Namespace]++
		l.before(p.Namespace, l.n[p.Namespace])
	}
	return l.Saver.Load(ctx, p)
}

// TestTheQuestionOfASubgraphAttemptThatFailedIsWithdrawn: the subgraph loses the race in its
// second attempt, before it reaches the node that asks.
func TestTheQuestionOfASubgraphAttemptThatFailedIsWithdrawn(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			b := newWork()
			b.Subgraph("asks", compile(t, asksOne(), graph.SubgraphOnly()))
			b.Node("breaks", func(context.Context, work) (update, error) { return update{}, errBroken })
			for _, id := range []graph.ID{"asks", "breaks"} {
				b.Edge(graph.Start, id)
				b.Edge(id, graph.End)
			}
			won := make(chan struct{})
			race := raceOf(compile(t, b, graph.SubgraphOnly(), graph.Concurrency(1)), func(context.Context, work) (update, error) {
				<-won
				return logged("fast"), nil
			}, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
			s := &loading{Saver: memory.New(), n: map[string]int{}}
			s.before = func(namespace string, n int) {
				if n == 1 && !strings.Contains(namespace, "/") {
					close(won)
					synctest.Wait() // until the race is decided
				}
			}
			th := compile(t, race, graph.Saver(s), d, graph.Concurrency(2)).Thread("t")
			res := done(t, graph.Done)(th.Invoke(t.Context(), input))
			same(t, "log", res.State.Log, []string{"fast", "won"})
			same(t, "what is open", len(threadOf(t, s).Questions), 0)
		})
	})
}

// TestRerunOfASubgraphThatHasStopped: the stop is both passed and withdrawn, and then set again.
func TestRerunOfASubgraphThatHasStopped(t *testing.T) {
	eachDepth(t, func(t *testing.T, what string, depth int, own bool, d graph.Durability) {
		for name, opts := range stops {
			if depth == 0 {
				return
			}
			b, opts := inside(t, stopping(), depth, own, opts...)
			th, s := newThread(t, b, append(opts, d)...)
			done(t, graph.Paused)(th.Invoke(t.Context(), input))
			done(t, graph.Paused)(th.Resume(t.Context(), graph.Rerun("sub")))
			what = fmt.Sprint(what, ", ", name)
			same(t, what+": what is open", len(threadOf(t, s).Questions), 1)
			res := done(t, graph.Done)(th.Resume(t.Context()))
			same(t, what, res.State.Log, []string{"a", "b", "c"})
			same(t, what+": what is open", len(threadOf(t, s).Questions), 0)
		}
	})
}

// TestAStopOfASubgraphIsNoQuestion: nobody sees it as one, and nobody can answer it as one.
func TestAStopOfASubgraphIsNoQuestion(t *testing.T) {
	b, _ := inside(t, stopping(), 2, false, graph.InterruptBefore("b"))
	th, s := newThread(t, b)
	res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
	same(t, "waits for", len(res.Questions), 0)
	thread := threadOf(t, s)
	same(t, "status", thread.Status, checkpoint.Paused)
	for _, q := range thread.Questions {
		_, err := th.Resume(t.Context(), graph.AnswerBytes(q.Task+"/"+q.Name, []byte{0xc0}))
		if !errors.Is(err, graph.ErrNotAsked) {
			t.Errorf("answer to the stop: got %v, want ErrNotAsked", err)
		}
	}
	ws, err := graph.OpenQuestions(thread)
	if err != nil || len(ws) > 0 {
		t.Errorf("questions: got %v, %v; want none", ws, err)
	}
	snap, err := th.State(t.Context())
	if err != nil || len(snap.Questions) > 0 {
		t.Errorf("the snapshot waits for %v, %v; want nothing", snap.Questions, err)
	}
	same(t, "stops", len(thread.Questions), 1)
}
