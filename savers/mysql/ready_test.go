package mysql_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

// addIdle adds threads that are not due to n threads: a million in a soak. Some of them sleep.
func addIdle(t *testing.T, dsn string, n int) {
	t.Helper()
	copies := 1
	if os.Getenv("GRAPHGEN_SOAK") != "" {
		copies = 1_000_000 / n
	}
	for i := range copies {
		exec(t, dsn, fmt.Sprintf(`INSERT INTO graph_thread (thread_key, last_version, version, root, versions, status, fence, holder, lease_until,
				updated, asked, created, graph, labels, wake)
			SELECT CONCAT('idle-%d-', thread_no), 1, 1, root + %d, 1, status, fence, holder, 0, updated, FALSE, created, graph, labels,
				IF(thread_no %% 1000 = 0, wake + 1000000000000000, 0)
			FROM graph_thread WHERE thread_key LIKE 'thread-%%'`, i, (i+1)*10_000_000))
	}
	exec(t, dsn, "ANALYZE TABLE graph_thread") //nolint:misspell // it is spelled so
}

// Ready reads about what it returns, also among many threads that are not due. Reservations leave
// index entries, which the server cannot purge while an old snapshot is open. Ready must not read
// those again each time.
func TestReadyReadsFewRows(t *testing.T) {
	const n, limit = 10_000, 100
	_, dsn := start(t)
	fillThreads(t, dsn, n)
	exec(t, dsn,
		`UPDATE graph_thread SET graph = 'due',
			wake = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - thread_no * 1000000`,
		"ANALYZE TABLE graph_thread") //nolint:misspell // it is spelled so
	addIdle(t, dsn, n)
	s, err := mysql.Open(t.Context(), dsn, mysql.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	old, err := database(t, dsn).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	for _, text := range []string{
		"SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "START TRANSACTION WITH CONSISTENT SNAPSHOT",
	} {
		if _, err := old.ExecContext(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	db := database(t, dsn)
	own := -rowsRead(t, db)
	own += rowsRead(t, db) // asking reads, too
	ready := func(want int) (read int) {
		t.Helper()
		read = -rowsRead(t, db) - own
		got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"due"}, Limit: limit, Reserve: time.Hour})
		if err != nil || len(got.Threads) != want {
			t.Fatalf("got %d threads, %v, want %d", len(got.Threads), err, want)
		}
		return read + rowsRead(t, db)
	}
	ready(limit) // may prepare statements
	first := ready(limit)
	for range n/limit - 3 {
		ready(limit)
	}
	last := ready(limit)
	t.Logf("%d rows and entries read at first, %d after %d reservations", first, last, n-limit)
	if most := 8 * limit; first > most || last > most {
		t.Errorf("a call for %d threads read %d rows and entries at first and %d after %d reservations, want at most %d", limit, first, last, n-limit, most)
	}
	ready(0) // learns where the next wake is
	if read := ready(0); read > 3*limit {
		t.Errorf("a call that found nothing read %d rows and entries, want at most %d", read, 3*limit)
	} else {
		t.Logf("%d rows and entries read when nothing is due", read)
	}
}
