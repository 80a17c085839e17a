package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/engines/enginetest/internal/work"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// fleet is some workers that share a saver. Each has an engine of its own.
type fleet struct {
	tb      testing.TB
	place   Place
	engine  worker.Engine                              // of the process that submits
	app     *graph.Graph[work.State, work.StateUpdate] // of the process that submits
	members []*member

	mu      sync.Mutex
	ran     map[string]int // executions of the node, by thread
	changed chan struct{}  // closed and replaced after an execution, and when a worker may have settled
}

// startFleet starts workers with engines from open.
func startFleet(tb testing.TB, place Place, poll time.Duration, change func(worker.Engine) worker.Engine) *fleet {
	tb.Helper()
	stored := memory.New()
	f := &fleet{tb: tb, place: place, engine: change(place.Open(tb)), ran: make(map[string]int), changed: make(chan struct{})}
	f.app = f.compile(worker.Announce(stored, f.engine, nil))
	for range 2 {
		m := &member{Saver: stored, Engine: place.Open(tb), f: f, held: make(map[string]bool)}
		f.members = append(f.members, m)
		e := change(listening{m})
		s := worker.Announce(polling{m}, e, nil)
		w := worker.New(s, worker.Options{Engine: e, Poll: poll, OnEvent: m.event}, f.compile(s))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		tb.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				tb.Errorf("a worker: %v", err)
			}
		})
	}
	return f
}

// member is one worker.
type member struct {
	checkpoint.Saver
	worker.Engine
	f *fleet

	// These are guarded by f.mu.
	began, polled int             // calls of Ready that have begun; the newest one that has returned
	wanted        int             // the call of Ready that follows the newest empty hint; 0 before there was one
	held          map[string]bool // the threads that Ready has returned, and no event has ended
}

// settled reports whether the worker listens, runs nothing, and is in no call of Ready.
func (m *member) settled() bool {
	return len(m.held) == 0 && m.wanted > 0 && m.polled >= m.wanted && m.polled == m.began
}

func (m *member) event(e worker.Event) {
	m.f.mu.Lock()
	defer m.f.mu.Unlock()
	if e.Kind != worker.EventClaimed {
		delete(m.held, e.Thread)
	}
	m.f.change()
}

// polling is the saver of a member. It hides that the memory saver announces due threads itself.
type polling struct{ *member }

func (l polling) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	l.f.mu.Lock()
	l.began++
	n := l.began
	l.f.mu.Unlock()
	got, err := l.Saver.Ready(ctx, q)
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	l.polled = n
	for _, t := range got.Threads {
		l.held[t.ID] = true
	}
	l.f.change()
	return got, err
}

// listening is the engine of a member.
type listening struct{ *member }

func (l listening) Listen(ctx context.Context, graphs []string, hear func(graph, thread string)) error {
	return l.Engine.Listen(ctx, graphs, func(graph, thread string) {
		if graph == "" { // before hear, after which the worker may look and then wait for an hour
			l.f.mu.Lock()
			l.wanted = l.began + 1
			l.f.mu.Unlock()
		}
		hear(graph, thread)
	})
}

// compile returns a graph of one node, which counts its executions.
func (f *fleet) compile(s checkpoint.Saver) *graph.Graph[work.State, work.StateUpdate] {
	f.tb.Helper()
	b := graph.New("orders", work.StateSchema)
	b.Node("run", func(ctx context.Context, _ work.State) (u work.StateUpdate, err error) {
		u.Ran.Add(1)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ran[graph.CurrentTask(ctx).Thread]++
		f.change()
		return u, nil
	})
	b.Edge(graph.Start, "run")
	b.Edge("run", graph.End)
	g, err := b.Compile(graph.Saver(s))
	if err != nil {
		f.tb.Fatal(err)
	}
	return g
}

// change tells await that something has changed. The caller holds f.mu.
func (f *fleet) change() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// rounds submits an input to each of n new threads, several times. It waits until all workers have
// settled before each round, and until the threads have run after it. One round would not find
// each engine without hints: a hint in the middle of a look makes a settled worker look again.
func (f *fleet) rounds(rounds, n int) {
	f.tb.Helper()
	for round := range rounds {
		f.settle()
		f.submit(fmt.Sprint("round ", round, " "), n)
		f.awaitRuns((round + 1) * n)
	}
}

// settle waits until all workers have settled.
func (f *fleet) settle() {
	f.tb.Helper()
	f.await("the workers have nothing to do", func() bool {
		return !slices.ContainsFunc(f.members, func(m *member) bool { return !m.settled() })
	})
}

// submit submits an input to each of n new threads.
func (f *fleet) submit(prefix string, n int) {
	f.tb.Helper()
	for i := range n {
		if _, err := f.app.Thread(fmt.Sprint(prefix, i)).Submit(context.Background(), work.StateUpdate{}); err != nil {
			f.tb.Errorf("Submit: %v", err)
		}
	}
}

// wake sends a hint. It tries again as long as the engine has no connection.
func (f *fleet) wake(thread string) {
	f.tb.Helper()
	for deadline := time.Now().Add(f.place.patience()); ; {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err := f.engine.Wake(ctx, "orders", thread)
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			f.tb.Fatalf("Wake: %v after %s", err, f.place.patience())
		}
		<-time.After(20 * time.Millisecond)
	}
}

// awaitRuns waits until n threads have run. Each must run once.
func (f *fleet) awaitRuns(n int) {
	f.tb.Helper()
	f.await(fmt.Sprint(n, " threads have run"), func() bool { return len(f.ran) >= n })
	f.mu.Lock()
	defer f.mu.Unlock()
	for thread, times := range f.ran {
		if times != 1 {
			f.tb.Errorf("thread %s ran %d times, want once", thread, times)
		}
	}
}

// await waits until ok, which is called with f.mu held, returns true.
func (f *fleet) await(what string, ok func() bool) {
	f.tb.Helper()
	deadline := time.NewTimer(f.place.patience())
	defer deadline.Stop()
	for {
		f.mu.Lock()
		is, changed, ran := ok(), f.changed, len(f.ran)
		f.mu.Unlock()
		if is {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			f.tb.Fatalf("not so after %s: %s; %d threads have run", f.place.patience(), what, ran)
		}
	}
}

// plain changes no engine.
func plain(e worker.Engine) worker.Engine { return e }

func testWorkerHears(tb testing.TB, place Place) {
	tb.Helper()
	f := startFleet(tb, place, time.Hour, plain)
	f.rounds(5, 20)
}

func testWorkerInterrupted(tb testing.TB, place Place) {
	tb.Helper()
	if place.Interrupt == nil {
		return
	}
	f := startFleet(tb, place, time.Hour, plain)
	for round := range 3 {
		f.settle()
		prefix := fmt.Sprint("round ", round, " ")
		var both sync.WaitGroup
		both.Go(func() { f.submit(prefix, 20) })
		place.Interrupt(tb)
		both.Wait()
		// The workers may have looked before a Submit whose hint was lost, because the process
		// that submits had no connection.
		f.wake(prefix + "0")
		f.awaitRuns((round + 1) * 20)
	}
}

func testWorkerLoses(tb testing.TB, place Place) {
	tb.Helper()
	f := startFleet(tb, place, 50*time.Millisecond, func(e worker.Engine) worker.Engine { return losing{e} })
	f.settle()
	f.submit("t", 50)
	f.awaitRuns(50)
}

func testWorkerDisorder(tb testing.TB, place Place) {
	tb.Helper()
	f := startFleet(tb, place, time.Hour, func(e worker.Engine) worker.Engine { return disorderly{e} })
	f.rounds(3, 20)
}

// losing is an engine that loses all hints.
type losing struct{ worker.Engine }

func (losing) Wake(context.Context, string, string) error { return nil }

func (l losing) Listen(ctx context.Context, graphs []string, _ func(graph, thread string)) error {
	return l.Engine.Listen(ctx, graphs, func(string, string) {})
}

// disorderly is an engine that passes each hint on twice, late, and in any order. It does not do
// that to the empty hint with which a listener begins.
type disorderly struct{ worker.Engine }

func (d disorderly) Listen(ctx context.Context, graphs []string, hear func(graph, thread string)) error {
	var late sync.WaitGroup
	defer late.Wait()
	return d.Engine.Listen(ctx, graphs, func(graph, thread string) {
		if graph == "" {
			hear(graph, thread)
			return
		}
		for range 2 {
			late.Go(func() {
				select {
				case <-time.After(rand.N(100 * time.Millisecond)):
					hear(graph, thread)
				case <-ctx.Done():
				}
			})
		}
	})
}
