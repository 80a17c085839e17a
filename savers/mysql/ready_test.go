package mysql_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

// Ready reads about what it returns, also among many threads that are not due. Reservations leave
// index entries, which the server cannot purge while an old snapshot is open. Ready must not read
// those again each time.
func TestReadyReadsFewRows(t *testing.T) {
	const n, limit = 4_000, 100
	dsn := testenv.MySQL(t)
	fillThreads(t, dsn, n) // none of these is due
	s, err := mysql.Open(t.Context(), dsn, mysql.MaxConns(1))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	posts := make([]checkpoint.Post, n)
	for i := range posts {
		posts[i] = checkpoint.Post{
			Thread: fmt.Sprint("due ", i), Graph: "due", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}},
		}
	}
	if _, err := s.Post(t.Context(), posts...); err != nil {
		t.Fatal(err)
	}
	exec(t, dsn, "ANALYZE TABLE graph_thread, graph_index") //nolint:misspell // it is spelled so
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
	if read := ready(0); read > 3*limit {
		t.Errorf("a call that found nothing read %d rows and entries, want at most %d", read, 3*limit)
	} else {
		t.Logf("%d rows and entries read when nothing is due", read)
	}
}
