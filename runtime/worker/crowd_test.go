package worker_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// tenants submits n inputs to threads with the label tenant.
func tenants(tb testing.TB, s checkpoint.Saver, g *app, tenant string, n int) {
	tb.Helper()
	var all []graph.Submission[JobUpdate]
	for _, id := range ids(tenant, n) {
		all = append(all, graph.Submission[JobUpdate]{Thread: id, Input: said("in"), Options: []graph.SubmitOption{graph.Label("tenant", tenant)}})
	}
	if _, err := g.SubmitMany(context.Background(), all...); err != nil {
		tb.Fatal(err)
	}
}

// tally counts calls of Ready, and the threads that they returned.
type tally struct {
	*memory.Saver
	mu             sync.Mutex
	calls, threads int
}

func (c *tally) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	got, err := c.Saver.Ready(ctx, q)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	c.threads += len(got.Threads)
	return got, err
}

func (c *tally) counts() (calls, threads int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls, c.threads
}

// byTenant is a node that counts the runs of each tenant for the given time.
func (g *gauge) byTenant(took time.Duration) node {
	return func(ctx context.Context, j Job) (JobUpdate, error) {
		tenant, err := graph.ThreadLabel(ctx, "tenant")
		if err != nil {
			tenant = "nobody"
		}
		n := g.add(tenant)
		g.mu.Lock()
		if g.most == nil {
			g.most = make(map[string]int)
		}
		g.most[tenant] = max(g.most[tenant], n)
		g.mu.Unlock()
		select {
		case <-time.After(took):
		case <-ctx.Done():
		}
		g.mu.Lock()
		g.n[tenant]--
		g.mu.Unlock()
		return said(tenant), nil
	}
}

func TestALimitByLabelBoundsTheRunsOfEachTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := memory.New(), new(gauge)
		a := line(t, "orders", s, g.byTenant(time.Second))
		for _, tenant := range []string{"acme", "globex", "initech"} {
			tenants(t, s, a, tenant, 30)
		}
		submit(t, s, "orders", ids("nobody", 5)...)
		w := start(t, s, worker.Options{Slots: 9, LabelLimits: []worker.LabelLimit{{Label: "tenant", Max: 2}}}, a)
		time.Sleep(20 * time.Second)
		if got := len(w.of(worker.EventEnded)); got < 90 {
			t.Errorf("got %d of 95 runs in 20 s, want 90 at least: two for each tenant per second", got)
		}
		time.Sleep(time.Minute)
		for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			if err != nil || th.Status != graph.Done {
				t.Errorf("got the thread %s %s, %v; want it done", th.ID, th.Status, err)
			}
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		for _, tenant := range []string{"acme", "globex", "initech"} {
			if g.most[tenant] != 2 {
				t.Errorf("got up to %d runs of %s, want 2", g.most[tenant], tenant)
			}
		}
	})
}

func TestAThousandDueThreadsOfATenantAtItsLimitStarveNobody(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		s, g := &tally{Saver: memory.New()}, new(gauge)
		a := line(t, "orders", s, g.byTenant(10*time.Minute))
		tenants(t, s, a, "large", n)
		time.Sleep(time.Second)
		tenants(t, s, a, "small", 2)
		w := start(t, s, worker.Options{Slots: 8, LabelLimits: []worker.LabelLimit{{Label: "tenant", Max: 2}}}, a)
		synctest.Wait()
		if g.of("small") != 2 || g.of("large") != 2 {
			t.Errorf("at once: got %d runs of the small tenant and %d of the large one, want 2 and 2", g.of("small"), g.of("large"))
		}
		calls, threads := s.counts()
		if calls > n/64+10 || threads > n+100 {
			t.Errorf("at once: got %d calls of Ready and %d reservations for %d threads", calls, threads, n)
		}
		time.Sleep(2 * time.Minute)
		calls, threads = s.counts()
		if most := 4 * (n + 200); threads > most || calls > most/50+100 {
			t.Errorf("in 2 minutes: got %d calls of Ready and %d reservations, want each thread reserved about once per minute", calls, threads)
		}
		time.Sleep(9 * time.Minute)
		if started := len(w.of(worker.EventClaimed)); started != 6 {
			t.Errorf("got %d runs in 11 minutes, want two of the large tenant each 10 minutes, and two of the small one", started)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if g.most["large"] != 2 {
			t.Errorf("got up to %d runs of the large tenant, want 2", g.most["large"])
		}
	})
}

func TestWaitersAreGivenBackWhenAWorkerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := memory.New(), new(gauge)
		a := line(t, "orders", s, g.byTenant(time.Second))
		tenants(t, s, a, "acme", 20)
		w := start(t, s, worker.Options{LabelLimits: []worker.LabelLimit{{Label: "tenant", Max: 1}}}, a)
		synctest.Wait()
		if err := w.stop(); err != nil {
			t.Fatal(err)
		}
		got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"orders"}, Limit: 100})
		if err != nil || len(got.Threads) != 19 {
			t.Errorf("got %d due threads, %v; want the 19 that have not run", len(got.Threads), err)
		}
	})
}

// TestAMessageToAWaiterStartsItOnce: the message ends the reservation of a thread that waits.
func TestAMessageToAWaiterStartsItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, g := memory.New(), new(gauge)
		a := line(t, "orders", s, g.byTenant(time.Second))
		tenants(t, s, a, "acme", 3)
		w := start(t, s, worker.Options{LabelLimits: []worker.LabelLimit{{Label: "tenant", Max: 1}}}, a)
		synctest.Wait()
		for _, id := range ids("acme", 3) {
			if err := a.Thread(id).Wake(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if ended, refused := len(w.of(worker.EventEnded)), w.of(worker.EventRefused); ended != 3 || len(refused) != 0 {
			t.Errorf("got %d runs and the refusals %v, want 3 and none", ended, refused)
		}
	})
}

func TestARefusedMessageIsAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		a := line(t, "orders", s, say("a"))
		w := start(t, s, worker.Options{}, a)
		if _, err := a.Thread("t").Submit(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := w.of(worker.EventMessageRefused); len(got) != 0 {
			t.Errorf("got the events %v, want none", got)
		}
		if err := a.Thread("t").Cancel(t.Context(), "too late"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		const want = "message 2 is refused: the thread had no unfinished work before the cancel"
		if got := w.of(worker.EventMessageRefused); len(got) != 1 || got[0].Thread != "t" || got[0].Graph != "orders" || fmt.Sprint(got[0].Err) != want {
			t.Errorf("got the events %v, want one of the thread t: %s", got, want)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}
