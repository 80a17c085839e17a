package rows_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/memory"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// onMemory returns a saver on the rows of a Store.
func onMemory(store rows.Store) checkpoint.Saver { return rows.New("rows", store, rows.Options{}) }

// newIDs returns n ids.
func newIDs(t *testing.T, n int) []checkpoint.ID {
	t.Helper()
	ids := make([]checkpoint.ID, n)
	for i := range ids {
		var err error
		if ids[i], err = checkpoint.NewID(); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// TestCornersAreThoseOfTheMemorySaver makes calls where rows could easily say something else than
// the memory saver.
func TestCornersAreThoseOfTheMemorySaver(t *testing.T) {
	for name, corner := range map[string]func(t *testing.T, s checkpoint.Saver, ids []checkpoint.ID) string{
		"prune does not bring committed writes back": pruneCommitted,
		"a base that does not stand is committed":    commitUnknown,
		"an opening that released is sent again":     repeatReleased,
		"a record that follows one has no parent":    noParent,
	} {
		ids := newIDs(t, 8)
		if got, want := corner(t, onMemory(memrows.New()), ids), corner(t, memory.New(), ids); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// record is a snapshot that is a base of its own and commits another.
func record(id, parent, commits checkpoint.ID) checkpoint.Record {
	return checkpoint.Record{
		ID: id, Parent: parent, Base: id, Line: id, Commits: commits, Source: checkpoint.Loop, Snapshot: true, Payload: []byte{0x80},
	}
}

// appends makes an Append and fails the test when it fails.
func appends(t *testing.T, s checkpoint.Saver, a checkpoint.Append) checkpoint.AppendResult {
	t.Helper()
	if a.Lease = time.Hour; a.Open != nil {
		a.Open.TakeOver = true
	}
	done, err := s.Append(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	done.Now, done.Birth = time.Time{}, checkpoint.ID{} // each saver has its own
	return done
}

// pruneCommitted lets the base of a write be committed and pruned, and asks what an opening
// returns.
func pruneCommitted(t *testing.T, s checkpoint.Saver, ids []checkpoint.ID) string {
	t.Helper()
	const thread = "prune"
	var none checkpoint.ID
	appends(t, s, checkpoint.Append{
		Thread: thread, Open: &checkpoint.Opening{}, Records: []checkpoint.Record{record(ids[0], none, none)},
		Writes: []checkpoint.Write{{Base: ids[0], Task: "a", Kind: checkpoint.Question}},
	})
	plain := record(ids[1], ids[0], ids[0])
	plain.Line = ids[0] // so that one statement stores it, and the write's row stays
	appends(t, s, checkpoint.Append{Thread: thread, After: ids[0], Fence: ids[0], Records: []checkpoint.Record{plain}})
	appends(t, s, checkpoint.Append{Thread: thread, After: ids[1], Fence: ids[0], End: true, Records: []checkpoint.Record{record(ids[2], ids[1], ids[1])}})
	pruned, err := s.Prune(t.Context(), thread, checkpoint.Retention{Last: 1})
	done := appends(t, s, checkpoint.Append{
		Thread: thread, After: ids[2], Open: &checkpoint.Opening{}, Records: []checkpoint.Record{record(ids[3], ids[2], none)},
	})
	return fmt.Sprintf("%+v %v %+v", pruned, err, done)
}

// commitUnknown stores a write of a base that does not stand, and commits that base.
func commitUnknown(t *testing.T, s checkpoint.Saver, ids []checkpoint.ID) string {
	t.Helper()
	const thread = "unknown"
	var none checkpoint.ID
	unknown := ids[7]
	done := appends(t, s, checkpoint.Append{
		Thread: thread, Open: &checkpoint.Opening{}, Records: []checkpoint.Record{record(ids[0], none, none)},
		Writes: []checkpoint.Write{{Base: unknown, Task: "a", Kind: checkpoint.Result}, {Base: ids[0], Task: "b", Kind: checkpoint.Result}},
	})
	appends(t, s, checkpoint.Append{Thread: thread, After: ids[0], Fence: ids[0], Records: []checkpoint.Record{record(ids[1], ids[0], unknown)}})
	again := appends(t, s, checkpoint.Append{
		Thread: thread, After: ids[1], Open: &checkpoint.Opening{}, Records: []checkpoint.Record{record(ids[2], ids[1], none)},
	})
	return fmt.Sprintf("%+v %+v", done, again)
}

// repeatReleased sends an opening again that ended its run and released its version.
func repeatReleased(t *testing.T, s checkpoint.Saver, ids []checkpoint.ID) string {
	t.Helper()
	a := checkpoint.Append{
		Thread: "released", Open: &checkpoint.Opening{}, End: true, Release: true,
		Records: []checkpoint.Record{record(ids[0], checkpoint.ID{}, checkpoint.ID{})},
		Writes:  []checkpoint.Write{{Base: ids[0], Task: "a", Kind: checkpoint.Question}},
	}
	return fmt.Sprintf("%+v %+v", appends(t, s, a), appends(t, s, a))
}

// noParent stores records with other parents than the record before them, and one with none. It
// returns what the history says of them, before and after a Prune that removes some.
func noParent(t *testing.T, s checkpoint.Saver, ids []checkpoint.ID) string {
	t.Helper()
	const thread = "no parent"
	var none checkpoint.ID
	appends(t, s, checkpoint.Append{
		Thread: thread, Open: &checkpoint.Opening{},
		Records: []checkpoint.Record{record(ids[0], none, none), record(ids[1], none, none), record(ids[2], ids[1], ids[1])},
	})
	appends(t, s, checkpoint.Append{
		Thread: thread, After: ids[2], Fence: ids[0], End: true,
		Records: []checkpoint.Record{record(ids[3], ids[0], ids[2]), record(ids[4], none, ids[0]), record(ids[5], ids[4], none)},
	})
	said := ""
	for range 2 {
		for r, err := range s.History(t.Context(), checkpoint.Ref{Thread: thread}, checkpoint.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			said += fmt.Sprintf("%d %s: parent %s, commits %s\n", r.Seq, r.ID, r.Parent, r.Commits)
		}
		pruned, err := s.Prune(t.Context(), thread, checkpoint.Retention{Last: 2})
		said += fmt.Sprintf("%+v %v\n", pruned, err)
	}
	return said
}

// TestAHeadThatASaverKnowsMayBeNoneAnyMore continues a run on another saver than the one that
// knows its heads, or has another run take its thread over. The first saver must then refuse a
// record after a head that it knows.
func TestAHeadThatASaverKnowsMayBeNoneAnyMore(t *testing.T) {
	for name, late := range map[string]func(t *testing.T, first, other checkpoint.Saver, ids []checkpoint.ID) checkpoint.Append{
		"records after it have gone": staleHead, "its run has lost the thread": zombieChild, "its run has gone on": movedHead,
	} {
		t.Run(name, func(t *testing.T) {
			store := memrows.New()
			first := onMemory(store)
			a := late(t, first, onMemory(store), newIDs(t, 5))
			if done, err := first.Append(t.Context(), a); !errors.Is(err, checkpoint.ErrConflict) {
				t.Errorf("got %+v, %v; want a conflict", done, err)
			}
		})
	}
}

// following is a commit of record n after record n-1.
func following(thread, namespace string, ids []checkpoint.ID, n int) checkpoint.Append {
	var none checkpoint.ID
	a := checkpoint.Append{Thread: thread, Namespace: namespace, Fence: ids[0], Lease: time.Hour, Records: []checkpoint.Record{record(ids[n], none, none)}}
	if namespace == "" || n > 1 {
		a.After, a.Records[0].Parent, a.Records[0].Commits = ids[n-1], ids[n-1], ids[n-1]
	}
	a.Records[0].Line = ids[0]
	return a
}

// begins opens a new thread for a run, with record 0.
func begins(t *testing.T, s checkpoint.Saver, thread string, ids []checkpoint.ID) {
	t.Helper()
	var none checkpoint.ID
	appends(t, s, checkpoint.Append{Thread: thread, Open: &checkpoint.Opening{}, Records: []checkpoint.Record{record(ids[0], none, none)}})
}

// staleHead returns an Append of first after a record that other has committed and pruned
// meanwhile.
func staleHead(t *testing.T, first, other checkpoint.Saver, ids []checkpoint.ID) checkpoint.Append {
	t.Helper()
	const thread = "stale"
	begins(t, first, thread, ids)
	appends(t, first, following(thread, "", ids, 1))
	appends(t, other, following(thread, "", ids, 2))
	last := following(thread, "", ids, 3)
	last.End, last.Records[0].Base = true, ids[1]
	appends(t, other, last)
	if pruned, err := other.Prune(t.Context(), thread, checkpoint.Retention{Last: 1}); err != nil || pruned.Records != 2 {
		t.Fatalf("prune: %+v, %v; want 2 records to go", pruned, err)
	}
	ids[2] = ids[4]
	return following(thread, "", ids, 2)
}

// movedHead returns an Append of first after a record that is not the head any more.
func movedHead(t *testing.T, first, other checkpoint.Saver, ids []checkpoint.ID) checkpoint.Append {
	t.Helper()
	const thread = "moved"
	begins(t, first, thread, ids)
	appends(t, first, following(thread, "", ids, 1))
	appends(t, other, following(thread, "", ids, 2))
	ids[2] = ids[4]
	return following(thread, "", ids, 2)
}

// zombieChild is a child's, whose head nobody moves.
func zombieChild(t *testing.T, first, other checkpoint.Saver, ids []checkpoint.ID) checkpoint.Append {
	t.Helper()
	const thread = "zombie"
	begins(t, first, thread, ids)
	appends(t, first, following(thread, "child", ids, 1))
	appends(t, first, following(thread, "child", ids, 2))
	appends(t, other, checkpoint.Append{
		Thread: thread, After: ids[0], Open: &checkpoint.Opening{}, Records: []checkpoint.Record{record(ids[4], ids[0], checkpoint.ID{})},
	})
	return following(thread, "child", ids, 3)
}

// TestTheIDsOfTakenMessagesAreForgotten posts and takes more messages than the saver keeps.
// Package savertest has the ids that must stay known.
func TestTheIDsOfTakenMessagesAreForgotten(t *testing.T) {
	const all, step = 2*checkpoint.KeepTaken + 200, 100
	s, ids := onMemory(memrows.New()), newIDs(t, 1)
	begins(t, s, "t", ids)
	for first := 1; first <= all; first += step {
		p, h := checkpoint.Post{Thread: "t"}, checkpoint.Handled{}
		for n := first; n < first+step; n++ {
			p.Messages = append(p.Messages, checkpoint.Message{ID: fmt.Sprint(n), Kind: checkpoint.SignalMessage})
			h.Take, h.Seen = append(h.Take, uint64(n)), uint64(n)
		}
		_, err := s.Post(t.Context(), p)
		if err == nil {
			_, err = s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: ids[0], Messages: h})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	kept := 0
	for item, err := range s.Export(t.Context(), "t", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if item.Message != nil {
			kept++
		}
	}
	if kept < checkpoint.KeepTaken || kept > checkpoint.KeepTaken+2*step {
		t.Errorf("%d messages that were taken are kept, want %d or a few more", kept, checkpoint.KeepTaken)
	}
}
