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

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var greet = graph.NewReplySignal[wire.String, wire.String]("greet")

// greeter returns a graph whose node "greet" replies to one signal.
func greeter(t *testing.T, s checkpoint.Saver, opts ...graph.Option) *app {
	t.Helper()
	b := newWork()
	b.Node("greet", func(ctx context.Context, _ work) (update, error) {
		m, err := greet.Receive(ctx)
		if err != nil {
			return update{}, err
		}
		return logged("greeted " + string(m.Value)), m.Reply(ctx, "hello "+m.Value)
	}, greet)
	return compile(t, line(b, "greet"), append(opts, graph.Saver(s))...)
}

// replyGot is what a call of Ask has returned.
type replyGot struct {
	Reply wire.String
	Err   error
}

// inBackground asks a thread on another goroutine.
func inBackground(ctx context.Context, g *app, opts ...graph.SignalOption) <-chan replyGot {
	got := make(chan replyGot, 1)
	go func() {
		reply, err := greet.Ask(ctx, g.Thread("t"), "ada", opts...)
		got <- replyGot{reply, err}
	}()
	return got
}

// TestAskReturnsTheReplyOfTheReceiver: rules 27.1 and 27.2. The caller is another process.
func TestAskReturnsTheReplyOfTheReceiver(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async} {
		for _, more := range [][]graph.Option{nil, {graph.ReleaseOnDone()}} {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				g, elsewhere := greeter(t, s, append(more, d)...), greeter(t, s)
				done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), input))
				got := inBackground(t.Context(), elsewhere, graph.RequestID("1"))
				synctest.Wait()
				done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
				same(t, "the reply", <-got, replyGot{"hello ada", nil})
				same(t, "the same reply again", <-inBackground(t.Context(), elsewhere, graph.RequestID("1")), replyGot{"hello ada", nil})
				in, err := g.Thread("t").Inbox(t.Context())
				if err != nil || len(in.Waiting)+len(in.Refused) != 0 || len(in.Replied) != 1 {
					t.Errorf("got %+v, %v; want one signal with a reply, and nothing else", in, err)
				}
			})
		}
	}
}

// TestAskPollsOnlyWithoutHints: a caller that waits for ten minutes costs no call of a saver that
// announces replies, and else one call a second.
func TestAskPollsOnlyWithoutHints(t *testing.T) {
	for _, hints := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			calls := &askCounter{Saver: s}
			var by checkpoint.Saver = calls
			if hints {
				by = announcing{calls, s}
			}
			g, elsewhere := greeter(t, s), greeter(t, by)
			done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), input))
			got := inBackground(t.Context(), elsewhere)
			time.Sleep(10*time.Second + 500*time.Millisecond)
			before := calls.n.Load()
			time.Sleep(600 * time.Second)
			want := int64(600)
			if hints {
				want = 0
			}
			same(t, fmt.Sprintf("calls in ten minutes, with hints: %t", hints), calls.n.Load()-before, want)
			done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
			same(t, "the reply", <-got, replyGot{"hello ada", nil})
		})
	}
}

// askCounter counts the calls by which callers wait.
type askCounter struct {
	checkpoint.Saver
	n atomic.Int64
}

func (c *askCounter) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	c.n.Add(1)
	return c.Saver.News(ctx, threads)
}

func (c *askCounter) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	c.n.Add(1)
	return c.Saver.Mail(ctx, q)
}

func (c *askCounter) Load(ctx context.Context, at checkpoint.Ref) (checkpoint.Chain, error) {
	c.n.Add(1)
	return c.Saver.Load(ctx, at)
}

// announcing adds the announcements of a Notifier to a saver.
type announcing struct {
	*askCounter
	by checkpoint.Notifier
}

func (a announcing) Notify(ctx context.Context, due func(checkpoint.Notice)) (func(), error) {
	return a.by.Notify(ctx, due)
}

// TestAReplyFromTheWorkerOfAQueue: rules 23.1 and 27.2.
func TestAReplyFromTheWorkerOfAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		b := newWork()
		b.Node("greet", func(ctx context.Context, _ work) (update, error) {
			m, err := greet.Receive(ctx)
			if err != nil {
				return update{}, err
			}
			return logged("greeted " + string(m.Value)), errors.Join(graph.SetLabel(ctx, "greeted", string(m.Value)), m.Reply(ctx, "hello "+m.Value))
		}, greet, graph.Queue("q"))
		g := compile(t, line(b, "greet"), graph.Saver(s))
		ctx, stop := context.WithCancel(t.Context())
		worked := make(chan error, 1)
		go func() {
			worked <- worker.New(s, worker.Options{Queues: map[string]int{"q": 1}}, g).Run(ctx)
		}()
		if _, err := g.Thread("t").Submit(t.Context(), input); err != nil {
			t.Fatal(err)
		}
		same(t, "the reply", <-inBackground(t.Context(), g, graph.RequestID("1")), replyGot{"hello ada", nil})
		res, err := g.Thread("t").Result(t.Context())
		same(t, "the log", fmt.Sprint(res.State.Log, err), "[greeted ada] <nil>")
		snap, err := g.Thread("t").State(t.Context())
		same(t, "the labels", fmt.Sprint(snap.Labels, err), "map[greeted:ada] <nil>")
		stop()
		if err := <-worked; err != nil {
			t.Error(err)
		}
	})
}

// TestAnInputKeepsTheRepliesOfFinishedTasks: rules 10.8 and 27.2.
func TestAnInputKeepsTheRepliesOfFinishedTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWork()
		b.Node("greet", func(ctx context.Context, _ work) (update, error) {
			m, err := greet.Receive(ctx)
			if err == nil {
				err = m.Reply(ctx, "hello "+m.Value)
			}
			return update{}, err
		}, greet)
		b.Node("other", func(context.Context, work) (update, error) { return update{}, errBroken }, graph.ContinueOnError())
		b.Edge(graph.Start, "greet")
		b.Edge(graph.Start, "other")
		b.Edge("greet", graph.End)
		b.Edge("other", graph.End)
		g := compile(t, b, graph.Saver(memory.New()))
		th := g.Thread("t")
		if err := th.Signal(t.Context(), greet.With("ada", graph.RequestID("1"))); err != nil {
			t.Fatal(err)
		}
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want %v", err, errBroken)
		}
		if _, err := th.Invoke(t.Context(), input, graph.DiscardPending()); !errors.Is(err, errBroken) {
			done(t, graph.Waiting)(graph.Result[work]{Status: graph.Waiting}, err)
		}
		same(t, "the reply", <-inBackground(t.Context(), g, graph.RequestID("1")), replyGot{"hello ada", nil})
		snap, err := th.State(t.Context())
		same(t, "the labels", fmt.Sprint(snap.Labels, err), "map[] <nil>")
	})
}

// TestAReplyIsReadWithoutTypes: Untyped.Ask and Stored.Reply return the encoded reply.
func TestAReplyIsReadWithoutTypes(t *testing.T) {
	s := memory.New()
	g := greeter(t, s)
	if err := g.Thread("t").Signal(t.Context(), greet.With("ada", graph.RequestID("1"))); err != nil {
		t.Fatal(err)
	}
	done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
	payload := wire.AppendString(nil, "ada")
	b, err := g.Untyped().Ask(t.Context(), "t", "greet", payload, graph.RequestID("1"))
	same(t, "the reply", fmt.Sprintf("%q %v", b, err), fmt.Sprintf("%q <nil>", wire.AppendString(nil, "hello ada")))
	if _, err := g.Untyped().Ask(t.Context(), "t", "greet", []byte{0xc0}, graph.RequestID("2")); !errors.Is(err, graph.ErrNotReceivable) {
		t.Errorf("a payload of another type: got %v, want %v", err, graph.ErrNotReceivable)
	}
	post, err := graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}.SignalPost("greet", payload, graph.RequestID("1"))
	if err != nil {
		t.Fatal(err)
	}
	b, err = graph.Stored{Saver: s, Ref: checkpoint.Ref{Thread: "t"}}.Reply(t.Context(), post.Messages[0].ID)
	same(t, "the reply without the graph", fmt.Sprintf("%q %v", b, err), fmt.Sprintf("%q <nil>", wire.AppendString(nil, "hello ada")))
	if _, err := (graph.Stored{Saver: s, Ref: checkpoint.Ref{Thread: "t"}}).Reply(t.Context(), "unknown"); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("an unknown message: got %v, want %v", err, checkpoint.ErrNotFound)
	}
	var invalid *checkpoint.InvalidError
	if _, err := (graph.Stored{Saver: s, Ref: checkpoint.Ref{Thread: "t"}}).Reply(t.Context(), ""); !errors.As(err, &invalid) {
		t.Errorf("no message: got %v, want an InvalidError", err)
	}
}

// TestAnInputGivesTheRepliesOfFinishedTasksInCalls: rule 27.2. The signal counts as taken, because
// the call continues with it if its branch is continued. So the reply is given, whether the input
// keeps the result of the task or not.
func TestAnInputGivesTheRepliesOfFinishedTasksInCalls(t *testing.T) {
	for name, call := range map[string]func(b *graph.Builder[work, update], inner *app){
		"over the same state": func(b *graph.Builder[work, update], inner *app) { b.Subgraph("call", inner) },
		"over a state of its own": func(b *graph.Builder[work, update], inner *app) {
			graph.MapSubgraph(b, "call", inner, func(context.Context, work) (update, error) { return input, nil },
				func(context.Context, work, work) (update, error) { return update{}, nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachEnd(t, func(t *testing.T, end func(t *testing.T, th thread) error) {
				of := newWork()
				of.Node("greet", func(ctx context.Context, _ work) (update, error) {
					m, err := greet.Receive(ctx)
					if err == nil {
						err = m.Reply(ctx, "hello "+m.Value)
					}
					return update{}, err
				}, greet)
				of.Node("ask", func(ctx context.Context, _ work) (update, error) {
					_, err := refund.Ask(ctx, doc{Name: "shoes"})
					return update{}, err
				}, refund)
				for _, id := range []graph.ID{"greet", "ask"} {
					of.Edge(graph.Start, id)
					of.Edge(id, graph.End)
				}
				b := newWork()
				call(b, compile(t, of, graph.SubgraphOnly()))
				b.Chain(graph.Start, "call", graph.End)
				g := compile(t, b, graph.Saver(memory.New()))
				th := g.Thread("t")
				if err := th.Signal(t.Context(), greet.With("ada", graph.RequestID("1"))); err != nil {
					t.Fatal(err)
				}
				done(t, graph.Waiting)(th.Invoke(t.Context(), input))
				if err := end(t, th); err != nil {
					t.Fatal(err)
				}
				in, err := th.Inbox(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				same(t, "signals that wait, were refused, and have a reply", []int{len(in.Waiting), len(in.Refused), len(in.Replied)}, []int{0, 0, 1})
				same(t, "the reply", <-inBackground(t.Context(), g, graph.RequestID("1")), replyGot{"hello ada", nil})
			})
		})
	}
}

// eachEnd runs test with each of stepEnds.
func eachEnd(t *testing.T, test func(t *testing.T, end func(t *testing.T, th thread) error)) {
	t.Helper()
	for name, end := range stepEnds {
		t.Run(name, func(t *testing.T) { test(t, end) })
	}
}

// TestAReplyIsSeenWhenItsSuperstepHasCommitted: rule 27.2.
func TestAReplyIsSeenWhenItsSuperstepHasCommitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		b := newWork()
		fails := true
		b.Node("greet", func(ctx context.Context, _ work) (update, error) {
			m, err := greet.Receive(ctx)
			if err == nil {
				err = m.Reply(ctx, "hello "+m.Value)
			}
			return update{}, err
		}, greet)
		b.Node("other", func(context.Context, work) (update, error) {
			if fails {
				return update{}, errBroken
			}
			return update{}, nil
		}, graph.ContinueOnError())
		b.Edge(graph.Start, "greet")
		b.Edge(graph.Start, "other")
		b.Edge("greet", graph.End)
		b.Edge("other", graph.End)
		g := compile(t, b, graph.Saver(s))
		th := g.Thread("t")
		if err := th.Signal(t.Context(), greet.With("ada", graph.RequestID("1"))); err != nil {
			t.Fatal(err)
		}
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want %v", err, errBroken)
		}
		var none *graph.NoReplyError
		if got := <-inBackground(t.Context(), g, graph.RequestID("1")); !errors.As(got.Err, &none) || none.Status != graph.Failed || none.Waits {
			t.Errorf("got %v; want no reply from a failed thread that has received the message", got)
		}
		fails = false
		done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "the reply", <-inBackground(t.Context(), g, graph.RequestID("1")), replyGot{"hello ada", nil})
	})
}

// TestAskEndsWithTheThread: rule 27.3.
func TestAskEndsWithTheThread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g := greeter(t, s)
		th := g.Thread("t")
		var none *graph.NoReplyError
		if got := <-inBackground(t.Context(), g, graph.RequestID("1")); !errors.As(got.Err, &none) || !none.Waits || none.Request != "1" {
			t.Errorf("got %v; want no reply from a thread without an input", got)
		}
		done(t, graph.Done)(th.Invoke(t.Context(), input)) // the message has stayed
		same(t, "the reply", <-inBackground(t.Context(), g, graph.RequestID("1")), replyGot{"hello ada", nil})

		ctx, cancel := context.WithCancel(t.Context())
		if _, err := th.Submit(t.Context(), input); err != nil {
			t.Fatal(err)
		}
		got := inBackground(ctx, g, graph.RequestID("2"))
		synctest.Wait()
		cancel()
		if got := <-got; !errors.Is(got.Err, context.Canceled) {
			t.Errorf("got %v, want the error of the context", got)
		}
		got = inBackground(t.Context(), g, graph.RequestID("2"))
		synctest.Wait()
		if err := th.Cancel(t.Context(), "not needed"); err != nil {
			t.Fatal(err)
		}
		runDue(t, g, s)
		if got := <-got; !errors.As(got.Err, &none) || none.Status != graph.Done || !none.Waits {
			t.Errorf("got %v; want no reply from a thread whose input was cancelled", got)
		}
	})
}

// runDue runs what is due in s.
func runDue(t *testing.T, g *app, s checkpoint.Saver) {
	t.Helper()
	for range 10 {
		found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
		if err != nil || len(found.Threads) == 0 {
			return
		}
		if _, err := g.ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{}); err != nil {
			t.Log(err)
		}
	}
}

// TestAReplyInASubgraph: rule 27.2.
func TestAReplyInASubgraph(t *testing.T) {
	sub := newWork()
	sub.Node("greet", func(ctx context.Context, _ work) (update, error) {
		m, err := greet.Receive(ctx)
		if err == nil {
			err = m.Reply(ctx, "hello "+m.Value)
		}
		return update{}, err
	}, greet)
	b := newWork()
	b.Subgraph("call", compile(t, line(sub, "greet"), graph.SubgraphOnly()))
	g := compile(t, line(b, "call"), graph.Saver(memory.New()))
	if err := g.Thread("t").Signal(t.Context(), greet.With("ada", graph.RequestID("1"))); err != nil {
		t.Fatal(err)
	}
	done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), input))
	same(t, "the reply", <-inBackground(t.Context(), g, graph.RequestID("1")), replyGot{"hello ada", nil})
}

// TestAReplyNeedsAStoredMessage: rule 27.4.
func TestAReplyNeedsAStoredMessage(t *testing.T) {
	g := greeter(t, memory.New(), graph.OnExit)
	if _, err := g.Thread("t").Invoke(t.Context(), input); err == nil || !strings.Contains(err.Error(), "ReplySignal") {
		t.Errorf("got %v, want an error about the ReplySignal", err)
	}
}

// TestAskGetsOneReplyWhateverCallACrashHits: rule 27.1 at each call of the saver.
func TestAskGetsOneReplyWhateverCallACrashHits(t *testing.T) {
	for _, d := range []graph.Durability{graph.Sync, graph.Async} {
		for point := 1; ; point++ {
			crashed := false
			for _, after := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) { crashed = crashAsk(t, d, point, after) || crashed })
			}
			if t.Failed() || !crashed {
				same(t, "crash points, more than five", point > 5, true)
				break
			}
		}
	}
}

// crashAsk lets the process die at one call of the saver, and repeats everything in another one.
// It reports whether there is such a call.
func crashAsk(t *testing.T, d graph.Durability, point int, after bool) bool {
	t.Helper()
	s := memory.New()
	live := func(g *app, s checkpoint.Saver) error {
		if _, err := g.Thread("t").Submit(t.Context(), input, graph.RequestID("in")); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		got := inBackground(ctx, g, graph.RequestID("1"))
		synctest.Wait()
		for range 5 {
			found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
			if err != nil {
				return err
			}
			if len(found.Threads) == 0 {
				break
			}
			if _, err := g.ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{}); err != nil {
				return err
			}
		}
		a := <-got
		if a.Err == nil {
			same(t, "the reply", a.Reply, wire.String("hello ada"))
		}
		return a.Err
	}
	dying := crashingInbox{&crashing{Saver: s, left: point, after: after}}
	err := live(greeter(t, dying, d), s)
	if err != nil && !errors.Is(err, errCrash) && !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	time.Sleep(2 * checkpoint.DefaultLease)
	if again := live(greeter(t, s, d), s); again != nil {
		t.Fatalf("point %d %t, after %v: %v", point, after, err, again)
	}
	snap, lost := greeter(t, s).Thread("t").State(t.Context())
	if lost != nil {
		t.Fatal(lost)
	}
	same(t, fmt.Sprintf("point %d %t: log", point, after), snap.State.Log, []string{"greeted ada"})
	return err != nil
}
