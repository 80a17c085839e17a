package postgres_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// counted is a saver on one connection, whose statistics the server can be asked for.
type counted struct {
	*postgres.Saver
	pool *pgxpool.Pool
	conn *pgx.Conn // of the test
}

// openCounted opens a saver on dsn. It returns nil if the server cannot report statistics of a
// session immediately.
func openCounted(t *testing.T, dsn string) *counted {
	t.Helper()
	c := &counted{conn: connect(t, dsn)}
	var version int
	if err := c.conn.QueryRow(t.Context(), "SELECT CAST(current_setting('server_version_num') AS integer)").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if version < 150_000 {
		t.Logf("version %d cannot report its counts immediately", version)
		return nil
	}
	var err error
	c.Saver, err = postgres.Open(t.Context(), dsn, postgres.MaxConns(1), postgres.WithPool(func(p *pgxpool.Pool) { c.pool = p }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Saver.Close() }) // only the counts matter
	return c
}

// count returns what a query of statistics returns after all that the saver has done.
func (c *counted) count(t *testing.T, query string) (n int) {
	t.Helper()
	if _, err := c.pool.Exec(t.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.pool.Exec(t.Context(), "SELECT 1"); err != nil { // the flush is done before it
		t.Fatal(err)
	}
	if err := c.conn.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// An update of a row that changes no indexed column needs no new index entries (HOT). Commits and
// renewals must be such updates, so they must not touch the wake.
func TestCommitsAndRenewalsChangeNoIndexedColumn(t *testing.T) {
	const updates = 50 // as many as fit on the page of the row
	s := openCounted(t, testenv.Postgres(t))
	if s == nil {
		return
	}
	id := func() checkpoint.ID {
		id, err := checkpoint.NewID()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := id()
	head := checkpoint.Record{ID: first, Base: first, Line: first, Source: checkpoint.Input, Graph: "g", Snapshot: true, Payload: []byte{0x80}}
	_, err := s.Append(t.Context(), checkpoint.Append{
		Thread: "t", Open: &checkpoint.Opening{}, Records: []checkpoint.Record{head}, Status: checkpoint.Running,
	})
	if err != nil {
		t.Fatal(err)
	}
	const query = "SELECT CAST(n_tup_upd - n_tup_hot_upd AS integer) FROM pg_stat_user_tables WHERE relname = 'graph_thread' AND schemaname = current_schema()"
	const all = "SELECT CAST(n_tup_upd AS integer) FROM pg_stat_user_tables WHERE relname = 'graph_thread' AND schemaname = current_schema()"
	before, updated := s.count(t, query), s.count(t, all)
	for range updates {
		next := head
		next.ID, next.Parent, next.Commits, next.Source, next.Step = id(), head.ID, head.ID, checkpoint.Loop, head.Step+1
		next.Base = next.ID
		next.Snapshot, next.Payload = false, []byte{0x92, 0, 0x80}
		_, err := s.Append(t.Context(), checkpoint.Append{Thread: "t", After: head.ID, Fence: first, Records: []checkpoint.Record{next}})
		if err != nil {
			t.Fatal(err)
		}
		head = next
		if err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: first}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.count(t, query) - before; got > updates/5 { // a new page takes an entry too
		t.Errorf("%d of %d updates of the thread's row made index entries, want nearly none", got, s.count(t, all)-updated)
	}
	if got := s.count(t, all) - updated; got < updates {
		t.Errorf("the server counts %d updates of the thread's row, want at least the %d renewals", got, updates)
	}
}

// Ready reads about what it returns. Reservations leave index entries, which the server cannot
// remove while an old snapshot is open. Ready must not read those again each time.
func TestReadyReadsFewRows(t *testing.T) {
	const n, limit = 10_000, 100
	dsn := testenv.Postgres(t)
	filling := "filling " + rand.Text()
	fillThreads(t, named(t, dsn, filling), n)
	exec(t, named(t, dsn, filling), `UPDATE graph_thread SET graph = convert_to('due', 'UTF8'),
		wake = CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) - thread_no * 1000000`)
	exec(t, named(t, dsn, filling), "ANALYZE") //nolint:misspell // it is spelled so
	s := openCounted(t, dsn)
	if s == nil {
		return
	}
	waitForEnd(t, s.conn, filling)
	old := connect(t, dsn)
	for _, text := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM graph_thread"} {
		if _, err := old.Exec(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	const query = `SELECT CAST((SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = current_schema())
		+ (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = current_schema()) AS integer)`
	ready := func(want int) (read int) {
		t.Helper()
		before := s.count(t, query)
		got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"due"}, Limit: limit, Reserve: time.Hour})
		if err != nil || len(got.Threads) != want {
			t.Fatalf("got %d threads, %v, want %d", len(got.Threads), err, want)
		}
		return s.count(t, query) - before
	}
	first := ready(limit)
	for range n/limit - 2 {
		ready(limit)
	}
	last := ready(limit)
	t.Logf("%d rows and entries read at first, %d after %d reservations", first, last, n-limit)
	if most := 10 * limit; first > most || last > most {
		t.Errorf("a call for %d threads read %d rows and entries at first and %d after %d reservations, want at most %d", limit, first, last, n-limit, most)
	}
	none := fmt.Sprint(ready(0), ready(0)) // the first of them learns where the next wake is
	t.Logf("%s rows and entries read when nothing is due", none)
	if read := ready(0); read > 2*limit { // it looks at a page of threads to learn the next wake
		t.Errorf("a call that found nothing read %d rows and entries, want at most %d", read, 2*limit)
	}
}
