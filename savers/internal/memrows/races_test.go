package memrows_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// between is a Store that calls a function after its next Read.
type between struct {
	rows.Store
	next func()
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
