package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/graphgen-go/graphgen/savers/internal/sqlsaver"
)

// db is a pool as a saver needs it.
type db struct {
	pool *pgxpool.Pool
}

var _ sqlsaver.DB = (*db)(nil)

// Prepare does nothing: behind a pooler a connection need not be the one that prepared.
func (d *db) Prepare(context.Context, []string, []string) error { return nil }

// Close closes the pool.
func (d *db) Close() error {
	d.pool.Close()
	return nil
}

// Exec runs a statement in a transaction of its own.
func (d *db) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	tag, err := d.pool.Exec(ctx, text, args...)
	return tag.RowsAffected(), err
}

// Query runs a statement that reads.
func (d *db) Query(ctx context.Context, text string, args ...any) (sqlsaver.Rows, error) {
	return query(d.pool.Query(ctx, text, args...))
}

func query(r pgx.Rows, err error) (sqlsaver.Rows, error) {
	if err != nil {
		return nil, err
	}
	return rows{r}, nil
}

// rows are pgx's, whose Close has no error of its own.
type rows struct{ pgx.Rows }

func (r rows) Close() error {
	r.Rows.Close()
	return r.Err()
}

// Place runs the statement of a commit.
func (d *db) Place(ctx context.Context, text string, args ...any) (version int, seq uint64, stored bool, err error) {
	err = d.pool.QueryRow(ctx, text, args...).Scan(&version, &seq)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, 0, false, nil
	}
	return version, seq, err == nil, err
}

// Begin starts a transaction.
func (d *db) Begin(ctx context.Context, writes bool) (sqlsaver.Tx, error) {
	o := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	if writes {
		o = pgx.TxOptions{IsoLevel: pgx.ReadCommitted}
	}
	t, err := d.pool.BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	return tx{t}, nil
}

type tx struct{ tx pgx.Tx }

func (t tx) Exec(ctx context.Context, text string, args ...any) (int64, error) {
	tag, err := t.tx.Exec(ctx, text, args...)
	return tag.RowsAffected(), err
}

func (t tx) Query(ctx context.Context, text string, args ...any) (sqlsaver.Rows, error) {
	return query(t.tx.Query(ctx, text, args...))
}

func (t tx) Commit(ctx context.Context) error { return t.tx.Commit(ctx) }

// Rollback ends the transaction; a connection that cannot say so is closed, which ends it, too.
func (t tx) Rollback(ctx context.Context) { _ = t.tx.Rollback(ctx) }
