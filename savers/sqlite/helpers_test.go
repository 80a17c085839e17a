package sqlite_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

// isPack is the first byte of the value of a row of graph_record that has a pack.
const isPack = 2

// records returns how many rows of a file have one record, and how many have a pack.
func records(t *testing.T, path string) (rows, packs int) {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	row := db.QueryRowContext(t.Context(), "SELECT count(*) FILTER (WHERE substr(data, 1, 1) = x'01'), count(*) FILTER (WHERE substr(data, 1, 1) = x'02') FROM graph_record")
	if err := row.Scan(&rows, &packs); err != nil {
		t.Fatal(err)
	}
	return rows, packs
}

// open opens a saver that closes with the test.
func open(tb testing.TB, path string, opts ...sqlite.Option) *sqlite.Saver {
	tb.Helper()
	s, err := sqlite.Open(path, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

// opening is an opening Append of one empty snapshot after a head.
func opening(thread string, after checkpoint.ID) (checkpoint.Append, error) {
	id, err := checkpoint.NewID()
	return checkpoint.Append{
		Thread: thread, After: after, Open: &checkpoint.Opening{Holder: "test"}, Lease: time.Hour,
		Records: []checkpoint.Record{{ID: id, Parent: after, Base: id, Line: id, Source: checkpoint.Input, Snapshot: true}},
	}, err
}

// next is a commit of one superstep after a head.
func next(thread string, fence, head checkpoint.ID, payload []byte) (checkpoint.Append, error) {
	id, err := checkpoint.NewID()
	return checkpoint.Append{
		Thread: thread, After: head, Fence: fence, Lease: time.Hour,
		Records: []checkpoint.Record{{
			ID: id, Parent: head, Base: id, Line: fence, Commits: head, Source: checkpoint.Loop, Graph: "test",
			Due: []checkpoint.Task{{Node: "node"}}, Payload: payload, Created: time.Now(),
		}},
	}, err
}

// run is a run that a test drives.
type run struct {
	s           checkpoint.Saver
	thread      string
	fence, head checkpoint.ID
}

// begin opens a run after the head that stands, taking the thread over.
func begin(ctx context.Context, s checkpoint.Saver, thread string) (*run, error) {
	chain, err := s.Load(ctx, checkpoint.Ref{Thread: thread})
	if err != nil {
		return nil, err
	}
	a, err := opening(thread, chain.Head)
	if err != nil {
		return nil, err
	}
	a.Open.TakeOver = true
	_, err = s.Append(ctx, a)
	return &run{s: s, thread: thread, fence: a.Records[0].ID, head: a.Records[0].ID}, err
}

// commit stores one superstep and returns its id.
func (r *run) commit(ctx context.Context, payload []byte) (checkpoint.ID, error) {
	a, err := next(r.thread, r.fence, r.head, payload)
	if err != nil {
		return checkpoint.ID{}, err
	}
	if _, err := r.s.Append(ctx, a); err != nil {
		return checkpoint.ID{}, err
	}
	r.head = a.Records[0].ID
	return r.head, nil
}

// stored returns the ids of a thread's root, newest first.
func stored(tb testing.TB, s checkpoint.Saver, thread string) []checkpoint.ID {
	tb.Helper()
	var all []checkpoint.ID
	for r, err := range s.History(tb.Context(), checkpoint.Ref{Thread: thread}, checkpoint.Query{}) {
		if err != nil {
			tb.Fatalf("history of %q: %v", thread, err)
		}
		all = append(all, r.ID)
	}
	return all
}
