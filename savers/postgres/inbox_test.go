package postgres_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/postgres"
)

func openMailbox(t *testing.T, dsn string) *postgres.Saver {
	t.Helper()
	s, err := postgres.Open(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestPostRoundTrips(t *testing.T) {
	sqltest.PostRoundTrips(t, backend(), sqltest.PostTrips{New: 2, Old: 2, Known: 1, News: 1, Mail: 1})
}

func TestWritesReportNews(t *testing.T) { sqltest.HeldWithMail(t, backend()) }

func TestConcurrentPostsOfManyThreads(t *testing.T) {
	dsn := testenv.Postgres(t)
	sqltest.ManyPosts(t, func() (checkpoint.Saver, error) { return postgres.Open(t.Context(), dsn) })
}

func TestPostsBehindAPooler(t *testing.T) {
	dsn := testenv.PostgresPooler(t)
	sqltest.ManyPosts(t, func() (checkpoint.Saver, error) { return postgres.Open(t.Context(), dsn) })
}

func TestInTx(t *testing.T) {
	dsn := testenv.Postgres(t)
	s := openMailbox(t, dsn)
	begin := beginning(t, s, dsn)
	sqltest.InTx(t, s, begin)
	sqltest.InTxRefused(t, s, begin())
	sqltest.InTxElsewhere(t, beginning(t, s, testenv.Postgres(t))())
}

func TestInTxDeadlock(t *testing.T) {
	dsn := testenv.Postgres(t)
	s := openMailbox(t, dsn)
	sqltest.InTxDeadlock(t, s, beginning(t, s, dsn))
}

// beginning returns a function that begins a transaction of a caller on its own connection.
func beginning(t *testing.T, s *postgres.Saver, dsn string) func() sqltest.CallerTx {
	t.Helper()
	return func() sqltest.CallerTx {
		tx, err := connect(t, dsn).Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return sqltest.CallerTx{
			Post: func(posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
				return s.InTx(tx).Post(t.Context(), posts...)
			},
			Commit:   func() error { return tx.Commit(t.Context()) },
			Rollback: func() error { return tx.Rollback(t.Context()) },
		}
	}
}
