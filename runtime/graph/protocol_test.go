package graph_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// gated is a graph of one node that tells when it runs and waits until it may return.
type gated struct {
	running chan string // who runs
	open    chan struct{}
	ran     atomic.Int32
}

func newGated() *gated { return &gated{running: make(chan string, 10), open: make(chan struct{})} }

func (g *gated) node(name string) func(context.Context, work) (update, error) {
	return func(ctx context.Context, _ work) (update, error) {
		g.ran.Add(1)
		g.running <- name
		select {
		case <-g.open:
			return logged(name), nil
		case <-ctx.Done():
			return update{}, ctx.Err()
		}
	}
}

func (g *gated) graph(tb testing.TB, name string, opts ...graph.Option) *app {
	tb.Helper()
	b := newWork()
	b.Node("a", g.node(name))
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	return compile(tb, b, append(opts, graph.Holder(name))...)
}

// outcome is the outcome of a run in the background.
type outcome struct {
	res result
	err error
}

func background(run func() (result, error)) <-chan outcome {
	c := make(chan outcome, 1)
	go func() {
		res, err := run()
		c <- outcome{res, err}
	}()
	return c
}

func TestASecondRunIsRefusedBeforeItRunsANode(t *testing.T) {
	s, g := memory.New(), newGated()
	one := g.graph(t, "one", graph.Saver(s)).Thread("t")
	two := g.graph(t, "two", graph.Saver(s)).Thread("t")
	first := background(func() (result, error) { return one.Invoke(t.Context(), input) })
	<-g.running

	busy := func(what string, err error) {
		t.Helper()
		var e *checkpoint.BusyError
		if !errors.As(err, &e) || e.Holder != "one" || !errors.Is(err, checkpoint.ErrConflict) {
			t.Errorf("%s: got %v, want a *BusyError that names one", what, err)
		}
	}
	_, err := two.Resume(t.Context())
	busy("Resume", err)
	_, err = two.Invoke(t.Context(), input, graph.DiscardPending())
	busy("Invoke", err)
	_, err = two.UpdateState(t.Context(), input)
	busy("UpdateState", err)
	_, err = two.Release(t.Context())
	busy("Release", err)
	same(t, "nodes run", g.ran.Load(), int32(1))

	if _, err := two.State(t.Context()); err != nil {
		t.Errorf("reading a thread that is run: %v", err)
	}
	close(g.open)
	o := <-first
	done(t, graph.Done)(o.res, o.err)
}

func TestWaitWaitsForTheOtherRun(t *testing.T) {
	s, g := memory.New(), newGated()
	one := g.graph(t, "one", graph.Saver(s)).Thread("t")
	first := background(func() (result, error) { return one.Invoke(t.Context(), input) })
	<-g.running
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := one.Resume(ctx, graph.Wait()); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a context that ends: got %v, want context.Canceled", err)
	}
	second := background(func() (result, error) { return one.Resume(t.Context(), graph.Wait()) })
	close(g.open)
	o := <-first
	done(t, graph.Done)(o.res, o.err)
	o = <-second
	res := done(t, graph.Done)(o.res, o.err)
	same(t, "log", res.State.Log, []string{"one"})
	same(t, "nodes run", g.ran.Load(), int32(1))
}

func TestARunThatWasTakenOverCommitsNothing(t *testing.T) {
	s, g, g2 := memory.New(), newGated(), newGated()
	close(g2.open)
	one := g.graph(t, "one", graph.Saver(s)).Thread("t")
	two := g2.graph(t, "two", graph.Saver(s)).Thread("t")
	first := background(func() (result, error) { return one.Invoke(t.Context(), input) })
	<-g.running
	res := done(t, graph.Done)(two.Resume(t.Context(), graph.TakeOver()))
	same(t, "log", res.State.Log, []string{"two"})
	close(g.open)
	if o := <-first; !errors.Is(o.err, checkpoint.ErrConflict) {
		t.Errorf("the first run: got %v, want ErrConflict", o.err)
	}
	snap, err := two.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "log", snap.State.Log, []string{"two"})
	same(t, "status", snap.Status, checkpoint.Done)
}

func TestAZombieOfADeletedOrReleasedThreadCommitsNothing(t *testing.T) {
	for _, remove := range []string{"release", "delete"} {
		t.Run(remove, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, g, g2 := memory.New(), newGated(), newGated()
				close(g2.open)
				// The zombie's renewals fail, so its lease ends while its node runs.
				zombie := g.graph(t, "zombie", graph.Saver(&mute{Saver: s})).Thread("t")
				first := background(func() (result, error) { return zombie.Invoke(t.Context(), logged("old")) })
				<-g.running
				time.Sleep(time.Minute)
				var err error
				if remove == "release" {
					_, err = s.Release(t.Context(), "t", checkpoint.ID{})
				} else {
					err = s.Delete(t.Context(), "t")
				}
				if err != nil {
					t.Fatal(err)
				}
				heir := g2.graph(t, "heir", graph.Saver(s)).Thread("t")
				done(t, graph.Done)(heir.Invoke(t.Context(), logged("new")))
				close(g.open)
				if o := <-first; !errors.Is(o.err, checkpoint.ErrConflict) {
					t.Errorf("the zombie: got %v, want ErrConflict", o.err)
				}
				snap, err := heir.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				same(t, "log", snap.State.Log, []string{"new", "heir"})
			})
		})
	}
}

// mute loses renewals of the lease.
type mute struct{ checkpoint.Saver }

func (m *mute) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if len(w.Writes) == 0 && !w.End {
		return checkpoint.PutResult{}, errBroken
	}
	return m.Saver.PutWrites(ctx, w)
}

func TestALongNodeKeepsItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := memory.New(), newGated()
		th := g.graph(t, "one", graph.Saver(s)).Thread("t")
		first := background(func() (result, error) { return th.Invoke(t.Context(), input) })
		<-g.running
		time.Sleep(10 * checkpoint.DefaultLease)
		if _, err := th.Resume(t.Context()); !errors.Is(err, checkpoint.ErrConflict) {
			t.Errorf("got %v, want a *BusyError", err)
		}
		close(g.open)
		o := <-first
		done(t, graph.Done)(o.res, o.err)
		time.Sleep(10 * checkpoint.DefaultLease) // nothing is left that renews
		done(t, graph.Done)(th.Invoke(t.Context(), input))
	})
}

func TestANodeIsCancelledWhenItsRunLosesTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g, g2 := memory.New(), newGated(), newGated()
		one := g.graph(t, "one", graph.Saver(s)).Thread("t")
		two := g2.graph(t, "two", graph.Saver(s)).Thread("t")
		first := background(func() (result, error) { return one.Invoke(t.Context(), input) })
		<-g.running
		second := background(func() (result, error) { return two.Resume(t.Context(), graph.TakeOver()) })
		<-g2.running
		o := <-first // its gate is never opened: it ends because its context does
		var e *graph.SaverError
		if !errors.As(o.err, &e) || !errors.Is(o.err, checkpoint.ErrConflict) {
			t.Errorf("the first run: got %v, want a *SaverError that is ErrConflict", o.err)
		}
		close(g2.open)
		o = <-second
		done(t, graph.Done)(o.res, o.err)
	})
}

func TestTakingOverKeepsAcknowledgedResults(t *testing.T) {
	s, g := memory.New(), newGated()
	var ran counter
	b := newWork()
	b.Node("quick", func(context.Context, work) (update, error) { ran.add("quick"); return logged("quick"), nil })
	b.Node("slow", func(ctx context.Context, s work) (update, error) {
		ran.add("slow")
		return g.node("slow")(ctx, s)
	})
	for _, id := range []graph.ID{"quick", "slow"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	puts := make(chan struct{}, 10)
	app := compile(t, b, graph.Saver(&watched{Saver: s, puts: puts}))
	first := background(func() (result, error) { return app.Thread("t").Invoke(t.Context(), input) })
	<-g.running
	<-puts // quick's result is acknowledged
	second := background(func() (result, error) { return app.Thread("t").Resume(t.Context(), graph.TakeOver()) })
	<-g.running
	close(g.open)
	o := <-second
	done(t, graph.Done)(o.res, o.err)
	if o := <-first; !errors.Is(o.err, checkpoint.ErrConflict) {
		t.Errorf("the first run: got %v, want ErrConflict", o.err)
	}
	same(t, "runs", ran.counts(), map[string]int{"quick": 1, "slow": 2})
}

// watched tells of results that were stored.
type watched struct {
	checkpoint.Saver
	puts chan struct{}
}

func (w *watched) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	done, err := w.Saver.PutWrites(ctx, p)
	if len(p.Writes) > 0 {
		w.puts <- struct{}{}
	}
	return done, err
}

func TestAnEntryRouteIsNotAskedBeforeTheThreadIsHeld(t *testing.T) {
	s, g := memory.New(), newGated()
	var asked atomic.Int32
	b := newWork()
	b.Node("a", g.node("a"))
	b.Route(graph.Start, func(context.Context, work) (graph.Next, error) { asked.Add(1); return graph.To("a"), nil }, "a")
	b.Edge("a", graph.End)
	th := compile(t, b, graph.Saver(s)).Thread("t")
	first := background(func() (result, error) { return th.Invoke(t.Context(), input) })
	<-g.running
	if _, err := th.Invoke(t.Context(), input, graph.DiscardPending()); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("got %v, want a *BusyError", err)
	}
	same(t, "times asked", asked.Load(), int32(1))
	close(g.open)
	o := <-first
	done(t, graph.Done)(o.res, o.err)
}

func TestAnEditBetweenCrashAndResumeKeepsFinishedWork(t *testing.T) {
	var broken atomic.Bool
	var ran counter
	broken.Store(true)
	th, _ := newThread(t, flaky(&broken, &ran), graph.Concurrency(1))
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if _, err := th.Resume(t.Context()); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if _, err := th.UpdateState(t.Context(), logged("edit")); err != nil {
		t.Fatal(err)
	}
	broken.Store(false)
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"edit", "a", "bad", "c", "end"})
	same(t, "runs of a", ran.counts()["a"], 1)
}

func TestAnAbandonedLineCanStillBeResumed(t *testing.T) {
	var broken atomic.Bool
	var ran counter
	broken.Store(true)
	th, _ := newThread(t, flaky(&broken, &ran), graph.Concurrency(1))
	if _, err := th.Invoke(t.Context(), logged("one")); !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	broken.Store(false)
	done(t, graph.Done)(th.Invoke(t.Context(), logged("two"), graph.DiscardPending()))
	before := ran.counts()["a"]
	res := done(t, graph.Done)(th.At(snap.Checkpoint).Resume(t.Context()))
	same(t, "log", res.State.Log, []string{"one", "a", "bad", "c", "end"})
	same(t, "runs of a, whose result is stored", ran.counts()["a"], before)
	res = done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "the head", res.State.Log, []string{"one", "a", "bad", "c", "end"})
}

// counting counts saver calls.
type counting struct {
	checkpoint.Saver
	loads, appends, puts atomic.Int32
}

func (c *counting) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c.loads.Add(1)
	return c.Saver.Load(ctx, p)
}

func (c *counting) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	c.appends.Add(1)
	return c.Saver.Append(ctx, a)
}

func (c *counting) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	c.puts.Add(1)
	return c.Saver.PutWrites(ctx, w)
}

// resting is a saver whose appends take the time of the test's bubble: until one returns, the run
// continues as far as it can.
type resting struct{ checkpoint.Saver }

func (r resting) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	time.Sleep(time.Nanosecond)
	return r.Saver.Append(ctx, a)
}

// An Async run stores its opening, the first superstep, all that waits for it, and the last
// superstep.
func TestASuperstepOfOneTaskIsOneSaverCall(t *testing.T) {
	appends := map[graph.Durability]int32{graph.Sync: 6, graph.Async: 4, graph.OnExit: 2}
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		synctest.Test(t, func(t *testing.T) {
			s := &counting{Saver: resting{memory.New()}}
			th := compile(t, chain("a", "b", "c", "d", "e"), graph.Saver(s), graph.ReleaseOnDone()).Thread("t")
			done(t, graph.Done)(th.Invoke(t.Context(), input, d))
			same(t, "loads", s.loads.Load(), int32(1))
			same(t, "appends", s.appends.Load(), appends[d])
			same(t, "puts", s.puts.Load(), int32(0))
		})
	})
}

func TestResumingAFinishedThreadStoresNothing(t *testing.T) {
	s := &counting{Saver: memory.New()}
	th := compile(t, chain("a"), graph.Saver(s)).Thread("t")
	first := done(t, graph.Done)(th.Invoke(t.Context(), input))
	before := s.appends.Load()
	res := done(t, graph.Done)(th.Resume(t.Context()))
	same(t, "state", res.State, first.State)
	same(t, "checkpoint", res.Checkpoint, first.Checkpoint)
	same(t, "appends", s.appends.Load(), before)
}

func TestASaverThatFails(t *testing.T) {
	s := memory.New()
	dying := &crashing{Saver: s, left: 3}
	th := compile(t, chain("a", "b"), graph.Saver(dying)).Thread("t")
	_, err := th.Invoke(t.Context(), input)
	var e *graph.SaverError
	if !errors.As(err, &e) || !errors.Is(err, errCrash) || e.Op != "commit" {
		t.Errorf("got %v, want a *SaverError of the commit", err)
	}
}

// once fails one call and works again.
type once struct {
	checkpoint.Saver
	n atomic.Int32
}

func (o *once) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if o.n.Add(1) == 2 {
		return checkpoint.AppendResult{}, errBroken
	}
	return o.Saver.Append(ctx, a)
}

func TestARunGivesItsLeaseUpWhenAWriteFailed(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th := compile(t, chain("a", "b"), graph.Saver(&once{Saver: memory.New()}), d).Thread("t")
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want errBroken", err)
		}
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"a", "b"})
	})
}

func TestManyCallersOfOneThread(t *testing.T) {
	s := memory.New()
	th := compile(t, chain("a"), graph.Saver(s)).Thread("t")
	var wg sync.WaitGroup
	var through atomic.Int32
	for range 20 {
		wg.Go(func() {
			_, err := th.Invoke(t.Context(), logged("in"), graph.Wait())
			if err != nil {
				t.Errorf("got %v", err)
				return
			}
			through.Add(1)
		})
	}
	wg.Wait()
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "log lines", len(snap.State.Log), 2*int(through.Load()))
}
