package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// desk receives a payment, then asks a question. depth is the number of subgraphs around both.
func desk(t *testing.T, depth int) *graph.Builder[work, update] {
	t.Helper()
	b := newWork()
	b.Node("pay", func(ctx context.Context, _ work) (update, error) {
		p, err := payment.Receive(ctx)
		return logged(fmt.Sprint("paid ", p)), err
	}, payment)
	b.Node("ask", func(ctx context.Context, _ work) (update, error) {
		ok, err := refund.Ask(ctx, doc{Name: "shoes"})
		return logged(fmt.Sprint("answer ", ok)), err
	}, refund)
	b.Edge(graph.Start, "pay")
	b.Edge("pay", "ask")
	b.Edge("ask", graph.End)
	for range depth {
		outer := newWork()
		outer.Subgraph("sub", compile(t, b, graph.SubgraphOnly()))
		outer.Edge(graph.Start, "sub")
		outer.Edge("sub", graph.End)
		b = outer
	}
	return b
}

// order is an input of desk and its payment. It is over when the log has the line until.
type order struct {
	input, pays, until string
	policy             []graph.SubmitOption
}

// orders has a signal that comes before its input, an input that waits for a signal, and one that
// cancels that.
var orders = []order{
	{"one", "1", "answer true", nil},
	{"two", "", "two", nil},
	{"three", "3", "answer true", []graph.SubmitOption{graph.CancelPending("a newer order")}},
}

// place places all orders, as a client with one worker does. It repeats what was done before.
func place(ctx context.Context, g *app, s checkpoint.Saver) error {
	th := g.Thread("t")
	for _, o := range orders {
		if o.pays != "" && o.policy == nil { // early
			if err := th.Signal(ctx, payment.With(wire.String(o.pays), graph.RequestID(o.input))); err != nil {
				return err
			}
		}
		if _, err := th.Submit(ctx, logged(o.input), append(o.policy, graph.RequestID(o.input))...); err != nil {
			return err
		}
		if o.pays != "" && o.policy != nil {
			if err := th.Signal(ctx, payment.With(wire.String(o.pays), graph.RequestID(o.input))); err != nil {
				return err
			}
		}
		if err := until(ctx, g, s, o); err != nil {
			return err
		}
	}
	return nil
}

// until works and answers until the log has the last line of an order, after its input.
func until(ctx context.Context, g *app, s checkpoint.Saver, o order) error {
	th := g.Thread("t")
	for range 100 {
		found, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10})
		if err != nil {
			return err
		}
		for _, due := range found.Threads {
			if _, err := g.ResumeDue(ctx, due, graph.DueOptions{}); err != nil {
				return err
			}
		}
		if len(found.Threads) > 0 {
			continue
		}
		snap, err := th.State(ctx)
		if err != nil {
			return err
		}
		if at := slices.Index(snap.State.Log, o.input); at >= 0 && slices.Contains(snap.State.Log[at:], o.until) {
			return nil
		}
		for _, q := range snap.Questions {
			if err := th.Answer(ctx, refund.Answer(q, true)); err != nil && !errors.Is(err, graph.ErrNotAsked) {
				return err
			}
		}
		time.Sleep(time.Second)
	}
	return fmt.Errorf("order %s never ends", o.input)
}

// TestMailEndsTheSameWhateverCallACrashHits lets a process die at each call of the saver. Another
// one repeats what its client sends (rules 21.1, 21.9, 21.14, 21.21 and 21.22).
func TestMailEndsTheSameWhateverCallACrashHits(t *testing.T) {
	for depth := range 3 {
		eachDurability(t, func(t *testing.T, d graph.Durability) {
			t.Parallel()
			points := 0
			for more := true; more && !t.Failed(); {
				more = false
				points++
				for _, after := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						more = mailCrash(t, d, depth, points, after) || more
					})
				}
			}
			if points < 20 {
				t.Errorf("only %d crash points, want them all", points)
			}
		})
	}
}

// mailCrash lets the process die at one call of the saver, and reports whether there is such one.
func mailCrash(t *testing.T, d graph.Durability, depth, point int, after bool) bool {
	t.Helper()
	what := fmt.Sprintf("depth %d, crash at call %d, after it was made %t", depth, point, after)
	s := memory.New()
	dying := crashingInbox{&crashing{Saver: s, left: point, after: after}}
	b := desk(t, depth)
	err := place(t.Context(), compile(t, b, graph.Saver(dying), d), s)
	if err != nil && !errors.Is(err, errCrash) {
		t.Fatalf("%s: %v", what, err)
	}
	time.Sleep(2 * checkpoint.DefaultLease)
	g := compile(t, b, graph.Saver(s), d)
	if again := place(t.Context(), g, s); again != nil {
		t.Fatalf("%s: %v", what, again)
	}
	th := g.Thread("t")
	same(t, what+": log", snapshot(t, th).State.Log, []string{"one", "paid 1", "answer true", "two", "three", "paid 3", "answer true"})
	same(t, what+": messages left", untaken(t, th), []checkpoint.MessageKind(nil))
	same(t, what+": refused", refusals(t, th), []string(nil))
	return err != nil
}

// asksLater asks a question, unless the newest line of the log is "zero".
func asksLater() *graph.Builder[work, update] {
	b := newWork()
	b.Node("ask", func(ctx context.Context, w work) (update, error) {
		if w.Log[len(w.Log)-1] == "zero" {
			return update{}, nil
		}
		ok, err := refund.Ask(ctx, doc{Name: "shoes"})
		return logged(fmt.Sprint("answer ", ok)), err
	}, refund)
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	return b
}

// TestNoCrashLetsAnOlderCancelEndAnInvoke lets a process die at each call of an Invoke that does
// not know of a cancel before it (rule 21.9).
func TestNoCrashLetsAnOlderCancelEndAnInvoke(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for _, kept := range []bool{false, true} {
			for point, crashed := 1, true; crashed && !t.Failed(); point++ {
				crashed = false
				for _, after := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						crashed = invokeAfterCancel(t, d, kept, point, after) || crashed
					})
				}
			}
		}
	})
}

// invokeAfterCancel cancels a thread and then calls Invoke, which dies at one call of the saver.
// With kept the process has the head of the thread in memory. It reports whether there is such a
// call.
func invokeAfterCancel(t *testing.T, d graph.Durability, kept bool, point int, after bool) bool {
	t.Helper()
	what := fmt.Sprintf("kept head %t, crash at call %d, after it was made %t", kept, point, after)
	s := memory.New()
	dying, other := dyingProcess(t, s, d, kept)
	th := other.Thread("t")
	if err := th.Cancel(t.Context(), "too early"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	err := dying.invoke(t, point, after)
	time.Sleep(2 * checkpoint.DefaultLease)
	serve(t, other, s)
	if snap, err := th.State(t.Context()); err == nil && slices.Contains(snap.State.Log, "two") {
		same(t, what+": status after a worker has looked", snap.Status, graph.Waiting)
	}
	if _, again := th.Invoke(t.Context(), logged("two"), graph.RequestID("two")); again != nil {
		t.Errorf("%s: %v", what, again)
	}
	snap := snapshot(t, th)
	same(t, what+": status", snap.Status, graph.Waiting)
	same(t, what+": newest line", snap.State.Log[len(snap.State.Log)-1], "two")
	serve(t, other, s)
	same(t, what+": status after a look", snapshot(t, th).Status, graph.Waiting)
	return err != nil
}

// dying is a process whose saver can crash.
type dying struct {
	g     *app
	saver *crashing
}

// dyingProcess returns a process that dies, and another one. With kept the first one has the head
// of the thread in memory.
func dyingProcess(t *testing.T, s checkpoint.Saver, d graph.Durability, kept bool) (dying, *app) {
	t.Helper()
	saver := &crashing{Saver: s, left: -1}
	g := compile(t, asksLater(), graph.Saver(crashingInbox{saver}), d)
	if kept {
		done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("zero")))
		done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("zero")))
	}
	return dying{g, saver}, compile(t, asksLater(), graph.Saver(s), d)
}

// invoke calls Invoke and crashes at a call of the saver, if the Invoke makes so many.
func (p dying) invoke(t *testing.T, point int, after bool) error {
	t.Helper()
	p.saver.left, p.saver.after = point, after
	_, err := p.g.Thread("t").Invoke(t.Context(), logged("two"), graph.RequestID("two"))
	if err != nil && !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	return err
}

// TestACancelEndsAnInvokeThatDiedBeforeItLooked posts the cancel after the opening.
func TestACancelEndsAnInvokeThatDiedBeforeItLooked(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			dying, other := dyingProcess(t, s, d, true)
			if err := dying.invoke(t, 1, true); err == nil {
				t.Error("the process does not die")
			}
			time.Sleep(time.Second)
			th := other.Thread("t")
			if err := th.Cancel(t.Context(), "no stock"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * checkpoint.DefaultLease)
			serve(t, other, s)
			snap := snapshot(t, th)
			same(t, "log", snap.State.Log, []string{"zero", "zero", "two"})
			same(t, "status", snap.Status, graph.Cancelled)
		})
	})
}

// TestAnInvokeOutlivesACancelBetweenItsLookAndItsOpening posts a cancel when the Invoke has read
// the inbox, in which an input waits (rule 21.9).
func TestAnInvokeOutlivesACancelBetweenItsLookAndItsOpening(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			b := newWork()
			b.Node("slow", func(ctx context.Context, _ work) (update, error) {
				select {
				case <-ctx.Done():
					return update{}, ctx.Err()
				case <-time.After(time.Minute):
					return update{}, nil
				}
			})
			s := &openings{Saver: memory.New()}
			th := compile(t, line(b, "slow"), graph.Saver(s), d).Thread("t")
			submit(t, th, "waits")
			s.before = func() {
				s.before = nil
				if err := th.Cancel(t.Context(), "too early"); err != nil {
					t.Error(err)
				}
			}
			res := done(t, graph.Done)(th.Invoke(t.Context(), logged("in")))
			same(t, "log", res.State.Log, []string{"in"})
			same(t, "messages that wait", untaken(t, th), []checkpoint.MessageKind(nil))
		})
	})
}

// openings calls before at each opening Append.
type openings struct {
	checkpoint.Saver
	before func()
}

func (s *openings) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Open != nil && s.before != nil {
		s.before()
	}
	return s.Saver.Append(ctx, a)
}

// TestASaverThatAnswersNewsForNoThreadIsAnError stops with the opening, which asks for the newest
// message.
func TestASaverThatAnswersNewsForNoThreadIsAnError(t *testing.T) {
	b := newWork()
	b.Node("a", say("a"))
	g := compile(t, line(b, "a"), graph.Saver(newsless{memory.New()}), graph.InterruptBefore("a"))
	var failed *graph.SaverError
	if _, err := g.Thread("t").Invoke(t.Context(), input); !errors.As(err, &failed) || failed.Op != "news" {
		t.Errorf("got %v, want a SaverError of news", err)
	}
}

// newsless is a saver whose News answers for no thread.
type newsless struct{ checkpoint.Saver }

func (newsless) News(context.Context, []string) ([]checkpoint.News, error) { return nil, nil }
