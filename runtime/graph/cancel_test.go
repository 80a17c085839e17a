package graph_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// patient is a graph whose node hangs waits for the end of its context when it runs first. Its
// sibling is finished by then.
func patient(ran *counter) *graph.Builder[work, update] {
	b := newWork()
	var before atomic.Bool
	b.Node("hangs", func(ctx context.Context, _ work) (update, error) {
		ran.add("hangs")
		if before.Swap(true) {
			return logged("hangs"), nil
		}
		<-ctx.Done()
		return update{}, ctx.Err()
	})
	b.Node("sibling", func(context.Context, work) (update, error) { ran.add("sibling"); return logged("sibling"), nil })
	for _, id := range []graph.ID{"hangs", "sibling"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	return b
}

func TestACancelEndsARunInProgressWithinARenewalOfItsLease(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		inner := func(ran *counter) *graph.Builder[work, update] {
			b := newWork()
			b.Subgraph("sub", compile(t, patient(ran), graph.SubgraphOnly()))
			b.Edge(graph.Start, "sub")
			b.Edge("sub", graph.End)
			return b
		}
		for name, builder := range map[string]func(*counter) *graph.Builder[work, update]{"node": patient, "node of a subgraph": inner} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, ran := memory.New(), &counter{}
					b := builder(ran)
					g, other := compile(t, b, graph.Saver(s), d), compile(t, b, graph.Saver(s), d)
					time.AfterFunc(time.Second, func() {
						submit(t, other.Thread("t"), "before")
						if err := other.Thread("t").Cancel(t.Context(), "changed my mind"); err != nil {
							t.Error(err)
						}
					})
					began := time.Now()
					res, err := g.Thread("t").Invoke(t.Context(), logged("in"))
					var cancelled *graph.CancelledError
					if !errors.As(err, &cancelled) || cancelled.Reason != "changed my mind" || res.Status != graph.Cancelled {
						t.Fatalf("got %s, %v; want a CancelledError", res.Status, err)
					}
					if took := time.Since(began); took > checkpoint.DefaultLease/3 {
						t.Errorf("it took %v, want at most a third of the lease", took)
					}
					th := other.Thread("t")
					found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
					if err != nil || len(found.Threads) > 0 {
						t.Errorf("due are %v, %v; want none", found.Threads, err)
					}
					same(t, "openings by a worker", serve(t, other, s), 0)
					same(t, "refused", refusals(t, th), []string{"cancelled: changed my mind"})
					same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
					same(t, "status", snapshot(t, th).Status, graph.Cancelled)
					done(t, graph.Done)(th.Resume(t.Context()))
					same(t, "runs", ran.counts(), map[string]int{"hangs": 2, "sibling": 1})
				})
			})
		}
	})
}

func TestACancelOfARunRefusesTheInputsThatWaitedBeforeIt(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			s, ran := memory.New(), &counter{}
			g := compile(t, patient(ran), graph.Saver(s), d)
			th := g.Thread("t")
			submit(t, th, "one")
			submit(t, th, "two")
			posted := make(chan error, 1)
			time.AfterFunc(2*time.Second, func() {
				err := th.Cancel(t.Context(), "no stock")
				if err == nil {
					_, err = th.Submit(t.Context(), logged("three"), graph.RequestID("three"))
				}
				posted <- err
			})
			serve(t, g, s)
			if err := <-posted; err != nil {
				t.Error(err)
			}
			serve(t, g, s) // the run may have ended before the last input came
			same(t, "log", snapshot(t, th).State.Log, []string{"one", "sibling", "three", "hangs", "sibling"})
			same(t, "refused", refusals(t, th), []string{"cancelled: no stock"})
			same(t, "messages left", untaken(t, th), []checkpoint.MessageKind(nil))
		})
	})
}

// TestACancelDoesNotEndInputThatStopsLater has the run end with its opening, before it can read
// the inbox.
func TestACancelDoesNotEndInputThatStopsLater(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		for name, before := range map[string]func(*app){
			"a new thread": func(*app) {},
			"a thread whose head the process has kept": func(g *app) {
				done(t, graph.Paused)(g.Thread("t").Invoke(t.Context(), logged("zero")))
				done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
				done(t, graph.Paused)(g.Thread("t").Invoke(t.Context(), logged("zero")))
				done(t, graph.Done)(g.Thread("t").Resume(t.Context()))
			},
		} {
			s := memory.New()
			g, other := compile(t, chain("a"), graph.Saver(s), graph.InterruptBefore("a"), d), compile(t, chain("a"), graph.Saver(s), d)
			before(g)
			if err := other.Thread("t").Cancel(t.Context(), "too early"); err != nil {
				t.Fatal(err)
			}
			th := g.Thread("t")
			done(t, graph.Paused)(th.Invoke(t.Context(), logged("one")))
			serve(t, g, s)
			same(t, name+": status", snapshot(t, th).Status, graph.Paused)
			done(t, graph.Done)(th.Resume(t.Context()))
			same(t, name+": refused", len(refusals(t, th)), 1)
		}
	})
}

func TestARunThatIsDoneBeforeACancelReachesItStaysDone(t *testing.T) {
	s, b := memory.New(), newWork()
	var g *app
	b.Node("a", func(ctx context.Context, _ work) (update, error) {
		return logged("a"), g.Thread("t").Cancel(ctx, "too late")
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	g = compile(t, b, graph.Saver(s))
	done(t, graph.Done)(g.Thread("t").Invoke(t.Context(), logged("in")))
	serve(t, g, s)
	same(t, "status", snapshot(t, g.Thread("t")).Status, graph.Done)
	same(t, "refused", len(refusals(t, g.Thread("t"))), 1)
}

func TestACancelEndsARunBetweenTwoSupersteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b, ran := memory.New(), newWork(), &counter{}
		var g *app
		b.Node("a", func(ctx context.Context, _ work) (update, error) {
			err := g.Thread("t").Cancel(ctx, "")
			time.Sleep(checkpoint.DefaultLease)
			return logged("a"), err // it ignores the end of its context
		})
		b.Node("b", func(context.Context, work) (update, error) { ran.add("b"); return logged("b"), nil })
		b.Edge(graph.Start, "a")
		b.Edge("a", "b")
		b.Edge("b", graph.End)
		g = compile(t, b, graph.Saver(s))
		res, err := g.Thread("t").Invoke(t.Context(), logged("in"))
		var cancelled *graph.CancelledError
		if !errors.As(err, &cancelled) || res.Status != graph.Cancelled {
			t.Fatalf("got %s, %v; want a CancelledError", res.Status, err)
		}
		snap := snapshot(t, g.Thread("t"))
		same(t, "log", snap.State.Log, []string{"in", "a"})
		same(t, "due", snap.Next, []graph.ID{"b"})
		same(t, "runs", ran.counts(), map[string]int(nil))
	})
}

// newsCounter counts the calls of News.
type newsCounter struct {
	checkpoint.Saver
	calls atomic.Int64
}

func (a *newsCounter) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	a.calls.Add(1)
	return a.Saver.News(ctx, threads)
}

func TestACancelEndsARunInPersonWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &newsCounter{Saver: memory.New()}, newWork() // it does not announce anything
		b.Node("hangs", func(ctx context.Context, w work) (update, error) {
			if len(w.Log) == 1 {
				return update{}, nil
			}
			<-ctx.Done()
			return update{}, ctx.Err()
		})
		b.Edge(graph.Start, "hangs")
		b.Edge("hangs", graph.End)
		g := compile(t, b, graph.Saver(s))
		done(t, graph.Done)(g.Thread("short").Invoke(t.Context(), logged("in")))
		ended := make(chan error, 10)
		for i := range cap(ended) {
			go func() {
				_, err := g.Thread(string(rune('a'+i))).Invoke(t.Context(), logged("in", "in"))
				ended <- err
			}()
		}
		time.Sleep(10500 * time.Millisecond)
		if got := s.calls.Load(); got < 8 || got > 10 {
			t.Errorf("got %d calls of News in 10 s of 10 runs, want one per second", got)
		}
		other := compile(t, b, graph.Saver(s))
		for i := range cap(ended) {
			if err := other.Thread(string(rune('a'+i))).Cancel(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		for range cap(ended) {
			var cancelled *graph.CancelledError
			if err := <-ended; !errors.As(err, &cancelled) {
				t.Errorf("got %v, want a CancelledError", err)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v, want at most a second", took)
		}
	})
}

// TestACancelThatCannotBeReadIsReadAgain lets the first reading of a cancel fail. No other message
// follows.
func TestACancelThatCannotBeReadIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := &mailFails{Saver: memory.New()}, newWork()
		b.Node("hangs", func(ctx context.Context, _ work) (update, error) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Hour):
			}
			return update{}, ctx.Err()
		})
		g := compile(t, line(b, "hangs"), graph.Saver(s))
		ended := make(chan error)
		go func() {
			_, err := g.Thread("t").Invoke(t.Context(), logged("in"))
			ended <- err
		}()
		synctest.Wait()
		s.left.Store(1)
		if err := g.Thread("t").Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		var cancelled *graph.CancelledError
		if err := <-ended; !errors.As(err, &cancelled) {
			t.Errorf("got %v, want a CancelledError", err)
		}
		same(t, "failures that were left", s.left.Load(), int64(0))
	})
}

// mailFails fails so many calls of Mail as are left.
type mailFails struct {
	checkpoint.Saver
	left atomic.Int64
}

func (m *mailFails) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	if m.left.Load() > 0 {
		m.left.Add(-1)
		return nil, errBroken
	}
	return m.Saver.Mail(ctx, q)
}

func TestASnapshotSaysThatARunIsBeingCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b := memory.New(), newWork()
		b.Node("slow", func(context.Context, work) (update, error) { // it ignores the end of its context
			time.Sleep(time.Hour)
			return logged("slow"), nil
		})
		b.Node("next", say("next"))
		b.Edge(graph.Start, "slow")
		b.Edge("slow", "next")
		b.Edge("next", graph.End)
		g := compile(t, b, graph.Saver(s))
		ended := make(chan error)
		go func() {
			_, err := g.Thread("t").Invoke(t.Context(), logged("in"))
			ended <- err
		}()
		synctest.Wait()
		same(t, "cancelling before", snapshot(t, g.Thread("t")).Cancelling, false)
		submit(t, g.Thread("t"), "later")
		same(t, "cancelling with an input", snapshot(t, g.Thread("t")).Cancelling, false)
		if err := g.Thread("t").Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		snap := snapshot(t, g.Thread("t"))
		same(t, "status of the run", snap.Status, graph.Running)
		same(t, "cancelling", snap.Cancelling, true)
		var cancelled *graph.CancelledError
		if err := <-ended; !errors.As(err, &cancelled) {
			t.Errorf("got %v, want a CancelledError", err)
		}
		snap = snapshot(t, g.Thread("t"))
		same(t, "status after", snap.Status, graph.Cancelled)
		same(t, "cancelling after", snap.Cancelling, false)
	})
}
