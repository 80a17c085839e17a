package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// fillThreads stores the n threads of a Listing in tables whose rows only the test counts.
func fillThreads(t *testing.T, dsn string, n int) {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	for table := range rows.Tables {
		exec(t, dsn, fmt.Sprintf("ALTER TABLE graph_%v SET (autovacuum_enabled = false)", rows.Table(table)))
	}
	sqltest.Fill(t, sqlsaver.RowsOf(s.Saver), n)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestManyThreadsAreListedInPages lists very many threads on a server that has not yet counted its
// rows.
func TestManyThreadsAreListedInPages(t *testing.T) {
	const n = 20_000
	dsn := testenv.Postgres(t)
	fillThreads(t, dsn, n)
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
		"a page":            {checkpoint.ThreadQuery{After: "thread-010000", Limit: 50}, 50},
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
			if waits := thread.Status == checkpoint.Waiting; waits != (len(thread.Questions) == 1) || thread.ID <= last || thread.Head.IsZero() {
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
