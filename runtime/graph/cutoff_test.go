package graph_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// errOwn is an error that does not wrap that of a context, as those of most clients.
var errOwn = errors.New("rpc error: code = Canceled")

// cutOff is a graph of the nodes ends and cut, one after the other in task order. When both have
// begun, ends does what the test says. Then cut ends as the test says. Later both return a result.
type cutOff struct {
	ends func(context.Context) error
	cut  func(context.Context) error
	opts []graph.NodeOption

	begun     chan struct{}
	fellBack  atomic.Int32
	endsAgain atomic.Bool
	cutAgain  atomic.Bool
}

func (c *cutOff) graph(b *graph.Builder[work, update]) {
	c.begun = make(chan struct{})
	b.Node("ends", func(ctx context.Context, _ work) (update, error) {
		if c.endsAgain.Swap(true) {
			return logged("ends"), nil
		}
		<-c.begun
		return logged("ends"), c.ends(ctx)
	})
	b.Node("cut", func(ctx context.Context, _ work) (update, error) {
		if c.cutAgain.Swap(true) {
			return logged("cut"), nil
		}
		close(c.begun)
		<-ctx.Done()
		return update{}, c.cut(ctx)
	}, c.opts...)
	b.Fallback("cut", func(context.Context, work, error) (update, error) {
		c.fellBack.Add(1)
		return logged("refunded"), nil
	})
	for _, id := range []graph.ID{"ends", "cut"} {
		b.Edge(graph.Start, id)
	}
}

// cuts are ways in which a node ends after the end of its context.
var cuts = map[string]func(context.Context) error{
	"with an error of its own": func(context.Context) error { return errOwn },
	"with that of its context": func(ctx context.Context) error { return ctx.Err() },
	"by Goexit":                func(context.Context) error { runtime.Goexit(); return nil },
}

// TestAnErrorAfterTheEndOfTheContextIsACancellation: no Fallback runs, the node is not reported as
// failed, and it runs again (rules 11.16 and 14.7).
func TestAnErrorAfterTheEndOfTheContextIsACancellation(t *testing.T) {
	for way, run := range map[string]func(t *testing.T, c *cutOff, th thread, compile func() *app, s checkpoint.Saver) graph.Status{
		"a sibling fails": func(t *testing.T, c *cutOff, th thread, _ func() *app, _ checkpoint.Saver) graph.Status {
			t.Helper()
			c.ends = func(context.Context) error { return errBroken }
			_, err := th.Invoke(t.Context(), input)
			failed := graph.NodeErrors(err)
			if len(failed) != 1 || failed[0].Node != "ends" || errors.Is(err, errOwn) {
				t.Errorf("got %v, want the error of the sibling alone", err)
			}
			return graph.Failed
		},
		"the caller cancels": func(t *testing.T, c *cutOff, th thread, _ func() *app, _ checkpoint.Saver) graph.Status {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			c.ends = func(context.Context) error { cancel(); return nil }
			wantEnding(t, graph.Ready, context.Canceled)(th.Invoke(ctx, input))
			return graph.Ready
		},
		"the time of the caller passes": func(t *testing.T, _ *cutOff, th thread, _ func() *app, _ checkpoint.Saver) graph.Status {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			wantEnding(t, graph.Ready, context.DeadlineExceeded)(th.Invoke(ctx, input))
			return graph.Ready
		},
		"the thread is cancelled": func(t *testing.T, _ *cutOff, th thread, _ func() *app, _ checkpoint.Saver) graph.Status {
			t.Helper()
			time.AfterFunc(time.Second, func() {
				if err := th.Cancel(t.Context(), "no stock"); err != nil {
					t.Error(err)
				}
			})
			res, err := th.Invoke(t.Context(), input)
			var cancelled *graph.CancelledError
			if !errors.As(err, &cancelled) || res.Status != graph.Cancelled || len(graph.NodeErrors(err)) > 0 {
				t.Errorf("got %s, %v; want a CancelledError", res.Status, err)
			}
			return graph.Cancelled
		},
		"the stream is left": func(t *testing.T, _ *cutOff, th thread, _ func() *app, _ checkpoint.Saver) graph.Status {
			t.Helper()
			for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventTaskEnded)) {
				if err != nil || e.Node == "ends" {
					break
				}
			}
			return graph.Ready
		},
		"the worker shuts down": func(t *testing.T, c *cutOff, th thread, compile func() *app, s checkpoint.Saver) graph.Status {
			t.Helper()
			submit(t, th, "in")
			ctx, cancel := context.WithCancel(t.Context())
			c.ends = func(context.Context) error { cancel(); return nil }
			found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			got, err := compile().ResumeDue(ctx, found.Threads[0], graph.DueOptions{})
			if got.Status != graph.Ready || len(graph.NodeErrors(err)) > 0 {
				t.Errorf("got %s, %v; want it ready", got.Status, err)
			}
			return graph.Ready
		},
	} {
		for how, cut := range cuts {
			t.Run(way+", and the node ends "+how, func(t *testing.T) {
				eachDurability(t, func(t *testing.T, d graph.Durability) {
					synctest.Test(t, func(t *testing.T) {
						s := memory.New()
						c := &cutOff{ends: func(context.Context) error { return nil }, cut: cut}
						b := newWork()
						c.graph(b)
						b.Edge("ends", graph.End)
						b.Edge("cut", graph.End)
						g := compile(t, b, graph.Saver(s), d)
						th := g.Thread("t")
						want := run(t, c, th, func() *app { return g }, s)
						snap := snapshot(t, th)
						same(t, "status", snap.Status, want)
						for _, one := range snap.Tasks {
							if one.Node == "cut" && (one.Finished || one.Failure != "") {
								t.Errorf("got the task %+v, want it unfinished and without an error", one)
							}
						}
						res := done(t, graph.Done)(th.Resume(t.Context()))
						same(t, "log after a resume", res.State.Log[len(res.State.Log)-2:], []string{"ends", "cut"})
						same(t, "calls of the fallback", int(c.fellBack.Load()), 0)
					})
				})
			})
		}
	}
}

// TestALoserWithAnErrorOfItsOwnIsSuperseded: its Fallback does not run (rules 6.4 and 11.16).
func TestALoserWithAnErrorOfItsOwnIsSuperseded(t *testing.T) {
	for how, cut := range cuts {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var outcomes []string
				seen := observer(func(e graph.RunEvent) {
					if e.Kind == graph.EventTaskEnded && e.Node == "cut" {
						outcomes = append(outcomes, e.Outcome.String())
					}
				})
				c := &cutOff{ends: func(context.Context) error { return nil }, cut: cut}
				b := newWork()
				c.graph(b)
				b.JoinAny([]graph.ID{"ends", "cut"}, "after")
				b.Node("after", say("after"))
				b.Edge("after", graph.End)
				res := done(t, graph.Done)(compile(t, b, graph.Saver(memory.New()), graph.Observe(seen)).Thread("t").Invoke(t.Context(), input))
				same(t, "log", res.State.Log, []string{"ends", "after"})
				same(t, "calls of the fallback", int(c.fellBack.Load()), 0)
				same(t, "outcomes", outcomes, []string{graph.OutcomeSuperseded.String()})
			})
		})
	}
}

// TestAPassedTimeoutIsAFailure, also if its node returns an error of its own (rules 11.1 and
// 11.9).
func TestAPassedTimeoutIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cutOff{
			ends: func(context.Context) error { return nil }, cut: func(context.Context) error { return errOwn },
			opts: []graph.NodeOption{graph.Timeout(time.Minute)},
		}
		b := newWork()
		c.graph(b)
		b.Edge("ends", graph.End)
		b.Edge("cut", graph.End)
		res := done(t, graph.Done)(compile(t, b, graph.Saver(memory.New())).Thread("t").Invoke(t.Context(), input))
		same(t, "log", res.State.Log, []string{"ends", "refunded"})
	})
}

// TestAPanicInACancelledRunIsReported: it is an error of the run, and nothing follows it (rule
// 11.16).
func TestAPanicInACancelledRunIsReported(t *testing.T) {
	for name, opts := range map[string][]graph.NodeOption{
		"": nil, "with a Retry": {graph.Retry(graph.RetryPolicy{If: func(error) bool { return true }, Attempts: 3})},
	} {
		t.Run("a fallback "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &cutOff{
					ends: func(context.Context) error { return errBroken },
					cut:  func(context.Context) error { panic("out of range") },
					opts: opts,
				}
				b := newWork()
				c.graph(b)
				b.Edge("ends", graph.End)
				b.Edge("cut", graph.End)
				th := compile(t, b, graph.Saver(memory.New())).Thread("t")
				_, err := th.Invoke(t.Context(), input)
				var panicked *graph.PanicError
				if failed := graph.NodeErrors(err); len(failed) != 2 || !errors.As(err, &panicked) {
					t.Errorf("got %v, want both errors", err)
				}
				same(t, "calls of the fallback", int(c.fellBack.Load()), 0)
				res := done(t, graph.Done)(th.Resume(t.Context()))
				same(t, "log", res.State.Log, []string{"ends", "cut"})
			})
		})
	}
}

// TestAPanicInACancelledThreadIsReported with the cancel.
func TestAPanicInACancelledThreadIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cutOff{
			ends: func(context.Context) error { return nil },
			cut:  func(context.Context) error { panic("out of range") },
		}
		b := newWork()
		c.graph(b)
		b.Edge("ends", graph.End)
		b.Edge("cut", graph.End)
		th := compile(t, b, graph.Saver(memory.New())).Thread("t")
		time.AfterFunc(time.Second, func() {
			if err := th.Cancel(t.Context(), "no stock"); err != nil {
				t.Error(err)
			}
		})
		res, err := th.Invoke(t.Context(), input)
		var cancelled *graph.CancelledError
		var panicked *graph.PanicError
		if !errors.As(err, &cancelled) || !errors.As(err, &panicked) || res.Status != graph.Cancelled {
			t.Errorf("got %s, %v; want the cancel and the panic", res.Status, err)
		}
		same(t, "reason", snapshot(t, th).Reason, cancelled.Error())
	})
}

// TestAFailureCancelsTheSendsOfANodeWithAFallback: of five sends one fails, and the others end
// with errors of their own. None of them is refunded.
func TestAFailureCancelsTheSendsOfANodeWithAFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refunds atomic.Int32
		b := newWork()
		each := graph.TaskNode(b, "each", func(ctx context.Context, _ work, in doc) (update, error) {
			if in.Name == "0" {
				time.Sleep(time.Second)
				panic("out of range")
			}
			<-ctx.Done()
			return update{}, errOwn
		}, graph.Retry(graph.RetryPolicy{Attempts: 3}))
		graph.TaskFallback(b, each, func(_ context.Context, _ work, in doc, err error) (update, error) {
			if refunds.Add(1); in.Name == "0" {
				return update{}, err
			}
			return logged("refunded " + in.Name), nil
		})
		b.Route(graph.Start, func(context.Context, work) (next graph.Next, _ error) {
			for i := range 5 {
				next.Add(each.Send(doc{Name: fmt.Sprint(i)}))
			}
			return next, nil
		}, "each")
		b.Edge("each", graph.End)
		th := compile(t, b, graph.Saver(memory.New())).Thread("t")
		_, err := th.Invoke(t.Context(), input)
		if failed := graph.NodeErrors(err); len(failed) != 1 || !strings.Contains(err.Error(), `node "each" (send 0)`) {
			t.Errorf("got %v, want the error of send 0 alone", err)
		}
		same(t, "calls of the fallback", int(refunds.Load()), 1)
		for _, one := range snapshot(t, th).Tasks {
			same(t, fmt.Sprintf("send %d is finished", one.Index), one.Finished, false)
		}
	})
}
