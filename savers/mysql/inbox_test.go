package mysql_test

import (
	"database/sql"
	"strconv"
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/mysql"
)

func openMailbox(t *testing.T, dsn string) *mysql.Saver {
	t.Helper()
	s, err := mysql.Open(t.Context(), dsn)
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

// TestPostRoundTrips counts those of one call for any number of threads: one that reads the
// threads and the ids, and one that stores the messages.
func TestPostRoundTrips(t *testing.T) {
	sqltest.PostRoundTrips(t, backend(), sqltest.PostTrips{New: 2, Old: 2, Known: 1, News: 1, Mail: 1})
}

func TestWritesReportNews(t *testing.T) { sqltest.HeldWithMail(t, backend()) }

func TestConcurrentPostsOfManyThreads(t *testing.T) {
	dsn := testenv.MySQL(t)
	sqltest.ManyPosts(t, func() (checkpoint.Saver, error) { return mysql.Open(t.Context(), dsn) })
}

// TestInTx has transactions at the isolation that is the server's default, REPEATABLE READ.
func TestInTx(t *testing.T) {
	dsn := testenv.MySQL(t)
	s := openMailbox(t, dsn)
	begin := beginning(t, s, database(t, dsn), nil)
	sqltest.InTx(t, s, begin)
	sqltest.InTxRefused(t, s, begin())
	sqltest.InTxElsewhere(t, beginning(t, s, database(t, testenv.MySQL(t)), nil)())
}

func TestInTxDeadlock(t *testing.T) {
	dsn := testenv.MySQL(t)
	s := openMailbox(t, dsn)
	sqltest.InTxDeadlock(t, s, beginning(t, s, database(t, dsn), nil))
}

// TestInTxReadCommitted has two open transactions that create threads. At REPEATABLE READ the
// second one waits for the first, because MySQL locks the gaps between rows.
func TestInTxReadCommitted(t *testing.T) {
	dsn := testenv.MySQL(t)
	s := openMailbox(t, dsn)
	begin := beginning(t, s, database(t, dsn), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	txs := []sqltest.CallerTx{begin(), begin()}
	for i, tx := range txs {
		post := checkpoint.Post{Thread: strconv.Itoa(i), Graph: "test", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}}
		if done, err := tx.Post(post); err != nil || done[0].Err != nil {
			t.Fatalf("transaction %d: %v, %v", i, done, err)
		}
	}
	for _, tx := range txs {
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	}
}

// beginning returns a function that begins a transaction of a caller.
func beginning(t *testing.T, s *mysql.Saver, db *sql.DB, o *sql.TxOptions) func() sqltest.CallerTx {
	t.Helper()
	return func() sqltest.CallerTx {
		tx, err := db.BeginTx(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return sqltest.CallerTx{
			Post: func(posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
				return s.InTx(tx).Post(t.Context(), posts...)
			},
			Commit: tx.Commit, Rollback: tx.Rollback,
		}
	}
}
