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

// counted is a Store that counts round trips, and the rows that they write.
type counted struct {
	rows.Store
	reads, applies, rows int
}

func (c *counted) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	c.reads++
	return c.Store.Read(ctx, ranges...)
}

func (c *counted) Apply(ctx context.Context, change *rows.Change) (uint64, [][]rows.Row, error) {
	c.applies++
	c.rows += len(change.Puts) + len(change.Deletes)
	return c.Store.Apply(ctx, change)
}

// A Saver makes few round trips, and most writes of a run read nothing.
func TestRoundTrips(t *testing.T) {
	ctx := t.Context()
	store := &counted{Store: newStore()}
	s := rows.New("rows", store, rows.Options{})
	newID := func() checkpoint.ID {
		id, err := checkpoint.NewID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	record := func(before checkpoint.ID) []checkpoint.Record {
		id := newID()
		return []checkpoint.Record{{
			ID: id, Parent: before, Base: id, Line: id, Commits: before, Source: checkpoint.Loop, Graph: "g", Snapshot: before.IsZero(), Payload: []byte{0x80},
		}}
	}
	count := func(what string, reads, applies, written int, call func() error) {
		t.Helper()
		store.reads, store.applies, store.rows = 0, 0, 0
		if err := call(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if store.reads != reads || store.applies != applies || store.rows != written {
			t.Errorf("%s: %d reads, %d changes of %d rows; want %d, %d of %d", what, store.reads, store.applies, store.rows, reads, applies, written)
		}
	}
	first := record(checkpoint.ID{})
	fence, head := first[0].ID, first[0].ID
	appends := func(a checkpoint.Append) func() error {
		a.Thread = "t"
		return func() error { _, err := s.Append(ctx, a); return err }
	}
	load := func() error { _, err := s.Load(ctx, checkpoint.Ref{Thread: "t"}); return err }
	count("load of a missing thread", 1, 0, 0, load)
	count("opening of a new thread", 0, 1, 5, appends(checkpoint.Append{Records: first, Open: &checkpoint.Opening{Holder: "h"}}))
	for range 3 {
		next := record(head)
		count("commit", 0, 1, 1, appends(checkpoint.Append{After: head, Fence: fence, Records: next}))
		head = next[0].ID
	}
	count("put", 0, 1, 1, func() error {
		_, err := s.PutWrites(ctx, checkpoint.PutWrites{Thread: "t", Fence: fence, Writes: []checkpoint.Write{{Base: head, Task: "a", Kind: checkpoint.Result}}})
		return err
	})
	last := record(head) // its end also removes the pending write, and the wake from the index
	count("end", 0, 1, 4, appends(checkpoint.Append{After: head, Fence: fence, Records: last, End: true, Status: checkpoint.Done}))
	count("load", 1, 0, 0, load)
	count("post", 1, 1, 4, func() error {
		_, err := s.Post(ctx, checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}})
		return err
	})
	count("ready", 2, 1, 3, func() error {
		_, err := s.Ready(ctx, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1, Reserve: time.Minute})
		return err
	})
	count("list of one thread", 2, 0, 0, func() error {
		for _, err := range s.Threads(ctx, checkpoint.ThreadQuery{Graph: "g", Limit: 1}) {
			return err
		}
		return nil
	})
	count("load after other calls", 1, 0, 0, load)
	count("history before the head", 1, 0, 0, func() error {
		for r, err := range s.History(ctx, checkpoint.Ref{Thread: "t"}, checkpoint.Query{Before: last[0].ID, Limit: 2}) {
			if err == nil && r.ID == head {
				return nil
			}
			return fmt.Errorf("got the record %s, %w; want %s", r.ID, err, head)
		}
		return errors.New("no record")
	})
	again := record(last[0].ID)
	count("opening that takes a message", 1, 1, 7, appends(checkpoint.Append{
		After: last[0].ID, Records: again, Open: &checkpoint.Opening{Holder: "h"}, Messages: checkpoint.Handled{Seen: 1, Take: []uint64{1}},
	}))
	// A commit replies to any number of messages, and returns others, by two reads for all.
	signals := checkpoint.Post{Thread: "t"}
	for i := range 20 {
		signals.Messages = append(signals.Messages, checkpoint.Message{ID: fmt.Sprint("signal ", i), Kind: checkpoint.SignalMessage, Name: "s"})
	}
	posted, err := s.Post(ctx, signals)
	if err != nil || posted[0].Err != nil {
		t.Fatal(posted, err)
	}
	var took, last20 checkpoint.Handled
	for i, m := range posted[0].Messages {
		took.Take = append(took.Take, m.Number)
		signal := signals.Messages[i]
		signal.Number, signal.Payload = m.Number, []byte{0x80}
		if i < 10 {
			last20.Reply = append(last20.Reply, signal)
		} else {
			last20.Return = append(last20.Return, signal)
		}
	}
	took.Seen = posted[0].Messages[19].Number
	last20.Seen = took.Seen
	head, fence = again[0].ID, again[0].ID
	commit := func(h checkpoint.Handled) func() error {
		next := record(head)
		a := checkpoint.Append{After: head, Fence: fence, Records: next, Messages: h}
		head = next[0].ID
		return appends(a)
	}
	if err := commit(took)(); err != nil {
		t.Fatal(err)
	}
	count("commit with ten replies and ten returns", 2, 1, 42, commit(last20))
}

// A brief list by status reads rows of one index, and none of a thread.
func TestABriefListReadsOnlyAnIndex(t *testing.T) {
	store := &counted{Store: newStore()}
	s := rows.New("rows", store, rows.Options{})
	for i := range 300 {
		post := checkpoint.Post{Thread: fmt.Sprint("t", i), Graph: "g", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}}
		if i%3 == 0 {
			post.Graph = "other"
		}
		if _, err := s.Post(t.Context(), post); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []checkpoint.ThreadQuery{{Status: checkpoint.Ready, Brief: true}, {Status: checkpoint.Ready, Graph: "g", Brief: true}} {
		store.reads = 0
		graphs := make(map[string]int)
		for th, err := range s.Threads(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			graphs[th.Graph]++
		}
		if graphs["g"] != 200 || q.Graph == "" && graphs["other"] != 100 || store.reads != 1 {
			t.Errorf("%+v: got %v by %d reads; want 200 of g, the 100 others without the filter, and one read", q, graphs, store.reads)
		}
	}
}

// An opening that takes a thread for a new one is refused. Its first record has the key of the
// thread's own first record, which a Prune may have removed.
func TestAPrunedThreadIsNotNew(t *testing.T) {
	ctx, s := t.Context(), rows.New("rows", newStore(), rows.Options{})
	newID := func() checkpoint.ID {
		id, err := checkpoint.NewID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	snapshot := func() []checkpoint.Record {
		id := newID()
		return []checkpoint.Record{{ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: []byte{0x80}}}
	}
	first, second := snapshot(), snapshot()
	for _, a := range []checkpoint.Append{
		{Thread: "t", Records: first, Open: &checkpoint.Opening{}},
		{Thread: "t", Records: second, After: first[0].ID, Fence: first[0].ID, End: true, Status: checkpoint.Done},
	} {
		if _, err := s.Append(ctx, a); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := s.Prune(ctx, "t", checkpoint.Retention{Last: 1}); err != nil || done.Records != 1 {
		t.Fatalf("got %+v, %v; want one record pruned", done, err)
	}
	if _, err := s.Load(ctx, checkpoint.Ref{Thread: "t"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, checkpoint.Append{Thread: "t", Records: snapshot(), Open: &checkpoint.Opening{}}); !errors.Is(err, checkpoint.ErrConflict) {
		t.Errorf("an opening of a new thread: got %v, want ErrConflict", err)
	}
	chain, err := s.Load(ctx, checkpoint.Ref{Thread: "t"})
	if err != nil || chain.Head != second[0].ID {
		t.Errorf("the head is %s, %v; want %s", chain.Head, err, second[0].ID)
	}
}

// read is a Store that counts the rows that are read.
type read struct {
	rows.Store
	rows int
}

func (r *read) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	all, now, err := r.Store.Read(ctx, ranges...)
	for i := range all {
		r.rows += len(all[i])
	}
	return all, now, err
}

// Loads of calls that ask read a number of rows in proportion to the calls, not to their square.
func TestLoadsOfCallsReadRowsAsTheyAreMany(t *testing.T) {
	work := func(calls int) int {
		store := &read{Store: newStore()}
		s := rows.New("rows", store, rows.Options{})
		first := opening(t, checkpoint.ID{})
		if _, err := s.Append(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		fence := first.Records[0].ID
		for i := range calls {
			call, id := fmt.Sprint("call ", i), newID(t)
			_, err := s.Append(t.Context(), checkpoint.Append{Thread: "t", Namespace: call, Fence: fence, Records: []checkpoint.Record{{
				ID: id, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true, Payload: []byte{0x80},
			}}})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: fence, Writes: []checkpoint.Write{
				{Namespace: call, Base: id, Task: "a", Kind: checkpoint.Question, Payload: []byte(call)},
			}})
			if err != nil {
				t.Fatal(err)
			}
		}
		store.rows = 0
		for i := range calls {
			call := fmt.Sprint("call ", i)
			c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t", Namespace: call})
			if err != nil || len(c.Writes) != 1 || string(c.Writes[0].Payload) != call {
				t.Fatalf("%s: got the writes %v, %v; want its question", call, c.Writes, err)
			}
		}
		return store.rows
	}
	if one, two := work(100), work(200); two != 2*one {
		t.Errorf("loads of 100 calls read %d rows, and those of 200 calls %d; want twice as many", one, two)
	}
}

// A load takes no memory for each of the records between the snapshot and the head, but for the
// list of them.
func TestLoadMakesNoRecords(t *testing.T) {
	const steps = 500
	s := rows.New("rows", newStore(), rows.Options{})
	a := opening(t, checkpoint.ID{})
	if _, err := s.Append(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	head, fence := a.Records[0].ID, a.Records[0].ID
	for range steps {
		id := newID(t)
		_, err := s.Append(t.Context(), checkpoint.Append{Thread: "t", After: head, Fence: fence, Records: []checkpoint.Record{{
			ID: id, Parent: head, Base: id, Line: fence, Commits: head, Source: checkpoint.Loop, Payload: []byte{0x80},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		head = id
	}
	got := testing.AllocsPerRun(20, func() {
		if c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"}); err != nil || c.Chained != steps {
			t.Fatalf("got %d records, %v; want %d", c.Chained, err, steps)
		}
	})
	if got > steps/5 {
		t.Errorf("a load of %d records allocates %v times, want at most %d times", steps, got, steps/5)
	}
}
