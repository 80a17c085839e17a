package postgres_test

import (
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// fillThreads makes n threads, and returns the id of all their heads. Every hundredth waits. Their
// states cannot be decoded. As with random ids, their order in the table is that of no index.
func fillThreads(t *testing.T, dsn string, n int) checkpoint.ID {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	id := sqltest.Pattern(t, s)
	for _, text := range []string{
		`ALTER TABLE graph_thread SET (autovacuum_enabled = false)`, // only the test counts rows
		`ALTER TABLE graph_checkpoint SET (autovacuum_enabled = false)`,
		`ALTER TABLE graph_write SET (autovacuum_enabled = false)`,
		`INSERT INTO graph_thread (thread_key, last_version, version, root, versions, status, fence, holder, lease_until, updated, asked,
			created, graph, labels)
			SELECT convert_to('thread-' || lpad((n - 1)::text, 6, '0'), 'UTF8'), 1, 1, n + 1, 1, CASE WHEN n % 100 = 0 THEN 2 ELSE status END,
			fence, holder, 0, updated - n * 1000000::bigint, n % 100 = 0,
			updated - n * 1000000::bigint, convert_to('graph-' || lpad(((n - 1) % 200)::text, 3, '0'), 'UTF8'),
			'\x01047573657204'::bytea || convert_to('u' || lpad(((n - 1) % 1000)::text, 3, '0'), 'UTF8')
			FROM graph_thread, generate_series(1, ` + fmt.Sprint(n) + `) n ORDER BY md5(n::text)`,
		`INSERT INTO graph_checkpoint (log_no, seq, root, id, line_no, source, snapshot, commits_previous, step, created, body)
			SELECT t.root, 1, t.root, c.id, c.line_no, c.source, c.snapshot, c.commits_previous, c.step, c.created,
			convert_to(repeat('x', 1000), 'UTF8') FROM graph_thread t, graph_checkpoint c WHERE t.thread_no > 1`,
		`INSERT INTO graph_write (root, base, write_key, kind, data) SELECT t.root, w.base, w.write_key, 2, w.data
			FROM graph_thread t, graph_write w WHERE t.asked AND t.thread_no > 1`,
		`DELETE FROM graph_thread WHERE thread_no = 1`,
		`INSERT INTO graph_label SELECT 'user', substr(labels, 8), thread_key, created FROM graph_thread`,
	} {
		exec(t, dsn, text)
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	sqltest.Resum(t, db, "UPDATE graph_write SET data = $1 WHERE write_no = $2")
	return id
}

// TestManyThreadsAreListedInPages lists very many threads whose states cannot be decoded, on a
// server that has not yet counted its rows.
func TestManyThreadsAreListedInPages(t *testing.T) {
	const n = 100_000
	dsn := testenv.Postgres(t)
	id := fillThreads(t, dsn, n)
	s, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for name, c := range map[string]struct {
		q    checkpoint.ThreadQuery
		want int
	}{
		"all":               {checkpoint.ThreadQuery{}, n},
		"a page":            {checkpoint.ThreadQuery{After: "thread-050000", Limit: 50}, 50},
		"waiting":           {checkpoint.ThreadQuery{Status: checkpoint.Waiting}, n / 100},
		"idle":              {checkpoint.ThreadQuery{IdleSince: time.Now().Add(time.Hour), Limit: 50}, 50},
		"idle very long":    {checkpoint.ThreadQuery{IdleSince: time.Unix(1, 0)}, 0},
		"waiting and idle":  {checkpoint.ThreadQuery{Status: checkpoint.Waiting, IdleSince: time.Now().Add(time.Hour)}, n / 100},
		"a prefix":          {checkpoint.ThreadQuery{Prefix: "thread-0123"}, 100},
		"of no such status": {checkpoint.ThreadQuery{Status: checkpoint.Failed}, 0},
	} {
		start, found, last := time.Now(), 0, ""
		for thread, err := range s.Threads(t.Context(), c.q) {
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if waits := thread.Status == checkpoint.Waiting; waits != (len(thread.Questions) == 1) || thread.ID <= last || thread.Head != id {
				t.Fatalf("%s: got %+v after %q", name, thread, last)
			}
			found++
			last = thread.ID
		}
		if found != c.want {
			t.Errorf("%s: %d threads, want %d", name, found, c.want)
		}
		t.Logf("%s: %d threads in %v", name, found, time.Since(start))
	}
}
