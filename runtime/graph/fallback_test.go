package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// thousand sends a thousand Docs to a node that counts them; number 500 cannot be fetched while
// bad.
type thousand struct {
	calls atomic.Int64
	bad   atomic.Bool
}

const (
	sends  = 1000
	broken = 500
)

func (f *thousand) build(fallback bool, opts ...graph.NodeOption) *graph.Builder[work, update] {
	b := newWork()
	fetch := graph.TaskNode(b, "fetch", func(_ context.Context, _ work, d doc) (update, error) {
		f.calls.Add(1)
		if f.bad.Load() && d.Pages[0] == broken {
			return update{}, errBroken
		}
		return update{Count: state.Add(1)}, nil
	}, opts...)
	if fallback {
		graph.TaskFallback(b, fetch, func(_ context.Context, _ work, d doc, err error) (update, error) {
			return logged(fmt.Sprint(d.Name, d.Pages, ": ", err)), nil
		})
	}
	b.Node("report", func(_ context.Context, s work) (update, error) {
		return logged(fmt.Sprintf("%d counted, %d failed", s.Count, len(s.Log))), nil
	})
	b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
		var next graph.Next
		for i := range sends {
			next.Add(fetch.Send(doc{Name: "doc", Pages: []int{i}}))
		}
		return next, nil
	}, "fetch")
	b.Edge("fetch", "report")
	b.Edge("report", graph.End)
	return b
}

// A send that fails does not stop the others: 999 of 1,000 count. The state has the payload and
// the error of the other one, also for the next process.
func TestAFallbackIsolatesTheFailureOfASend(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		f := &thousand{}
		f.bad.Store(true)
		s := memory.New()
		b := f.build(true)
		app := compile(t, b, graph.Saver(s), graph.Concurrency(64), graph.InterruptBefore("report"))
		done(t, graph.Paused)(app.Thread("t").Invoke(t.Context(), update{}, d))
		same(t, "calls", f.calls.Load(), int64(sends))

		app = compile(t, b, graph.Saver(s), graph.Concurrency(64), graph.InterruptBefore("report")) // another process
		res := done(t, graph.Done)(app.Thread("t").Resume(t.Context(), d))
		same(t, "log", res.State.Log, []string{"doc[500]: it broke", "999 counted, 1 failed"})
		same(t, "count", res.State.Count, sends-1)
		same(t, "calls", f.calls.Load(), int64(sends))
	})
}

// Without a Fallback the run fails after all other sends have finished, and each Resume runs the
// failed one alone.
func TestContinueOnErrorLetsTheOtherSendsFinish(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		f := &thousand{}
		f.bad.Store(true)
		s := memory.New()
		b := f.build(false, graph.ContinueOnError())
		opts := []graph.Option{graph.Saver(s), graph.Concurrency(64)}
		res, err := compile(t, b, opts...).Thread("t").Invoke(t.Context(), update{}, d)
		for resumes := range 3 {
			var node *graph.NodeError
			if !errors.As(err, &node) || node.Node != "fetch" || node.Index != broken || !errors.Is(err, errBroken) {
				t.Fatalf("got %v, want the error of send %d", err, broken)
			}
			same(t, "status", res.Status, graph.Failed)
			same(t, "calls", f.calls.Load(), int64(sends+resumes))
			res, err = compile(t, b, opts...).Thread("t").Resume(t.Context(), d)
		}
		f.bad.Store(false)
		res = done(t, graph.Done)(compile(t, b, opts...).Thread("t").Resume(t.Context(), d))
		same(t, "log", res.State.Log, []string{"1000 counted, 0 failed"})
		same(t, "calls", f.calls.Load(), int64(sends+4))
	})
}

// fails is a node that always fails.
func fails(context.Context, work) (update, error) { return update{}, errBroken }

// toldOf is a fallback that logs the error and the number of the attempt.
func toldOf(ctx context.Context, _ work, err error) (update, error) {
	return logged(fmt.Sprint(graph.CurrentTask(ctx).Attempt, " ", err)), nil
}

func TestAFallbackHandlesTheLastFailureOfANode(t *testing.T) {
	one := func(f func(context.Context, work) (update, error), opts ...graph.NodeOption) *graph.Builder[work, update] {
		b := newWork()
		b.Node("a", f, opts...)
		b.Fallback("a", toldOf)
		b.Chain(graph.Start, "a", graph.End)
		return b
	}
	sub := func(same bool) *graph.Builder[work, update] {
		c := newWork()
		c.Node("x", say("x"))
		c.Node("y", fails)
		c.Chain(graph.Start, "x", "y", graph.End)
		child := compile(t, c, graph.SubgraphOnly())
		b := newWork()
		if same {
			b.Subgraph("a", child)
		} else {
			graph.MapSubgraph(b, "a", child, func(context.Context, work) (update, error) { return update{}, nil },
				func(context.Context, work, work) (update, error) { return logged("out"), nil })
		}
		b.Fallback("a", func(ctx context.Context, s work, err error) (update, error) {
			var node *graph.NodeError
			if !errors.As(err, &node) || node.Node != "y" {
				t.Errorf("got %v, want the error of y", err)
			}
			return toldOf(ctx, s, errBroken)
		})
		b.Chain(graph.Start, "a", graph.End)
		return b
	}
	for _, c := range []struct {
		name string
		b    *graph.Builder[work, update]
		want string
	}{
		{"error", one(fails), "2 it broke"},
		{"after retries", one(fails, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: 1})), "4 it broke"},
		{"panic", one(func(context.Context, work) (update, error) { panic("oh") }), "2 panic: oh"},
		{"timeout", one(func(ctx context.Context, _ work) (update, error) {
			<-ctx.Done()
			return update{}, ctx.Err()
		}, graph.Timeout(time.Minute)), "2 its Timeout of 1m0s has passed: context deadline exceeded"},
		{"subgraph", sub(false), "2 it broke"},
		{"subgraph over the same state", sub(true), "2 it broke"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, strict := range []bool{false, true} {
				var opts []graph.Option
				if strict {
					opts = append(opts, graph.Strict())
				}
				synctest.Test(t, func(t *testing.T) {
					th, _ := newThread(t, c.b, opts...)
					same(t, "log", done(t, graph.Done)(th.Invoke(t.Context(), input)).State.Log, []string{c.want})
					same(t, "log of Run", done(t, graph.Done)(compile(t, c.b, opts...).Run(t.Context(), input)).State.Log, []string{c.want})
				})
			}
		})
	}
}

// The result of a Fallback is stored like that of a node: a Resume runs neither of them again.
func TestTheResultOfAFallbackIsStored(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, kind := range []string{"node", "subgraph"} {
			ran := &counter{}
			failing := func(context.Context, work) (update, error) {
				ran.add("a")
				return update{}, errBroken
			}
			stop := true
			b := newWork()
			if kind == "node" {
				b.Node("a", failing)
			} else {
				c := newWork()
				c.Node("x", failing)
				c.Chain(graph.Start, "x", graph.End)
				b.Subgraph("a", compile(t, c, graph.SubgraphOnly()))
			}
			b.Fallback("a", func(context.Context, work, error) (update, error) {
				ran.add("fallback")
				return logged("a"), nil
			})
			b.Node("b", func(context.Context, work) (update, error) {
				if stop {
					return update{}, errBroken
				}
				return logged("b"), nil
			}, graph.ContinueOnError())
			b.Edge(graph.Start, "a")
			b.Edge(graph.Start, "b")
			b.Join([]graph.ID{"a", "b"}, "c")
			b.Node("c", say("c"))
			b.Edge("c", graph.End)
			th, _ := newThread(t, b, d)
			if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
				t.Fatalf("%s: got %v, want the failure of b", kind, err)
			}
			stop = false
			res := done(t, graph.Done)(th.Resume(t.Context()))
			same(t, kind+": log", res.State.Log, []string{"a", "b", "c"})
			same(t, kind+": a ran", ran.counts()["a"], 1)
			same(t, kind+": the fallback ran", ran.counts()["fallback"], 1)
		}
	})
}

func TestAFallbackThatFailsFailsItsTaskWithBothErrors(t *testing.T) {
	errAlso := errors.New("the second provider is down, too")
	b := newWork()
	b.Node("a", fails)
	b.Fallback("a", func(context.Context, work, error) (update, error) { return update{}, errAlso })
	b.Chain(graph.Start, "a", graph.End)
	_, err := compile(t, b).Run(t.Context(), input)
	if !errors.Is(err, errBroken) || !errors.Is(err, errAlso) {
		t.Fatalf("got %v, want both errors", err)
	}
	if want := "it broke; its Fallback: the second provider is down, too"; !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %q, want it to end with %q", err, want)
	}
}

func TestARoutingFallbackChoosesWhatHandlesTheFailure(t *testing.T) {
	b := newWork()
	b.RoutingNode("a", func(context.Context, work) (update, graph.Next, error) { return update{}, graph.Next{}, errBroken },
		graph.Targets("handle", graph.End))
	b.RoutingFallback("a", func(_ context.Context, _ work, err error) (update, graph.Next, error) {
		return logged(err.Error()), graph.To("handle"), nil
	})
	var task graph.Sender[doc]
	b.RoutingNode("handle", func(context.Context, work) (update, graph.Next, error) {
		return logged("handled"), task.Send(doc{Name: "d"}), nil
	}, graph.Targets("task"))
	task = graph.RoutingTaskNode(b, "task", func(context.Context, work, doc) (update, graph.Next, error) {
		return update{}, graph.Next{}, errBroken
	}, graph.Targets(graph.End, "last"))
	graph.RoutingTaskFallback(b, task, func(_ context.Context, _ work, d doc, err error) (update, graph.Next, error) {
		return logged(d.Name + ": " + err.Error()), graph.To("last"), nil
	})
	b.Node("last", say("last"))
	b.Edge(graph.Start, "a")
	b.Edge("last", graph.End)
	th, _ := newThread(t, b)
	res := done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "log", res.State.Log, []string{"it broke", "handled", "d: it broke", "last"})
}

// A person can be the fallback: it asks the questions of the node.
func TestAFallbackCanAsk(t *testing.T) {
	approve := graph.NewQuestion[wire.String, wire.String]("approve")
	b := newWork()
	b.Node("a", fails, approve)
	b.Fallback("a", func(ctx context.Context, _ work, err error) (update, error) {
		text, asked := approve.Ask(ctx, wire.String(err.Error()))
		return logged(string(text)), asked
	})
	b.Chain(graph.Start, "a", graph.End)
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, b, d)
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		res = done(t, graph.Done)(th.Resume(t.Context(), approve.Answer(res.Questions[0], "by hand")))
		same(t, "log", res.State.Log, []string{"by hand"})
	})
}

// The questions of a subgraph that failed are withdrawn: its task has the result of the fallback.
func TestAFallbackWithdrawsTheQuestionsOfASubgraph(t *testing.T) {
	approve := graph.NewQuestion[wire.String, wire.Bool]("approve")
	c := newWork()
	asked := make(chan struct{})
	c.Node("asks", func(ctx context.Context, _ work) (update, error) {
		_, err := approve.Ask(ctx, "sure?")
		return update{}, err
	}, approve)
	c.Node("fails", func(context.Context, work) (update, error) {
		<-asked
		return update{}, errBroken
	})
	c.Edge(graph.Start, "asks")
	c.Edge(graph.Start, "fails")
	c.Edge("asks", graph.End)
	c.Edge("fails", graph.End)
	b := newWork()
	b.Subgraph("a", compile(t, c, graph.SubgraphOnly()))
	b.Fallback("a", func(context.Context, work, error) (update, error) { return logged("fallback"), nil })
	b.Chain(graph.Start, "a", graph.End)
	th, _ := newThread(t, b)
	var last graph.Event[work, update]
	for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventAll)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == graph.EventQuestion {
			close(asked)
		}
		last = e
	}
	same(t, "status", last.Result.Status, graph.Done)
	same(t, "log", last.Result.State.Log, []string{"fallback"})
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "open questions", len(snap.Questions), 0)
	same(t, "status", snap.Status, graph.Done)
}

// Streams and observers see the failed attempt, and the Fallback as the attempt after it.
func TestAFallbackIsSeenAsAnAttempt(t *testing.T) {
	b := newWork()
	b.Node("a", fails)
	b.Fallback("a", toldOf)
	b.Chain(graph.Start, "a", graph.End)
	want := []string{"task started 1 <nil>", "task ended 1 it broke", "task fallback 1 it broke", "task started 2 <nil>", "task ended 2 <nil>"}
	var observed, streamed []string
	note := func(lines *[]string, e graph.RunEvent) {
		if e.Node == "a" {
			*lines = append(*lines, fmt.Sprint(e.Kind, " ", e.Attempt, " ", e.Err))
		}
	}
	th, _ := newThread(t, b, graph.Observe(observer(func(e graph.RunEvent) { note(&observed, e) })))
	kinds := graph.EventTaskStarted | graph.EventTaskEnded | graph.EventTaskFallback
	for e, err := range th.Stream(t.Context(), input, graph.Events(kinds)) {
		if err != nil {
			t.Fatal(err)
		}
		note(&streamed, e.RunEvent)
	}
	same(t, "observed", observed, want)
	same(t, "streamed", streamed, want)
}

func TestFallbacksInCompile(t *testing.T) {
	back := func(context.Context, work, error) (update, error) { return update{}, nil }
	b := chain("plain", "routing", "stateful")
	fetch := graph.TaskNode(b, "fetch", func(context.Context, work, doc) (update, error) { return update{}, nil })
	b.RoutingNode("choosing", func(context.Context, work) (update, graph.Next, error) { return update{}, graph.Next{}, nil },
		graph.Targets("fetch"))
	graph.MapSubgraph(b, "memory", compile(t, chain("x"), graph.SubgraphOnly()),
		func(context.Context, work) (update, error) { return update{}, nil },
		func(context.Context, work, work) (update, error) { return update{}, nil }, graph.Stateful())
	b.Fallback("plain", back)
	b.Fallback("plain", back)
	b.Fallback("routing", nil)
	b.Fallback("nowhere", back)
	b.Fallback(graph.End, back)
	b.Fallback("fetch", back)
	b.Fallback("choosing", back)
	b.Fallback("memory", back)
	graph.TaskFallback(b, graph.Sender[doc]{ID: "plain"}, func(context.Context, work, doc, error) (update, error) { return update{}, nil })
	b.RoutingFallback(fetch.ID, nil)
	_, err := b.Compile()
	for _, want := range []string{
		"Fallback of plain: the node has a fallback already",
		"Fallback of routing has no function",
		`Fallback of nowhere: no node "nowhere"`,
		"Fallback of End: End is no node",
		"Fallback of fetch: the node is of another kind; use TaskFallback",
		"Fallback of choosing: the node is of another kind; use RoutingFallback",
		"Fallback of memory: the subgraph is Stateful, and a call that failed leaves no state for the next one",
		"TaskFallback of plain: the node is of another kind; use Fallback",
		"RoutingFallback of fetch has no function",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// A fallback handles the failures of its node. Those of the run, of the storage and of the program
// stay what they are.
func TestAFallbackDoesNotHideOtherFaults(t *testing.T) {
	build := func(f func(context.Context, work) (update, error), opts ...graph.NodeOption) *graph.Builder[work, update] {
		b := newWork()
		b.Node("a", f, opts...)
		b.Fallback("a", func(context.Context, work, error) (update, error) {
			t.Error("the fallback ran")
			return update{}, nil
		})
		b.Chain(graph.Start, "a", graph.End)
		return b
	}
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		b := build(func(ctx context.Context, _ work) (update, error) {
			cancel()
			return update{}, ctx.Err()
		})
		if _, err := compile(t, b).Run(ctx, input); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want that of the context", err)
		}
	})
	t.Run("mutation", func(t *testing.T) {
		b := build(func(_ context.Context, s work) (update, error) {
			s.Log[0] = "changed" //graphvet:ignore graphwrite Strict must find this write
			return update{}, nil
		})
		var mutation *graph.MutationError
		if _, err := compile(t, b, graph.Strict()).Run(t.Context(), logged("a")); !errors.As(err, &mutation) {
			t.Errorf("got %v, want a *MutationError", err)
		}
	})
	t.Run("undeclared", func(t *testing.T) {
		var undeclared *graph.UndeclaredError
		if _, err := compile(t, build(say("a"), graph.Writes("Count")), graph.Strict()).Run(t.Context(), input); !errors.As(err, &undeclared) {
			t.Errorf("got %v, want an *UndeclaredError", err)
		}
	})
	t.Run("subgraph whose data cannot be stored", func(t *testing.T) {
		b := newWork()
		b.Subgraph("a", compile(t, chain("x", "y"), graph.SubgraphOnly()))
		b.Fallback("a", func(context.Context, work, error) (update, error) {
			t.Error("the fallback ran")
			return update{}, nil
		})
		b.Chain(graph.Start, "a", graph.End)
		s := noChildren{memory.New()}
		var saver *graph.SaverError
		if _, err := compile(t, b, graph.Saver(s)).Thread("t").Invoke(t.Context(), input); !errors.As(err, &saver) {
			t.Errorf("got %v, want a *SaverError", err)
		}
	})
}
