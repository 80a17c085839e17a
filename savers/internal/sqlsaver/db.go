package sqlsaver

import "context"

// DB is a database as a saver needs it. It is safe for concurrent use.
type DB interface {
	Runner

	// Begin starts a transaction. One that only reads sees the database as it is at its first
	// statement. One that writes sees what is committed when each of its statements begins.
	Begin(ctx context.Context, writes bool) (Tx, error)

	// Prepare prepares the texts that will run in transactions that only read, and those that will
	// run in others.
	Prepare(ctx context.Context, reads, writes []string) error

	// Close frees what the database holds.
	Close() error
}

// Sharer is a DB that can store several calls by one transaction.
type Sharer interface {
	DB
	// Share runs f in a transaction, maybe one that also stores other calls, and commits it. An
	// error of f undoes what f did, and nothing else. Share may call f more than once, on any
	// goroutine but one at a time; only what the last call did is stored. f runs its statements by
	// the context that it gets.
	Share(ctx context.Context, f func(ctx context.Context, tx Tx) error) error
}

// Runner runs statements. Arguments are bound; they are never part of a text.
type Runner interface {
	// Exec runs a statement and returns the number of rows that it found.
	Exec(ctx context.Context, text string, args ...any) (int64, error)
	// Query runs a statement that returns rows. They must be closed.
	Query(ctx context.Context, text string, args ...any) (Rows, error)
}

// Tx is a transaction. It is not safe for concurrent use. Rollback after Commit does nothing.
type Tx interface {
	Runner
	// Later runs a statement before the next call, Commit included. That call may return its
	// error, or one of scan, which gets each row of the statement. A nil scan ignores rows.
	Later(ctx context.Context, scan func(Rows) error, text string, args ...any) error
	Commit(ctx context.Context) error
	Rollback(ctx context.Context)
}

// Call is a statement with its arguments.
type Call struct {
	Text string
	Args []any
	Must bool // in a batch: the statement must find a row
}

// Rows are the rows that a query returns. They must be closed.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// each calls scan for every row and closes the rows.
func each(rows Rows, scan func(Rows) error) error {
	defer rows.Close() //nolint:errcheck // the first error says what was wrong; scan may also panic
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}

// has reports whether the dialect has an optional statement.
func (s *Database) has(st statement) bool { return s.queries[st] != "" }

// exec runs a statement and returns the number of rows that it found.
func (s *Database) exec(ctx context.Context, db Runner, st statement, args ...any) (int64, error) {
	return db.Exec(ctx, s.queries[st], args...)
}

// query runs a statement that returns rows.
func (s *Database) query(ctx context.Context, db Runner, st statement, args ...any) (Rows, error) {
	return db.Query(ctx, s.queries[st], args...)
}

// one runs a statement and scans its first row, if it returns any.
func (s *Database) one(ctx context.Context, db Runner, st statement, args []any, dest ...any) (found bool, err error) {
	rows, err := s.query(ctx, db, st, args...)
	if err != nil {
		return false, err
	}
	err = each(rows, func(rows Rows) error {
		found = true
		return rows.Scan(dest...)
	})
	return found, err
}
