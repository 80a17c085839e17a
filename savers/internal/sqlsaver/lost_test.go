package sqlsaver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

var errLost = errors.New("the connection is lost")

// losingDB is a database whose transactions lose their connections.
type losingDB struct {
	DB
	commits int // the commits whose outcome is lost
}

func (d *losingDB) Begin(context.Context, bool) (Tx, error) { return &losingTx{db: d}, nil }

type losingTx struct {
	Tx
	db *losingDB
}

func (t *losingTx) Rollback(context.Context) {}

func (t *losingTx) Commit(context.Context) error {
	if t.db.commits > 0 {
		t.db.commits--
		return errLost
	}
	return nil
}

// A server ends the transaction of a client that is slow, such as a busy process with a large
// payload. The call must not fail: nothing was stored. The outcome of a lost commit is unknown.
func TestATransactionThatWasLostBeforeItsCommitIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := new(losingDB)
		s := &Saver{db: db, patience: time.Minute, d: &Dialect{Name: "test", Classify: func(err error) Fault {
			if errors.Is(err, errLost) {
				return Lost
			}
			return Other
		}}}
		calls := 0
		err := s.write(t.Context(), RolledBack, func(Tx) error {
			if calls++; calls < 3 {
				return errLost
			}
			return nil
		})
		if err != nil || calls != 3 {
			t.Errorf("lost twice before the commit: got %v after %d calls, want success after 3", err, calls)
		}
		db.commits, calls = 1, 0
		err = s.write(t.Context(), RolledBack, func(Tx) error { calls++; return nil })
		if !errors.Is(err, errLost) || calls != 1 {
			t.Errorf("a lost commit: got %v after %d calls, want the error after 1", err, calls)
		}
	})
}
