package postgres_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// A change of several threads that is refused is a result of its statement. An error would be in
// the log of the server.
func TestARefusedChangeOfSeveralThreadsIsNoErrorOfTheServer(t *testing.T) {
	dsn := testenv.Postgres(t)
	s, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	store := sqlsaver.RowsOf(s.Saver)
	put := func(table rows.Table, thread string, isNew bool) rows.Put {
		p := rows.Put{Key: rows.Key{Table: table, Thread: thread, Bytes: []byte(thread)}, Value: []byte("v"), New: isNew}
		if table == rows.Threads {
			p.Columns = new(rows.Columns)
		}
		return p
	}
	change := func(revs map[string]uint64, puts ...rows.Put) *rows.Change {
		c := &rows.Change{Puts: puts}
		for _, thread := range [...]string{"a", "b"} {
			c.Checks = append(c.Checks, rows.Check{Thread: thread, Rev: revs[thread]})
			c.Puts = append(c.Puts, put(rows.Threads, thread, false))
		}
		return c
	}
	rev, _, err := store.Apply(t.Context(), change(nil, put(rows.Records, "a", true)))
	if err != nil {
		t.Fatal(err)
	}
	now := map[string]uint64{"a": rev, "b": rev}
	refused := func(what string, c *rows.Change) {
		t.Helper()
		_, _, err := store.Apply(t.Context(), c)
		if !errors.Is(err, rows.ErrChanged) || errors.As(err, new(*pgconn.PgError)) {
			t.Errorf("%s: got %v, want %v without an error of the server", what, err, rows.ErrChanged)
		}
	}
	for what, c := range map[string]*rows.Change{
		"the first thread has changed":  change(map[string]uint64{"a": rev - 1, "b": rev}),
		"the second thread has changed": change(map[string]uint64{"a": rev, "b": rev - 1}),
		"both threads exist":            change(nil),
		"a new row exists":              change(now, put(rows.Records, "a", true)),
	} {
		refused(what, c)
	}
	tx, err := connect(t, dsn).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM graph_thread WHERE pk = 'b' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	joint := change(now)
	joint.Joint = true
	refused("the second thread is locked", joint)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := store.Apply(t.Context(), change(now)); err != nil {
		t.Errorf("a refused change has stored something: %v", err)
	}
}
