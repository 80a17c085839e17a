package graph_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// The nodes here take the time of a synctest bubble: what a question takes, and what its slow
// sibling does.
const (
	asksAfter = 12 * time.Millisecond
	slowTakes = 4 * time.Second
)

// TestASnapshotHasItsQuestionsInTaskOrder has tasks whose questions are stored in another order.
func TestASnapshotHasItsQuestionsInTaskOrder(t *testing.T) {
	for depth := range 2 {
		synctest.Test(t, func(t *testing.T) {
			b, want := newWork(), []graph.ID{"one", "two", "three"}
			for i, id := range want {
				b.Node(id, func(ctx context.Context, _ work) (update, error) {
					time.Sleep(time.Duration(len(want)-i) * time.Second)
					_, err := refund.Ask(ctx, doc{Name: string(id)})
					return update{}, err
				}, refund)
				b.Edge(graph.Start, id)
				b.Edge(id, graph.End)
			}
			for range depth {
				b = only(compile(t, b, graph.SubgraphOnly()))
			}
			th := compile(t, b, graph.Saver(memory.New())).Thread("t")
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
			for what, all := range map[string][]graph.OpenQuestion{"result": res.Questions, "snapshot": snapshot(t, th).Questions} {
				var got []graph.ID
				for _, q := range all {
					got = append(got, q.Node)
				}
				same(t, "questions of the "+what, got, want)
			}
		})
	}
}

// slowly is a graph of two concurrent nodes: one asks soon, the other is slow.
func slowly() *graph.Builder[work, update] {
	b := newWork()
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		time.Sleep(asksAfter)
		ok, err := refund.Ask(ctx, doc{Name: "shoes"})
		return logged(fmt.Sprint("answer ", ok)), err
	}, refund)
	b.Node("slow", func(context.Context, work) (update, error) {
		time.Sleep(slowTakes)
		return logged("slow"), nil
	})
	for _, id := range []graph.ID{"ask", "slow"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	return b
}

// slowlyWithin has that graph as a subgraph, which runs concurrently with another slow node.
func slowlyWithin(tb testing.TB) *graph.Builder[work, update] {
	tb.Helper()
	b := newWork()
	b.Subgraph("sub", compile(tb, slowly(), graph.SubgraphOnly()))
	b.Node("slower", func(context.Context, work) (update, error) {
		time.Sleep(2 * slowTakes)
		return logged("slower"), nil
	})
	for _, id := range []graph.ID{"sub", "slower"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	return b
}

// openIn returns what the threads of s ask, with their statuses.
func openIn(t *testing.T, s checkpoint.Saver) (asked []graph.OpenQuestion, status checkpoint.Status) {
	t.Helper()
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		ws, err := graph.OpenQuestions(th)
		if err != nil {
			t.Fatal(err)
		}
		asked, status = append(asked, ws...), th.Status
	}
	return asked, status
}

func TestAQuestionIsListedWhileItsSiblingsRun(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		if d == graph.OnExit {
			return // it stores questions when the run ends
		}
		for name, build := range map[string]func(testing.TB) *graph.Builder[work, update]{
			"in the graph":  func(testing.TB) *graph.Builder[work, update] { return slowly() },
			"in a subgraph": slowlyWithin,
		} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					th, s := newThread(t, build(t), d)
					run := background(func() (result, error) { return th.Invoke(t.Context(), input) })
					time.Sleep(asksAfter)
					synctest.Wait()
					asked, status := openIn(t, s)
					if len(asked) != 1 || asked[0].Question != "refund" {
						t.Fatalf("while a sibling runs: got %+v, want the question", asked)
					}
					same(t, "status", status, checkpoint.Running)
					snap, err := th.State(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					same(t, "seen from outside", snap.Questions, asked)

					o := <-run
					res := done(t, graph.Waiting)(o.res, o.err)
					same(t, "the run's", res.Questions, asked)
					after, status := openIn(t, s)
					same(t, "after the run", after, asked)
					same(t, "status", status, checkpoint.Waiting)
					res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(asked[0], true)))
					same(t, "log", res.State.Log[:2], []string{"answer true", "slow"})
				})
			})
		}
	})
}

func TestAStreamYieldsAQuestionOnceWhenItIsAsked(t *testing.T) {
	at := map[graph.Durability]time.Duration{graph.Sync: asksAfter, graph.Async: asksAfter, graph.OnExit: 2 * slowTakes}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			th, _ := newThread(t, slowlyWithin(t), d)
			start := time.Now()
			var got []string
			for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventQuestion)) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind == graph.EventQuestion {
					got = append(got, fmt.Sprint(time.Since(start), " step ", e.Step, " ", e.Path, e.Node, " in ", e.Question.Path))
				}
			}
			same(t, "questions", got, []string{fmt.Sprint(at[d], " step 2 []ask in [sub]")})
		})
	})
}

func TestAConsumerThatLeavesAtAQuestionCancelsTheSiblings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := slowly()
		var cancelled atomic.Bool
		b.Node("deaf", func(ctx context.Context, _ work) (update, error) {
			<-ctx.Done()
			cancelled.Store(true)
			return update{}, ctx.Err()
		})
		b.Edge(graph.Start, "deaf")
		b.Edge("deaf", graph.End)
		th, s := newThread(t, b)
		for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventQuestion)) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == graph.EventQuestion {
				break
			}
		}
		if !cancelled.Load() {
			t.Error("the sibling was not cancelled")
		}
		asked, status := openIn(t, s)
		same(t, "questions", len(asked), 1)
		same(t, "status", status, checkpoint.Ready)
	})
}

func TestAQuestionThatLosesARaceIsWithdrawn(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		if d == graph.OnExit {
			return // it stores questions when the run ends
		}
		synctest.Test(t, func(t *testing.T) {
			b := newWork()
			b.Node("ask", func(ctx context.Context, _ work) (update, error) {
				_, err := refund.Ask(ctx, doc{Name: "shoes"})
				return update{}, err
			}, refund)
			b.Node("slow", func(context.Context, work) (update, error) {
				time.Sleep(slowTakes)
				return logged("slow"), nil
			})
			b.Node("after", say("after"))
			b.Edge(graph.Start, "ask")
			b.Edge(graph.Start, "slow")
			b.JoinAny([]graph.ID{"ask", "slow"}, "after")
			b.Edge("after", graph.End)
			th, s := newThread(t, b, d)
			run := background(func() (result, error) { return th.Invoke(t.Context(), input) })
			synctest.Wait()
			asked, _ := openIn(t, s)
			same(t, "questions while the other runs", len(asked), 1)
			o := <-run
			res := done(t, graph.Done)(o.res, o.err)
			same(t, "log", res.State.Log, []string{"slow", "after"})
			asked, _ = openIn(t, s)
			same(t, "questions of the thread that is done", len(asked), 0)
		})
	})
}

func TestWhatAQuestionCosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := func(b *graph.Builder[work, update]) (appends, puts int32) {
			s := &counting{Saver: memory.New()}
			done(t, graph.Waiting)(compile(t, b, graph.Saver(s), graph.Lease(time.Hour)).Thread("t").Invoke(t.Context(), input))
			return s.appends.Load(), s.puts.Load()
		}
		appends, puts := calls(twice(new(counter)))
		same(t, "a task alone: the opening, and the end", []int32{appends, puts}, []int32{1, 1})
		appends, puts = calls(slowly())
		same(t, "with a sibling: the question, too", []int32{appends, puts}, []int32{1, 2})
	})
}
