package graph_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// The work of a call must grow like the stored data. These tests count the work at some size and
// at twice that size.

// doubled fails unless the work for twice as much is about twice as much.
func doubled(t *testing.T, what string, work func(n int) uint64, n int) {
	t.Helper()
	work(n / 4) // what is made once is made now
	one, two := work(n), work(2*n)
	if one == 0 || 10*two > 25*one {
		t.Errorf("%s: got %d for %d and %d for %d, want about twice as much for twice as many", what, one, n, two, 2*n)
	}
}

// allocations returns how often f allocated memory, and bytes how much.
func allocations(f func()) (count, bytes uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// leastAllocs returns the least number of allocations of 20 calls of f. An average also counts
// what a collection of garbage takes out of pools.
func leastAllocs(f func()) float64 {
	least := testing.AllocsPerRun(1, f)
	for range 19 {
		least = min(least, testing.AllocsPerRun(1, f))
	}
	return least
}

// looked is a context that counts how often it is looked at.
type looked struct {
	context.Context
	looks atomic.Int64
}

func (w *looked) Err() error {
	w.looks.Add(1)
	return w.Context.Err()
}

// spread is a graph of n sends to a task node that does run.
func spread(n int, run func(ctx context.Context, d doc) (update, error), opts ...graph.NodeOption) *graph.Builder[work, update] {
	b := newWork()
	var each graph.Sender[doc]
	b.Node("fan", func(context.Context, work) (update, error) { return update{}, nil })
	each = graph.TaskNode(b, "each", func(ctx context.Context, _ work, d doc) (update, error) { return run(ctx, d) }, opts...)
	b.Edge(graph.Start, "fan")
	b.Route("fan", func(context.Context, work) (graph.Next, error) {
		var next graph.Next
		for i := range n {
			next.Add(each.Send(doc{Pages: []int{i}}))
		}
		return next, nil
	}, "each")
	b.Edge("each", graph.End)
	return b
}

// askEach asks for each send.
func askEach(ctx context.Context, d doc) (update, error) {
	_, err := refund.Ask(ctx, d)
	return update{}, err
}

func TestTheStateOfSendsTakesWorkAsTheyAreMany(t *testing.T) {
	doubled(t, "looks at the context", func(n int) uint64 {
		half := func(_ context.Context, d doc) (update, error) {
			if d.Pages[0] < n/2 {
				return update{}, nil
			}
			return update{}, errBroken
		}
		th, _ := newThread(t, spread(n, half), graph.Concurrency(1))
		if _, err := th.Invoke(t.Context(), input); err == nil {
			t.Fatal("got no error, want that of the failed sends")
		}
		ctx := &looked{Context: t.Context()}
		snap, err := th.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "tasks", len(snap.Tasks), n)
		if looks := int(ctx.looks.Load()); looks < n {
			t.Errorf("got %d looks at the context, want one at least for each of %d tasks", looks, n)
		}
		return uint64(ctx.looks.Load())
	}, 400)
}

func TestAnswersTakeWorkAsTheyAreMany(t *testing.T) {
	doubled(t, "allocations", func(n int) uint64 {
		th, _ := newThread(t, spread(n, askEach, refund))
		var opts []graph.ResumeOption
		for _, w := range done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions {
			opts = append(opts, refund.Answer(w, true))
		}
		same(t, "questions", len(opts), n)
		count, _ := allocations(func() { done(t, graph.Done)(th.Resume(t.Context(), opts...)) })
		return count
	}, 400)
}

func TestARaceThatWaitsTakesWorkAsItsTasksAreMany(t *testing.T) {
	doubled(t, "allocations", func(n int) uint64 {
		b := spread(n, askEach, refund)
		b.Node("after", say("after"))
		b.JoinAny([]graph.ID{"each"}, "after")
		b.Edge("after", graph.End)
		th, _ := newThread(t, b)
		done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		count, _ := allocations(func() { done(t, graph.Waiting)(th.Resume(t.Context())) })
		return count
	}, 400)
}

func TestSubgraphsThatAskTakeWorkAsTheyAreMany(t *testing.T) {
	count := func(n int, resume ...graph.ResumeOption) uint64 {
		b := newWork()
		inner := compile(t, spread(1, askEach, refund), graph.SubgraphOnly())
		for i := range n {
			id := b.Subgraph(graph.ID(fmt.Sprint("sub", i)), inner)
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
			if len(resume) > 0 {
				resume = append(resume, graph.Rerun(id))
			}
		}
		th, _ := newThread(t, b)
		same(t, "questions", len(done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions), n)
		count, _ := allocations(func() {
			snap, err := th.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "questions", len(snap.Questions), n)
			done(t, graph.Waiting)(th.Resume(t.Context(), resume...))
		})
		return count
	}
	doubled(t, "allocations", func(n int) uint64 { return count(n) }, 100)
	doubled(t, "allocations of Rerun", func(n int) uint64 { return count(n, graph.Wait()) }, 100)
}

// lookedAtError is an error that counts how often it is looked at.
type lookedAtError struct{ looks *atomic.Int64 }

func (lookedAtError) Error() string { return "it failed" }

func (e lookedAtError) As(any) bool {
	e.looks.Add(1)
	return false
}

// TestFailuresTakeWorkAsTheyAreMany bounds the looks at the error of one task. Their number
// depends on which tasks fail before the others are cancelled, so it is not twice as much for
// twice as many.
func TestFailuresTakeWorkAsTheyAreMany(t *testing.T) {
	const n, most = 240, 20
	var looks atomic.Int64
	arrived := make(chan struct{}, n)
	// Half of the tasks end by their context once the others have failed.
	th, _ := newThread(t, spread(n, func(ctx context.Context, d doc) (update, error) {
		arrived <- struct{}{}
		if d.Pages[0]%2 == 0 {
			for len(arrived) < n {
				runtime.Gosched()
			}
			return update{}, lookedAtError{&looks}
		}
		<-ctx.Done()
		return update{}, nil
	}), graph.Concurrency(n))
	if _, err := th.Invoke(t.Context(), input); err == nil {
		t.Fatal("got no error, want that of the failed sends")
	}
	if got := looks.Load(); got > most*n/2 {
		t.Errorf("looked %d times at the errors of %d tasks, want at most %d times at each", got, n/2, most)
	}
}

// factual is a thread of n supersteps that each add a fact.
func factual(t *testing.T, s checkpoint.Saver, n int) thread {
	t.Helper()
	b := newWork()
	b.Node("add", func(_ context.Context, s work) (update, error) {
		var u update
		u.Count.Add(1)
		u.Facts.Put(fmt.Sprintf("fact %06d", s.Count), "known")
		return u, nil
	})
	b.Edge(graph.Start, "add")
	b.Route("add", func(_ context.Context, s work) (graph.Next, error) {
		if s.Count < n {
			return graph.To("add"), nil
		}
		return graph.To(graph.End), nil
	}, "add", graph.End)
	th := compile(t, b, graph.Saver(s), graph.MaxSteps(n+1)).Thread("t")
	done(t, graph.Done)(th.Invoke(t.Context(), update{}))
	return th
}

func TestAPageOfAHistoryBuildsOnlyItsOwnStates(t *testing.T) {
	doubled(t, "bytes allocated", func(n int) uint64 {
		th := factual(t, memory.New(), n)
		_, bytes := allocations(func() {
			page := 0
			for snap, err := range th.History(t.Context(), checkpoint.Query{Limit: 50}) {
				if err != nil {
					t.Fatal(err)
				}
				if want := n - page; snap.Step != want+1 || len(snap.State.Facts) != want {
					t.Fatalf("checkpoint %d of the page: got step %d with %d facts, want step %d with %d", page, snap.Step, len(snap.State.Facts), want+1, want)
				}
				page++
			}
			same(t, "checkpoints", page, 50)
		})
		return bytes
	}, 500)
}

func TestAPageOfALongHistoryReadsThePageAndOneState(t *testing.T) {
	const n, page = 3000, 10
	s := &reading{Saver: memory.New()}
	th := factual(t, s, n)
	first := collect(t, th.History(t.Context(), checkpoint.Query{Limit: page}))
	for name, q := range map[string]checkpoint.Query{
		"the head":   {Limit: page},
		"the middle": {Limit: page, Before: collect(t, th.History(t.Context(), checkpoint.Query{Limit: n / 2, Headers: true}))[n/2-1].Checkpoint},
		"no limit":   {},
	} {
		s.listed, s.loads = 0, 0
		got := 0
		for snap, err := range th.History(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			if name == "the head" {
				same(t, "a checkpoint", snap.Checkpoint, first[got].Checkpoint)
			}
			if len(snap.State.Facts) != snap.Step-1 {
				t.Fatalf("%s: step %d has %d facts, want %d", name, snap.Step, len(snap.State.Facts), snap.Step-1)
			}
			if got++; got == page {
				break
			}
		}
		if s.listed > 16 || s.loads != 1 {
			t.Errorf("%s: got %d records read and %d loads for %d checkpoints, want at most 16 and one", name, s.listed, s.loads, page)
		}
	}
}

func TestAWholeHistoryRestoresFewStates(t *testing.T) {
	const n = 3000
	s := &reading{Saver: memory.New()}
	th := factual(t, s, n)
	s.listed, s.loads = 0, 0
	all := collect(t, th.History(t.Context(), checkpoint.Query{}))
	same(t, "checkpoints", len(all), n+2)
	if s.listed != n+2 || s.loads > 4 {
		t.Errorf("got %d records read and %d loads, want %d and at most 4", s.listed, s.loads, n+2)
	}
}

func TestHeadersOfAHistoryHaveNoStates(t *testing.T) {
	s := &reading{Saver: memory.New()}
	th := factual(t, s, 100)
	want := collect(t, th.History(t.Context(), checkpoint.Query{Limit: 9}))
	for i := range want {
		want[i].State = work{}
	}
	s.payloads, s.loads = 0, 0
	got := collect(t, th.History(t.Context(), checkpoint.Query{Limit: 9, Headers: true}))
	same(t, "headers", got, want)
	same(t, "how many", len(got), 9)
	if s.payloads != 0 || s.loads != 0 {
		t.Errorf("got %d payloads read and %d loads, want none", s.payloads, s.loads)
	}
}

func TestTheHistoryOfEditsLoadsTheirBaseOnce(t *testing.T) {
	s := &counting{Saver: memory.New()}
	th := compile(t, chain("a", "b"), graph.Saver(s), graph.InterruptBefore("b")).Thread("t")
	done(t, graph.Paused)(th.Invoke(t.Context(), input))
	const edits = 2000 // of so many bytes that snapshots come between
	var u update
	u.Status.Set(fmt.Sprintf("%0200d", 1))
	for range edits {
		if _, err := th.UpdateState(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	s.loads.Store(0)
	all := collect(t, th.History(t.Context(), checkpoint.Query{Sources: []checkpoint.Source{checkpoint.Update}}))
	same(t, "edits", len(all), edits)
	for _, snap := range all {
		if len(snap.Next) != 1 || snap.Next[0] != "b" {
			t.Fatalf("edit %s: got %v due, want b", snap.Checkpoint, snap.Next)
		}
	}
	if loads := s.loads.Load(); loads > 20 {
		t.Errorf("got %d loads for %d edits, want one for each block of records at most", loads, edits)
	}
}

// cutting ends a context when it has loaded a chain.
type cutting struct {
	counting
	cut func()
}

func (c *cutting) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	chain, err := c.counting.Load(ctx, p)
	c.cut()
	return chain, err
}

func TestACancelledCallEndsWhenTheThreadIsLoaded(t *testing.T) {
	s := &cutting{counting: counting{Saver: memory.New()}, cut: func() {}}
	th := compile(t, spread(10, askEach, refund), graph.Saver(s)).Thread("t")
	w := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
	for name, call := range map[string]func(context.Context) error{
		"State":  func(ctx context.Context) error { _, err := th.State(ctx); return err },
		"Resume": func(ctx context.Context) error { _, err := th.Resume(ctx, refund.Answer(w, true)); return err },
		"Invoke": func(ctx context.Context) error { _, err := th.Invoke(ctx, input, graph.DiscardPending()); return err },
		"UpdateState": func(ctx context.Context) error {
			_, err := th.UpdateState(ctx, update{Count: state.Add(1)})
			return err
		},
	} {
		before := s.appends.Load() + s.puts.Load()
		ctx, cancel := context.WithCancel(t.Context())
		s.cut = cancel
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the error of its context", name, err)
		}
		same(t, name+": writes", s.appends.Load()+s.puts.Load(), before)
	}
}

func (c *cutting) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		for rec, err := range c.counting.History(ctx, p, q) {
			if rec.Snapshot {
				c.cut()
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

func TestACancelledHistoryBuildsNoStates(t *testing.T) {
	s := &cutting{counting: counting{Saver: memory.New()}, cut: func() {}}
	th := factual(t, s, 50)
	ctx, cancel := context.WithCancel(t.Context())
	s.cut = cancel // when all of it is read
	for snap, err := range th.History(ctx, checkpoint.Query{}) {
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got step %d and error %v, want the error of the context", snap.Step, err)
		}
	}
}
