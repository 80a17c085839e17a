package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestRunGoesFromStartToEnd(t *testing.T) {
	g := compile(t, chain("a", "b"))
	in := logged("in")
	res := done(t, graph.Done)(g.Run(t.Context(), in))
	same(t, "log", res.State.Log, []string{"in", "a", "b"})
	same(t, "steps", res.Steps, 2)
	if res.Next != nil {
		t.Errorf("due: got %v, want none", res.Next)
	}
}

func TestParallelUpdatesMergeInOrderOfDeclaration(t *testing.T) {
	b := newWork()
	var last sync.WaitGroup
	last.Add(2)
	ids := []graph.ID{"c", "a", "b"}
	for i, id := range ids {
		b.Node(id, func(context.Context, work) (update, error) {
			if i == 0 { // the first in order finishes last
				last.Wait()
			} else {
				defer last.Done()
			}
			return logged(string(id)), nil
		})
	}
	for _, id := range []graph.ID{"b", "a", "c"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"c", "a", "b"})
	same(t, "steps", res.Steps, 1)
}

func TestSeveralEdgesIntoANodeRunItOnceAStep(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"a", "b", "long", "z"} {
		b.Node(id, say(string(id)))
	}
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.Edge(graph.Start, "long")
	b.Edge("long", "z")
	b.Edge("a", "long")
	b.Edge("a", "z")
	b.Edge("b", "z")
	b.Edge("z", graph.End)
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"a", "b", "long", "long", "z", "z"})
	same(t, "steps", res.Steps, 3)
}

// forkJoin has branches of different length that join.
func forkJoin() *graph.Builder[work, update] {
	b := newWork()
	for _, id := range []graph.ID{"short", "long1", "long2", "joined"} {
		b.Node(id, say(string(id)))
	}
	b.Edge(graph.Start, "short")
	b.Edge(graph.Start, "long1")
	b.Edge("long1", "long2")
	b.Join([]graph.ID{"short", "long2"}, "joined")
	b.Edge("joined", graph.End)
	return b
}

func TestAJoinWaitsForBranchesOfAnyLength(t *testing.T) {
	res := done(t, graph.Done)(compile(t, forkJoin()).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"short", "long1", "long2", "joined"})
	if res.Unjoined != nil {
		t.Errorf("unjoined: got %v, want none", res.Unjoined)
	}
}

func TestAHalfReachedJoinIsReported(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"pick", "a", "b", "joined"} {
		b.Node(id, say(string(id)))
	}
	b.Edge(graph.Start, "pick")
	b.Route("pick", choose("a"), "a", "b")
	b.Join([]graph.ID{"a", "b"}, "joined")
	b.Edge("a", graph.End)
	b.Edge("joined", graph.End)
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "unjoined", res.Unjoined, []graph.ID{"joined"})

	_, err := compile(t, b, graph.Strict()).Run(t.Context(), input)
	var e *graph.UnjoinedError
	if !errors.As(err, &e) || !slices.Equal(e.Joins, []graph.ID{"joined"}) {
		t.Errorf("strict: got %v, want an *UnjoinedError of joined", err)
	}
}

func TestAJoinInALoopFiresEachTimeAround(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"split", "a", "b", "joined"} {
		b.Node(id, say(string(id)))
	}
	b.Edge(graph.Start, "split")
	b.Edge("split", "a")
	b.Edge("split", "b")
	b.Join([]graph.ID{"a", "b"}, "joined")
	b.Route("joined", func(_ context.Context, s work) (graph.Next, error) {
		if len(s.Log) < 8 {
			return graph.To("split"), nil
		}
		return graph.To(graph.End), nil
	}, "split", graph.End)
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "log", strings.Join(res.State.Log, " "), "split a b joined split a b joined")
}

func TestARouteSeesTheMergedStateOfAllAndIsAskedOnce(t *testing.T) {
	b := newWork()
	var asked atomic.Int32
	b.Node("a", say("a"))
	b.Node("b", say("b"))
	b.Node("c", say("c"))
	b.Edge(graph.Start, "a")
	b.Edge(graph.Start, "b")
	b.Route("a", func(_ context.Context, s work) (graph.Next, error) {
		asked.Add(1)
		if !slices.Equal(s.Log, []string{"a", "b"}) {
			return graph.Next{}, fmt.Errorf("it sees %v", s.Log)
		}
		return graph.To("c", graph.End, "c"), nil
	}, "c", graph.End)
	b.Edge("b", graph.End)
	b.Edge("c", graph.End)
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"a", "b", "c"})
	same(t, "times asked", asked.Load(), int32(1))
}

func TestEdgesAndARouteOfOneNodeBothFire(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"a", "b", "c"} {
		b.Node(id, say(string(id)))
		b.Edge(id, graph.End)
	}
	b.Edge(graph.Start, "a")
	b.Edge("a", "c")
	b.Route("a", choose("b"), "b")
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"a", "b", "c"})
}

func TestAConditionalEntrySeesTheInput(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"a", "b"} {
		b.Node(id, say(string(id)))
		b.Edge(id, graph.End)
	}
	b.Route(graph.Start, func(_ context.Context, s work) (graph.Next, error) { return graph.To(graph.ID(s.Status)), nil }, "a", "b")
	var in update
	in.Status.Set("b")
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), in))
	same(t, "log", res.State.Log, []string{"b"})
}

func TestRoutesThatFail(t *testing.T) {
	tests := []struct {
		name  string
		route func(context.Context, work) (graph.Next, error)
		want  string
	}{
		{"error", func(context.Context, work) (graph.Next, error) { return graph.Next{}, errBroken },
			"graph: g: step 2: route from a: it broke"},
		{"nothing", func(context.Context, work) (graph.Next, error) { return graph.Next{}, nil },
			"graph: g: step 2: route from a: no successor is chosen; return graph.To(graph.End) to finish"},
		{"undeclared", choose("a", "nowhere"),
			`graph: g: step 2: route from a: the choice "nowhere" is not among the declared targets; declared are [a End]`},
		{"panic", func(context.Context, work) (graph.Next, error) { panic("oh") },
			"graph: g: step 2: route from a: panic: oh"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newWork()
			b.Node("a", say("a"))
			b.Edge(graph.Start, "a")
			b.Route("a", test.route, "a", graph.End)
			_, err := compile(t, b).Run(t.Context(), input)
			var e *graph.RouteError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want a *RouteError", err)
			}
			if got, _, _ := strings.Cut(err.Error(), "\n"); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestMaxStepsIsAnError(t *testing.T) {
	b := newWork()
	b.Node("a", say("a"))
	b.Edge(graph.Start, "a")
	b.Route("a", choose("a"), "a", graph.End)
	res, err := compile(t, b, graph.MaxSteps(7)).Run(t.Context(), input)
	var e *graph.MaxStepsError
	if !errors.As(err, &e) || e.Max != 7 || !slices.Equal(e.Next, []graph.ID{"a"}) {
		t.Fatalf("got %v, want a *MaxStepsError of 7", err)
	}
	same(t, "status", res.Status, graph.Failed)
	same(t, "steps", res.Steps, 7)
	same(t, "log lines", len(res.State.Log), 7)

	res, err = compile(t, b).Run(t.Context(), input, graph.MaxSteps(3))
	if !errors.As(err, &e) || res.Steps != 3 {
		t.Errorf("by the call: got %d steps, %v", res.Steps, err)
	}
}

func TestAFailedNode(t *testing.T) {
	b := chain("a", "b")
	b.Node("c", func(context.Context, work) (update, error) { return update{}, fmt.Errorf("c: %w", errBroken) })
	b.Edge("a", "c")
	b.Edge("c", graph.End)
	res, err := compile(t, b).Run(t.Context(), input)
	var e *graph.NodeError
	if !errors.As(err, &e) || !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want a *NodeError", err)
	}
	same(t, "node", e.Node, graph.ID("c"))
	same(t, "step", e.Step, 3)
	same(t, "attempt", e.Attempt, 1)
	same(t, "message", err.Error(), `graph: g: step 3: node "c": c: it broke`)
	same(t, "log", res.State.Log, []string{"a"})
	same(t, "due", res.Next, []graph.ID{"b", "c"})
}

func TestAFailureCancelsSiblingsAndWaitsForThem(t *testing.T) {
	b := newWork()
	var returned atomic.Bool
	started := make(chan struct{})
	b.Node("slow", func(ctx context.Context, _ work) (update, error) {
		close(started)
		<-ctx.Done()
		runtime.Gosched()
		returned.Store(true)
		return update{}, ctx.Err()
	})
	b.Node("bad", func(context.Context, work) (update, error) {
		<-started
		return update{}, errBroken
	})
	for _, id := range []graph.ID{"slow", "bad"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	_, err := compile(t, b).Run(t.Context(), input)
	var e *graph.NodeError
	if !errors.As(err, &e) || e.Node != "bad" {
		t.Errorf("got %v, want bad's failure alone", err)
	}
	if errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled sibling is reported as a failure: %v", err)
	}
	if !returned.Load() {
		t.Error("the run returned before the sibling did")
	}
}

func TestSeveralFailuresAreJoinedInTaskOrder(t *testing.T) {
	b := newWork()
	var both sync.WaitGroup
	both.Add(2)
	for _, id := range []graph.ID{"x", "y"} {
		b.Node(id, func(context.Context, work) (update, error) {
			both.Done()
			both.Wait()
			return update{}, errors.New("no " + string(id))
		}, graph.ContinueOnError())
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	_, err := compile(t, b).Run(t.Context(), input)
	want := "graph: g: step 2: node \"x\": no x\ngraph: g: step 2: node \"y\": no y"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestPanicsAndGoexitAreErrorsOfTheNode(t *testing.T) {
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprintf("alone=%t", alone), func(t *testing.T) {
			b := newWork()
			b.Node("a", func(context.Context, work) (update, error) { panic(errBroken) })
			b.Edge(graph.Start, "a")
			b.Edge("a", graph.End)
			if !alone {
				b.Node("b", say("b"))
				b.Edge(graph.Start, "b")
				b.Edge("b", graph.End)
			}
			_, err := compile(t, b).Run(t.Context(), input)
			var p *graph.PanicError
			if !errors.As(err, &p) || !errors.Is(err, errBroken) || len(p.Stack) == 0 {
				t.Errorf("got %v, want a *PanicError of errBroken", err)
			}
		})
	}
	for name, ways := range map[string]func(*app) (result, error){
		"Run":    func(g *app) (result, error) { return g.Run(t.Context(), input) },
		"Invoke": func(g *app) (result, error) { return g.Thread("t").Invoke(t.Context(), input) },
		"Stream": func(g *app) (res result, err error) {
			for e, failed := range g.Thread("t").Stream(t.Context(), input, graph.Events(graph.EventRunEnded)) {
				res, err = *e.Result, failed
			}
			return res, err
		},
	} {
		t.Run("goexit in a chain, "+name, func(t *testing.T) {
			b := newWork()
			exits := true
			b.Node("a", func(context.Context, work) (update, error) {
				if exits {
					runtime.Goexit()
				}
				return logged("a"), nil
			})
			b.Chain(graph.Start, "a", graph.End)
			g := compile(t, b, graph.Saver(memory.New()))
			res, err := ways(g)
			if failed := graph.NodeErrors(err); !errors.Is(err, graph.ErrGoexit) || len(failed) != 1 || res.Status != graph.Failed {
				t.Fatalf("got %s, %v; want ErrGoexit of the node", res.Status, err)
			}
			if exits = false; name == "Run" {
				return
			}
			res = done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
			same(t, "log", res.State.Log, []string{"a"})
		})
	}
	t.Run("goexit of a worker", func(t *testing.T) {
		b := newWork()
		for i := range 20 {
			id := graph.ID(fmt.Sprintf("n%d", i))
			b.Node(id, func(context.Context, work) (update, error) {
				if i%2 == 0 {
					runtime.Goexit()
				}
				return update{}, nil
			})
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		_, err := compile(t, b, graph.Concurrency(2)).Run(t.Context(), input)
		if !errors.Is(err, graph.ErrGoexit) {
			t.Errorf("got %v, want ErrGoexit", err)
		}
	})
}

// whole is a Jitter that keeps pauses whole.
func whole() float64 { return 1 }

func TestRetry(t *testing.T) {
	tests := []struct {
		name     string
		policy   graph.RetryPolicy
		failures int
		want     int // attempts
		ok       bool
		took     time.Duration
	}{
		{"none", graph.RetryPolicy{}, 1, 1, false, 0},
		{"mended", graph.RetryPolicy{Attempts: 3, Base: time.Second, Jitter: whole}, 2, 3, true, 3 * time.Second},
		{"not mended", graph.RetryPolicy{Attempts: 4, Base: time.Second, Max: 2 * time.Second, Jitter: whole}, 9, 4, false, 5 * time.Second},
		{"not worth it", graph.RetryPolicy{Attempts: 4, If: func(err error) bool { return !errors.Is(err, errBroken) }}, 9, 1, false, 0},
		{"default pause", graph.RetryPolicy{Attempts: 2, Jitter: whole}, 1, 2, true, 100 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newWork()
				var attempts []int
				var keys []string
				b.Node("a", func(ctx context.Context, _ work) (update, error) {
					task := graph.CurrentTask(ctx)
					attempts, keys = append(attempts, task.Attempt), append(keys, task.Key)
					if len(attempts) <= test.failures {
						return update{}, errBroken
					}
					return logged("a"), nil
				}, graph.Retry(test.policy))
				b.Edge(graph.Start, "a")
				b.Edge("a", graph.End)
				began := time.Now()
				res, err := compile(t, b).Run(t.Context(), input)
				if (err == nil) != test.ok {
					t.Errorf("got error %v", err)
				}
				if err != nil {
					var e *graph.NodeError
					if !errors.As(err, &e) || e.Attempt != test.want {
						t.Errorf("got %v, want a *NodeError of attempt %d", err, test.want)
					}
				} else {
					same(t, "log", res.State.Log, []string{"a"})
				}
				same(t, "attempts", len(attempts), test.want)
				same(t, "keys", len(slices.Compact(keys)), 1)
				same(t, "time taken", time.Since(began), test.took)
			})
		})
	}
}

func TestPanicsAreNotRetried(t *testing.T) {
	b := newWork()
	runs := 0
	b.Node("a", func(context.Context, work) (update, error) { runs++; panic("x") }, graph.Retry(graph.RetryPolicy{Attempts: 5}))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	if _, err := compile(t, b).Run(t.Context(), input); err == nil {
		t.Error("got no error")
	}
	same(t, "runs", runs, 1)
}

func TestTimeoutCancelsTheAttemptAndWaitsForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWork()
		runs := 0
		b.Node("a", func(ctx context.Context, _ work) (update, error) {
			if runs++; runs > 1 {
				return logged("a"), nil
			}
			<-ctx.Done()
			time.Sleep(time.Minute) // it takes its time to notice
			return update{}, ctx.Err()
		}, graph.Timeout(time.Second), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: time.Second, Jitter: whole}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		began := time.Now()
		res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
		same(t, "log", res.State.Log, []string{"a"})
		same(t, "time taken", time.Since(began), 62*time.Second)
	})
}

func TestATimeoutIsAFailureOfTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWork()
		b.Node("a", func(ctx context.Context, _ work) (update, error) {
			<-ctx.Done()
			return update{}, ctx.Err()
		}, graph.Timeout(time.Second))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		_, err := compile(t, b).Run(t.Context(), input)
		var e *graph.NodeError
		if !errors.As(err, &e) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want a *NodeError of DeadlineExceeded", err)
		}
	})
}

func TestCancelStopsTheRun(t *testing.T) {
	b := chain("a", "b")
	ctx, cancel := context.WithCancelCause(t.Context())
	b.Node("stop", func(context.Context, work) (update, error) { cancel(errBroken); return logged("stop"), nil })
	b.Edge("b", "stop")
	b.Node("more", say("more"))
	b.Edge("stop", "more")
	b.Edge("more", graph.End)
	res, err := compile(t, b).Run(ctx, input)
	if !errors.Is(err, context.Canceled) || !errors.Is(err, errBroken) {
		t.Errorf("got %v, want context.Canceled and its cause", err)
	}
	same(t, "status", res.Status, graph.Ready)
	same(t, "log", res.State.Log, []string{"a", "b", "stop"})
	same(t, "due", res.Next, []graph.ID{"more"})
}

func TestConcurrencyIsBounded(t *testing.T) {
	b := newWork()
	var running, most atomic.Int32
	for i := range 50 {
		id := graph.ID(fmt.Sprintf("n%d", i))
		b.Node(id, func(context.Context, work) (update, error) {
			most.Store(max(most.Load(), running.Add(1)))
			runtime.Gosched()
			running.Add(-1)
			return logged(string(id)), nil
		})
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	res := done(t, graph.Done)(compile(t, b, graph.Concurrency(3)).Run(t.Context(), input))
	same(t, "log lines", len(res.State.Log), 50)
	if most.Load() > 3 {
		t.Errorf("%d tasks ran at once, want at most 3", most.Load())
	}
}

func TestTwoWritersOfAReplaceField(t *testing.T) {
	b := newWork()
	for _, id := range []graph.ID{"a", "b"} {
		b.Node(id, func(context.Context, work) (update, error) {
			var u update
			u.Status.Set(string(id))
			u.Last.Set(string(id))
			return u, nil
		})
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	_, err := compile(t, b).Run(t.Context(), input)
	var e *graph.ConflictError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *ConflictError", err)
	}
	same(t, "field", e.Field, "Status")
	same(t, "nodes", e.Nodes, [2]graph.ID{"a", "b"})
}

func TestAReducersPanicIsAnErrorOfItsNode(t *testing.T) {
	b := newWork()
	b.Node("a", func(context.Context, work) (update, error) {
		var u update
		u.Stack.Reduce("boom")
		return u, nil
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	_, err := compile(t, b).Run(t.Context(), input)
	var n *graph.NodeError
	var p *graph.PanicError
	if !errors.As(err, &n) || n.Node != "a" || !errors.As(err, &p) || p.Value != "the reducer broke" {
		t.Errorf("got %v, want a *NodeError of a, with the panic", err)
	}
}

func TestStrictFindsNodesAndRoutesThatWrite(t *testing.T) {
	spoil := func(s work) { s.Log[0] = "spoilt"; s.Facts["x"] = "y" }
	fill := func(context.Context, work) (update, error) {
		u := logged("a")
		u.Facts.Put("k", "v")
		return u, nil
	}
	t.Run("node", func(t *testing.T) {
		b := newWork()
		b.Node("fill", fill)
		b.Node("bad", func(_ context.Context, s work) (update, error) { spoil(s); return update{}, nil }, graph.Retry(graph.RetryPolicy{Attempts: 3}))
		b.Edge(graph.Start, "fill")
		b.Edge("fill", "bad")
		b.Edge("bad", graph.End)
		_, err := compile(t, b, graph.Strict()).Run(t.Context(), input)
		var n *graph.NodeError
		var m *graph.MutationError
		if !errors.As(err, &n) || n.Node != "bad" || !errors.As(err, &m) {
			t.Fatalf("got %v, want a *MutationError of bad", err)
		}
		same(t, "fields", m.Fields, []string{"Log", "Facts"})
	})
	t.Run("route", func(t *testing.T) {
		b := newWork()
		b.Node("fill", fill)
		b.Edge(graph.Start, "fill")
		b.Route("fill", func(_ context.Context, s work) (graph.Next, error) { spoil(s); return graph.To(graph.End), nil }, graph.End)
		_, err := compile(t, b, graph.Strict()).Run(t.Context(), input)
		var m *graph.MutationError
		if !errors.As(err, &m) {
			t.Errorf("got %v, want a *MutationError", err)
		}
	})
	t.Run("good", func(t *testing.T) {
		done(t, graph.Done)(compile(t, forkJoin(), graph.Strict()).Run(t.Context(), input))
	})
}

func TestAnEphemeralFieldLivesForOneSuperstep(t *testing.T) {
	b := newWork()
	var seen []string
	look := func(_ context.Context, s work) (update, error) { seen = append(seen, s.Draft); return update{}, nil }
	b.Node("set", func(context.Context, work) (update, error) {
		var u update
		u.Draft.Set("draft")
		return u, nil
	})
	b.Node("first", look)
	b.Node("second", look)
	b.Edge(graph.Start, "set")
	b.Edge("set", "first")
	b.Edge("first", "second")
	b.Edge("second", graph.End)
	done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "seen", seen, []string{"draft", ""})
}

func TestCurrentTask(t *testing.T) {
	b := newWork()
	contexts := map[string]context.Context{}
	var keys []string
	for _, id := range []graph.ID{"a", "b"} {
		b.Node(id, func(ctx context.Context, _ work) (update, error) {
			task := graph.CurrentTask(ctx)
			if task.Graph != "g" || task.Node != string(id) || task.Attempt != 1 || len(task.Key) != 32 {
				return update{}, fmt.Errorf("got %+v", task)
			}
			contexts[task.Node], keys = ctx, append(keys, task.Key) //graphvet:ignore graphkeep the test uses them after the run
			return update{}, nil
		})
	}
	b.Edge(graph.Start, "a")
	b.Edge("a", "b")
	b.Edge("b", graph.End)
	g := compile(t, b)
	done(t, graph.Done)(g.Run(t.Context(), input))
	done(t, graph.Done)(g.Run(t.Context(), input))
	slices.Sort(keys)
	same(t, "different keys", len(slices.Compact(keys)), 4)
	if got := graph.CurrentTask(contexts["b"]); got != (graph.Task{}) {
		t.Errorf("after the node returned: got %+v, want none", got)
	}
	if got := graph.CurrentTask(t.Context()); got != (graph.Task{}) {
		t.Errorf("outside: got %+v, want none", got)
	}
}

// A superstep without a saver allocates the context of its node, which is never used again.
// Contexts have 16 bytes, and are allocated in blocks of 192.
func TestASuperstepWithoutASaverAllocatesNothingButContexts(t *testing.T) {
	steps := func(n int64) float64 {
		b := newWork()
		b.Node("a", func(_ context.Context, s work) (update, error) {
			var u update
			u.Count.Add(1)
			return u, nil
		})
		b.Edge(graph.Start, "a")
		b.Route("a", func(_ context.Context, s work) (graph.Next, error) {
			if int64(s.Count) < n {
				return graph.To("a"), nil
			}
			return graph.To(graph.End), nil
		}, "a", graph.End)
		g := compile(t, b)
		return leastAllocs(func() { done(t, graph.Done)(g.Run(t.Context(), input, graph.MaxSteps(10_000))) })
	}
	if few, many := steps(100), steps(250); few != many {
		t.Errorf("150 supersteps more, within one block, allocate %v times more, want 0", many-few)
	}
	if few, many := steps(100), steps(100+25*192); many-few != 25 {
		t.Errorf("4,800 supersteps more allocate %v times more, want 25 blocks of contexts", many-few)
	}
}

// TestARunAllocatesLittle counts what a run of a chain without a saver allocates as a whole. This
// is the run and its state, its goroutine, the first block of contexts, and lists for tasks.
func TestARunAllocatesLittle(t *testing.T) {
	b := newWork()
	last := graph.Start
	for i := range 10 {
		next := b.Node(graph.ID(fmt.Sprintf("n%d", i)), func(context.Context, work) (u update, err error) {
			u.Count.Add(1)
			return u, nil
		})
		b.Edge(last, next)
		last = next
	}
	b.Edge(last, graph.End)
	g := compile(t, b)
	if got := leastAllocs(func() { done(t, graph.Done)(g.Run(t.Context(), update{})) }); got > 13 {
		t.Errorf("a run allocates %v times, want at most 13", got)
	}
}

// TestAStepOnTheMemorySaverAllocatesLittle: the context of the call of the saver, a part of what
// the saver allocates for several records, and what the node allocates itself. The indexes of the
// saver grow now and then.
func TestAStepOnTheMemorySaverAllocatesLittle(t *testing.T) {
	say := func(context.Context, work) (update, error) {
		var u update
		u.Log.Append("a message")
		return u, nil
	}
	loop := func(n int) *graph.Builder[work, update] {
		b := newWork()
		b.Node("say", say)
		b.Edge(graph.Start, "say")
		b.Route("say", func(_ context.Context, s work) (graph.Next, error) {
			if len(s.Log) < n {
				return graph.To("say"), nil
			}
			return graph.To(graph.End), nil
		}, "say", graph.End)
		return b
	}
	chain := func(n int) *graph.Builder[work, update] {
		b := newWork()
		last := graph.Start
		for i := range n {
			next := b.Node(graph.ID(fmt.Sprintf("n%d", i)), say)
			b.Edge(last, next)
			last = next
		}
		b.Edge(last, graph.End)
		return b
	}
	for name, build := range map[string]func(n int) *graph.Builder[work, update]{"loop": loop, "chain": chain} {
		run := func(n int) float64 {
			saver := memory.New()
			g := compile(t, build(n), graph.Saver(saver))
			return testing.AllocsPerRun(10, func() {
				done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
				if err := saver.Delete(t.Context(), "t"); err != nil {
					t.Error(err)
				}
			})
		}
		const few, many = 100, 600
		if got := (run(many) - run(few)) / (many - few); got > 3 {
			t.Errorf("a step of the %s allocates %.2f times, want at most 3", name, got)
		}
	}
}

func TestManyRunsOfOneGraphAtOnce(t *testing.T) {
	g := compile(t, forkJoin())
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			res, err := g.Run(t.Context(), input)
			if err != nil || len(res.State.Log) != 4 {
				t.Errorf("got %v, %v", res.State.Log, err)
			}
		})
	}
	wg.Wait()
}
