package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
	"github.com/graphgen-go/graphgen/savers/savertest"
)

// TestConformanceBehindAPooler runs savers that get a connection for one transaction only. It runs
// the parts of the suite that depend on connections: concurrent calls, transactions that are long
// or end early, and random calls. The statements are those of TestConformance.
func TestConformanceBehindAPooler(t *testing.T) {
	matters := []string{
		"random calls match the memory saver", "an export is one view", "history in pages",
		"an opening reads writes after it took the fence", "a lease expires", "two savers share one place",
		"one of many starts gets a thread and the others are busy", "one of many writers wins each place",
		"one of many appends under a fence wins", "a cancelled context", "close waits for calls under way",
	}
	sqltest.Some(t, matters, func(tb testing.TB) savertest.Storage {
		tb.Helper()
		url := testenv.PostgresPooler(tb)
		return savertest.Storage{
			Shared: true,
			Open:   func() (checkpoint.Saver, error) { return postgres.Open(tb.Context(), url) },
		}
	})
}

func TestManyThreadsBehindAPooler(t *testing.T) {
	b := backend()
	b.Database = testenv.PostgresPooler
	sqltest.ManyThreads(t, b)
}

// TestPreparedStatementsBehindAPooler opens a saver that prepares. Open must detect
// a pooler that does not know of prepared statements. Behind one that does, savers must work.
func TestPreparedStatementsBehindAPooler(t *testing.T) {
	url := testenv.PostgresPooler(t)
	s, err := postgres.Open(t.Context(), url, postgres.PrepareStatements())
	if err != nil {
		t.Log(err)
		for _, want := range []string{"postgres: open: ", "pooler", "leave out PrepareStatements"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("open: got %v, want an error with %q", err, want)
			}
		}
		return
	}
	sqltest.Exercise(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestAPoolerIsFoundOutLater has one that was too busy to be found out when the saver opened: the
// server's connection becomes one that prepared nothing.
func TestAPoolerIsFoundOutLater(t *testing.T) {
	var pool *pgxpool.Pool
	s, err := postgres.Open(t.Context(), testenv.Postgres(t), postgres.PrepareStatements(), postgres.MaxConns(1),
		postgres.WithPool(func(p *pgxpool.Pool) { pool = p }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Versions(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), "DEALLOCATE ALL", pgx.QueryExecModeExec); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Versions(t.Context(), "t"); err == nil || !strings.Contains(err.Error(), "leave out PrepareStatements") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestASearchPathIsRefusedByAPooler has a URL that sets what a connection of somebody else would
// not have.
func TestASearchPathIsRefusedByAPooler(t *testing.T) {
	_, err := postgres.Open(t.Context(), testenv.PostgresPooler(t)+"&search_path=own")
	if err == nil || !strings.Contains(err.Error(), "search_path") {
		t.Errorf("got %v, want an error that names search_path", err)
	}
}
