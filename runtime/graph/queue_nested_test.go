package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// sentNode is a task node.
type sentNode = func(context.Context, work, wire.String) (update, error)

// callLog maps the log of a subgraph call to one line of its parent.
func callLog(_ context.Context, _ work, child work) (update, error) {
	return logged(strings.Join(child.Log, "+")), nil
}

func noInput(context.Context, work) (update, error) { return update{}, nil }

// nestings add a node "sub" that runs a graph with a queue, in several ways. log is what the node
// adds to the log if the graph adds "x" and "y".
var nestings = map[string]struct {
	add func(t *testing.T, b *graph.Builder[work, update], child *app)
	log []string
}{
	"a subgraph": {
		func(_ *testing.T, b *graph.Builder[work, update], child *app) { b.Subgraph("sub", child) },
		[]string{"x", "y"},
	},
	"a mapped subgraph": {
		func(_ *testing.T, b *graph.Builder[work, update], child *app) {
			graph.MapSubgraph(b, "sub", child, noInput, callLog)
		},
		[]string{"x+y"},
	},
	"a subgraph in a mapped one": {
		func(t *testing.T, b *graph.Builder[work, update], child *app) {
			t.Helper()
			middle := newWork()
			middle.Subgraph("deep", child)
			graph.MapSubgraph(b, "sub", compile(t, line(middle, "deep"), graph.SubgraphOnly()), noInput, callLog)
		},
		[]string{"x+y"},
	},
	"sends to a subgraph": {
		func(t *testing.T, b *graph.Builder[work, update], child *app) {
			t.Helper()
			middle := newWork()
			each := graph.TaskSubgraph(middle, "each", child,
				func(context.Context, work, wire.String) (update, error) { return update{}, nil },
				func(_ context.Context, _ work, in wire.String, child work) (update, error) {
					return logged(string(in) + strings.Join(child.Log, "+")), nil
				})
			middle.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
				next := each.Send("1")
				next.Add(each.Send("2"))
				return next, nil
			}, "each")
			middle.Edge("each", graph.End)
			b.Subgraph("sub", compile(t, middle, graph.SubgraphOnly()))
		},
		[]string{"1x+y", "2x+y"},
	},
}

// eachQueueNesting runs test for each nesting. build compiles Start -> sub -> after -> End, where
// the graph of sub sends "x" and "y" to a node of a queue.
func eachQueueNesting(t *testing.T, test func(
	t *testing.T, build func(s checkpoint.Saver, node sentNode, o ...graph.NodeOption) *app, log []string,
)) {
	t.Helper()
	for name, nesting := range nestings {
		t.Run(name, func(t *testing.T) {
			test(t, func(s checkpoint.Saver, node sentNode, o ...graph.NodeOption) *app {
				child := newWork()
				each := graph.TaskNode(child, "each", node, append(o, graph.Queue("gpu"))...)
				child.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
					next := each.Send("x")
					next.Add(each.Send("y"))
					return next, nil
				}, "each")
				child.Edge("each", graph.End)
				b := newWork()
				nesting.add(t, b, compile(t, child, graph.SubgraphOnly()))
				b.Node("after", say("after"))
				return compile(t, line(b, "sub", "after"), graph.Saver(s), graph.Lease(time.Hour))
			}, append(nesting.log[:len(nesting.log):len(nesting.log)], "after"))
		})
	}
}

// TestNodesOfSubgraphsHaveQueues tests rule 23.4.
func TestNodesOfSubgraphsHaveQueues(t *testing.T) {
	eachQueueNesting(t, func(t *testing.T, build func(checkpoint.Saver, sentNode, ...graph.NodeOption) *app, log []string) {
		saver := memory.New()
		node := func(_ context.Context, _ work, name wire.String) (update, error) { return logged(string(name)), nil }
		g := build(saver, node)
		same(t, "queues", g.Queues(), []string{"gpu"})
		th := g.Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		p := serving(g, saver)
		if handed := p.work(t); handed < 2 {
			t.Errorf("got %d tasks, want at least one for each send", handed)
		}
		res := done(t, graph.Done)(p.resume(t, th))
		same(t, "log", res.State.Log, log)
	})
}

// TestACrashOfTheHolderLosesNoOutcomeOfASubgraph is TestACrashOfTheHolderLosesNoOutcome for nodes
// of subgraphs.
func TestACrashOfTheHolderLosesNoOutcomeOfASubgraph(t *testing.T) {
	eachQueueNesting(t, func(t *testing.T, build func(checkpoint.Saver, sentNode, ...graph.NodeOption) *app, log []string) {
		for _, after := range []bool{false, true} {
			for at := 1; ; at++ {
				s := newExecutions(memory.New())
				node := func(ctx context.Context, _ work, name wire.String) (update, error) {
					s.begin(graph.CurrentTask(ctx).Key)
					return logged(string(name)), nil
				}
				p := serving(build(s, node), s)
				_, err := p.invoke(t, build(&crashing{Saver: s, left: at, after: after}, node).Thread("t"))
				th := build(s, node).Thread("t")
				res, again := p.resume(t, th, graph.TakeOver())
				if errors.Is(again, checkpoint.ErrNotFound) {
					res, again = p.invoke(t, th)
				}
				if again != nil || res.Status != graph.Done {
					t.Fatalf("crash at call %d, after %t: got %v and %v, want the run done", at, after, res.Status, again)
				}
				same(t, fmt.Sprintf("log after a crash at call %d, after %t", at, after), res.State.Log, log)
				if s.again > 0 {
					t.Errorf("crash at call %d, after %t: %d executions of tasks whose outcome was stored, want none", at, after, s.again)
				}
				if err == nil {
					break // the run ended before the crash
				}
			}
		}
	})
}

// TestACrashOfAWorkerCostsATaskOfASubgraph kills the worker at each of its calls of the saver.
func TestACrashOfAWorkerCostsATaskOfASubgraph(t *testing.T) {
	if testing.Short() {
		t.Skip("it crashes at each call, in four kinds of subgraphs")
	}
	eachQueueNesting(t, func(t *testing.T, build func(checkpoint.Saver, sentNode, ...graph.NodeOption) *app, log []string) {
		for _, after := range []bool{false, true} {
			for at := 1; ; at++ {
				s := newExecutions(memory.New())
				var mu sync.Mutex
				calls := make(map[string]int) // by task
				node := func(ctx context.Context, _ work, name wire.String) (update, error) {
					s.begin(graph.CurrentTask(ctx).Key)
					_, err := graph.Do(ctx, "charge", func(ctx context.Context) (wire.String, error) {
						mu.Lock()
						defer mu.Unlock()
						calls[graph.CurrentTask(ctx).Key]++
						return "charged", nil
					})
					return logged(string(name)), err
				}
				var dies, lives *app
				died := false
				var turn sync.Mutex
				p := &pool{s: s, run: func(ctx context.Context, task []byte) error {
					turn.Lock()
					defer turn.Unlock()
					if died {
						return lives.RunQueued(ctx, task, false)
					}
					err := dies.RunQueued(ctx, task, false)
					died = err != nil
					return err
				}}
				dies, lives = build(&crashing{Saver: s, left: at, after: after}, node), build(s, node)
				res := done(t, graph.Done)(p.invoke(t, lives.Thread("t")))
				same(t, "log", res.State.Log, log)
				repeated := -len(calls)
				for _, n := range calls {
					repeated += n
				}
				if repeated > 1 || s.again > 0 || len(s.ran) != len(calls) {
					t.Errorf("crash at call %d, after %t: %d durable calls repeated, %d tasks run after their outcome, %d keys for %d tasks",
						at, after, repeated, s.again, len(s.ran), len(calls))
				}
				if !died {
					break
				}
			}
		}
	})
}

// TestAQueueOfASubgraphAsksFailsAndRetries checks questions, timers, retries and failures.
func TestAQueueOfASubgraphAsksFailsAndRetries(t *testing.T) {
	eachQueueNesting(t, func(t *testing.T, build func(checkpoint.Saver, sentNode, ...graph.NodeOption) *app, log []string) {
		synctest.Test(t, func(t *testing.T) {
			approve := graph.NewQuestion[wire.String, wire.Bool]("approve")
			var mu sync.Mutex
			failures, attempts := make(map[string]int), make(map[string][]int) // by task
			node := func(ctx context.Context, _ work, name wire.String) (update, error) {
				task := graph.CurrentTask(ctx)
				ok, err := approve.Ask(ctx, name)
				if err != nil {
					return update{}, err
				}
				if err := graph.Sleep(ctx, 10*time.Hour); err != nil {
					return update{}, err
				}
				mu.Lock()
				defer mu.Unlock()
				attempts[task.Key] = append(attempts[task.Key], task.Attempt)
				if failures[task.Key]++; failures[task.Key] <= 3 || !ok {
					return update{}, errBroken
				}
				return logged(string(name)), nil
			}
			s := memory.New()
			g := build(s, node, approve, graph.Retry(graph.RetryPolicy{Attempts: 3}))
			p, th := serving(g, s), g.Thread("t")
			res := done(t, graph.Waiting)(p.invoke(t, th))
			var answers []graph.ResumeOption
			for _, open := range res.Questions {
				if len(open.Path) == 0 || open.Node != "each" {
					t.Errorf("question at %v/%s, want node each in a subgraph", open.Path, open.Node)
				}
				answers = append(answers, approve.Answer(open, true))
			}
			res = done(t, graph.Waiting)(p.resume(t, th, answers...))
			same(t, "timers", len(res.Timers), len(answers))
			time.Sleep(10 * time.Hour)
			_, err := p.resume(t, th)
			for errors.As(err, new(*graph.QueueError)) { // a failed task cancels its siblings
				_, err = p.resume(t, th)
			}
			res = done(t, graph.Done)(p.resume(t, th))
			same(t, "log", res.State.Log, log)
			for key, got := range attempts {
				same(t, "attempts of "+key, got, []int{1, 2, 3, 1})
			}
		})
	})
}

// TestALateWorkerOfASubgraphNeverCounts lets a worker finish after an edit of the call, and after
// a Rerun of its node.
func TestALateWorkerOfASubgraphNeverCounts(t *testing.T) {
	for _, how := range []string{"edit", "rerun"} {
		eachQueueNesting(t, func(t *testing.T, build func(checkpoint.Saver, sentNode, ...graph.NodeOption) *app, log []string) {
			synctest.Test(t, func(t *testing.T) {
				s, line := memory.New(), "old "
				g := build(s, func(_ context.Context, _ work, name wire.String) (update, error) {
					return logged(line + string(name)), nil
				})
				th := g.Thread("t")
				done(t, graph.Waiting)(th.Invoke(t.Context(), input))
				late := serving(g, s).waiting(t)
				if how == "edit" {
					if _, err := th.UpdateState(t.Context(), logged("edited")); err != nil {
						t.Fatal(err)
					}
					if log[0] == "x" {
						dueNow(t, th)
					}
					done(t, graph.Waiting)(th.Resume(t.Context()))
				} else {
					done(t, graph.Waiting)(th.Resume(t.Context(), graph.Rerun("sub")))
				}
				for _, task := range late {
					if err := g.RunQueued(t.Context(), task.payload, false); err != nil {
						t.Errorf("late: %v", err)
					}
				}
				line = ""
				res := done(t, graph.Done)(serving(g, s).resume(t, th))
				if how == "rerun" {
					same(t, "log", res.State.Log, log)
					return
				}
				if log[0] == "x" { // the edit reaches a call over the same state
					same(t, "log", res.State.Log, append([]string{"edited"}, log...))
				}
			})
		})
	}
}
