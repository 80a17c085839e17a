package postgres_test

import (
	"crypto/rand"
	"fmt"
	"os"
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

// An update of a row that changes no indexed column needs no new index entries (HOT). Commits,
// renewals and posts to a thread that a run holds must be such updates, so they must not touch the
// wake.
func TestCommitsAndRenewalsChangeNoIndexedColumn(t *testing.T) {
	const updates = 25 // of both kinds together as many as fit on the page of the row
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
	seen := uint64(0)
	for n := range updates {
		done, err := s.Post(t.Context(), checkpoint.Post{
			Thread: "t", Messages: []checkpoint.Message{{ID: fmt.Sprint(n), Kind: checkpoint.InputMessage}},
		})
		if err != nil || done[0].Err != nil {
			t.Fatal(err, done)
		}
		next := head
		next.ID, next.Parent, next.Commits, next.Source, next.Step = id(), head.ID, head.ID, checkpoint.Loop, head.Step+1
		next.Base = next.ID
		next.Snapshot, next.Payload = false, []byte{0x92, 0, 0x80}
		put, err := s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: "t", Fence: first, Messages: checkpoint.Handled{Seen: seen}})
		if seen = put.Posted; err != nil || seen != uint64(n+1) {
			t.Fatalf("a renewal: got newest number %d, %v; want %d", seen, err, n+1)
		}
		appended, err := s.Append(t.Context(), checkpoint.Append{
			Thread: "t", After: head.ID, Fence: first, Records: []checkpoint.Record{next}, Messages: checkpoint.Handled{Seen: seen},
		})
		if err != nil || appended.Posted != seen {
			t.Fatalf("a commit: got newest number %d, %v; want %d", appended.Posted, err, seen)
		}
		head = next
	}
	if got := s.count(t, query) - before; got > 2*updates/5 { // a new page takes an entry too
		t.Errorf("%d of %d updates of the thread's row made index entries, want nearly none", got, s.count(t, all)-updated)
	}
	if got := s.count(t, all) - updated; got < 2*updates {
		t.Errorf("the server counts %d updates of the thread's row, want at least the %d renewals and posts", got, 2*updates)
	}
}

// The row of a new thread is inserted and then completed. The second must be an update that
// changes no indexed column.
func TestTheRowOfANewThreadIsIndexedOnce(t *testing.T) {
	const threads = 10 // their rows fit on a page together, with the updates
	s := openCounted(t, testenv.Postgres(t))
	if s == nil {
		return
	}
	for _, c := range []struct {
		name string
		add  func(id string) error
	}{
		{"a Post", func(id string) error {
			_, err := s.Post(t.Context(), checkpoint.Post{
				Thread: id, Graph: "g", Priority: checkpoint.High, Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}},
			})
			return err
		}},
		{"an opening", func(id string) error {
			first, err := checkpoint.NewID()
			if err != nil {
				return err
			}
			_, err = s.Append(t.Context(), checkpoint.Append{
				Thread: id, Open: &checkpoint.Opening{Priority: checkpoint.High}, Status: checkpoint.Running, Records: []checkpoint.Record{{
					ID: first, Base: first, Line: first, Source: checkpoint.Input, Graph: "g", Snapshot: true, Payload: []byte{0x80},
				}},
			})
			return err
		}},
	} {
		const query = `SELECT CAST(1000 * n_tup_upd + n_tup_upd - n_tup_hot_upd AS integer) FROM pg_stat_user_tables
			WHERE relname = 'graph_thread' AND schemaname = current_schema()`
		before := s.count(t, query)
		for n := range threads {
			if err := c.add(fmt.Sprint(c.name, n)); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.count(t, query) - before; got != 1000*threads {
			t.Errorf("%s: %d updates of new rows, %d of them with index entries; want %d and 0", c.name, got/1000, got%1000, threads)
		}
	}
}

// idleThreads is the number of threads that are not due: a million in a soak.
func idleThreads() int {
	if os.Getenv("GRAPHGEN_SOAK") != "" {
		return 1_000_000
	}
	return 2_000
}

// Ready reads about what it returns, also among many threads that are not due. Reservations leave
// index entries, which the server cannot remove while an old snapshot is open. Ready must not read
// those again each time.
func TestReadyReadsFewRows(t *testing.T) {
	const n, limit = 10_000, 100
	dsn := testenv.Postgres(t)
	filling := "filling " + rand.Text()
	fillThreads(t, named(t, dsn, filling), n)
	exec(t, named(t, dsn, filling), `UPDATE graph_thread SET graph = convert_to('due', 'UTF8'),
		wake = CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) - thread_no * 1000000`)
	// Many more threads wait for somebody, and some of them sleep.
	exec(t, named(t, dsn, filling), fmt.Sprintf(`INSERT INTO graph_thread (thread_key, last_version, version, root, versions, status, fence, holder,
			lease_until, updated, asked, created, graph, labels, wake)
		SELECT convert_to('idle-' || n, 'UTF8'), 1, 1, 10000000 + n, 1, status, fence, holder, 0, updated, false, created, graph, labels,
			CASE WHEN n %% 1000 = 0 THEN wake + 1000000000000000 ELSE 0 END
		FROM (SELECT * FROM graph_thread LIMIT 1) t, generate_series(1, %d) n`, idleThreads()))
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
	if most := 6 * limit; first > most || last > most {
		t.Errorf("a call for %d threads read %d rows and entries at first and %d after %d reservations, want at most %d", limit, first, last, n-limit, most)
	}
	none := fmt.Sprint(ready(0), ready(0)) // the first of them learns where the next wake is
	t.Logf("%s rows and entries read when nothing is due", none)
	if read := ready(0); read > 2*limit { // it looks at a page of threads to learn the next wake
		t.Errorf("a call that found nothing read %d rows and entries, want at most %d", read, 2*limit)
	}
}
