package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// minutes are lines that interceptors and nodes write.
type minutes struct {
	mu    sync.Mutex
	lines []string
}

func (m *minutes) add(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = append(m.lines, fmt.Sprintf(format, args...))
}

// take returns the lines, and forgets them.
func (m *minutes) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := m.lines
	m.lines = nil
	return lines
}

// nameKey is the key of the names of the interceptors around a context.
type nameKey struct{}

func within(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, wrappersOf(ctx)+name)
}

func wrappersOf(ctx context.Context) string {
	all, _ := ctx.Value(nameKey{}).(string)
	return all
}

// recorder is an Interceptor that writes a line before and after all work.
func recorder(name string, m *minutes) graph.Interceptor {
	return graph.Interceptor{
		Run: func(ctx context.Context, r graph.RunInfo, next func(context.Context) (graph.Status, error)) error {
			m.add("%s run %s %s resume=%v worker=%v", name, r.Graph, r.Thread, r.Resume, r.Worker)
			status, err := next(within(ctx, name))
			m.add("%s run %s %v", name, status, err)
			return err
		},
		Step: func(ctx context.Context, s graph.StepInfo, next func(context.Context) (graph.Status, error)) error {
			m.add("%s step %v%d", name, s.Path, s.Step)
			status, err := next(within(ctx, name))
			m.add("%s step %v%d %s", name, s.Path, s.Step, status)
			return err
		},
		Task: func(ctx context.Context, i graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
			m.add("%s task %v%s %s %d/%d", name, i.Path, i.Node, i.Kind, i.Index, i.Attempt)
			outcome, err := next(within(ctx, name))
			m.add("%s task %s %v", name, outcome, err)
			return err
		},
		Route: func(ctx context.Context, r graph.RouteInfo, next func(context.Context) ([]graph.ID, error)) error {
			m.add("%s route %v%s", name, r.Path, r.Node)
			chosen, err := next(within(ctx, name))
			m.add("%s route %v %v", name, chosen, err)
			return err
		},
	}
}

// taskOnly is an Interceptor of tasks.
func taskOnly(f func(context.Context, graph.TaskInfo, func(context.Context) (graph.Outcome, error)) error) graph.Option {
	return graph.Intercept(graph.Interceptor{Task: f})
}

// TestInterceptorsWrapAllWorkInOrder: the order of several interceptors, by rule 24.1.
func TestInterceptorsWrapAllWorkInOrder(t *testing.T) {
	var m minutes
	inner := recorder("c", &m)
	inner.Run = nil
	child := newWork()
	child.Node("x", func(ctx context.Context, _ work) (update, error) {
		m.add("x in %s", wrappersOf(ctx))
		return update{}, nil
	})
	b := newWork()
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		m.add("a in %s", wrappersOf(ctx))
		return update{}, nil
	})
	b.Subgraph("sub", compile(t, line(child, "x"), graph.SubgraphOnly(), graph.Intercept(inner)))
	b.Edge(graph.Start, "a")
	b.Route("a", func(ctx context.Context, _ work) (graph.Next, error) {
		m.add("route in %s of %s", wrappersOf(ctx), graph.CurrentTask(ctx).Node)
		return graph.To("sub"), nil
	}, "sub")
	b.Edge("sub", graph.End)
	th, _ := newThread(t, b, graph.Intercept(recorder("1", &m), recorder("2", &m)))
	done(t, graph.Done)(th.Invoke(t.Context(), input))
	same(t, "lines", m.take(), []string{
		"1 run g t resume=false worker=false", "2 run g t resume=false worker=false",
		"1 step []2", "2 step []2",
		"1 task []a node 0/1", "2 task []a node 0/1", "a in 121212", "2 task done <nil>", "1 task done <nil>",
		"1 route []a", "2 route []a", "route in 121212 of a", "2 route [sub] <nil>", "1 route [sub] <nil>",
		"2 step []2 running", "1 step []2 running",
		"1 step []3", "2 step []3",
		"1 task []sub subgraph 0/1", "2 task []sub subgraph 0/1",
		"1 step [sub]2", "2 step [sub]2", "c step [sub]2",
		"1 task [sub]x node 0/1", "2 task [sub]x node 0/1", "c task [sub]x node 0/1", "x in 12121212c12c",
		"c task done <nil>", "2 task done <nil>", "1 task done <nil>",
		"c step [sub]2 done", "2 step [sub]2 done", "1 step [sub]2 done",
		"2 task done <nil>", "1 task done <nil>",
		"2 step []3 done", "1 step []3 done",
		"2 run done <nil>", "1 run done <nil>",
	})
}

func TestAnInterceptorOfRunsSeesWhoContinuesAThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m minutes
		in := recorder("1", &m)
		s := memory.New()
		g := compile(t, chain("a", "b"), graph.Saver(s), graph.InterruptBefore("b"), graph.Intercept(graph.Interceptor{Run: in.Run}))
		done(t, graph.Paused)(g.Thread("t").Invoke(t.Context(), input))
		done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
		if _, err := g.Thread("u").Submit(t.Context(), input); err != nil {
			t.Fatal(err)
		}
		serve(t, g, s)
		done(t, graph.Done)(g.Run(t.Context(), input))
		same(t, "lines", m.take(), []string{
			"1 run g t resume=false worker=false", "1 run paused <nil>",
			"1 run g t resume=true worker=false", "1 run done <nil>",
			"1 run g u resume=false worker=true", "1 run paused <nil>",
			"1 run g  resume=false worker=false", "1 run done <nil>",
		})
	})
}

var errRefused = errors.New("not allowed")

// TestAnInterceptorMayRefuse: a refusal begins no work, by rule 24.2.
func TestAnInterceptorMayRefuse(t *testing.T) {
	refuse := map[string]graph.Interceptor{
		"run": {Run: func(context.Context, graph.RunInfo, func(context.Context) (graph.Status, error)) error {
			return errRefused
		}},
		"step": {Step: func(_ context.Context, s graph.StepInfo, next func(context.Context) (graph.Status, error)) error {
			return errRefused
		}},
		"task": {Task: func(context.Context, graph.TaskInfo, func(context.Context) (graph.Outcome, error)) error {
			return errRefused
		}},
		"route": {Route: func(context.Context, graph.RouteInfo, func(context.Context) ([]graph.ID, error)) error {
			return errRefused
		}},
	}
	places := map[string]string{
		"run": `graph: g: thread "t": not allowed`, "step": `graph: g: thread "t": step 2: not allowed`,
		"task": `graph: g: thread "t": step 2: node "a": not allowed`, "route": `graph: g: thread "t": step 2: route from a: not allowed`,
	}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for name, in := range refuse {
			t.Run(name, func(t *testing.T) {
				ran := 0
				b := newWork()
				b.Node("a", func(context.Context, work) (update, error) { ran++; return update{}, nil })
				b.Edge(graph.Start, "a")
				b.Route("a", choose(graph.End), graph.End)
				s := memory.New()
				refusing := compile(t, b, graph.Saver(s), d, graph.Intercept(in))
				_, err := refusing.Thread("t").Invoke(t.Context(), input)
				if !errors.Is(err, errRefused) || err.Error() != places[name] {
					t.Errorf("got error %v, want %s", err, places[name])
				}
				if want := map[string]int{"route": 1}[name]; ran != want {
					t.Errorf("the node ran %d times, want %d", ran, want)
				}
				th := compile(t, b, graph.Saver(s), d).Thread("t")
				snap, err := th.State(t.Context())
				if name == "run" {
					if !errors.Is(err, checkpoint.ErrNotFound) {
						t.Errorf("a refused run left a thread: %v", err)
					}
					return
				}
				if err != nil || snap.Status != graph.Failed || !strings.Contains(snap.Reason, "not allowed") {
					t.Errorf("the thread is %v because of %q, %v; want it failed with the error", snap.Status, snap.Reason, err)
				}
				done(t, graph.Done)(th.Resume(t.Context()))
			})
		}
	})
}

// TestAnInterceptorGetsTheOutcomeOfEachAttempt runs nodes that end in all ways.
func TestAnInterceptorGetsTheOutcomeOfEachAttempt(t *testing.T) {
	once := graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1, If: func(err error) bool { return errors.Is(err, errBroken) }})
	fails := func(context.Context, work) (update, error) { return update{}, errBroken }
	for name, c := range map[string]struct {
		build func(*graph.Builder[work, update])
		want  []string
	}{
		"done":     {func(b *graph.Builder[work, update]) { b.Node("n", say("n")) }, []string{"1 done <nil>"}},
		"failed":   {func(b *graph.Builder[work, update]) { b.Node("n", fails) }, []string{"1 failed it broke"}},
		"retrying": {func(b *graph.Builder[work, update]) { b.Node("n", fails, once) }, []string{"1 retrying it broke", "2 failed it broke"}},
		"fallback": {func(b *graph.Builder[work, update]) {
			b.Node("n", fails, once)
			b.Fallback("n", func(context.Context, work, error) (update, error) { return update{}, nil })
		}, []string{"1 retrying it broke", "2 retrying it broke", "3 fallback done <nil>"}},
		"panic": {func(b *graph.Builder[work, update]) {
			b.Node("n", func(context.Context, work) (update, error) { panic("bang") }, once)
		}, []string{"1 failed panic: bang"}},
		"waiting": {func(b *graph.Builder[work, update]) {
			b.Node("n", func(ctx context.Context, _ work) (update, error) {
				_, err := refund.Ask(ctx, doc{Name: "shoes"})
				return update{}, err
			}, refund)
		}, []string{"1 waiting <nil>"}},
		"sleeping": {func(b *graph.Builder[work, update]) {
			b.Node("n", func(ctx context.Context, _ work) (update, error) { return update{}, graph.Sleep(ctx, time.Hour) })
		}, []string{"1 waiting <nil>"}},
		"timeout": {func(b *graph.Builder[work, update]) {
			b.Node("n", func(ctx context.Context, _ work) (update, error) { <-ctx.Done(); return update{}, errBroken }, graph.Timeout(1),
				graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1, If: func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }}))
		}, []string{
			"1 retrying its Timeout of 1ns has passed (context deadline exceeded): it broke",
			"2 failed its Timeout of 1ns has passed (context deadline exceeded): it broke",
		}},
		"paused": {func(b *graph.Builder[work, update]) {
			b.Subgraph("n", compile(t, chain("x"), graph.SubgraphOnly(), graph.InterruptBefore("x")))
		}, []string{"1 paused <nil>"}},
	} {
		t.Run(name, func(t *testing.T) {
			var m minutes
			b := newWork()
			c.build(b)
			th, _ := newThread(t, line(b, "n"), taskOnly(func(ctx context.Context, i graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
				o, err := next(ctx)
				kind := ""
				if i.Fallback {
					kind = "fallback "
				}
				m.add("%d %s%s %v", i.Attempt, kind, o, err)
				return err
			}))
			_, err := th.Invoke(t.Context(), input)
			same(t, "outcomes", m.take(), c.want)
			if failed := strings.Contains(c.want[len(c.want)-1], "failed"); failed != (err != nil) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func TestAnInterceptorSeesCancelledTasks(t *testing.T) {
	var m minutes
	b := newWork()
	started := make(chan struct{})
	b.Node("slow", func(ctx context.Context, _ work) (update, error) {
		close(started)
		<-ctx.Done()
		return update{}, ctx.Err()
	})
	b.Node("bad", func(context.Context, work) (update, error) { <-started; return update{}, errBroken })
	for _, id := range []graph.ID{"slow", "bad"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	th, _ := newThread(t, b, taskOnly(func(ctx context.Context, i graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
		o, err := next(ctx)
		m.add("%s %s", i.Node, o)
		if o == graph.OutcomeCancelled {
			return errors.New("another error") // the task stays cancelled
		}
		return err
	}))
	_, err := th.Invoke(t.Context(), input)
	if !errors.Is(err, errBroken) || strings.Contains(err.Error(), "another") {
		t.Errorf("got %v, want only the error of the node", err)
	}
	lines := m.take()
	slices.Sort(lines)
	same(t, "outcomes", lines, []string{"bad failed", "slow cancelled"})
}

// TestAnErrorAfterATaskThatWaitsIsReported: the question is asked all the same.
func TestAnErrorAfterATaskThatWaitsIsReported(t *testing.T) {
	for name, breaks := range map[string]func() error{
		"error": func() error { return errRefused },
		"panic": func() error { panic(errRefused) },
	} {
		t.Run(name, func(t *testing.T) {
			var ran counter
			broken := true
			th, _ := newThread(t, asker(&ran), taskOnly(
				func(ctx context.Context, _ graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
					o, err := next(ctx)
					if o == graph.OutcomeWaiting && broken {
						return breaks()
					}
					return err
				}))
			res, err := th.Invoke(t.Context(), input)
			if res.Status != graph.Waiting || len(res.Questions) != 1 || err == nil || strings.Count(err.Error(), "not allowed") != 1 {
				t.Fatalf("got %v with %d questions, %v; want it waiting, with the error once", res.Status, len(res.Questions), err)
			}
			broken = false
			done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
		})
	}
}

// TestNextIsCalledOnceWithAChildOfTheContext: the work is done at most once, by rule 24.3.
func TestNextIsCalledOnceWithAChildOfTheContext(t *testing.T) {
	for name, c := range map[string]struct {
		task func(context.Context, func(context.Context) (graph.Outcome, error)) error
		want error
		runs int
	}{
		"not called": {func(context.Context, func(context.Context) (graph.Outcome, error)) error { return nil }, graph.ErrNextNotCalled, 0},
		"a foreign context": {func(_ context.Context, next func(context.Context) (graph.Outcome, error)) error {
			_, err := next(context.Background())
			return err
		}, graph.ErrForeignContext, 0},
		"called again": {func(ctx context.Context, next func(context.Context) (graph.Outcome, error)) error {
			_, _ = next(ctx)
			_, err := next(ctx)
			return err
		}, graph.ErrNextCalledAgain, 1},
		"hides an error": {func(ctx context.Context, next func(context.Context) (graph.Outcome, error)) error {
			_, err := next(ctx)
			_ = err
			return nil
		}, errBroken, 1},
		"does not wait": {func(ctx context.Context, next func(context.Context) (graph.Outcome, error)) error {
			begun := make(chan struct{})
			go func() {
				_, _ = next(context.WithValue(ctx, nameKey{}, begun))
			}()
			<-begun
			return nil
		}, errBroken, 1},
	} {
		t.Run(name, func(t *testing.T) {
			runs, returned := 0, false
			b := newWork()
			b.Node("n", func(ctx context.Context, _ work) (update, error) {
				if begun, ok := ctx.Value(nameKey{}).(chan struct{}); ok {
					close(begun)
				}
				runs++
				returned = true
				return update{}, errBroken
			})
			th, _ := newThread(t, line(b, "n"), taskOnly(
				func(ctx context.Context, _ graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
					return c.task(ctx, next)
				}))
			_, err := th.Invoke(t.Context(), input)
			if !errors.Is(err, c.want) {
				t.Errorf("got error %v, want %v", err, c.want)
			}
			if runs != c.runs || returned != (c.runs > 0) {
				t.Errorf("the node ran %d times, want %d", runs, c.runs)
			}
		})
	}
}

// TestNextAfterTheInterceptorDoesNothing keeps a next for later.
func TestNextAfterTheInterceptorDoesNothing(t *testing.T) {
	var later func(context.Context) (graph.Outcome, error)
	th, _ := newThread(t, chain("n"), taskOnly(func(_ context.Context, _ graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
		later = next
		return errRefused
	}))
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errRefused) {
		t.Fatalf("got %v, want the refusal", err)
	}
	if _, err := later(t.Context()); !errors.Is(err, graph.ErrNextCalledAgain) {
		t.Errorf("got %v, want ErrNextCalledAgain", err)
	}
}

// TestAnErrorOfAStepAfterItsCommitFailsTheRun keeps the commit, by rule 24.6.
func TestAnErrorOfAStepAfterItsCommitFailsTheRun(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		fails := map[int]bool{2: true}
		g := compile(t, chain("a", "b"), graph.Saver(s), d, graph.Intercept(graph.Interceptor{
			Step: func(ctx context.Context, i graph.StepInfo, next func(context.Context) (graph.Status, error)) error {
				if _, err := next(ctx); err != nil || !fails[i.Step] {
					return err
				}
				return errRefused
			},
		}))
		res, err := g.Thread("t").Invoke(t.Context(), input)
		if !errors.Is(err, errRefused) || res.Status != graph.Failed {
			t.Fatalf("got %v, %v; want it failed", res.Status, err)
		}
		same(t, "log", res.State.Log, []string{"a"})
		clear(fails)
		fails[3] = true
		res, err = g.Thread("t").Resume(t.Context())
		if !errors.Is(err, errRefused) || res.Status != graph.Done { // the run was over
			t.Fatalf("got %v, %v; want it done, with the error", res.Status, err)
		}
		same(t, "log", res.State.Log, []string{"a", "b"})
	})
}

// TestInterceptorsOfAQueueRunInItsWorker: the worker of a queue wraps its attempts, in the same
// order, by rule 24.7.
func TestInterceptorsOfAQueueRunInItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w wraps
		n := 0
		node := func(ctx context.Context, _ work) (update, error) {
			if n++; n == 1 {
				return update{}, errBroken
			}
			return logged("gpu in " + wrappersOf(ctx)), nil
		}
		s := memory.New()
		g := queued(t, node, s, []graph.Option{graph.Intercept(w.wrapping("1"), w.wrapping("2"))},
			graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
		res := done(t, graph.Done)(serving(g, s).invoke(t, g.Thread("t")))
		same(t, "log", res.State.Log, []string{"a", "gpu in 12", "z"})
		here := []string{`1 begins node "" 1`, `2 begins node "" 1`, "2 ends done", "1 ends done"}
		same(t, "lines", w.lines, map[string][]string{"[]a.0": here, "[]z.0": here, "[]gpu.0": {
			`1 begins node "gpu" 1`, `2 begins node "gpu" 1`, "2 ends retrying", "1 ends retrying",
			`1 begins node "gpu" 2`, `2 begins node "gpu" 2`, "2 ends done", "1 ends done",
		}})
	})
}

// TestAStreamLeavesThroughInterceptors: the loop of a consumer runs inside a superstep.
func TestAStreamLeavesThroughInterceptors(t *testing.T) {
	var m minutes
	th, _ := newThread(t, chain("a", "b"), graph.Intercept(recorder("1", &m)))
	for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventTaskStarted)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == graph.EventTaskStarted {
			break
		}
	}
	lines := m.take()
	same(t, "end", lines[len(lines)-1], "1 run ready <nil>")
	func() {
		defer func() {
			if v := recover(); v != errRefused {
				t.Errorf("recovered %v, want the panic of the consumer", v)
			}
		}()
		for _, err := range th.ResumeStream(t.Context(), graph.Events(graph.EventTaskStarted)) {
			if err != nil {
				t.Error(err)
			}
			panic(errRefused)
		}
	}()
	done(t, graph.Done)(th.Resume(t.Context()))
}

func TestCompileRefusesInterceptorsWithoutEffect(t *testing.T) {
	var m minutes
	_, err := chain("a").Compile(graph.SubgraphOnly(), graph.Intercept(recorder("1", &m), graph.Interceptor{}),
		graph.Propagate(nil), graph.Propagate((*courier)(nil)))
	var faults *graph.CompileError
	if !errors.As(err, &faults) {
		t.Fatalf("got %v, want a CompileError", err)
	}
	same(t, "faults", faults.Faults, []string{
		"Intercept: interceptor 1 has a Run, which a SubgraphOnly graph does not call; pass it to the graph of the thread",
		"Intercept: interceptor 2 has no function; set Run, Step, Task or Route",
		"Propagate is given nil (<nil>); pass a Propagator, or leave the option out",
		"a SubgraphOnly graph has a Propagator; pass it to the graph of the thread",
		"Propagate is given nil (*graph_test.courier); pass a Propagator, or leave the option out",
		"a SubgraphOnly graph has a Propagator; pass it to the graph of the thread",
	})
}
