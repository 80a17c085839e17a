package graph_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// late are nodes of whose work nothing ends within the ExecutionTimeout.
var late = map[string]struct {
	node   func(context.Context, work) (update, error)
	opts   []graph.NodeOption
	call   []graph.Option
	status graph.Status // of the thread before the deadline
}{
	"a node runs": {func(ctx context.Context, _ work) (update, error) { <-ctx.Done(); return update{}, ctx.Err() }, nil, nil, graph.Running},
	"a question": {func(ctx context.Context, _ work) (update, error) {
		_, err := refund.Ask(ctx, doc{Name: "shoes"})
		return update{}, err
	}, []graph.NodeOption{refund}, nil, graph.Waiting},
	"a signal": {func(ctx context.Context, _ work) (update, error) {
		_, err := payment.Receive(ctx)
		return update{}, err
	}, []graph.NodeOption{payment}, nil, graph.Waiting},
	"a time after the deadline": {sleeper("slow", 9*day), nil, nil, graph.Waiting},
	"times before the deadline": {sleeper("slow", time.Hour, time.Hour, day, day), nil, nil, graph.Waiting},
	"a queue":                   {say("gpu"), []graph.NodeOption{graph.Queue("gpu")}, []graph.Option{graph.Sync}, graph.Waiting},
	"a stop":                    {say("n"), nil, []graph.Option{graph.InterruptBefore("n")}, graph.Paused},
	"a retry of the worker":     {func(context.Context, work) (update, error) { return update{}, errBroken }, nil, nil, graph.Failed},
}

// TestAnInputEndsAtItsDeadline tests rules 14.9 and 14.10.
func TestAnInputEndsAtItsDeadline(t *testing.T) {
	for name, c := range late {
		t.Run(name, func(t *testing.T) {
			eachInBubble(t, func(t *testing.T, d graph.Durability) {
				s, b := memory.New(), newWork()
				b.Node("n", c.node, c.opts...)
				b.Edge(graph.Start, "n")
				b.Edge("n", graph.End)
				opts := append([]graph.Option{graph.Saver(s)}, c.call...)
				if c.call == nil {
					opts = append(opts, d)
				}
				g := compile(t, b, opts...)
				th, began := g.Thread("t"), time.Now()
				submit(t, th, "in", graph.ExecutionTimeout(day), graph.RequestID("1"))
				submit(t, th, "next")
				ctx, stop := context.WithCancel(t.Context())
				workUntil(ctx, t, g, s)
				time.Sleep(day - time.Second)
				snap := snapshot(t, th)
				if snap.Status != c.status || !snap.Deadline.Equal(began.Add(day)) {
					t.Errorf("before: got %v with the deadline %v, want %v and %v", snap.Status, snap.Deadline, c.status, began.Add(day))
				}
				time.Sleep(time.Second)
				_, err := th.Result(t.Context(), graph.RequestID("1"))
				if !errors.Is(err, graph.ErrExecutionTimeout) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want the ErrExecutionTimeout", err)
				}
				if took := time.Since(began) - day; took > 2*time.Second {
					t.Errorf("the work ended %v after its deadline", took)
				}
				time.Sleep(time.Minute)
				snap = snapshot(t, th)
				if n := len(snap.State.Log); n == 0 || snap.State.Log[n-1] != "next" || !snap.Deadline.IsZero() {
					t.Errorf("got the log %v and the deadline %v, want the next input without one", snap.State.Log, snap.Deadline)
				}
				stop()
			})
		})
	}
}

// workUntil runs due threads in the background, until ctx ends.
func workUntil(ctx context.Context, t *testing.T, g *app, s checkpoint.Saver) {
	t.Helper()
	go func() {
		for ctx.Err() == nil {
			found, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1, Reserve: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			for _, th := range found.Threads {
				_, _ = g.ResumeDue(ctx, th, graph.DueOptions{Retry: graph.RetryPolicy{Base: time.Hour, Max: time.Hour, Jitter: whole}})
			}
			if len(found.Threads) == 0 {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
		}
	}()
}

// TestADeadlineCancelsTheChild tests rules 14.9 and 25.4: the deadline of the caller ends its
// child, and a child can have one of its own.
func TestADeadlineCancelsTheChild(t *testing.T) {
	slow := sleeper("worked", 9*day)
	t.Run("of the caller", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFamily(t, slow)
			p := f.parent.Thread("p")
			done(t, graph.Waiting)(p.Invoke(t.Context(), input, graph.ExecutionTimeout(day)))
			f.work(t)
			time.Sleep(day)
			f.work(t)
			same(t, "statuses", []graph.Status{f.status(t, f.parent, "p"), f.status(t, f.child, "kid")}, []graph.Status{graph.Cancelled, graph.Cancelled})
		})
	})
	t.Run("of its own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFamily(t, slow, graph.ExecutionTimeout(day))
			p := f.parent.Thread("p")
			done(t, graph.Waiting)(p.Invoke(t.Context(), input))
			f.work(t)
			time.Sleep(day)
			f.work(t)
			_, err := p.Resume(t.Context())
			var child *graph.ChildError
			if !errors.As(err, &child) || !errors.Is(err, graph.ErrExecutionTimeout) {
				t.Errorf("got %v, want the *ChildError of an ErrExecutionTimeout", err)
			}
		})
	})
}

// waiterFor compiles a graph that logs "a" and then asks for a refund.
func waiterFor(t *testing.T, s checkpoint.Saver, d graph.Durability) *app {
	t.Helper()
	b := newWork()
	b.Node("a", say("a"))
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		_, err := refund.Ask(ctx, doc{Name: "shoes"})
		return logged("asked"), err
	}, refund)
	return compile(t, line(b, "a", "ask"), graph.Saver(s), d)
}

// TestADeadlineBelongsToItsInput tests rule 14.10.
func TestADeadlineBelongsToItsInput(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		t.Helper()
		s := memory.New()
		g := waiterFor(t, s, d)
		th, began := g.Thread("t"), time.Now()
		want := func(what string, deadline time.Time) {
			t.Helper()
			if got := snapshot(t, th).Deadline; !got.Equal(deadline) {
				t.Errorf("%s: got the deadline %v, want %v", what, got, deadline)
			}
			if wake := listed(t, s).Wake; !wake.Equal(deadline) {
				t.Errorf("%s: the thread is due at %v, want %v", what, wake, deadline)
			}
		}
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), input, graph.ExecutionTimeout(day)))
		want("after the input", began.Add(day))
		time.Sleep(time.Hour)
		if _, err := th.UpdateState(t.Context(), logged("edit")); err != nil {
			t.Fatal(err)
		}
		want("after an edit", began.Add(day))
		if _, err := th.At(res.Checkpoint).UpdateState(t.Context(), logged("fork")); err != nil {
			t.Fatal(err)
		}
		want("after a fork", time.Time{})
		done(t, graph.Waiting)(th.Resume(t.Context()))
		want("after the run of the fork", time.Time{})

		began = time.Now()
		done(t, graph.Waiting)(th.Invoke(t.Context(), input, graph.DiscardPending(), graph.ExecutionTimeout(time.Hour)))
		want("after another input", began.Add(time.Hour))
		time.Sleep(time.Hour)
		_, err := th.Resume(t.Context())
		if !errors.Is(err, graph.ErrExecutionTimeout) {
			t.Errorf("resume at the deadline: got %v, want ErrExecutionTimeout", err)
		}
		want("after the cancel", time.Time{})
		res = done(t, graph.Waiting)(th.Resume(t.Context()))
		want("after the resume of the cancelled thread", time.Time{})
		done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))

		began = time.Now()
		done(t, graph.Waiting)(th.Invoke(t.Context(), input, graph.ExecutionTimeout(time.Hour)))
		want("after an input of the finished thread", began.Add(time.Hour))
		time.Sleep(2 * time.Hour)
		done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		want("after an input behind the deadline", time.Time{})
	})
}

// TestAFailedThreadStaysFailedAtItsDeadline tests rule 14.10.
func TestAFailedThreadStaysFailedAtItsDeadline(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		t.Helper()
		s, b := memory.New(), newWork()
		b.Node("a", func(context.Context, work) (update, error) { return update{}, errBroken })
		g := compile(t, line(b, "a"), graph.Saver(s), d)
		submit(t, g.Thread("t"), "in", graph.ExecutionTimeout(day))
		if _, err := resumeDue(t, g, s, graph.DueOptions{Retry: graph.RetryPolicy{Attempts: 1}}); !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		time.Sleep(2 * day)
		if th := listed(t, s); th.Status != graph.Failed || len(ready(t, s)) > 0 {
			t.Errorf("got %v, due at %v; want it failed and not due", th.Status, th.Wake)
		}
	})
}

// TestTheTimeOfASubmittedInputBeginsWithItsPost tests rule 14.9: the input waits behind another
// one. When it begins, its deadline has passed, and no node runs.
func TestTheTimeOfASubmittedInputBeginsWithItsPost(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		t.Helper()
		s, ran := memory.New(), &counter{}
		b := newWork()
		b.Node("a", func(context.Context, work) (update, error) { ran.add("a"); return logged("a"), nil })
		g := compile(t, line(b, "a"), graph.Saver(s), d)
		th := g.Thread("t")
		submit(t, th, "one")
		submit(t, th, "two", graph.ExecutionTimeout(time.Hour), graph.RequestID("two"))
		submit(t, th, "three")
		time.Sleep(time.Hour)
		serve(t, g, s)
		if _, err := th.Result(t.Context(), graph.RequestID("two")); !errors.Is(err, graph.ErrExecutionTimeout) {
			t.Errorf("got %v, want ErrExecutionTimeout", err)
		}
		same(t, "log", snapshot(t, th).State.Log, []string{"one", "a", "two", "three", "a"})
		same(t, "runs", ran.counts(), map[string]int{"a": 2})
	})
}

func TestAnExecutionTimeoutMustBePositive(t *testing.T) {
	g := compile(t, chain("a"), graph.Saver(memory.New()))
	if _, err := g.Thread("t").Invoke(t.Context(), input, graph.ExecutionTimeout(0)); err == nil {
		t.Error("got no error for a timeout of 0")
	}
}

// TestAForkAtTheHeadHasNoDeadline: rule 14.10.
func TestAForkAtTheHeadHasNoDeadline(t *testing.T) {
	for name, opt := range map[string]graph.UpdateOption{"as a node": graph.AsNode("a"), "with Goto": graph.Goto(graph.To("b"))} {
		t.Run(name, func(t *testing.T) {
			th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
			done(t, graph.Paused)(th.Invoke(t.Context(), input, graph.ExecutionTimeout(day)))
			updated(t)(th.UpdateState(t.Context(), logged("fork"), opt))
			if snap := stored(t, th); !snap.Deadline.IsZero() {
				t.Errorf("got the deadline %v, want none", snap.Deadline)
			}
			if d := described(t, th); !d.Wake.IsZero() {
				t.Errorf("got a thread that is due at %v, want it not due", d.Wake)
			}
		})
	}
}
