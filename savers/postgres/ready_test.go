package postgres_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/memrows"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/rows"
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

// An update of a row that changes no indexed column needs no new index entries (HOT). Posts to a
// thread that a run holds must be such updates. Commits and renewals of a lease that is new are
// none.
func TestPostsChangeNoIndexedColumn(t *testing.T) {
	const updates = 25
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
	if got := s.count(t, all) - updated; got != updates {
		t.Errorf("the server counts %d updates of the thread's row, want those of the %d posts", got, updates)
	}
}

func TestTheRowOfANewThreadIsWrittenOnce(t *testing.T) {
	const threads = 10
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
		const query = `SELECT CAST(1000 * n_tup_upd + n_tup_ins AS integer) FROM pg_stat_user_tables
			WHERE relname = 'graph_thread' AND schemaname = current_schema()`
		before := s.count(t, query)
		for n := range threads {
			if err := c.add(fmt.Sprint(c.name, n)); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.count(t, query) - before; got != threads {
			t.Errorf("%s: %d updates of new rows and %d rows, want 0 and %d", c.name, got/1000, got%1000, threads)
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

// past is a Store with a clock of its own.
type past struct {
	rows.Store
	now time.Time
}

// Read returns the rows of ranges.
func (p *past) Read(ctx context.Context, ranges ...rows.Range) ([][]rows.Row, time.Time, error) {
	all, _, err := p.Store.Read(ctx, ranges...)
	return all, p.now, err
}

// fillDue stores n threads of the graph "due" that are due since times a second apart, and many
// that are not due.
func fillDue(t *testing.T, dsn string, n int) {
	t.Helper()
	mem := &past{memrows.New(), time.Now().Add(-time.Duration(n) * time.Second)}
	made := rows.New("made", mem, rows.Options{})
	post := func(id string) {
		p := checkpoint.Post{Thread: id, Graph: "due", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}}
		if _, err := made.Post(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		mem.now = mem.now.Add(time.Second)
		post(fmt.Sprint("due-", i))
	}
	for i := range idleThreads() {
		id := fmt.Sprint("idle-", i)
		post(id)
		var wake time.Time
		if i%1000 == 0 {
			wake = mem.now.Add(1000 * time.Hour)
		}
		if err := made.Rewake(t.Context(), checkpoint.Rewake{Thread: id, Posted: 1, Wake: wake}); err != nil {
			t.Fatal(err)
		}
	}
	s, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	sqltest.Put(t, sqlsaver.RowsOf(s.Saver), mem)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Ready reads about what it returns, also among many threads that are not due. Reservations leave
// index entries, which the server cannot remove while an old snapshot is open. Ready must not read
// those again each time.
func TestReadyReadsFewRows(t *testing.T) {
	const n, limit = 4_000, 100
	dsn := testenv.Postgres(t)
	filling := "filling " + rand.Text()
	fillDue(t, named(t, dsn, filling), n)
	exec(t, named(t, dsn, filling), "ANALYZE") //nolint:misspell // it is spelled so
	s := openCounted(t, dsn)
	if s == nil {
		return
	}
	waitForEnd(t, s.conn, filling)
	old := connect(t, dsn)
	for _, text := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM graph_index"} {
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
	if most := 7 * limit; first > most || last > most {
		t.Errorf("a call for %d threads read %d rows and entries at first and %d after %d reservations, want at most %d", limit, first, last, n-limit, most)
	}
	none := fmt.Sprint(ready(0), ready(0)) // the first of them learns where the next wake is
	t.Logf("%s rows and entries read when nothing is due", none)
	if read := ready(0); read > 2*limit { // it looks at a page of threads to learn the next wake
		t.Errorf("a call that found nothing read %d rows and entries, want at most %d", read, 2*limit)
	}
}

// Ready does not wait for threads that others have locked, and does not return them.
func TestReadyLeavesOutLockedThreads(t *testing.T) {
	dsn := testenv.Postgres(t)
	s := openMailbox(t, dsn)
	to := func(thread, id string) checkpoint.Post {
		return checkpoint.Post{Thread: thread, Graph: "g", Messages: []checkpoint.Message{{ID: id, Kind: checkpoint.InputMessage}}}
	}
	if _, err := s.Post(t.Context(), to("locked", "1"), to("free", "1")); err != nil {
		t.Fatal(err)
	}
	tx := beginning(t, s, dsn)()
	if _, err := tx.Post(to("locked", "2")); err != nil {
		t.Fatal(err)
	}
	ready := func(want ...string) checkpoint.ReadyThreads {
		t.Helper()
		got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 10, Reserve: time.Hour})
		var ids []string
		for i := range got.Threads {
			ids = append(ids, got.Threads[i].ID)
		}
		if err != nil || !slices.Equal(ids, want) {
			t.Errorf("got %q, %v; want %q", ids, err, want)
		}
		return got
	}
	for _, want := range [][]string{{"free"}, nil} {
		if got := ready(want...); got.Next.After(got.Now) {
			t.Errorf("the next thread is due at %v, and it is %v; want one that is due", got.Next, got.Now)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	ready("locked")
}
