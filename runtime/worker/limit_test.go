package worker_test

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// gauge counts what is in progress, and the most that ever was.
type gauge struct {
	mu      sync.Mutex
	n, most map[string]int
}

// node is a node that takes a second.
func (g *gauge) node(name string) node {
	return func(context.Context, Job) (JobUpdate, error) {
		g.mu.Lock()
		g.n[name]++
		g.most[name] = max(g.most[name], g.n[name])
		g.mu.Unlock()
		time.Sleep(time.Second)
		g.mu.Lock()
		g.n[name]--
		g.mu.Unlock()
		return said(name), nil
	}
}

func TestSlotsAndLimitsBoundTheRunsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := memory.New(), &gauge{n: make(map[string]int), most: make(map[string]int)}
		submit(t, s, "orders", ids("order", 30)...)
		submit(t, s, "mails", ids("mail", 30)...)
		w := start(t, s, worker.Options{Slots: 8, Limits: []worker.Limit{{Graph: "mails", Max: 2}}},
			line(t, "orders", s, g.node("orders")), line(t, "mails", s, g.node("mails")))
		time.Sleep(time.Minute)
		for _, id := range append(ids("order", 30), ids("mail", 30)...) {
			if th := listed(t, s, id); th.Status != graph.Done {
				t.Errorf("got the thread %s %s, want it done", id, th.Status)
			}
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if g.most["mails"] != 2 || g.most["orders"] > 8 || g.most["orders"] < 6 {
			t.Errorf("in progress were at most %v, want 2 mails, and up to 8 orders", g.most)
		}
	})
}

// doneOf returns how many threads with a prefix are Done.
func doneOf(tb testing.TB, s checkpoint.Saver, prefix string) (n int) {
	tb.Helper()
	for th, err := range s.Threads(tb.Context(), checkpoint.ThreadQuery{Prefix: prefix}) {
		if err != nil {
			tb.Fatal(err)
		}
		if th.Status == graph.Done {
			n++
		}
	}
	return n
}

// TestGraphsTakeTurns: many due threads of one graph leave half of the slots to another graph,
// whatever is the number of slots that become free together.
func TestGraphsTakeTurns(t *testing.T) {
	for name, limits := range map[string][]worker.Limit{
		"no limits":           nil,
		"limit of the many":   {{Graph: "orders", Max: 4}},
		"limit of the others": {{Graph: "mails", Max: 4}},
		"two limits":          {{Graph: "orders", Max: 4}, {Graph: "mails", Max: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, g := memory.New(), &gauge{n: make(map[string]int), most: make(map[string]int)}
				submit(t, s, "orders", ids("order", 200)...)
				submit(t, s, "mails", ids("mail", 20)...)
				w := start(t, s, worker.Options{Slots: 4, Limits: limits}, line(t, "orders", s, g.node("orders")), line(t, "mails", s, g.node("mails")))
				time.Sleep(10*time.Second + time.Millisecond)
				if got := doneOf(t, s, "mail"); got != 20 {
					t.Errorf("got %d of 20 mails done, although half of the slots are theirs for 10 s", got)
				}
				time.Sleep(time.Hour)
				if err := w.stop(); err != nil {
					t.Error(err)
				}
				if got := len(w.of(worker.EventEnded)); got != 220 {
					t.Errorf("got %d runs, want 220", got)
				}
			})
		})
	}
}

// TestASlotServesEachGraph: graphs without due threads keep no slot, and those with due threads
// take turns at a single one.
func TestASlotServesEachGraph(t *testing.T) {
	for name, limits := range map[string][]worker.Limit{
		"no limits":          nil,
		"limit of an idle":   {{Graph: "idle", Max: 1}},
		"limit of all":       {{Graph: "idle", Max: 1}, {Graph: "orders", Max: 1}, {Graph: "mails", Max: 1}},
		"limit of one graph": {{Graph: "orders", Max: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, g := memory.New(), &gauge{n: make(map[string]int), most: make(map[string]int)}
				submit(t, s, "orders", ids("order", 100)...)
				submit(t, s, "mails", ids("mail", 100)...)
				w := start(t, s, worker.Options{Slots: 1, Limits: limits},
					line(t, "idle", s, g.node("idle")), line(t, "orders", s, g.node("orders")), line(t, "mails", s, g.node("mails")))
				time.Sleep(20*time.Second + time.Millisecond)
				if orders, mails := doneOf(t, s, "order"), doneOf(t, s, "mail"); orders != 10 || mails != 10 {
					t.Errorf("got %d orders and %d mails done after 20 s, want 10 of each", orders, mails)
				}
				if err := w.stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// slowReady is a saver whose Ready takes a second. It counts the calls.
type slowReady struct {
	*memory.Saver
	calls atomic.Int64
}

func (s *slowReady) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	s.calls.Add(1)
	time.Sleep(time.Second)
	return s.Saver.Ready(ctx, q)
}

// TestShortAndLongRunsHaveEquallyManySlots: the slots of a graph are those of its runs in
// progress, not how many have begun.
func TestShortAndLongRunsHaveEquallyManySlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := &slowReady{Saver: memory.New()}, &gauge{n: make(map[string]int), most: make(map[string]int)}
		submit(t, s, "long", ids("long", 20)...)
		submit(t, s, "short", ids("short", 600)...)
		w := start(t, s, worker.Options{Slots: 8}, line(t, "long", s, hangFor(time.Hour), g.node("long")), line(t, "short", s, g.node("short")))
		time.Sleep(100*time.Second + time.Millisecond)
		var long int
		for _, id := range ids("long", 20) {
			if listed(t, s, id).Holder != "" {
				long++
			}
		}
		if short := doneOf(t, s, "short"); long != 4 || short < 100 {
			t.Errorf("got %d long runs in progress and %d short ones done, want 4 of 8 slots for each graph", long, short)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestIdleGraphsCostFewPolls: the graphs without due threads get no share of the slots.
func TestIdleGraphsCostFewPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowReady{Saver: memory.New()}
		submit(t, s, "orders", ids("order", 100)...)
		apps := []worker.App{line(t, "orders", s, hangFor(time.Hour))}
		for i := range 9 {
			name := fmt.Sprint("idle", i)
			apps = append(apps, line(t, name, s, say(name)))
		}
		w := start(t, s, worker.Options{Retention: []worker.Retention{{Graph: "orders", Ended: time.Hour}}}, apps...)
		time.Sleep(time.Minute)
		if got := w.Status().Used; got != 64 {
			t.Errorf("got %d of 64 slots used", got)
		}
		if got := s.calls.Load(); got > 4 {
			t.Errorf("got %d calls of Ready for 64 threads and the walk of the Retention, want at most 4", got)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestABacklogDoesNotHideAPause: the runs end faster than polls find further threads, so slots are
// always free. The worker is alive, and reads what is paused.
func TestABacklogDoesNotHideAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slowReady{Saver: memory.New()}
		submit(t, s, "orders", ids("order", 300)...)
		submit(t, s, "mails", ids("mail", 300)...)
		w := start(t, s, worker.Options{Slots: 4}, line(t, "orders", s, say("order")), line(t, "mails", s, say("mail")))
		time.Sleep(90 * time.Second)
		if code := probe(w.Live()); code != http.StatusOK {
			t.Errorf("got %d of the liveness probe of a busy worker, want 200", code)
		}
		if err := worker.Pause(t.Context(), s, "orders"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Second)
		orders, mails := doneOf(t, s, "order"), doneOf(t, s, "mail")
		time.Sleep(10 * time.Second)
		if got := doneOf(t, s, "order"); got != orders || orders == 0 {
			t.Errorf("got %d orders done, and %d later; want some, and no more during the pause", orders, got)
		}
		if got := doneOf(t, s, "mail"); got == mails {
			t.Errorf("got %d mails done before and after; want more", mails)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}
