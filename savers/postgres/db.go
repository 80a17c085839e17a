package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// db is a pool as a saver needs it.
type db struct {
	pool *pgxpool.Pool
}

var _ sqlsaver.DB = (*db)(nil)

// forbidden lists the functions of the saver that the user has no right to execute.
const forbidden = "SELECT p.oid::regprocedure::text FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace " +
	"WHERE n.nspname = current_schema() AND starts_with(p.proname::text, 'graph_') AND NOT has_function_privilege(p.oid, 'EXECUTE')"

// Prepare lets the server check all statements, in one round trip. So opening a saver fails if
// tables or columns are missing, or if the user has no right to execute a function. It keeps no
// prepared statement: behind a pooler, the next call may get another connection.
func (d *db) Prepare(ctx context.Context, _, all []string) error {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	p := conn.Conn().PgConn().StartPipeline(ctx)
	for _, text := range all {
		p.SendPrepare("", text, nil)
	}
	p.SendQueryParams(forbidden, nil, nil, nil, nil)
	err = p.Sync()
	for i := 0; i <= len(all) && err == nil; i++ {
		var results any
		if results, err = p.GetResults(); err != nil {
			break
		}
		if reader, ok := results.(*pgconn.ResultReader); ok {
			err = mayExecute(reader.Read())
		}
	}
	err = errors.Join(err, p.Close())
	var e *pgconn.PgError
	if errors.As(err, &e) && strings.HasPrefix(e.Code, "42") { // what a statement names is not there, or of another type
		err = fmt.Errorf("the tables are not those that this program made: %w; compare them with the files of Schema", err)
	}
	return err
}

// mayExecute returns an error if there are forbidden functions.
func mayExecute(found *pgconn.Result) error {
	if found.Err != nil || len(found.Rows) == 0 {
		return found.Err
	}
	return fmt.Errorf("the user has no right to execute the function %s, and %d others: "+
		"GRANT EXECUTE ON the functions whose names begin with graph_", found.Rows[0][0], len(found.Rows)-1)
}

// Close closes the pool.
func (d *db) Close() error {
	d.pool.Close()
	return nil
}

// Exec runs a statement and commits it.
func (d *db) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	tag, err := d.pool.Exec(ctx, text, args...)
	return tag.RowsAffected(), explain(err)
}

// Query runs a statement that reads.
func (d *db) Query(ctx context.Context, text string, args ...any) (sqlsaver.Rows, error) {
	return query(d.pool.Query(ctx, text, args...))
}

// query returns the rows of a query of pgx as the saver reads them.
func query(r pgx.Rows, err error) (sqlsaver.Rows, error) {
	if err != nil {
		return nil, explain(err)
	}
	return found{r}, nil
}

// found is what a statement has found. It is pgx.Rows, whose Close returns no error.
type found struct{ pgx.Rows }

func (r found) Close() error {
	r.Rows.Close()
	return r.Err()
}

func (r found) Err() error { return explain(r.Rows.Err()) }

// runner is a transaction of the caller, which the caller ends.
type runner struct{ tx pgx.Tx }

func (r runner) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	tag, err := r.tx.Exec(ctx, text, args...)
	return tag.RowsAffected(), explain(err)
}

func (r runner) Query(ctx context.Context, text string, args ...any) (sqlsaver.Rows, error) {
	return query(r.tx.Query(ctx, text, args...))
}

// idleLimit returns the statement that makes the server end an idle transaction, because its
// client is stopped or cut off. size is how many bytes of values the client sends next. While the
// client encodes them, the server considers it idle, so each MiB adds four seconds. The limit is
// set for the transaction only, because behind a pooler the session is not the saver's.
func idleLimit(size int) string {
	limit := sqlsaver.IdleLimit + time.Duration(size>>20)*4*time.Second
	return fmt.Sprintf("set local idle_in_transaction_session_timeout = %d", limit.Milliseconds())
}

// Begin starts a transaction. It sends nothing yet.
func (d *db) Begin(ctx context.Context, writes bool) (sqlsaver.Tx, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	t := &tx{conn: conn, batch: new(pgx.Batch)}
	if writes {
		t.batch.Queue("begin isolation level read committed")
		t.batch.Queue(idleLimit(0))
	} else {
		t.batch.Queue("begin read only isolation level repeatable read")
	}
	return t, nil
}

// tx is a transaction that queues the statements of Later, and sends them with the next statement
// in one round trip.
type tx struct {
	conn  *pgxpool.Conn // nil when the transaction is over
	batch *pgx.Batch    // what has not been sent
	last  *pgx.Batch    // what was sent last
	size  int           // bytes of the values in batch
	sent  bool
}

// maxQueued is the maximum number of queued statements.
const maxQueued = 256

func (t *tx) Later(ctx context.Context, scan func(sqlsaver.Rows) error, text string, args ...any) error {
	n := t.queue(text, args) + 1
	if scan != nil {
		t.batch.QueuedQueries[n-1].Query(func(r pgx.Rows) error { return each(r, scan) })
	}
	if n < maxQueued {
		return nil
	}
	results := t.send(ctx)
	return finish(results, t.skip(results, n))
}

// Pipeline sends the queue and the calls, in one round trip for every maxQueued of them.
func (t *tx) Pipeline(ctx context.Context, calls []sqlsaver.Call, scan func(call int, rows sqlsaver.Rows) error) error {
	for first := 0; first < len(calls); first += maxQueued {
		part := calls[first:min(first+maxQueued, len(calls))]
		before := t.batch.Len()
		for _, call := range part {
			t.queue(call.Text, call.Args)
		}
		results := t.send(ctx)
		err := t.skip(results, before)
		for i := 0; i < len(part) && err == nil; i++ {
			err = scanAll(results, func(r sqlsaver.Rows) error { return scan(first+i, r) })
		}
		if err = finish(results, err); err != nil {
			return err
		}
	}
	return nil
}

// scanAll calls scan for each row of the next result.
func scanAll(results pgx.BatchResults, scan func(sqlsaver.Rows) error) error {
	r, err := results.Query()
	if err != nil {
		return err
	}
	return each(r, scan)
}

// each calls scan for each row, and closes the rows.
func each(r pgx.Rows, scan func(sqlsaver.Rows) error) error {
	defer r.Close()
	for r.Next() {
		if err := scan(found{r}); err != nil {
			return err
		}
	}
	return r.Err()
}

// queue queues a statement, and returns how many statements are queued before it.
func (t *tx) queue(text string, args []any) (before int) {
	for _, arg := range args {
		if b, ok := arg.([]byte); ok {
			t.size += len(b)
		}
	}
	before = t.batch.Len()
	t.batch.Queue(text, args...)
	return before
}

// send sends the queue. The driver encodes the whole queue before it sends the first statement. So
// if the server already waits, and the queue has large values, send first raises the limit in a
// round trip of its own.
func (t *tx) send(ctx context.Context) pgx.BatchResults {
	batch, size, waits := t.batch, t.size, t.sent
	t.batch, t.last, t.size, t.sent = new(pgx.Batch), batch, 0, true
	if waits && size >= 1<<20 {
		// If it fails, so does the batch: the transaction or the connection is over.
		_, _ = t.conn.Exec(ctx, idleLimit(size))
	}
	return t.conn.SendBatch(ctx, batch)
}

// skip reads the first n results, for those who asked for them by Later, and returns their first
// error.
func (t *tx) skip(results pgx.BatchResults, n int) (err error) {
	for _, q := range t.last.QueuedQueries[:n] {
		if q.Fn != nil {
			err = q.Fn(results)
		} else {
			_, err = results.Exec()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// finish closes results, and returns err or else the error of closing.
func finish(results pgx.BatchResults, err error) error {
	if closed := results.Close(); err == nil {
		err = closed
	}
	return explain(err)
}

func (t *tx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	tag, err := t.end(ctx, text, args...)
	return tag.RowsAffected(), err
}

// end sends the queue and a statement after it, and returns the result of that statement.
func (t *tx) end(ctx context.Context, text string, args ...any) (tag pgconn.CommandTag, err error) {
	n := t.queue(text, args)
	results := t.send(ctx)
	if err = t.skip(results, n); err == nil {
		tag, err = results.Exec()
	}
	return tag, finish(results, err)
}

func (t *tx) Query(ctx context.Context, text string, args ...any) (sqlsaver.Rows, error) {
	n := t.queue(text, args)
	results := t.send(ctx)
	err := t.skip(results, n)
	if err != nil {
		return nil, finish(results, err)
	}
	r, err := results.Query()
	if err != nil {
		return nil, finish(results, err)
	}
	return batchRows{found{r}, results}, nil
}

// batchRows are the rows of a batch's last statement.
type batchRows struct {
	found
	results pgx.BatchResults
}

func (r batchRows) Close() error { return finish(r.results, r.found.Close()) }

func (t *tx) Commit(ctx context.Context) error {
	tag, err := t.end(ctx, "commit")
	if err != nil {
		return err
	}
	if tag.String() != "COMMIT" {
		return pgx.ErrTxCommitRollback
	}
	t.release()
	return nil
}

// release gives the connection of the transaction back to the pool.
func (t *tx) release() {
	t.conn.Release() // closes one whose transaction is not over
	t.conn = nil
}

// rollbackTime is how long a rollback may take. When the connection closes, the server rolls back.
const rollbackTime = time.Second

// Rollback ends the transaction, also if ctx has ended.
func (t *tx) Rollback(ctx context.Context) {
	if t.conn == nil {
		return
	}
	if t.sent && !t.conn.Conn().IsClosed() && t.conn.Conn().PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
		defer cancel()
		_, _ = t.conn.Exec(ctx, "rollback") // one that cannot be rolled back is closed
	}
	t.release()
}
