package worker_test

import (
	"context"
	"errors"
	"slices"
	"sync"
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

// pruning is a saver that calls before each Prune of a thread, and counts them.
type pruning struct {
	checkpoint.Saver
	before func(thread string) error
	counter
}

func (s *pruning) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	s.Add(thread)
	if err := s.before(thread); err != nil {
		return checkpoint.PruneResult{}, err
	}
	return s.Saver.Prune(ctx, thread, keep)
}

// done stores threads that are Done.
func done(t *testing.T, g *app, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if _, err := g.Thread(id).Invoke(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
	}
}

// stored returns the ids of the threads of graph orders.
func stored(t *testing.T, s checkpoint.Saver) (ids []string) {
	t.Helper()
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Graph: "orders"}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, th.ID)
	}
	return ids
}

// cleaned returns how many threads and checkpoints workers have removed.
func cleaned(workers ...*started) (threads, pruned int) {
	for _, w := range workers {
		for _, e := range w.of(worker.EventCleaned) {
			threads, pruned = threads+e.Deleted, pruned+e.Pruned
		}
	}
	return threads, pruned
}

func TestWorkersRemoveEndedThreads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &pruning{Saver: memory.New(), before: func(string) error { return nil }}
		g := line(t, "orders", s, say("a"))
		old := ids("old", 250) // several groups
		done(t, g, old...)
		o := worker.Options{Retention: []worker.Retention{{Graph: "orders", Ended: time.Hour}}}
		one, other := start(t, s, o, g), start(t, s, o, g)
		time.Sleep(45 * time.Minute)
		done(t, g, "young")
		if got := stored(t, s); len(got) != 251 {
			t.Errorf("after 45 minutes: got %d threads, want all 251", len(got))
		}
		time.Sleep(30 * time.Minute)
		if got := stored(t, s); !slices.Equal(got, []string{"young"}) {
			t.Errorf("after 75 minutes: got %q, want only the young thread", got)
		}
		if threads, _ := cleaned(one, other); threads != 250 {
			t.Errorf("got %d threads in events, want 250", threads)
		}
		for _, id := range old {
			if n := s.Of(id); n != 1 {
				t.Errorf("thread %s was pruned %d times, want once", id, n)
			}
		}
		for _, w := range []*started{one, other} {
			if err := w.stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestRetentionLosesNoMessage has an input that is submitted after the worker has listed the
// thread, and before it removes the thread.
func TestRetentionLosesNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &pruning{Saver: memory.New()}
		g := line(t, "orders", s, say("a"))
		var once sync.Once
		s.before = func(thread string) (err error) {
			if thread == "t" {
				once.Do(func() { _, err = g.Thread("t").Submit(context.Background(), said("late")) })
			}
			return err
		}
		done(t, g, "t", "u")
		time.Sleep(2 * time.Hour)
		w := start(t, s, worker.Options{Retention: []worker.Retention{{Graph: "orders", Ended: time.Hour}}}, g)
		time.Sleep(time.Minute)
		if got := stored(t, s); !slices.Equal(got, []string{"t"}) {
			t.Fatalf("got threads %q, want the one with the message", got)
		}
		snap, err := g.Thread("t").State(t.Context())
		if want := []string{"in", "a", "late", "a"}; err != nil || !slices.Equal(snap.State.Log, want) {
			t.Errorf("got %q, %v; want %q", snap.State.Log, err, want)
		}
		time.Sleep(2 * time.Hour)
		if got := stored(t, s); len(got) != 0 {
			t.Errorf("two hours later: got threads %q, want none", got)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestRetentionRemovesThreadsWithOldSignals has a signal that no task receives, before and after
// its thread is done. A young one keeps the thread.
func TestRetentionRemovesThreadsWithOldSignals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, b, stray := memory.New(), graph.New("orders", JobSchema), graph.NewSignal[wire.String]("stray")
		b.Node("a", say("a"), stray)
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		g, err := b.Compile(graph.Saver(s))
		if err != nil {
			t.Fatal(err)
		}
		signal := func(thread string) {
			t.Helper()
			if err := g.Thread(thread).Signal(t.Context(), stray.With("of nobody")); err != nil {
				t.Fatal(err)
			}
		}
		signal("t")
		done(t, g, "t", "u")
		signal("u")
		w := start(t, s, worker.Options{Retention: []worker.Retention{{Graph: "orders", Ended: time.Hour, Every: time.Minute}}}, g)
		time.Sleep(45 * time.Minute)
		signal("u")
		time.Sleep(30 * time.Minute)
		if got := stored(t, s); !slices.Equal(got, []string{"u"}) {
			t.Errorf("after 75 minutes: got threads %q, want the one with a young signal", got)
		}
		time.Sleep(45 * time.Minute)
		if got := stored(t, s); len(got) != 0 {
			t.Errorf("after two hours: got threads %q, want none", got)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestAnotherWorkerRepeatsAPass has a worker that dies in the middle of a pass.
func TestAnotherWorkerRepeatsAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := memory.New()
		o := worker.Options{Retention: []worker.Retention{{Graph: "orders", Ended: time.Hour}}}
		all := ids("t", 50)
		done(t, line(t, "orders", db, say("a")), all...)
		time.Sleep(2 * time.Hour)
		dying := &pruning{Saver: db}
		dead := make(chan struct{})
		var calls atomic.Int32
		dying.before = func(string) error {
			if calls.Add(1) > 20 {
				<-dead // it does nothing more while the test runs
				return errors.New("it died")
			}
			return nil
		}
		first := start(t, dying, o, line(t, "orders", dying, say("a")))
		time.Sleep(time.Second)
		if got := stored(t, db); len(got) != 30 {
			t.Fatalf("when the first worker died: got %d threads, want 30", len(got))
		}
		second := start(t, db, o, line(t, "orders", db, say("a")))
		time.Sleep(time.Minute)
		if got := stored(t, db); len(got) != 0 {
			t.Errorf("a minute later: got threads %q, want none", got)
		}
		if threads, _ := cleaned(second); threads != 30 {
			t.Errorf("the second worker removed %d threads, want 30", threads)
		}
		if err := second.stop(); err != nil {
			t.Error(err)
		}
		close(dead)
		if err := first.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestWorkersPruneCheckpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &pruning{Saver: memory.New(), before: func(string) error { return nil }}
		g := line(t, "orders", s, say("a"), say("b"), say("c"))
		done(t, g, "t", "u")
		time.Sleep(time.Second)
		o := worker.Options{Retention: []worker.Retention{{Graph: "orders", Last: 2, Every: time.Minute}}}
		w := start(t, s, o, g)
		count := func(id string) (n int) {
			for _, err := range s.History(t.Context(), checkpoint.Ref{Thread: id}, checkpoint.Query{}) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			return n
		}
		time.Sleep(10 * time.Second)
		if a, b := count("t"), count("u"); a != 2 || b != 2 {
			t.Errorf("got %d and %d checkpoints, want 2 each", a, b)
		}
		done(t, g, "t")
		time.Sleep(10 * time.Minute)
		if n := count("t"); n != 2 {
			t.Errorf("after another run: got %d checkpoints, want 2", n)
		}
		if a, b := s.Of("t"), s.Of("u"); a != 2 || b != 1 {
			t.Errorf("got %d and %d calls of Prune, want one after each change: 2 and 1", a, b)
		}
		if threads, pruned := cleaned(w); threads != 0 || pruned < 4 {
			t.Errorf("events report %d threads and %d checkpoints, want none and 4 at least", threads, pruned)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestRetentionHasARate counts the threads that workers have removed after some time.
func TestRetentionHasARate(t *testing.T) {
	const n, pass = 3000, 1000
	for rate, c := range map[int]struct {
		after time.Duration
		want  int // removed by the passes that have begun
	}{
		0:    {15 * time.Second, 2 * pass}, // the default, 100
		2000: {700 * time.Millisecond, 2 * pass},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			g := line(t, "orders", s, say("a"))
			done(t, g, ids("t", n)...)
			time.Sleep(2 * time.Hour)
			o := worker.Options{Retention: []worker.Retention{{Graph: "orders", Ended: time.Hour, Rate: rate}}}
			w, other := start(t, s, o, g), start(t, s, o, g)
			time.Sleep(c.after)
			if got := n - len(stored(t, s)); got != c.want {
				t.Errorf("rate %d: %d threads removed after %s, want %d", rate, got, c.after, c.want)
			}
			for _, w := range []*started{w, other} {
				if err := w.stop(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestRetentionsAreChecked(t *testing.T) {
	s := memory.New()
	g := line(t, "orders", s, say("a"))
	for _, all := range [][]worker.Retention{
		{{Graph: "other", Ended: time.Hour}},
		{{Graph: "orders"}},
		{{Graph: "orders", Ended: -time.Hour}},
		{{Graph: "orders", Ended: time.Hour, Rate: -1}},
		{{Graph: "orders", Ended: time.Hour}, {Graph: "orders", Last: 1}},
	} {
		if err := worker.New(s, worker.Options{Retention: all}, g).Run(t.Context()); err == nil {
			t.Errorf("%+v: got no error", all)
		}
	}
}
