package worker_test

import (
	"context"
	"fmt"
	"strings"
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

// fleet returns the registered workers of a saver as text.
func fleet(tb testing.TB, s checkpoint.Saver) string {
	tb.Helper()
	all, err := worker.Workers(tb.Context(), s)
	if err != nil {
		tb.Fatal(err)
	}
	var text []string
	for i := range all {
		w := &all[i]
		one := fmt.Sprintf("%s alive %t, %d/%d of %v", w.Name, w.Alive, w.Used, w.Slots, w.Graphs)
		for _, q := range w.Queues {
			one += fmt.Sprintf(", %d/%d of %s of %v", q.Used, q.Slots, q.Queue, q.Graphs)
		}
		text = append(text, one)
	}
	return strings.Join(text, "; ")
}

// mortal has a switch that makes all calls fail, as for a process that has died.
type mortal struct {
	*memory.Saver
	dead atomic.Bool
}

func (m *mortal) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if m.dead.Load() {
		return checkpoint.PutResult{}, errBroken
	}
	return m.Saver.PutWrites(ctx, p)
}

func TestARegisteredWorkerShowsWhatItDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g := chain(t, s, 1, hangFor(time.Minute), graph.Queue("gpu"))
		plain := line(t, "mails", s, hangFor(time.Minute))
		a := start(t, s, worker.Options{Name: "a", Register: true, Slots: 3, Queues: map[string]int{"gpu": 2}}, g, plain)
		dies := &mortal{Saver: s}
		b := start(t, dies, worker.Options{Name: "b", Register: true, QueuesOnly: true, Queues: map[string]int{"gpu": 1}}, chain(t, dies, 1, say("n"), graph.Queue("gpu")))
		c := start(t, s, worker.Options{Name: "c"}, line(t, "other", s, say("n")))
		time.Sleep(time.Second)
		if got, want := fleet(t, s), "a alive true, 0/3 of [chain mails], 0/2 of gpu of [chain]; b alive true, 0/0 of [], 0/1 of gpu of [chain]"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		submit(t, s, "mails", "m1", "m2")
		dies.dead.Store(true)
		time.Sleep(30 * time.Second)
		if got, want := fleet(t, s), "a alive true, 2/3 of [chain mails], 0/2 of gpu of [chain]; b alive false, 0/0 of [], 0/1 of gpu of [chain]"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		for _, w := range []*started{a, b, c} {
			if err := w.stop(); err != nil {
				t.Error(err)
			}
		}
		if got, want := fleet(t, s), "b alive false, 0/0 of [], 0/1 of gpu of [chain]"; got != want {
			t.Errorf("after the end: got %s, want %s", got, want)
		}
		time.Sleep(time.Hour)
		next := start(t, s, worker.Options{Register: true}, plain)
		time.Sleep(time.Second)
		if err := next.stop(); err != nil {
			t.Error(err)
		}
		if got := fleet(t, s); got != "" {
			t.Errorf("an hour later: got %s, want none", got)
		}
	})
}

// stores counts the heartbeats of workers, and those that store something.
type stores struct {
	*memory.Saver
	beats, writes atomic.Int64
}

func (s *stores) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if !strings.HasPrefix(p.Thread, "__worker/") {
		return s.Saver.PutWrites(ctx, p)
	}
	s.beats.Add(1)
	if len(p.Writes) > 0 {
		s.writes.Add(1)
	}
	return s.Saver.PutWrites(ctx, p)
}

// TestARegistrationStaysSmall has a worker whose Status changes twice, and one that has died.
func TestARegistrationStaysSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stores{Saver: memory.New()}
		dies := &mortal{Saver: s.Saver}
		b := start(t, dies, worker.Options{Name: "b", Register: true}, line(t, "mails", dies, say("n")))
		time.Sleep(time.Second)
		dies.dead.Store(true)
		if err := b.stop(); err != nil {
			t.Error(err)
		}
		w := start(t, s, worker.Options{Name: "a", Register: true}, line(t, "mails", s, hangFor(time.Minute)))
		time.Sleep(time.Second)
		first := threadOf(t, s)
		submit(t, s, "mails", "m")
		time.Sleep(50 * time.Minute)
		if got, want := fleet(t, s), "a alive true, 0/64 of [mails]; b alive false, 0/64 of [mails]"; got != want {
			t.Errorf("before an hour: got %s, want %s", got, want)
		}
		if beats, writes := s.beats.Load(), s.writes.Load(); beats < 500 || writes != 2 {
			t.Errorf("%d of %d heartbeats stored a Status; want 2 of at least 500: the slot is used, and free again", writes, beats)
		}
		time.Sleep(80 * time.Minute)
		if got, want := fleet(t, s), "a alive true, 0/64 of [mails]"; got != want {
			t.Errorf("after two hours: got %s, want %s", got, want)
		}
		if threadOf(t, s) == first {
			t.Error("after two hours, the worker has the thread with which it began")
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
		if got := fleet(t, s); got != "" {
			t.Errorf("after the end: got %s, want none", got)
		}
	})
}

// threadOf returns the thread of the first worker.
func threadOf(tb testing.TB, s checkpoint.Saver) string {
	tb.Helper()
	all, err := worker.Workers(tb.Context(), s)
	if err != nil || len(all) == 0 {
		tb.Fatalf("got %v, %v; want workers", all, err)
	}
	return all[0].Thread
}

// TestARegistrationThatIsRemovedComesBack deletes the thread of a worker that lives.
func TestARegistrationThatIsRemovedComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		w := start(t, s, worker.Options{Name: "a", Register: true}, line(t, "mails", s, say("n")))
		time.Sleep(time.Second)
		all, err := worker.Workers(t.Context(), s)
		if err != nil || len(all) != 1 {
			t.Fatalf("got %v, %v; want one worker", all, err)
		}
		c, err := s.Load(t.Context(), checkpoint.Ref{Thread: all[0].Thread})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: all[0].Thread, Fence: c.Fence, End: true}); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), all[0].Thread); err != nil {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if got, want := fleet(t, s), "a alive true, 0/64 of [mails]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// stubborn is a saver that refuses the registrations of workers, or does not answer them.
type stubborn struct {
	*memory.Saver
	refuses, hangs atomic.Bool
	mu             sync.Mutex
	tries          []time.Time
}

func (s *stubborn) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if s.refuses.Load() && strings.HasPrefix(a.Thread, "__worker/") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tries = append(s.tries, time.Now())
		return checkpoint.AppendResult{}, errBroken
	}
	return s.Saver.Append(ctx, a)
}

func (s *stubborn) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if s.hangs.Load() && strings.HasPrefix(p.Thread, "__worker/") {
		<-ctx.Done()
		return checkpoint.PutResult{}, ctx.Err()
	}
	return s.Saver.PutWrites(ctx, p)
}

// TestARegistrationThatFailsIsRepeatedMoreAndMoreRarely: the pauses double up to a minute.
func TestARegistrationThatFailsIsRepeatedMoreAndMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stubborn{Saver: memory.New()}
		s.refuses.Store(true)
		w := start(t, s, worker.Options{Name: "a", Register: true}, line(t, "mails", s, say("n")))
		time.Sleep(4 * time.Minute)
		var pauses []time.Duration
		s.mu.Lock()
		for i := range s.tries[1:] {
			pauses = append(pauses, s.tries[i+1].Sub(s.tries[i])/time.Second)
		}
		s.mu.Unlock()
		if got, want := fmt.Sprintf("%d", pauses), "[5 10 20 40 60 60]"; got != want {
			t.Errorf("got pauses of %s seconds, want %s", got, want)
		}
		s.refuses.Store(false)
		time.Sleep(time.Minute)
		if got, want := fleet(t, s), "a alive true, 0/64 of [mails]"; got != want {
			t.Errorf("a minute after the last failure: got %s, want %s", got, want)
		}
		time.Sleep(time.Minute)
		if got, want := fleet(t, s), "a alive true, 0/64 of [mails]"; got != want {
			t.Errorf("with heartbeats again: got %s, want %s", got, want)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestARegistrationDoesNotHoldUpAStop stops a worker whose saver does not answer.
func TestARegistrationDoesNotHoldUpAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stubborn{Saver: memory.New()}
		w := start(t, s, worker.Options{Name: "a", Register: true, SaverTimeout: time.Minute}, line(t, "mails", s, say("n")))
		time.Sleep(time.Second)
		s.hangs.Store(true)
		time.Sleep(10 * time.Second)
		began := time.Now()
		if err := w.stop(); err != nil || time.Since(began) > time.Second {
			t.Errorf("the worker has stopped after %s, %v; want a second at most", time.Since(began), err)
		}
		time.Sleep(time.Minute)
		if got, want := fleet(t, s), "a alive false, 0/64 of [mails]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestAClaimSaysHowLongTheThreadWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		submit(t, s, "mails", "m")
		time.Sleep(time.Minute)
		w := start(t, s, worker.Options{}, line(t, "mails", s, say("n")))
		synctest.Wait()
		if all := w.of(worker.EventClaimed); len(all) != 1 || all[0].Waited != time.Minute {
			t.Errorf("got the events %+v; want one, a minute after the thread was due", all)
		}
		if err := w.stop(); err != nil {
			t.Error(err)
		}
	})
}
