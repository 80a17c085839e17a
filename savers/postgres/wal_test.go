package postgres_test

import (
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// TestAThreadOfOneStepWritesLittle counts the bytes of WAL of a new thread with a label. It has an
// opening with two records, and a commit of 200 bytes that ends the run. Each index of the
// thread's row makes them more. The server writes some bytes of its own, so the least of some
// rounds counts.
func TestAThreadOfOneStepWritesLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	const threads, most = 200, 4500
	dsn := testenv.Postgres(t)
	s, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn := connect(t, dsn)
	written := func() (n int64) {
		if err := conn.QueryRow(t.Context(), "SELECT CAST(pg_current_wal_insert_lsn() - '0/0' AS bigint)").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var least int64
	for round := range 5 {
		before := written()
		for i := range threads {
			for _, a := range sqltest.OneStep(t, fmt.Sprintf("thread %d-%d", round, i), map[string]string{"customer": fmt.Sprint(i % 20)}) {
				if _, err := s.Append(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
		}
		if n := (written() - before) / threads; round == 0 || n < least {
			least = n
		}
	}
	t.Logf("%d bytes of WAL for a thread", least)
	if least > most {
		t.Errorf("a thread of one step writes %d bytes of WAL, want at most %d", least, most)
	}
	var indexes int
	err = conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_indexes WHERE schemaname = current_schema() AND tablename IN ('graph_thread', 'graph_label')").Scan(&indexes)
	if err != nil || indexes != 7 {
		t.Errorf("graph_thread and graph_label have %d indexes, %v; want 7", indexes, err)
	}
}
