package sqlsaver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// batches is a DB that fails the test if it is called.
type batches struct {
	DB
	t *testing.T
}

func (b batches) Batch(context.Context, []Call, func(Rows) error) error {
	b.t.Error("a change that is too large for a batch is one")
	return nil
}

func (b batches) Prepare(context.Context, []string, []string) error {
	b.t.Error("a joint change that no batch can store is tried")
	return errors.New("not to be called")
}

// Only a batch locks without waiting. So a joint change that is too large for one is not tried.
func TestAJointChangeThatIsNoBatchIsRefused(t *testing.T) {
	y := &Syntax{Place: func(int) string { return "?" }, NoWait: " NOWAIT"}
	r := NewRowStore(&Database{db: batches{t: t}, d: &Dialect{}}, y)
	c := &rows.Change{Joint: true, Checks: []rows.Check{{Thread: "a", Rev: 1}, {Thread: "b", Rev: 1}}}
	for _, thread := range []string{"a", "b"} {
		key := rows.Key{Table: rows.Records, Thread: thread, Bytes: []byte(thread)}
		c.Puts = append(c.Puts, rows.Put{Key: key, Value: make([]byte, smallBatch)})
	}
	if _, _, err := r.Apply(t.Context(), c); !errors.Is(err, rows.ErrChanged) {
		t.Errorf("got %v, want %v", err, rows.ErrChanged)
	}
}

// oneRow is Rows of a row that knows whether it is closed.
type oneRow struct {
	Rows
	closed bool
}

func (*oneRow) Next() bool { return true }

func (r *oneRow) Close() error {
	r.closed = true
	return nil
}

// Rows that stay open keep their connection.
func TestAPanicOfAScanClosesTheRows(t *testing.T) {
	r := new(oneRow)
	func() {
		defer func() { _ = recover() }()
		_ = each(r, func(Rows) error { panic("scan") })
	}()
	if !r.closed {
		t.Error("the rows are open")
	}
}

// lockedDB is a DB whose rows others have locked.
type lockedDB struct{ DB }

func (lockedDB) Begin(context.Context, bool) (Tx, error) { return lockedTx{}, nil }

// lockedTx is a transaction of lockedDB.
type lockedTx struct{ Tx }

var errLocked = errors.New("locked")

func (lockedTx) Exec(context.Context, string, ...any) (int64, error) { return 0, errLocked }
func (lockedTx) Query(context.Context, string, ...any) (Rows, error) { return nil, errLocked }
func (lockedTx) Rollback(context.Context)                            {}

// Both the read and the change of a call meet rows that others have locked.
func TestAnErrorSaysOnceThatTheStorageIsUnavailable(t *testing.T) {
	y := &Syntax{Place: func(int) string { return "?" }}
	d := &Dialect{Classify: func(error) Fault { return RolledBack }}
	store := NewRowStore(&Database{db: lockedDB{}, d: d}, y)
	key := rows.Key{Table: rows.Threads, Thread: "a", Bytes: []byte("a")}
	for what, ranges := range map[string][]rows.Range{"read": {{Key: key}}, "change": nil} {
		err := lockStore{store, store}.Locked(t.Context(), ranges, func([][]rows.Row, time.Time) (*rows.Change, error) {
			return &rows.Change{Checks: []rows.Check{{Thread: "a", Rev: 1}}}, nil
		})
		if !errors.Is(err, errLocked) || strings.Count(err.Error(), checkpoint.ErrUnavailable.Error()) != 1 {
			t.Errorf("%s: got %v, want once that the storage is unavailable", what, err)
		}
	}
}
