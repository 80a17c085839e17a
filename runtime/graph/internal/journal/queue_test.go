package journal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// held is a saver whose writes after the opening wait until they are let go, and are written down
// with what they store.
type held struct {
	checkpoint.Saver
	goes chan struct{}
	made []string
}

func newHeld() *held { return &held{Saver: memory.New(), goes: make(chan struct{})} }

func (s *held) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if a.Open == nil {
		<-s.goes
		s.made = append(s.made, fmt.Sprintf("append %q of %d, writes %s", a.Namespace, len(a.Records), names(a.Writes)))
	}
	return s.Saver.Append(ctx, a)
}

func (s *held) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	<-s.goes
	s.made = append(s.made, "put "+names(w.Writes))
	return s.Saver.PutWrites(ctx, w)
}

func names(writes []checkpoint.Write) string {
	var names []string
	for _, w := range writes {
		names = append(names, w.Task)
	}
	return "[" + strings.Join(names, " ") + "]"
}

func (s *held) want(tb testing.TB, want ...string) {
	tb.Helper()
	if !slices.Equal(s.made, want) {
		tb.Errorf("writes after the opening:\n got %q\nwant %q", s.made, want)
	}
}

// beginHeld opens an Async run on a saver whose writes wait.
func beginHeld(tb testing.TB, s *held) *scene {
	tb.Helper()
	sp := &spy{Saver: s}
	return begin(tb, sp, journal.NewAsync(config(sp)))
}

func TestCommitsThatWaitAreStoredByOneAppend(t *testing.T) {
	s := newHeld()
	sc := beginHeld(t, s)
	for n := range 100 {
		sc.commit(sc.root, n+1, nil)
	}
	close(s.goes)
	sc.wantEnd(checkpoint.Done)
	s.want(t, `append "" of 1, writes []`, `append "" of 99, writes []`, "put []")
	c := sc.stored("")
	if got := value(t, c); got != 100 || c.Head != sc.root.Head {
		t.Errorf("the thread has the state %d at %s, want 100 at %s", got, c.Head, sc.root.Head)
	}
	seen := 0
	for r, err := range s.History(t.Context(), checkpoint.Ref{Thread: "t"}, checkpoint.Query{}) {
		if seen++; err != nil || len(r.Due) != 1 {
			t.Errorf("record %d of the history: %d due, %v", seen, len(r.Due), err)
		}
	}
	if seen != 101 {
		t.Errorf("the history has %d records, want 101", seen)
	}
}

// TestLoadOfAnAsyncRunWaitsForWhatIsQueued reads while the first write and more wait.
func TestLoadOfAnAsyncRunWaitsForWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHeld()
		sc := beginHeld(t, s)
		for n := range 3 {
			sc.commit(sc.root, n+1, nil)
		}
		loaded := make(chan int, 1)
		go func() { loaded <- value(t, sc.load("")) }()
		synctest.Wait()
		if len(loaded) > 0 {
			t.Error("Load returned before what is queued was stored")
		}
		close(s.goes)
		if got := <-loaded; got != 3 {
			t.Errorf("Load: the state is %d, want 3", got)
		}
		sc.wantEnd(checkpoint.Done)
	})
}

// TestStoredWaitsForTheEntriesBefore waits while more entries are added, and does not wait for
// them.
func TestStoredWaitsForTheEntriesBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHeld()
		sc := beginHeld(t, s)
		sc.commit(sc.root, 1, nil)
		stored := make(chan error, 1)
		go func() { stored <- sc.root.WaitStored() }()
		synctest.Wait()
		sc.commit(sc.root, 2, nil)
		if len(stored) > 0 {
			t.Error("Stored returned before the entry was stored")
		}
		s.goes <- struct{}{}
		synctest.Wait()
		if len(stored) == 0 {
			t.Fatal("Stored waits for an entry that was added after its call")
		}
		if err := <-stored; err != nil {
			t.Errorf("Stored: got %v, want no error", err)
		}
		close(s.goes)
		sc.wantEnd(checkpoint.Done)
	})
}

// TestQueuedWritesOfSeveralNamespacesKeepTheirOrder has a call write between records of the run. A
// record is never stored before the one that made its call due, nor after the one that ends it.
func TestQueuedWritesOfSeveralNamespacesKeepTheirOrder(t *testing.T) {
	s := newHeld()
	sc := beginHeld(t, s)
	sc.commit(sc.root, 1, nil) // is in progress while the rest waits
	sc.commit(sc.root, 2, nil)
	sc.put(sc.root, write(sc.root, checkpoint.Result, "sibling", ""))
	call := sc.call(sc.root, "sub")
	sc.enter(call, 10)
	sc.commit(call, 11, nil)
	sc.put(call, write(call, checkpoint.Result, "inner", ""))
	sc.put(sc.root, write(sc.root, checkpoint.Result, "other", ""))
	sc.commit(call, 12, nil)
	sc.commit(sc.root, 3, nil)
	sc.put(sc.root, write(sc.root, checkpoint.Result, "last", ""))
	close(s.goes)
	sc.wantEnd(checkpoint.Done)
	s.want(t, `append "" of 1, writes []`, `append "" of 1, writes [sibling]`,
		fmt.Sprintf("append %q of 3, writes [other]", call.Namespace), `append "" of 1, writes [last]`, "put []")
	c := sc.stored("")
	if value(t, c) != 3 || len(c.Writes) != 1 || c.Writes[0].Task != "last" {
		t.Errorf("the run is at %d with the writes %s, want 3 and [last]", value(t, c), names(c.Writes))
	}
	if got := value(t, sc.stored(call.Namespace)); got != 12 {
		t.Errorf("the call is at %d, want 12", got)
	}
}

// TestAnAsyncRunThatIsFarAheadWaits fills the queue by entries and by bytes.
func TestAnAsyncRunThatIsFarAheadWaits(t *testing.T) {
	for _, c := range []struct {
		name string
		size int // of each payload
		all  int // commits
		want int // those that return while the first is being stored
	}{{"entries", 0, 200, 129}, {"bytes", 300 << 10, 9, 4}, {"an entry over the bound", 2 << 20, 4, 2}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newHeld()
				sc := beginHeld(t, s)
				queued, ended := 0, make(chan struct{})
				go func() {
					defer close(ended)
					for n := range c.all {
						sc.commit(sc.root, n+1, nil, checkpoint.Write{
							Base: sc.root.Base, Task: "x", Kind: checkpoint.Failure, Payload: make([]byte, c.size),
						})
						queued++
					}
				}()
				synctest.Wait()
				if queued != c.want {
					t.Errorf("%d commits were queued while the first was being stored, want %d", queued, c.want)
				}
				close(s.goes)
				<-ended
				sc.wantEnd(checkpoint.Done)
				if got := value(t, sc.stored("")); got != c.all {
					t.Errorf("the state is %d, want %d", got, c.all)
				}
			})
		})
	}
}

// TestAJoinedAppendWhoseReplyIsLostStandsWhole has the saver store a joined Append and return an
// error.
func TestAJoinedAppendWhoseReplyIsLostStandsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHeld()
		sc := beginHeld(t, s)
		sc.late = true
		sc.down(1)
		for n := range 10 {
			sc.commit(sc.root, n+1, nil)
		}
		close(s.goes)
		if err := sc.end(checkpoint.Done); !errors.Is(err, errDown) {
			t.Errorf("the last write: %v, want the error of the saver", err)
		}
		if got := value(t, sc.stored("")); got != 10 {
			t.Errorf("the state is %d, want 10", got)
		}
		sc.up()
		next := sc.resume(journal.NewSync(config(sc.spy)))
		next.wantEnd(checkpoint.Done)
	})
}
