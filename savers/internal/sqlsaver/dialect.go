package sqlsaver

import (
	"context"
	"io/fs"

	"github.com/graphgen-go/graphgen/runtime/store"
)

// Dialect is how one kind of database differs from the others.
type Dialect struct {
	Name       string                      // of the saver's package: starts the errors
	Files      fs.FS                       // the folder schema, with the statements that make the tables
	Statements func() (*Statements, error) // the other statements; Load makes it
	Classify   func(err error) Fault
	Rows       *Syntax // of the statements on rows

	// Limit returns how many bytes a value can have, and what sets this limit; 0 if that is not
	// known.
	Limit func(ctx context.Context, db Runner) (bytes int64, setting string)

	// IndexVectors makes the server's index for a vector index, unless it exists, and returns how
	// to search by it. It returns nil if the server has none. A dialect without IndexVectors
	// compares vectors one by one.
	IndexVectors func(ctx context.Context, tx Tx, spec store.VectorSpec) (*VectorSearch, error)
}

// Fault says what an error of a database means for the call.
type Fault int

// The faults.
const (
	Other      Fault = iota // the call failed
	Duplicate               // a row with the same key exists
	RolledBack              // nothing was stored, and a retry may succeed: a deadlock, or a lock held too long
	Lost                    // the connection broke: a write may have been stored
	Full                    // there is no room to store anything
	TooLarge                // a value is larger than the database stores: nothing was stored, and a retry fails too
)
