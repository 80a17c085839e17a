package journal_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// onExit begins a run whose saver calls so far are forgotten.
func onExit(tb testing.TB) *scene {
	tb.Helper()
	s := newSpy()
	sc := begin(tb, s, journal.NewOnExit(config(s)))
	s.up()
	return sc
}

func wantCalls(sc *scene, want ...string) {
	sc.Helper()
	if got := sc.made(); !slices.Equal(got, want) {
		sc.Errorf("the saver got %q, want %q", got, want)
	}
}

func (sc *scene) wantEnd(status checkpoint.Status) {
	sc.Helper()
	if err := sc.end(status); err != nil {
		sc.Fatalf("the last write: %v", err)
	}
}

// wantValues checks the states of namespaces, read by load.
func wantValues(sc *scene, load func(string) checkpoint.Chain, want map[string]int) {
	sc.Helper()
	for namespace, n := range want {
		if got := value(sc, load(namespace)); got != n {
			sc.Errorf("the state in %q is %d, want %d", namespace, got, n)
		}
	}
}

func TestOnExitShowsWhatItHoldsAndStoresNothing(t *testing.T) {
	sc := onExit(t)
	opening := sc.stored("").Head
	first := sc.commit(sc.root, 1, nil)
	call := sc.call(sc.root, "sub")
	sc.enter(call, 10)
	sc.put(call, write(call, checkpoint.Question, "task", "q"))

	c := sc.load("")
	if c.Head != first.ID || c.Committed || len(c.Due) != 1 || c.Last.ID != first.ID {
		t.Errorf("Load shows head %s with %d due, want %s with one", c.Head, len(c.Due), first.ID)
	}
	if len(c.Thread.Questions) != 1 || c.Thread.Questions[0].Namespace != call.Namespace {
		t.Errorf("Load shows the questions %v, want that of the call", c.Thread.Questions)
	}
	if inner := sc.load(call.Namespace); len(inner.Writes) != 1 || inner.Head != call.Head {
		t.Errorf("Load shows %d writes after %s in the call, want one after %s", len(inner.Writes), inner.Head, call.Head)
	}
	wantValues(sc, sc.load, map[string]int{"": 1, call.Namespace: 10})
	wantCalls(sc)
	if c := sc.stored(""); c.Head != opening || len(c.Thread.Questions) > 0 {
		t.Errorf("others see head %s with questions %v, want the opening %s", c.Head, c.Thread.Questions, opening)
	}
}

func TestOnExitStoresInnerCallsFirstAndTheRunLast(t *testing.T) {
	sc := onExit(t)
	sc.commit(sc.root, 1, nil)
	outer := sc.call(sc.root, "outer")
	sc.enter(outer, 10)
	sc.put(outer)
	middle := sc.call(outer, "middle")
	sc.enter(middle, 20)
	sc.commit(middle, 21, nil)
	inner := sc.call(middle, "inner")
	sc.enter(inner, 30)
	sc.commit(inner, 31, nil)
	sc.commit(inner, 32, nil, write(inner, checkpoint.Result, "task", ""))
	sc.wantEnd(checkpoint.Paused)
	wantCalls(sc, "append "+inner.Namespace, "append "+middle.Namespace, "append "+outer.Namespace, "append ")
	wantValues(sc, sc.stored, map[string]int{"": 1, outer.Namespace: 10, middle.Namespace: 21, inner.Namespace: 32})
	for _, namespace := range []string{outer.Namespace, middle.Namespace, inner.Namespace} {
		if c := sc.stored(namespace); c.Last.Seq != 1 || !c.Last.Commits.IsZero() {
			t.Errorf("the record in %q has seq %d and commits %s, want the first, which commits nothing", namespace, c.Last.Seq, c.Last.Commits)
		}
	}
	if c := sc.stored(""); c.Thread.Status != checkpoint.Paused || c.Thread.Holder != "" {
		t.Errorf("the thread is %v, held by %q, want paused and free", c.Thread.Status, c.Thread.Holder)
	}
}

// TestOnExitStoresWhatIsInACallWithNothingNew runs inner calls of a call that an earlier run has
// stored.
func TestOnExitStoresWhatIsInACallWithNothingNew(t *testing.T) {
	s := newSpy()
	sc := begin(t, s, journal.NewSync(config(s)))
	middle := sc.call(sc.root, "middle")
	sc.enter(middle, 10)
	sc.put(middle)
	inner := sc.call(middle, "inner")
	sc.enter(inner, 20)
	sc.put(inner)
	sc.wantEnd(checkpoint.Failed)

	sc = sc.resume(journal.NewOnExit(config(s)))
	middle, inner = sc.again(middle.Namespace), sc.again(inner.Namespace)
	s.up()
	sc.commit(inner, 21, nil, write(middle, checkpoint.Result, "part", "2"))
	sc.put(inner, write(inner, checkpoint.Question, "task", "q"))
	if err := sc.end(checkpoint.Waiting, write(sc.root, checkpoint.Result, "sibling", "")); err != nil {
		t.Fatal(err)
	}
	wantCalls(sc, "append "+inner.Namespace, "put")
	wantValues(sc, sc.stored, map[string]int{"": 0, middle.Namespace: 10, inner.Namespace: 21})
	for namespace, want := range map[string]int{"": 1, middle.Namespace: 1, inner.Namespace: 1} {
		if got := sc.stored(namespace).Writes; len(got) != want {
			t.Errorf("%d writes are stored in %q, want %d", len(got), namespace, want)
		}
	}
}

func TestOnExitJoinsASnapshotInTheMiddle(t *testing.T) {
	sc := onExit(t)
	head := sc.root.Head
	first := sc.commit(sc.root, 1, nil)
	whole := sc.record(sc.root, 2)
	whole.Snapshot, whole.Payload = true, snapshotOf(2)
	if err := sc.root.Commit(t.Context(), &whole, nil, journal.Change{}); err != nil {
		t.Fatal(err)
	}
	last := sc.commit(sc.root, 3, nil)
	wantValues(sc, sc.load, map[string]int{"": 3})
	sc.wantEnd(checkpoint.Done)
	wantCalls(sc, "append ")
	c := sc.stored("")
	if rec := c.Last; c.Chained != 0 || !rec.Snapshot || rec.ID != last.ID || rec.Parent != head || rec.Commits != first.Commits {
		t.Errorf("stored are %d records, the last with snapshot %t, parent %s, commits %s; want a snapshot after %s that commits %s",
			c.Chained+1, rec.Snapshot, rec.Parent, rec.Commits, head, first.Commits)
	}
	wantValues(sc, sc.stored, map[string]int{"": 3})
}

func TestOnExitDropsCallsThatAreOver(t *testing.T) {
	sc := onExit(t)
	call := sc.call(sc.root, "sub")
	sc.enter(call, 10)
	sc.put(call)
	inner := sc.call(call, "inner")
	sc.enter(inner, 20)
	sc.commit(inner, 21, nil, write(call, checkpoint.Result, "part", "2"))
	sc.put(call, write(call, checkpoint.Failure, "task", ""))
	sc.commit(sc.root, 1, nil)
	if c := sc.load(call.Namespace); !c.Empty() || len(c.Writes) > 0 {
		t.Errorf("Load shows a record %s and %d writes of a call that is over, want none", c.Last.ID, len(c.Writes))
	}
	sc.wantEnd(checkpoint.Done)
	wantCalls(sc, "append ")
}

func TestOnExitKeepsRememberedCalls(t *testing.T) {
	sc := onExit(t)
	call := sc.call(sc.root, "sub")
	sc.enter(call, 10)
	sc.commit(call, 11, nil)
	sc.commit(sc.root, 1, map[string]string{"sub": call.Namespace})
	sc.commit(sc.root, 2, map[string]string{"sub": call.Namespace})
	wantValues(sc, sc.load, map[string]int{call.Namespace: 11})
	sc.wantEnd(checkpoint.Done)
	wantCalls(sc, "append "+call.Namespace, "append ")
	wantValues(sc, sc.stored, map[string]int{call.Namespace: 11})
}

// TestOnExitKeepsWhatARememberedCallRemembers has a subgraph that remembers, and in it another
// one. The second call does not run the inner one, so that it still remembers the inner call in
// the first.
func TestOnExitKeepsWhatARememberedCallRemembers(t *testing.T) {
	sc := onExit(t)
	call := sc.call(sc.root, "sub")
	sc.enter(call, 10)
	sc.put(call)
	inner := sc.call(call, "inner")
	sc.enter(inner, 20)
	sc.commit(inner, 21, nil)
	sc.commit(call, 11, map[string]string{"inner": inner.Namespace})
	sc.commit(sc.root, 1, map[string]string{"sub": call.Namespace})

	second := sc.call(sc.root, "sub")
	sc.enter(second, 12)
	sc.commit(second, 13, map[string]string{"inner": inner.Namespace})
	sc.commit(sc.root, 2, map[string]string{"sub": second.Namespace})
	wantValues(sc, sc.load, map[string]int{second.Namespace: 13, inner.Namespace: 21})
	sc.wantEnd(checkpoint.Done)
	wantCalls(sc, "append "+inner.Namespace, "append "+second.Namespace, "append ")
	wantValues(sc, sc.stored, map[string]int{second.Namespace: 13, inner.Namespace: 21})
}

// TestOnExitHoldsNothingOfSupersteps runs many supersteps with a call that asks, fails again and
// again, and loses its race. The stored data does not depend on their number.
func TestOnExitHoldsNothingOfSupersteps(t *testing.T) {
	sc := onExit(t)
	for n := range 100 {
		call := sc.call(sc.root, "sub")
		sc.enter(call, n)
		sc.put(call, write(call, checkpoint.Question, "task", "q"))
		for range 3 {
			sc.put(call, write(call, checkpoint.Failure, "task", ""))
		}
		answer := write(call, checkpoint.Answer, "task", "q")
		sc.commit(sc.root, n, nil, answer)
		if c := sc.load(""); len(c.Thread.Questions) > 0 {
			t.Fatalf("superstep %d: Load shows the questions %v, want none", n, c.Thread.Questions)
		}
	}
	var stored checkpoint.Append
	watched := &appends{Saver: sc.Saver, last: &stored}
	sc.spy.Saver = watched
	sc.wantEnd(checkpoint.Done)
	wantCalls(sc, "append ")
	if len(stored.Writes) > 0 {
		t.Errorf("the run's last write has %d pending writes, want none: all calls are over", len(stored.Writes))
	}
}

func TestOnExitHoldsARepeatedWriteOnce(t *testing.T) {
	sc := onExit(t)
	sc.commit(sc.root, 1, nil)
	call := sc.call(sc.root, "sub")
	sc.enter(call, 10)
	for n := range 100 {
		failure := write(call, checkpoint.Failure, "task", "")
		failure.Payload = fmt.Append(nil, n)
		result := write(call, checkpoint.Result, "sibling", "")
		result.Payload = failure.Payload
		sc.put(call, failure, result)
	}
	got := sc.load(call.Namespace).Writes
	if len(got) != 2 || string(got[0].Payload) != "99" || string(got[1].Payload) != "0" {
		t.Fatalf("Load shows %d writes, the first two %q; want the last failure and the first result", len(got), got[:2])
	}
	sc.wantEnd(checkpoint.Failed)
	if got := sc.stored(call.Namespace).Writes; len(got) != 2 {
		t.Errorf("%d writes are stored, want 2", len(got))
	}
}

// appends is a saver that notes the last Append.
type appends struct {
	checkpoint.Saver
	last *checkpoint.Append
}

func (s *appends) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	*s.last = a
	return s.Saver.Append(ctx, a)
}

// TestOnExitRepeatsItsLastWrite loses the reply of the write that ends the run and releases the
// version. Nothing can follow it.
func TestOnExitRepeatsItsLastWrite(t *testing.T) {
	s := newSpy()
	c := config(s)
	c.Release = true
	sc := begin(t, s, journal.NewOnExit(c))
	s.up()
	s.down(0)
	s.late = true
	rec := sc.record(sc.root, 1)
	rec.Due = nil
	if err := sc.root.Commit(t.Context(), &rec, nil, journal.Change{Status: checkpoint.Done, End: true}); err == nil {
		t.Fatal("the last write succeeded, want the error of the saver")
	}
	s.up()
	if err := sc.end(0); err != nil {
		t.Errorf("the last write again: %v", err)
	}
	wantCalls(sc, "append ")
	if lost := sc.log.Lost(); lost != nil {
		t.Errorf("Lost: %v, want nil: no other run has the thread", lost)
	}
	if versions, err := s.Versions(t.Context(), "t"); err != nil || len(versions) != 1 || versions[0].Released.IsZero() {
		t.Errorf("versions: %v, %v; want a released one", versions, err)
	}
}

// TestOnExitStoresWhatCameAfterAFailedLastWrite fails at each call of the last write, in turn.
func TestOnExitStoresWhatCameAfterAFailedLastWrite(t *testing.T) {
	for fails := range 3 {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("call %d, late %t", fails, late), func(t *testing.T) {
				sc := onExit(t)
				opening := sc.root.Head
				sc.commit(sc.root, 1, nil)
				call := sc.call(sc.root, "sub")
				sc.enter(call, 10)
				sc.put(call)
				inner := sc.call(call, "inner")
				sc.enter(inner, 20)
				sc.put(inner, write(inner, checkpoint.Question, "task", "q"))
				sc.down(fails)
				sc.late = late
				if err := sc.end(checkpoint.Paused); err == nil {
					t.Fatal("the last write succeeded, want the error of the saver")
				}
				stored := fails == 2 && late
				if c := sc.stored(""); (c.Head == opening) == stored || len(c.Thread.Questions) > 0 && !stored {
					t.Errorf("the thread is at %s and asks %v, want the opening and nothing", c.Head, c.Thread.Questions)
				}
				sc.up()
				if err := sc.end(0, write(sc.root, checkpoint.Failure, "task", "")); err != nil {
					t.Fatalf("the last write again: %v", err)
				}
				c := sc.stored("")
				if len(c.Writes) != 1 || len(c.Thread.Questions) != 1 || c.Thread.Status != checkpoint.Paused {
					t.Errorf("stored are %d writes and %d questions, and the thread is %v; want one of each, and paused",
						len(c.Writes), len(c.Thread.Questions), c.Thread.Status)
				}
				wantValues(sc, sc.stored, map[string]int{"": 1, call.Namespace: 10, inner.Namespace: 20})
			})
		}
	}
}
