package worker_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// asked counts the calls of News, and the threads in each.
type asked struct {
	checkpoint.Saver
	mu      sync.Mutex
	threads []int
}

func (a *asked) News(ctx context.Context, threads []string) ([]checkpoint.News, error) {
	a.mu.Lock()
	a.threads = append(a.threads, len(threads))
	a.mu.Unlock()
	return a.Saver.News(ctx, threads)
}

// calls returns how many threads each call of News named.
func (a *asked) calls() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]int(nil), a.threads...)
}

// hang is a node that waits for the end of its context.
func hang(ctx context.Context, _ Job) (JobUpdate, error) {
	<-ctx.Done()
	return JobUpdate{}, ctx.Err()
}

// cancel cancels a thread, as another process does.
func cancel(tb testing.TB, s checkpoint.Saver, name, id string) {
	tb.Helper()
	if err := line(tb, name, s, hang).Thread(id).Cancel(context.Background(), "changed my mind"); err != nil {
		tb.Fatal(err)
	}
}

// wantStatus checks the status of a thread.
func wantStatus(tb testing.TB, s checkpoint.Saver, id string, want graph.Status) {
	tb.Helper()
	if th := listed(tb, s, id); th.Status != want {
		tb.Errorf("got the thread %s %s, want it %s", id, th.Status, want)
	}
}

func TestOneCallASecondAsksForTheMailOfAllThreadsThatAWorkerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &asked{Saver: quiet{memory.New()}}
		submit(t, s, "orders", ids("order", 20)...)
		submit(t, s, "mails", ids("mail", 20)...)
		w := start(t, s, worker.Options{Slots: 100}, line(t, "orders", s, hang), line(t, "mails", s, hang))
		time.Sleep(10*time.Second + 500*time.Millisecond)
		calls := s.calls()
		if len(calls) < 9 || len(calls) > 11 {
			t.Errorf("got %d calls of News in 10 s, want one per second", len(calls))
		}
		for i, n := range calls {
			if n != 40 {
				t.Errorf("call %d of News is for %d threads, want all 40", i, n)
			}
		}
		cancel(t, s, "orders", "order-00007")
		time.Sleep(1100 * time.Millisecond)
		wantStatus(t, s, "order-00007", graph.Cancelled)
		for _, id := range ids("order", 20) {
			cancel(t, s, "orders", id)
		}
		for _, id := range ids("mail", 20) {
			cancel(t, s, "mails", id)
		}
		time.Sleep(time.Minute)
		before := len(s.calls())
		time.Sleep(time.Hour)
		if got := len(s.calls()) - before; got != 0 {
			t.Errorf("got %d calls of News while no thread runs, want none", got)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestANotifierIsNotAskedForMailEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memory.New()
		s := &announcing{asked{Saver: m}, m}
		all := ids("order", 20)
		submit(t, s, "orders", all...)
		w := start(t, s, worker.Options{}, line(t, "orders", s, hang))
		time.Sleep(time.Hour)
		if got := len(s.calls()); got > len(all) {
			t.Errorf("got %d calls of News in an hour, want at most one for each of the %d threads", got, len(all))
		}
		for _, id := range all {
			cancel(t, s, "orders", id)
			synctest.Wait()
			wantStatus(t, s, id, graph.Cancelled)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// announcing is asked with the announcements of the memory saver.
type announcing struct {
	asked
	checkpoint.Notifier
}

func TestAHintEndsACancelledRunAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, hub := &asked{Saver: quiet{memory.New()}}, new(worker.Hub)
		submit(t, s, "orders", "t")
		w := start(t, s, worker.Options{Engine: hub}, line(t, "orders", s, hang))
		synctest.Wait() // it has run for no time at all
		cancel(t, s, "orders", "t")
		for range 100 {
			if err := hub.Wake(t.Context(), "orders", "t"); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		wantStatus(t, s, "t", graph.Cancelled)
		if got := len(s.calls()); got > 100 {
			t.Errorf("got %d calls of News for 100 hints, want at most one for each", got)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestASlowAnswerForMailDelaysNoRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &deaf{Saver: quiet{memory.New()}}
		submit(t, s, "orders", "t")
		w := start(t, s, worker.Options{}, line(t, "orders", s, func(context.Context, Job) (JobUpdate, error) {
			time.Sleep(10 * time.Minute)
			return said("a"), nil
		}))
		time.Sleep(time.Hour)
		wantStatus(t, s, "t", graph.Done)
		if late, claimed := w.of(worker.EventLate), w.of(worker.EventClaimed); len(late) != 0 || len(claimed) != 1 {
			t.Errorf("got %d late runs and %d claims, want none and one", len(late), len(claimed))
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// deaf never answers News.
type deaf struct{ checkpoint.Saver }

func (d *deaf) News(ctx context.Context, _ []string) ([]checkpoint.News, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}
