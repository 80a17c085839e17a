package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver/sqltest"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

func TestTakenMessagesAreForgottenInTheEnd(t *testing.T) {
	sqltest.TakenMail(t, open(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Synchronous(sqlite.Normal)))
}

func TestConcurrentPostsOfManyThreads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	sqltest.ManyPosts(t, func() (checkpoint.Saver, error) { return sqlite.Open(path) })
}

func TestLargeMessages(t *testing.T) {
	sqltest.LargeMail(t, open(t, filepath.Join(t.TempDir(), "threads.db")))
}

func TestPostTx(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path)
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // what it stored was read
	sqltest.PostTx(t, s, func() sqltest.CallerTx {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return sqltest.CallerTx{
			Post: func(posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
				return s.PostTx(t.Context(), tx, posts...)
			},
			Commit: tx.Commit, Rollback: tx.Rollback,
		}
	})
}

// TestAnUnusedInboxTakesOnePage counts the pages of the inbox in a new file: its index is made
// with the first message.
func TestAnUnusedInboxTakesOnePage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	s := open(t, path)
	pages := func() (n int) {
		db, err := sql.Open("sqlite", "file:"+path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.QueryRow("SELECT count(*) FROM dbstat WHERE name LIKE 'graph_mail%'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := pages(); got != 1 {
		t.Errorf("an inbox without messages takes %d pages, want 1", got)
	}
	p := checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{{ID: "a", Kind: checkpoint.InputMessage}}}
	if _, err := s.Post(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if got := pages(); got != 2 {
		t.Errorf("an inbox with one message takes %d pages, want 2", got)
	}
}

func TestInboxMatchesTheMemorySaver(t *testing.T) {
	sqltest.InboxModel(t, open(t, filepath.Join(t.TempDir(), "threads.db"), sqlite.Synchronous(sqlite.Normal)), 400)
}
