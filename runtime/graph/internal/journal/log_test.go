package journal_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// TestLoadReturnsWhatTheRunHasWritten holds every durability to one invariant of Log.
func TestLoadReturnsWhatTheRunHasWritten(t *testing.T) {
	for _, l := range logs {
		t.Run(l.name, func(t *testing.T) {
			s := newSpy()
			sc := begin(t, s, l.make(config(s)))
			for n := range 20 {
				rec := sc.commit(sc.root, n, nil)
				call := sc.call(sc.root, "sub")
				sc.enter(call, 100+n)
				sc.commit(call, 200+n, nil, write(sc.root, checkpoint.Result, "part", "2"))
				if c := sc.load(""); c.Head != rec.ID || len(c.Writes) != 1 || c.Committed {
					t.Fatalf("record %d: Load shows head %s with %d writes, want %s with one", n, c.Head, len(c.Writes), rec.ID)
				}
				wantValues(sc, sc.load, map[string]int{"": n, call.Namespace: 200 + n})
			}
			sc.wantEnd(checkpoint.Paused)
			if c := sc.stored(""); c.Head != sc.root.Head || c.Thread.Status != checkpoint.Paused || c.Thread.Holder != "" {
				t.Errorf("stored are head %s, status %v, holder %q; want %s, paused, none", c.Head, c.Thread.Status, c.Thread.Holder, sc.root.Head)
			}
			if err := sc.log.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRecordsOfABranchAreStoredInOrder also has a call's record follow the one that made the call
// due.
func TestRecordsOfABranchAreStoredInOrder(t *testing.T) {
	for _, l := range logs[:2] {
		t.Run(l.name, func(t *testing.T) {
			s := newSpy()
			sc := begin(t, s, l.make(config(s)))
			want := []checkpoint.ID{sc.root.Head}
			for n := range 50 {
				want = append(want, sc.commit(sc.root, n, nil).ID)
				call := sc.call(sc.root, "sub")
				sc.enter(call, n)
				want = append(want, call.Head)
				sc.put(call)
			}
			sc.wantEnd(checkpoint.Done)
			if !slices.Equal(s.records, want) {
				t.Errorf("%d records are stored, not the %d in the order in which they were given", len(s.records), len(want))
			}
		})
	}
}

func TestLetGoStoresNothingAndGivesUpTheLease(t *testing.T) {
	for _, l := range logs {
		t.Run(l.name, func(t *testing.T) {
			s := newSpy()
			sc := begin(t, s, l.make(config(s)))
			if !sc.log.Holds() {
				t.Error("Holds is false after the opening")
			}
			sc.commit(sc.root, 1, nil)
			if err := sc.log.Close(); err != nil {
				t.Fatal(err)
			}
			before := len(s.records)
			sc.log.LetGo(t.Context())
			if sc.log.Holds() {
				t.Error("Holds is true after LetGo")
			}
			if c := sc.stored(""); c.Thread.Holder != "" || len(s.records) != before || c.Thread.Status != checkpoint.Running {
				t.Errorf("after LetGo %d records are stored and the thread is %v, held by %q; want %d, running, nobody",
					len(s.records), c.Thread.Status, c.Thread.Holder, before)
			}
			calls := len(s.made())
			sc.log.LetGo(t.Context())
			if got := len(s.made()); got != calls {
				t.Errorf("a second LetGo made %d calls of the saver, want none", got-calls)
			}
		})
	}
}

// TestNothingIsWrittenAfterLost has another run take the thread.
func TestNothingIsWrittenAfterLost(t *testing.T) {
	for _, l := range logs {
		t.Run(l.name, func(t *testing.T) {
			s := newSpy()
			sc := begin(t, s, l.make(config(s)))
			sc.commit(sc.root, 1, nil)
			sc.load("") // with Async everything is stored then
			other := sc.root
			if l.name == "on exit" {
				other = &journal.Writer{Head: sc.stored("").Head, Base: sc.stored("").Head}
			}
			thief := &scene{TB: t, spy: s, log: sc.log, root: other}
			thief = thief.resume(journal.NewSync(config(s)))

			_ = sc.root.Commit(t.Context(), sc.next(sc.root, 2), nil, journal.Change{})
			call := sc.call(sc.root, "sub")
			sc.enter(call, 10)
			_ = call.Put(t.Context(), []checkpoint.Write{write(call, checkpoint.Question, "task", "q")}, journal.Change{})
			if err := sc.end(checkpoint.Done); !errors.Is(err, checkpoint.ErrConflict) {
				t.Errorf("the last write: %v, want ErrConflict", err)
			}
			if lost := sc.log.Lost(); !errors.Is(lost, checkpoint.ErrConflict) {
				t.Errorf("Lost: %v, want ErrConflict", lost)
			}
			s.up()
			if err := sc.end(checkpoint.Done); !errors.Is(err, checkpoint.ErrConflict) {
				t.Errorf("the last write again: %v, want ErrConflict", err)
			}
			sc.log.LetGo(t.Context())
			wantCalls(sc)
			if c := sc.stored(""); c.Head != thief.root.Head || c.Thread.Status != checkpoint.Running || len(c.Thread.Questions) > 0 {
				t.Errorf("the thread is at %s, %v, and asks %v; want %s, running, nothing", c.Head, c.Thread.Status, c.Thread.Questions, thief.root.Head)
			}
		})
	}
}

// TestLostIsReportedByARenewal has another run take the thread while a node takes long.
func TestLostIsReportedByARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpy()
		c := config(s)
		var told atomic.Int64
		c.Lease, c.Lost = 30*time.Second, func(err error) {
			if !errors.Is(err, checkpoint.ErrConflict) {
				t.Errorf("Lost was called with %v, want ErrConflict", err)
			}
			told.Add(1)
		}
		log := journal.NewOnExit(c)
		sc := begin(t, s, log)
		s.up()
		time.Sleep(25 * time.Second)
		wantCalls(sc, "put", "put")
		other := sc.resume(journal.NewSync(config(s)))
		time.Sleep(time.Minute)
		if told.Load() == 0 || log.Lost() == nil {
			t.Errorf("Lost was called %d times and returns %v, want the conflict", told.Load(), log.Lost())
		}
		s.up()
		if err := sc.end(checkpoint.Done); !errors.Is(err, checkpoint.ErrConflict) {
			t.Errorf("the last write: %v, want ErrConflict", err)
		}
		log.LetGo(context.Background())
		wantCalls(sc)
		if err := errors.Join(log.Close(), other.end(checkpoint.Done), other.log.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestNothingRenewsALeaseAfterTheLastWrite also has a call of a node take long before.
func TestNothingRenewsALeaseAfterTheLastWrite(t *testing.T) {
	for _, l := range logs {
		t.Run(l.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSpy()
				c := config(s)
				c.Lease = 30 * time.Second
				sc := begin(t, s, l.make(c))
				time.Sleep(time.Hour)
				if c := sc.stored(""); c.Thread.Lease.IsZero() || len(s.made()) < 100 {
					t.Errorf("the lease ends at %v after %d calls, want a living one", c.Thread.Lease, len(s.made()))
				}
				sc.wantEnd(checkpoint.Done)
				s.up()
				time.Sleep(time.Hour)
				wantCalls(sc)
				if err := sc.log.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAsyncStoresNothingAfterAFailedWrite fails one write. The writes that are queued after it
// build on it.
func TestAsyncStoresNothingAfterAFailedWrite(t *testing.T) {
	s := newSpy()
	sc := begin(t, s, journal.NewAsync(config(s)))
	opening := sc.root.Head
	s.up()
	s.failing(func(call int) bool { return call == 1 })
	first := sc.commit(sc.root, 1, nil)
	for n := range 10 {
		rec := sc.record(sc.root, n)
		if err := sc.root.Commit(t.Context(), &rec, nil, journal.Change{}); err != nil && !errors.Is(err, errDown) {
			t.Errorf("Commit: %v, want nil or the error of the saver", err)
		}
	}
	if _, err := sc.log.Load(t.Context(), checkpoint.Ref{Thread: "t"}); !errors.Is(err, errDown) {
		t.Errorf("Load: %v, want the error of the saver", err)
	}
	for range 2 {
		if err := sc.end(checkpoint.Done); !errors.Is(err, errDown) {
			t.Errorf("the last write: %v, want the error of the saver", err)
		}
	}
	if !errors.Is(sc.log.Broken(), errDown) || sc.log.Holds() {
		t.Errorf("Broken is %v and Holds %t, want the error of the saver, and the lease given up", sc.log.Broken(), sc.log.Holds())
	}
	if c := sc.stored(""); c.Head != first.ID || c.Thread.Status != checkpoint.Running {
		t.Errorf("the thread is at %s and %v, want %s, which follows the opening %s, and running", c.Head, c.Thread.Status, first.ID, opening)
	}
}

// TestAPanicOfASaverIsAnError is for every durability: queued calls run on a goroutine of the
// log's own.
func TestAPanicOfASaverIsAnError(t *testing.T) {
	for _, l := range logs {
		t.Run(l.name, func(t *testing.T) {
			s := newSpy()
			sc := begin(t, s, l.make(config(s)))
			s.failing(func(int) bool { panic("saver") })
			_ = sc.root.Commit(t.Context(), sc.next(sc.root, 1), nil, journal.Change{})
			err := sc.log.Close()
			if l.name != "async" {
				err = sc.end(checkpoint.Done)
			}
			if err == nil || err.Error() != "panic: saver" {
				t.Errorf("the error is %v, want that of the panic", err)
			}
		})
	}
}
