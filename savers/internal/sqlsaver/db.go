package sqlsaver

import "context"

// DB is a database as a saver needs it. All methods may be called at the same time.
type DB interface {
	Runner

	// Begin starts a transaction: one that reads sees the database as it is at its first statement, one that writes
	// sees what is committed when each of its statements begins.
	Begin(ctx context.Context, writes bool) (Tx, error)

	// Prepare readies the texts that are going to be run in transactions that only read, and in all others.
	Prepare(ctx context.Context, reads, writes []string) error

	// Close frees what the database holds.
	Close() error
}

// Runner runs statements. Arguments are bound, never part of a text.
type Runner interface {
	// Exec runs a statement and returns how many rows it found.
	Exec(ctx context.Context, text string, args ...any) (int64, error)
	// Query runs a statement that returns rows. They must be closed.
	Query(ctx context.Context, text string, args ...any) (Rows, error)
}

// Tx is a transaction. One that is rolled back after its commit stays committed. It is for one goroutine.
type Tx interface {
	Runner
	// Insert runs an INSERT of one row that ends with {made}, and returns the number that the row was given.
	Insert(ctx context.Context, text string, args ...any) (int64, error)
	// Later runs a statement before whatever comes next, Commit included; its error may come from there.
	Later(ctx context.Context, text string, args ...any) error
	Commit(ctx context.Context) error
	Rollback(ctx context.Context)
}

// Rows are what a query returns, one after the other.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
	Err() error
	Close() error
}

// each calls scan for every row and closes the rows.
func each(rows Rows, scan func(Rows) error) error {
	for rows.Next() {
		if err := scan(rows); err != nil {
			_ = rows.Close() // the first error is the one that says what was wrong
			return err
		}
	}
	if err := rows.Err(); err != nil {
		_ = rows.Close()
		return err
	}
	return rows.Close()
}

// one scans the first row, if there is one.
func one(ctx context.Context, db Runner, text string, args []any, dest ...any) (found bool, err error) {
	rows, err := db.Query(ctx, text, args...)
	if err != nil {
		return false, err
	}
	err = each(rows, func(rows Rows) error {
		found = true
		return rows.Scan(dest...)
	})
	return found, err
}
