package postgres_test

import (
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

// TestAThreadOfOneStepWritesLittle counts the bytes of WAL of a new thread with a label, and of a
// commit of 200 bytes. The thread has an opening with two records, and a commit that ends the run.
// The server writes some bytes of its own, so the least of some rounds counts. It also counts
// round trips.
func TestAThreadOfOneStepWritesLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server")
	}
	const rounds, calls = 5, 200
	dsn := testenv.Postgres(t)
	proxy := testenv.NewProxy(t, parse(t, dsn).Host)
	s, err := postgres.Open(t.Context(), through(t, dsn, proxy.Addr), postgres.MaxConns(1))
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
	add := func(a checkpoint.Append) {
		if _, err := s.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	long := sqltest.OneStep(t, "long", nil)
	add(long[0])
	commit := long[1]
	commit.End, commit.Status = false, 0
	for _, c := range []struct {
		what  string
		trips int
		bytes int64
		call  func(n int)
	}{
		{"a thread", 2, 3000, func(n int) {
			for _, a := range sqltest.OneStep(t, fmt.Sprint("thread ", n), map[string]string{"customer": fmt.Sprint(n % 20)}) {
				add(a)
			}
		}},
		{"a commit", 1, 600, func(int) {
			add(commit)
			next := commit.Records[0]
			id, err := checkpoint.NewID()
			if err != nil {
				t.Fatal(err)
			}
			next.Parent, next.Commits, next.ID, next.Base, next.Created = next.ID, next.ID, id, id, id.Time()
			next.Step++
			commit.After, commit.Records = next.Parent, []checkpoint.Record{next}
		}},
	} {
		var bytes int64
		var trips int
		for round := range rounds {
			before, tripsBefore := written(), proxy.RoundTrips()
			for n := range calls {
				c.call(round*calls + n)
			}
			made := proxy.RoundTrips() - tripsBefore
			if n := (written() - before) / calls; round == 0 || n < bytes {
				bytes = n
			}
			if round == 0 || made < trips {
				trips = made
			}
		}
		t.Logf("%s: %d bytes of WAL", c.what, bytes)
		if bytes > c.bytes || trips != c.trips*calls {
			t.Errorf("%s: %d bytes of WAL, %d calls took %d round trips; want at most %d bytes and %d trips",
				c.what, bytes, calls, trips, c.bytes, c.trips*calls)
		}
	}
}
