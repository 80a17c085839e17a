package memrows_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// between is a Store that calls functions after its next Read and its next Apply.
type between struct {
	rows.Store
	next, stored func()
}

func (b *between) Apply(ctx context.Context, c *rows.Change) (uint64, [][]rows.Row, error) {
	rev, all, err := b.Store.Apply(ctx, c)
	if stored := b.stored; stored != nil {
		b.stored = nil
		stored()
	}
	return rev, all, err
}

func (b *between) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	all, now, err := b.Store.Read(ctx, ranges...)
	if next := b.next; next != nil {
		b.next = nil
		next()
	}
	return all, now, err
}

// racing returns two savers on one store. The first reads through the returned between, and has
// read before.
func racing(t *testing.T) (s, other *rows.Saver, at *between) {
	t.Helper()
	store := newStore()
	at = &between{Store: store}
	s, other = rows.New("test", at, rows.Options{}), rows.New("test", store, rows.Options{})
	if _, err := s.News(t.Context(), []string{"else"}); err != nil {
		t.Fatal(err)
	}
	return s, other, at
}

func opening(t *testing.T, after checkpoint.ID) checkpoint.Append {
	t.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		t.Fatal(err)
	}
	return checkpoint.Append{Thread: "t", After: after, Open: &checkpoint.Opening{}, Lease: time.Hour, Records: []checkpoint.Record{{
		ID: id, Parent: after, Base: id, Line: id, Source: checkpoint.Input, Graph: "g", Snapshot: true,
	}}}
}

// A thread is deleted after an opening has read its message, and before it is stored.
func TestAnOpeningTakesNoMessageOfADeletedThread(t *testing.T) {
	s, other, at := racing(t)
	_, err := other.Post(t.Context(), checkpoint.Post{Thread: "t", Graph: "g", Messages: []checkpoint.Message{{ID: "1", Kind: checkpoint.InputMessage}}})
	if err != nil {
		t.Fatal(err)
	}
	at.next = func() {
		if err := other.Delete(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
	}
	a := opening(t, checkpoint.ID{})
	a.Messages.Take = []uint64{1}
	if _, err := s.Append(t.Context(), a); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("got %v, want a conflict", err)
	}
}

// Another run opens the thread after an opening has read its row. The refusal must not mix the row
// of before with the head of after.
func TestARefusalIsThatOfOneMoment(t *testing.T) {
	s, other, at := racing(t)
	first := opening(t, checkpoint.ID{})
	first.End, first.Status = true, checkpoint.Done
	if _, err := other.Append(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	head := first.Records[0].ID
	at.next = func() {
		if _, err := other.Append(t.Context(), opening(t, head)); err != nil {
			t.Fatal(err)
		}
	}
	var busy *checkpoint.BusyError
	if _, err := s.Append(t.Context(), opening(t, head)); !errors.As(err, &busy) {
		t.Errorf("got %v, want a *BusyError", err)
	}
}

// A due thread is released after Ready has read the index, and before it reads the thread. The
// thread was due before and is due after, so Ready must return it.
func TestReadyReturnsAThreadWhoseWakeMoves(t *testing.T) {
	s, other, at := racing(t)
	first := opening(t, checkpoint.ID{})
	first.End, first.Status = true, checkpoint.Ready
	if _, err := other.Append(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Post(t.Context(), checkpoint.Post{Thread: "t", Graph: "g", Messages: []checkpoint.Message{{ID: "1", Kind: checkpoint.InputMessage}}}); err != nil {
		t.Fatal(err)
	}
	at.next = func() {
		if _, err := other.Release(t.Context(), "t", checkpoint.ID{}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
	if err != nil || len(got.Threads) != 1 {
		t.Errorf("got %d threads and %v, want the thread, which is due before and after", len(got.Threads), err)
	}
}

// A run commits the base of the head of a call between the two reads of a Load of the call. The
// version has many pending writes. The Load must be of one moment.
func TestALoadOfACallIsOfOneMoment(t *testing.T) {
	s, other, at := racing(t)
	first := opening(t, checkpoint.ID{})
	if _, err := other.Append(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	fence, base, edit := first.Records[0].ID, newID(t), newID(t)
	appendTo := func(after checkpoint.ID, r checkpoint.Record) {
		t.Helper()
		r.Line, r.Payload = base, []byte{0x80}
		a := checkpoint.Append{Thread: "t", Namespace: "call", After: after, Fence: fence, Records: []checkpoint.Record{r}}
		if _, err := other.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	due := []checkpoint.Task{{Node: "a"}}
	appendTo(checkpoint.ID{}, checkpoint.Record{ID: base, Base: base, Source: checkpoint.Input, Snapshot: true, Due: due})
	appendTo(base, checkpoint.Record{ID: edit, Parent: base, Base: base, Source: checkpoint.Update})
	var writes []checkpoint.Write
	for i := range 40 {
		writes = append(writes, checkpoint.Write{Namespace: "call", Base: base, Task: fmt.Sprint(i), Kind: checkpoint.Result})
	}
	if _, err := other.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: fence, Writes: writes}); err != nil {
		t.Fatal(err)
	}
	p := checkpoint.Ref{Thread: "t", Namespace: "call"}
	if _, err := s.Load(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	next := newID(t)
	at.next = func() {
		appendTo(edit, checkpoint.Record{ID: next, Parent: edit, Base: next, Commits: base, Source: checkpoint.Loop})
	}
	c, err := s.Load(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	before := c.Last.ID == edit && c.Head == edit && !c.Committed && len(c.Writes) == 40 && len(c.Due) == 1
	after := c.Last.ID == next && c.Head == next && !c.Committed && len(c.Writes) == 0
	if !before && !after {
		t.Errorf("got the head %s, committed %t, with %d writes; want that of before, with 40, or that of after", c.Head, c.Committed, len(c.Writes))
	}
}

// leftBehind stores a thread whose run died between its second record and its end. The writes of
// its first record are committed, and still there; those of its second one count. It returns the
// ids of both records.
func leftBehind(t *testing.T, s *rows.Saver) (first, second checkpoint.ID) {
	t.Helper()
	a := opening(t, checkpoint.ID{})
	a.Records[0].Payload = snapshot
	first = a.Records[0].ID
	write := func(base checkpoint.ID, task string) {
		t.Helper()
		_, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: first, Lease: time.Hour, Writes: []checkpoint.Write{
			{Kind: checkpoint.Result, Base: base, Task: task, Payload: []byte{1}},
			{Kind: checkpoint.Question, Base: base, Task: task, Name: "q", Payload: []byte{1}},
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	write(first, "old")
	second, err := checkpoint.NewIDAfter(first)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Append(t.Context(), checkpoint.Append{Thread: "t", After: first, Fence: first, Lease: time.Hour, Records: []checkpoint.Record{
		{ID: second, Parent: first, Base: second, Commits: first, Line: second, Source: checkpoint.Loop, Payload: delta},
	}})
	if err != nil {
		t.Fatal(err)
	}
	write(second, "new")
	return first, second
}

// takesOver returns an opening that takes the thread from a run that died.
func takesOver(t *testing.T, after checkpoint.ID) checkpoint.Append {
	t.Helper()
	a := opening(t, after)
	a.Open.TakeOver = true
	r := &a.Records[0]
	r.Base, r.Source, r.Snapshot, r.Payload = after, checkpoint.Resume, false, delta
	return a
}

// tasks returns the tasks of pending writes.
func tasks(all []checkpoint.Write) (names []string) {
	for _, w := range all {
		names = append(names, w.Task)
	}
	return names
}

// TestAnOpeningIsOvertakenWhileItReads changes the thread after an opening is stored, and before
// it has read which of its pending writes count.
func TestAnOpeningIsOvertakenWhileItReads(t *testing.T) {
	for name, is := range map[string]struct{ overtakes, known bool }{
		"by a message":                         {false, false},
		"by a message, the thread is known":    {false, true},
		"by a run and a deletion":              {true, false},
		"by a run and a deletion, it is known": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			overtakes := is.overtakes
			s, other, at := racing(t)
			_, second := leftBehind(t, other)
			if is.known {
				if _, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil {
					t.Fatal(err)
				}
			}
			a := takesOver(t, second)
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			changed := false
			at.stored = func() {
				changed = true
				if !overtakes {
					_, err := other.Post(t.Context(), checkpoint.Post{Thread: "t", Graph: "g", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.SignalMessage}}})
					must(err)
					return
				}
				b := takesOver(t, a.Records[0].ID)
				_, err := other.Append(t.Context(), b)
				must(err)
				_, err = other.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: b.Records[0].ID, Status: checkpoint.Failed, End: true})
				must(err)
				must(other.Delete(t.Context(), "t"))
			}
			done, err := s.Append(t.Context(), a)
			if !changed {
				t.Fatal("the thread did not change while the opening read")
			}
			if !overtakes {
				if got, want := tasks(done.Writes), []string{"new", "new"}; err != nil || !slices.Equal(got, want) {
					t.Errorf("got the pending writes of tasks %q and %v, want %q", got, err, want)
				}
				return
			}
			var conflict *checkpoint.ConflictError
			if !errors.As(err, &conflict) || conflict.Reason != "fence" || conflict.Want != a.Records[0].ID {
				t.Errorf("got the pending writes of tasks %q and %v, want a conflict of the fence, which says that the opening was stored", tasks(done.Writes), err)
			}
		})
	}
}

// TestAThreadIsDeletedWhileItIsLoaded deletes a thread between two reads of a call that reads
// which pending writes count. The call shows nothing that a run has committed.
func TestAThreadIsDeletedWhileItIsLoaded(t *testing.T) {
	s, other, at := racing(t)
	first, _ := leftBehind(t, other)
	reads, changed := 0, false
	var count func()
	count = func() {
		if reads++; reads == 2 {
			changed = true
			end := checkpoint.PutWrites{Thread: "t", Fence: first, Status: checkpoint.Failed, End: true}
			if _, err := other.PutWrites(t.Context(), end); err != nil {
				t.Fatal(err)
			}
			if err := other.Delete(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
		}
		at.next = count
	}
	at.next = count
	chain, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
	if !changed || err != nil || !chain.Empty() {
		t.Errorf("got the head %s with the questions %v, and %v; want no thread", chain.Head, chain.Thread.Questions, err)
	}
}

// TestAnExportIsOfOneMoment lets a run commit the pending writes between the reads of an export.
// The export has the commit, or the writes.
func TestAnExportIsOfOneMoment(t *testing.T) {
	for after := 1; ; after++ {
		s, other, at := racing(t)
		first, second := leftBehind(t, other)
		third, err := checkpoint.NewIDAfter(second)
		if err != nil {
			t.Fatal(err)
		}
		reads, changed := 0, false
		var count func()
		count = func() {
			if reads++; reads == after {
				changed = true
				_, err := other.Append(t.Context(), checkpoint.Append{Thread: "t", After: second, Fence: first, Lease: time.Hour, Records: []checkpoint.Record{
					{ID: third, Parent: second, Base: third, Commits: second, Line: third, Source: checkpoint.Loop, Payload: delta},
				}})
				if err != nil {
					t.Fatal(err)
				}
			}
			at.next = count
		}
		at.next = count
		var writes []checkpoint.Write
		committed := false
		for item, err := range s.Export(t.Context(), "t", 0) {
			switch {
			case err != nil:
				t.Fatal(err)
			case item.Record != nil:
				committed = committed || item.Record.Commits == second
			case item.Write != nil:
				writes = append(writes, *item.Write)
			}
		}
		if !changed {
			return // no read is left
		}
		if committed == (len(writes) > 0) {
			t.Errorf("the run continues after read %d: got the commit %v and the writes of tasks %q", after, committed, tasks(writes))
		}
	}
}
