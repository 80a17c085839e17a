package graph_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// meddled is a saver that calls meddle before one of its calls, counted from 1.
type meddled struct {
	*memory.Saver
	at, calls int
	meddle    func()
}

func (m *meddled) call() {
	if m.calls++; m.calls == m.at {
		m.meddle()
	}
}

func (m *meddled) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	m.call()
	return m.Saver.Append(ctx, a)
}

func (m *meddled) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	m.call()
	return m.Saver.PutWrites(ctx, w)
}

func (m *meddled) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	m.call()
	return m.Saver.Load(ctx, p)
}

func (m *meddled) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	m.call()
	return m.Saver.Mail(ctx, q)
}

func (m *meddled) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	m.call()
	return m.Saver.Rewake(ctx, r)
}

// rerunner is a thread with an input, at which two workers look.
type rerunner struct {
	t     *testing.T
	s     *memory.Saver
	other *app // of the worker that is faster
	mu    sync.Mutex
	ran   map[string]int // how often a node has run with an input
	want  map[string]int // how often it must have
}

// counted returns a graph with a node that counts the inputs with which it runs.
func (r *rerunner) counted(s checkpoint.Saver, opts []graph.Option) *app {
	b := newWork()
	b.Node("a", func(_ context.Context, s work) (update, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ran[s.Log[len(s.Log)-1]]++
		return update{}, nil
	})
	b.Edge(graph.Start, "a")
	b.Edge("a", graph.End)
	return compile(r.t, b, append(opts, graph.Saver(s))...)
}

// submit submits an input that must run once.
func (r *rerunner) submit(line string, opts ...graph.SubmitOption) {
	r.t.Helper()
	if !submit(r.t, r.other.Thread("t"), line, opts...).Known {
		r.want[line]++
	}
}

// tried fails for an error that is not about a run that holds the thread, or about a thread or a
// version that is gone. It reports whether there was none.
func (r *rerunner) tried(err error) bool {
	r.t.Helper()
	if err != nil && !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, checkpoint.ErrNotFound) {
		r.t.Fatal(err)
	}
	return err == nil
}

func (r *rerunner) remove() { r.tried(r.s.Delete(r.t.Context(), "t")) }

// end removes the thread as a Retention with Ended does.
func (r *rerunner) end() {
	_, err := r.s.Prune(r.t.Context(), "t", checkpoint.Retention{Ended: time.Now().Add(time.Hour)})
	r.tried(err)
}

func (r *rerunner) release() {
	_, err := r.other.Thread("t").Release(r.t.Context())
	r.tried(err)
}

// copies removes the thread, and restores it from a copy.
func (r *rerunner) copies() {
	ctx := r.t.Context()
	if r.tried(checkpoint.Copy(ctx, r.s, "t", 0, r.s, "copy")) && r.tried(r.s.Delete(ctx, "t")) {
		r.tried(checkpoint.Copy(ctx, r.s, "copy", 0, r.s, "t"))
	}
	r.tried(r.s.Delete(ctx, "copy"))
}

// meddlings are what happens at a thread while a worker looks at it. serve runs all that is due.
var meddlings = map[string]func(r *rerunner, serve func()){
	"another run": func(_ *rerunner, serve func()) { serve() },
	"a release":   func(r *rerunner, serve func()) { serve(); r.release() },
	"a deletion":  func(r *rerunner, serve func()) { serve(); r.remove() },
	"a retention": func(r *rerunner, serve func()) { serve(); r.end() },
	"a copy":      func(r *rerunner, serve func()) { serve(); r.copies() },
	"a deletion and other inputs": func(r *rerunner, serve func()) {
		serve()
		r.remove()
		r.submit("two")
		r.submit("three")
	},
	"a retention and other inputs": func(r *rerunner, serve func()) {
		serve()
		r.end()
		r.submit("two")
		r.submit("three")
	},
	"a deletion and the same request": func(r *rerunner, serve func()) {
		serve()
		r.remove()
		r.submit("another one", graph.RequestID("one"))
	},
	"a release and other inputs": func(r *rerunner, serve func()) {
		serve()
		r.release()
		r.submit("two")
		serve()
		r.release()
		r.submit("three")
	},
	"IfIdle": func(r *rerunner, serve func()) {
		serve()
		if _, err := r.other.Thread("t").Submit(r.t.Context(), logged("two"), graph.IfIdle()); err == nil {
			r.want["two"]++
		} else if !errors.Is(err, checkpoint.ErrNotIdle) {
			r.t.Fatal(err)
		}
	},
	"DiscardPending": func(r *rerunner, serve func()) { r.submit("two", graph.DiscardPending()); serve() },
	"CancelPending and a deletion": func(r *rerunner, serve func()) {
		if r.ran["one"] == 0 {
			delete(r.want, "one")
		}
		r.submit("two", graph.CancelPending("late"))
		serve()
		r.remove()
	},
}

// TestAnInputRunsOnceWhateverHappensToTheThread proves rule 21.24 at each call of the saver. A
// worker looks at a thread. Before one of its calls another worker is faster, and the thread is
// released, removed or restored.
func TestAnInputRunsOnceWhateverHappensToTheThread(t *testing.T) {
	for name, meddle := range meddlings {
		for begins, opts := range map[string][]graph.Option{"": nil, ", with ReleaseOnDone": {graph.ReleaseOnDone()}} {
			for _, woken := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s%s, woken %t", name, begins, woken), func(t *testing.T) {
					t.Parallel()
					for at, more := 1, true; more; at++ {
						synctest.Test(t, func(t *testing.T) { more = meddleAt(t, at, woken, meddle, opts) })
					}
				})
			}
		}
	}
}

// meddleAt meddles before one call of the saver. It reports whether the worker made that call.
func meddleAt(t *testing.T, at int, woken bool, meddle func(r *rerunner, serve func()), opts []graph.Option) bool {
	t.Helper()
	r := &rerunner{t: t, s: memory.New(), ran: map[string]int{}, want: map[string]int{}}
	r.other = r.counted(r.s, opts)
	m := &meddled{Saver: r.s, at: at}
	g := r.counted(m, opts)
	serveAll := func() { serve(t, r.other, r.s) }
	m.meddle = func() { meddle(r, serveAll) }
	r.submit("one", graph.RequestID("one"))
	if woken { // the worker finds nothing to do
		serveAll()
		if err := r.other.Thread("t").Wake(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	found, err := r.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
	if err != nil || len(found.Threads) != 1 {
		t.Fatalf("got %d threads and %v, want the one that is due", len(found.Threads), err)
	}
	if _, err := g.ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{}); err != nil && !errors.Is(err, checkpoint.ErrConflict) {
		t.Fatal(err)
	}
	serveAll()
	if !maps.Equal(r.ran, r.want) {
		t.Errorf("meddled before call %d: the inputs ran %v times, want %v", at, r.ran, r.want)
	}
	if left := mailText(t, r.s); left != "" {
		t.Errorf("meddled before call %d: the messages %q are left", at, left)
	}
	return m.calls >= at
}

// TestAWorkerLetsGoOfADeletedThreadAtOnce counts its tries to open a thread that another one with
// the same id has replaced.
func TestAWorkerLetsGoOfADeletedThreadAtOnce(t *testing.T) {
	for _, began := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			r := &rerunner{t: t, s: s, ran: map[string]int{}, want: map[string]int{}}
			r.other = r.counted(s, nil)
			r.submit("one")
			if began {
				serve(t, r.other, s)
				r.submit("two")
			}
			found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
			if err != nil || len(found.Threads) != 1 {
				t.Fatalf("got %d threads and %v, want the one that is due", len(found.Threads), err)
			}
			r.remove()
			r.submit("three")
			m := &opened{Saver: s}
			_, err = r.counted(m, nil).ResumeDue(t.Context(), found.Threads[0], graph.DueOptions{})
			if !errors.Is(err, checkpoint.ErrConflict) || m.tries != 1 {
				t.Errorf("began %t: got %v after %d tries, want a conflict after the first", began, err, m.tries)
			}
		})
	}
}

// opened is a saver that counts openings.
type opened struct {
	*memory.Saver
	tries int
}

func (o *opened) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	o.tries++
	return o.Saver.Append(ctx, a)
}

// mailText returns the ids of the untaken messages of the thread.
func mailText(t *testing.T, s checkpoint.Saver) (text string) {
	t.Helper()
	all, err := s.Mail(t.Context(), checkpoint.MailQuery{Thread: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		text += m.ID + " "
	}
	return text
}

// hesitant is a saver each of whose calls takes a random time before it begins.
type hesitant struct {
	*memory.Saver
	random *rand.Rand
	mu     *sync.Mutex // of random: a run and its listener call at the same time
}

func (s hesitant) wait() {
	s.mu.Lock()
	pause := time.Duration(s.random.IntN(30)) * time.Millisecond
	s.mu.Unlock()
	time.Sleep(pause)
}

func (s hesitant) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	s.wait()
	return s.Saver.Append(ctx, a)
}

func (s hesitant) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	s.wait()
	return s.Saver.Load(ctx, p)
}

func (s hesitant) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	s.wait()
	return s.Saver.Mail(ctx, q)
}

func (s hesitant) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	s.wait()
	return s.Saver.Rewake(ctx, r)
}

// TestWorkersRunEachInputOnceAmongReleasesAndRetention is a storm about rule 21.24: workers that
// are slow, clients with every policy of Submit, and calls that release and remove threads.
func TestWorkersRunEachInputOnceAmongReleasesAndRetention(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	for name, opts := range map[string][]graph.Option{"kept": nil, "ReleaseOnDone": {graph.ReleaseOnDone()}} {
		t.Run(name, func(t *testing.T) {
			for range rounds {
				seed := rand.Uint64()
				synctest.Test(t, func(t *testing.T) { stormOfInputs(t, seed, opts) })
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

// The threads of the storm. Only the last one is cancelled.
var stormThreads = []string{"a", "b", "cancelled"}

func stormOfInputs(t *testing.T, seed uint64, opts []graph.Option) {
	t.Helper()
	r := &rerunner{t: t, s: memory.New(), ran: map[string]int{}, want: map[string]int{}}
	r.other = r.counted(r.s, opts)
	random := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
	ctx, cancel := context.WithCancel(t.Context())
	var posters, others sync.WaitGroup
	for n := range uint64(2) {
		posters.Go(func() { r.submitAll(random(n), fmt.Sprint("client ", n)) })
		others.Go(func() { r.janitor(ctx, random(10+n)) })
	}
	for n := range uint64(3) {
		s, pauses := hesitant{r.s, random(100 + n), new(sync.Mutex)}, random(200+n)
		g := r.counted(s, opts)
		others.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(time.Duration(1+pauses.IntN(20)) * time.Millisecond)
				r.work(ctx, g, time.Duration(pauses.IntN(2))*50*time.Millisecond)
			}
		})
	}
	posters.Wait()
	for rounds := 0; r.busy(); rounds++ {
		if time.Sleep(time.Minute); rounds > 100 {
			t.Error("threads have something to do for ever")
			break
		}
	}
	cancel()
	others.Wait()
	for line, want := range r.want {
		if got := r.ran[line]; got > 1 || want != 0 && got != max(want, 0) {
			t.Errorf("%s ran %d times, want %d", line, got, want)
		}
	}
}

// submitAll submits inputs to all threads, with all policies.
func (r *rerunner) submitAll(random *rand.Rand, client string) {
	for n := range 30 {
		time.Sleep(time.Duration(random.IntN(80)) * time.Millisecond)
		thread := stormThreads[random.IntN(len(stormThreads))]
		line := fmt.Sprint(client, " input ", n, " of ", thread)
		var opts []graph.SubmitOption
		want := 1
		switch random.IntN(6) {
		case 0:
			opts = append(opts, graph.DiscardPending())
		case 1:
			opts = append(opts, graph.IfIdle())
		}
		if thread == "cancelled" {
			want = 0 // or 1
			if opts == nil && random.IntN(2) == 0 {
				opts = append(opts, graph.CancelPending("late"))
			}
		}
		_, err := r.other.Thread(thread).Submit(r.t.Context(), logged(line), opts...)
		if err != nil && !errors.Is(err, checkpoint.ErrNotIdle) {
			r.t.Error(err)
		}
		r.mu.Lock()
		if r.want[line] = want; err != nil {
			r.want[line] = -1
		}
		r.mu.Unlock()
	}
}

// janitor releases threads, and removes those that have ended.
func (r *rerunner) janitor(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
		thread, err := stormThreads[random.IntN(len(stormThreads))], error(nil)
		if random.IntN(2) == 0 {
			_, err = r.s.Prune(ctx, thread, checkpoint.Retention{Ended: time.Now().Add(time.Hour)})
		} else if v := r.listed(thread); v.Status == graph.Done { // an input that has begun is not dropped
			_, err = r.other.Thread(thread).Release(ctx, graph.IfHead(v.Head))
		}
		if err != nil && ctx.Err() == nil && !errors.Is(err, checkpoint.ErrConflict) && !errors.Is(err, checkpoint.ErrNotFound) {
			r.t.Error(err)
		}
	}
}

// listed returns a thread as the saver lists it; zero if it does not.
func (r *rerunner) listed(thread string) checkpoint.Thread {
	for t, err := range r.s.Threads(context.WithoutCancel(r.t.Context()), checkpoint.ThreadQuery{Prefix: thread, Limit: 1}) {
		if err == nil {
			return t
		}
	}
	return checkpoint.Thread{}
}

// work runs the threads that are due.
func (r *rerunner) work(ctx context.Context, g *app, reserve time.Duration) {
	found, err := r.s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 2, Reserve: reserve, Mail: 3})
	if err != nil {
		return
	}
	for _, th := range found.Threads {
		_, err := g.ResumeDue(ctx, th, graph.DueOptions{})
		if err != nil && ctx.Err() == nil && !errors.Is(err, checkpoint.ErrConflict) {
			r.t.Error(err)
		}
	}
}

// busy reports whether a thread has something to do.
func (r *rerunner) busy() bool {
	for _, thread := range stormThreads {
		if t := r.listed(thread); t.Inputs > 0 || t.Holder != "" || !t.Wake.IsZero() {
			return true
		}
	}
	return false
}
