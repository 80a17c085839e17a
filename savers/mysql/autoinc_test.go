package mysql_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/internal/testenv"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// A deadlock on the lock of AUTO_INCREMENT is error 1467, not 1213. A trigger raises it once: the
// lock that it takes belongs to its connection, and outlives the transaction.
func TestADeadlockOnAutoIncrementIsRetried(t *testing.T) {
	dsn := testenv.MySQL(t)
	s := openMailbox(t, dsn)
	_, err := database(t, dsn).ExecContext(t.Context(), `CREATE TRIGGER first_fails BEFORE INSERT ON graph_thread FOR EACH ROW
		IF IS_FREE_LOCK(CONCAT(DATABASE(), '.first')) THEN
			SET @got = GET_LOCK(CONCAT(DATABASE(), '.first'), 0);
			SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1467, MESSAGE_TEXT = 'Failed to read auto-increment value from storage engine';
		END IF`)
	if err != nil {
		t.Fatal(err)
	}
	done, err := s.Post(t.Context(), checkpoint.Post{
		Thread: "t", Graph: "test", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}},
	})
	if err != nil || done[0].Err != nil || done[0].Messages[0].Number != 1 {
		t.Errorf("got %+v, %v; want message 1 stored", done, err)
	}
}
