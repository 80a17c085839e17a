package journal_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// sized is a state with sizes alone.
type sized struct{ live, dead, snapshots, deltas int }

func (s *sized) AppendSnapshot(b []byte) ([]byte, error) {
	s.snapshots++
	return append(b, "snapshot"...), nil
}

func (s *sized) AppendDelta(b []byte) ([]byte, error) {
	s.deltas++
	return append(b, "delta"...), nil
}

func (s *sized) Sizes() (live, dead int) { return s.live, s.dead }

func TestFillMakesASnapshotWhenRestoringIsCheaper(t *testing.T) {
	const slack = 64 << 10
	for _, test := range []struct {
		name    string
		state   sized
		chained int
		stale   bool
		whole   bool
		want    bool
	}{
		{"a small change", sized{live: 100}, 0, false, false, false},
		{"superseded bytes within the slack", sized{live: 100, dead: 100 + slack}, 0, false, false, false},
		{"superseded bytes above it", sized{live: 100, dead: 101 + slack}, 0, false, false, true},
		{"a large state", sized{live: 1 << 30, dead: 1 << 29}, 0, false, false, false},
		{"many records", sized{live: 100}, slack / 24, false, false, true},
		{"another fingerprint", sized{live: 100}, 0, true, false, true},
		{"when asked", sized{live: 100}, 0, false, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := journal.NewWriter(journal.NewSync(config(newSpy())))
			b.Chained, b.Stale = test.chained, test.stale
			var rec checkpoint.Record
			if err := b.Fill(&rec, &test.state, test.whole); err != nil {
				t.Fatal(err)
			}
			payload, chained := "delta", test.chained+1
			if test.want {
				payload, chained = "snapshot", 0
			}
			if rec.Snapshot != test.want || string(rec.Payload) != payload || b.Chained != chained || b.Stale {
				t.Errorf("got snapshot %t, payload %q, %d chained, stale %t; want %t, %q, %d, false",
					rec.Snapshot, rec.Payload, b.Chained, b.Stale, test.want, payload, chained)
			}
		})
	}
}

// TestFillReusesItsMemoryOnlyWhereNobodyKeepsIt fills two records.
func TestFillReusesItsMemoryOnlyWhereNobodyKeepsIt(t *testing.T) {
	for _, l := range logs {
		t.Run(l.name, func(t *testing.T) {
			log := l.make(config(newSpy()))
			b := journal.NewWriter(log)
			var first, second checkpoint.Record
			if err := errors.Join(b.Fill(&first, &sized{}, true), b.Fill(&second, &sized{}, true)); err != nil {
				t.Fatal(err)
			}
			first.Payload[0] = 'X'
			if shared := second.Payload[0] == 'X'; shared == log.Keeps() {
				t.Errorf("two payloads share memory: %t; the log keeps payloads: %t", shared, log.Keeps())
			}
			second.Payload[0] = 's'
			b.Keep()
			var third checkpoint.Record
			if err := b.Fill(&third, &sized{}, true); err != nil {
				t.Fatal(err)
			}
			if third.Payload[0] = 'X'; second.Payload[0] == 'X' {
				t.Error("a payload shares memory with one that Keep has made the caller's")
			}
		})
	}
}

// TestDueReusesItsMemoryOnlyWhereNobodyKeepsIt asks for the memory of two records.
func TestDueReusesItsMemoryOnlyWhereNobodyKeepsIt(t *testing.T) {
	for _, l := range logs {
		t.Run(l.name, func(t *testing.T) {
			log := l.make(config(newSpy()))
			b := journal.NewWriter(log)
			if due := b.Due(0); due != nil {
				t.Errorf("got %v for no tasks, want nil", due)
			}
			first := b.Due(2)
			second := b.Due(1)
			if len(first) != 2 || len(second) != 1 {
				t.Fatalf("got memory for %d and %d tasks, want 2 and 1", len(first), len(second))
			}
			first[0].Node = "x"
			if shared := second[0].Node == "x"; shared == log.Keeps() {
				t.Errorf("the tasks of two records share memory: %t; the log keeps them: %t", shared, log.Keeps())
			}
			b.Keep()
			if b.Due(1)[0].Node = "y"; second[0].Node == "y" {
				t.Error("tasks share memory with those that Keep has made the caller's")
			}
		})
	}
}

func TestTheNameOfTheOnlyNodeThatRanNeedsNoMemory(t *testing.T) {
	b := journal.NewWriter(journal.NewSync(config(newSpy())))
	got := testing.AllocsPerRun(100, func() {
		b.Keep() // as a run that begins
		b.Names(1)[0] = "node"
	})
	if got != 0 {
		t.Errorf("got %v allocations for one name, want 0", got)
	}
}

// TestACallsFirstRecordIsStoredWithItsNextWrite counts the calls of the saver.
func TestACallsFirstRecordIsStoredWithItsNextWrite(t *testing.T) {
	s := newSpy()
	sc := begin(t, s, journal.NewSync(config(s)))
	s.up()
	call := sc.call(sc.root, "sub")
	sc.enter(call, 10)
	if !call.Began() {
		t.Error("Began is false before the first write")
	}
	wantCalls(sc)
	sc.commit(call, 11, nil)
	wantCalls(sc, "append "+call.Namespace)
	sc.put(call)
	if wantCalls(sc, "append "+call.Namespace); call.Began() {
		t.Error("Began is true after the first write")
	}
	if c := sc.stored(call.Namespace); c.Chained+1 != 2 || value(t, c) != 11 {
		t.Errorf("%d records of the call are stored, want 2", c.Chained+1)
	}
}

// TestAFailedFirstWriteOfACallIsRepeated loses the reply of the write that stores a call's first
// record. The next write has other pending writes, and both are stored.
func TestAFailedFirstWriteOfACallIsRepeated(t *testing.T) {
	for _, late := range []bool{false, true} {
		s := newSpy()
		sc := begin(t, s, journal.NewSync(config(s)))
		call := sc.call(sc.root, "sub")
		sc.enter(call, 10)
		s.down(0)
		s.late = late
		if err := call.Put(t.Context(), nil, journal.Change{}); !errors.Is(err, errDown) {
			t.Fatalf("Put: %v, want the error of the saver", err)
		}
		s.up()
		sc.put(call, write(call, checkpoint.Failure, "task", ""))
		if c := sc.stored(call.Namespace); c.Chained != 0 || len(c.Writes) != 1 {
			t.Errorf("late %t: %d records and %d writes are stored, want one of each", late, c.Chained+1, len(c.Writes))
		}
	}
}

// TestACallSaysNothingOfTheRun ends a call with an outcome.
func TestACallSaysNothingOfTheRun(t *testing.T) {
	for _, l := range logs {
		t.Run(l.name, func(t *testing.T) {
			s := newSpy()
			sc := begin(t, s, l.make(config(s)))
			call := sc.call(sc.root, "sub")
			sc.enter(call, 10)
			if err := call.Commit(t.Context(), sc.next(call, 11), nil, journal.Change{Status: checkpoint.Done, End: true}); err != nil {
				t.Fatal(err)
			}
			sc.load("")
			if c := sc.stored(""); c.Thread.Status != checkpoint.Running || c.Thread.Holder == "" && c.Thread.Lease.IsZero() || !sc.log.Holds() {
				t.Errorf("the thread is %v with a lease until %v, want running and held", c.Thread.Status, c.Thread.Lease)
			}
			sc.wantEnd(checkpoint.Done)
		})
	}
}

// The clock of the machine that made the head is ahead of this one.
func TestIDsFollowTheHeadWhateverTheClocksSay(t *testing.T) {
	head := checkpoint.ID{0x7f, 0xff}
	b := journal.NewWriter(nil)
	b.Head = head
	for range 3 { // an opening makes several before any is stored
		id, err := b.NewID()
		if err != nil || bytes.Compare(id[:], head[:]) <= 0 {
			t.Fatalf("after %s: got %s, %v; want a greater id", head, id, err)
		}
		head = id
	}
}
