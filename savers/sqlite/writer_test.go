package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// crowd is a writer whose turn a test has, so that calls wait for it.
type crowd struct {
	testing.TB
	*writer
	commits int              // of the connection that writes
	fails   func(n int) bool // reports whether the n-th commit fails
	calls   sync.WaitGroup
}

const insert = "INSERT INTO t (n, body) VALUES (?, ?)"

func newCrowd(tb testing.TB, o *options) *crowd {
	tb.Helper()
	o.readers = 1
	db, err := connect(filepath.Join(tb.TempDir(), "threads.db"), o)
	if err != nil {
		tb.Fatal(err)
	}
	c := &crowd{TB: tb, writer: db.(*writer)}
	tb.Cleanup(func() { _ = c.Close() })
	ctx := tb.Context()
	if _, err := c.Exec(ctx, "CREATE TABLE t (n INTEGER PRIMARY KEY, body BLOB)"); err != nil {
		tb.Fatal(err)
	}
	if err := c.Prepare(ctx, nil, []string{insert}); err != nil {
		tb.Fatal(err)
	}
	err = errors.Join(c.conn.Raw(func(dc any) error {
		dc.(sqlite.HookRegisterer).RegisterCommitHook(func() int32 {
			if c.commits++; c.fails != nil && c.fails(c.commits) {
				return 1
			}
			return 0
		})
		return nil
	}), c.take(ctx))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// call makes a call on a goroutine of its own, and returns when it waits.
func (c *crowd) call(f func() error) (err *error) {
	err = new(error)
	before := c.waits()
	c.calls.Go(func() { *err = f() })
	for c.waits() == before {
		runtime.Gosched()
	}
	return err
}

func (c *crowd) waits() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiting)
}

// insert inserts a row by a statement, which waits.
func (c *crowd) insert(n int64, body []byte) *error {
	return c.call(func() error {
		_, err := c.Exec(c.Context(), insert, n, body)
		return err
	})
}

// share inserts rows by a transaction that may be shared, which waits, and then returns err.
func (c *crowd) share(err error, rows ...int64) *error {
	return c.call(func() error {
		return c.Share(c.Context(), func(_ context.Context, tx sqlsaver.Tx) error {
			for _, n := range rows {
				if _, err := tx.Exec(c.Context(), insert, n, []byte("shared")); err != nil {
					return err
				}
			}
			return err
		})
	})
}

// goes lets the calls continue, and waits for them.
func (c *crowd) goes() {
	<-c.turn
	c.calls.Wait()
}

// want checks how many commits there were, and which rows there are.
func (c *crowd) want(commits int, want ...int64) {
	c.Helper()
	if c.commits != commits {
		c.Errorf("%d commits, want %d", c.commits, commits)
	}
	rows, err := c.Std.Query(c.Context(), "SELECT n FROM t ORDER BY n")
	if err != nil {
		c.Fatal(err)
	}
	defer rows.Close()
	var got []int64
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			c.Fatal(err)
		}
		got = append(got, n)
	}
	if err := rows.Err(); err != nil || !slices.Equal(got, want) {
		c.Errorf("rows %v, %v; want %v", got, err, want)
	}
}

func wantErr(tb testing.TB, what string, got error, ok bool) {
	tb.Helper()
	if !ok {
		tb.Errorf("%s: unexpected outcome: %v", what, got)
	}
}

func TestWritesThatWaitAreStoredByOneTransaction(t *testing.T) {
	c := newCrowd(t, new(options))
	var errs []*error
	var want []int64
	for n := range int64(100) {
		if n%2 == 0 {
			errs = append(errs, c.insert(n, nil))
		} else {
			errs = append(errs, c.share(nil, n))
		}
		want = append(want, n)
	}
	c.goes()
	c.want(1, want...)
	for n, err := range errs {
		wantErr(t, fmt.Sprintf("call %d", n), *err, *err == nil)
	}
}

// TestAWriteThatFailsDoesNotFailItsNeighbours has statements and transactions that meet a row that
// exists, and a transaction that gives up.
func TestAWriteThatFailsDoesNotFailItsNeighbours(t *testing.T) {
	c := newCrowd(t, new(options))
	gaveUp := errors.New("gave up")
	first := c.insert(1, nil)
	twice := c.insert(1, nil)
	second := c.share(nil, 2, 3)
	half := c.share(nil, 4, 2)
	left := c.share(gaveUp, 5)
	last := c.insert(6, nil)
	c.goes()
	c.want(1, 1, 2, 3, 6)
	wantErr(t, "a new row", *first, *first == nil)
	wantErr(t, "the same row", *twice, *twice != nil && classify(*twice) == sqlsaver.Duplicate)
	wantErr(t, "two new rows", *second, *second == nil)
	wantErr(t, "a new row and one that exists", *half, *half != nil && classify(*half) == sqlsaver.Duplicate)
	wantErr(t, "a transaction that gives up", *left, errors.Is(*left, gaveUp))
	wantErr(t, "a new row after these", *last, *last == nil)
}

// TestATransactionThatCannotCommitIsStoredOneByOne fails the commit of the group, and that of one
// call.
func TestATransactionThatCannotCommitIsStoredOneByOne(t *testing.T) {
	c := newCrowd(t, new(options))
	c.fails = func(n int) bool { return n == 1 || n == 3 }
	errs := []*error{c.insert(1, nil), c.share(nil, 2), c.insert(3, nil), c.share(nil, 4, 5)}
	c.goes()
	c.want(5, 1, 3, 4, 5)
	for i, err := range errs {
		wantErr(t, fmt.Sprintf("call %d", i+1), *err, (*err != nil) == (i == 1))
	}
}

// TestACallThatDoesNotFitDoesNotFailItsNeighbours has SQLite undo the whole transaction.
func TestACallThatDoesNotFitDoesNotFailItsNeighbours(t *testing.T) {
	c := newCrowd(t, &options{maxBytes: 64 << 10})
	small, large := c.insert(1, nil), c.insert(2, make([]byte, 1<<20))
	shared, last := c.share(nil, 3), c.insert(4, nil)
	c.goes()
	c.want(3, 1, 3, 4)
	wantErr(t, "a large row", *large, *large != nil && classify(*large) == sqlsaver.Full)
	for what, err := range map[string]*error{"a row": small, "a transaction": shared, "the last row": last} {
		wantErr(t, what, *err, *err == nil)
	}
}

// TestACallWhoseContextEndsWhileItWaitsIsNotStored ends the first of those that wait, which would
// store them all, and one in the middle.
func TestACallWhoseContextEndsWhileItWaitsIsNotStored(t *testing.T) {
	c := newCrowd(t, new(options))
	ctx, cancel := context.WithCancel(t.Context())
	ending := func(n int64) *error {
		return c.call(func() error {
			_, err := c.Exec(ctx, insert, n, nil)
			return err
		})
	}
	first, second, third, fourth := ending(1), c.insert(2, nil), ending(3), c.insert(4, nil)
	cancel()
	for c.waits() > 2 {
		runtime.Gosched()
	}
	c.goes()
	c.want(1, 2, 4)
	for what, err := range map[string]*error{"the first": first, "the third": third} {
		wantErr(t, what, *err, errors.Is(*err, context.Canceled))
	}
	for what, err := range map[string]*error{"the second": second, "the fourth": fourth} {
		wantErr(t, what, *err, *err == nil)
	}
}

// TestATransactionOfItsOwnTakesItsTurn has one begin while calls wait.
func TestATransactionOfItsOwnTakesItsTurn(t *testing.T) {
	c := newCrowd(t, new(options))
	c.insert(1, nil)
	c.goes()
	tx, err := c.Begin(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	waits := c.insert(2, nil)
	if _, err := tx.Exec(t.Context(), insert, int64(3), nil); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	tx.Rollback(t.Context()) // changes nothing
	c.calls.Wait()
	c.want(3, 1, 2, 3)
	wantErr(t, "a call that waits for a transaction", *waits, *waits == nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Begin(ended, true); err == nil {
		t.Error("Begin with a context that has ended: no error")
	}
	last := c.insertNow(4)
	wantErr(t, "a call after a transaction that could not begin", last, last == nil)
}

// A transaction that stayed open would take in the calls after it, and lose them.
func TestATransactionWhoseContextEndsIsOver(t *testing.T) {
	for _, commits := range [...]bool{false, true} {
		t.Run(fmt.Sprintf("commits %t", commits), func(t *testing.T) {
			c := newCrowd(t, new(options))
			c.goes()
			ctx, cancel := context.WithCancel(t.Context())
			tx, err := c.Begin(ctx, true)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(ctx, insert, int64(1), nil); err != nil {
				t.Fatal(err)
			}
			cancel()
			want := []int64{2}
			if commits {
				if err := tx.Commit(ctx); err != nil {
					t.Error(err)
				}
				want = []int64{1, 2}
			}
			tx.Rollback(ctx)
			if err := c.insertNow(2); err != nil {
				t.Error(err)
			}
			c.want(len(want), want...) // by another connection
		})
	}
}

// The connection still has the transaction, so no other call may get it.
func TestATransactionThatCannotRollBackIsDropped(t *testing.T) {
	c := newCrowd(t, new(options))
	c.goes()
	tx, err := c.Begin(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), insert, int64(1), nil); err != nil {
		t.Fatal(err)
	}
	tx.(*writeTx).Prepared = func(context.Context, string) (*sql.Stmt, error) { return nil, errors.New("out of memory") }
	tx.Rollback(t.Context())
	for n := range int64(2) {
		if err := c.insertNow(2 + n); err != nil {
			t.Error(err)
		}
	}
	c.want(0, 2, 3) // the new connection does not count its commits
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func (c *crowd) insertNow(n int64) error {
	_, err := c.Exec(c.Context(), insert, n, nil)
	return err
}

// TestAPanicOfACallEndsTheCallsThatWaitWithIt has the first call panic on the goroutine that made
// it.
func TestAPanicOfACallEndsTheCallsThatWaitWithIt(t *testing.T) {
	c := newCrowd(t, new(options))
	c.call(func() error {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		return c.Share(t.Context(), func(context.Context, sqlsaver.Tx) error { panic("call") })
	})
	with := c.insert(1, nil)
	c.goes()
	wantErr(t, "a call stored with it", *with, errors.Is(*with, errPanicked))
	if err := c.insertNow(2); err != nil {
		t.Errorf("a call after it: %v", err)
	}
	c.want(1, 2)
}
