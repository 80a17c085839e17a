package rows

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Store is a storage of rows: an ordered map for each [Table]. It is safe for concurrent use. It
// knows nothing of the commit protocol: a Saver reads rows, decides, and writes a [Change] whose
// checks fail if a thread has changed meanwhile.
type Store interface {
	// Read returns the rows of each range, all in one consistent view, and the time of the
	// storage's clock. It is one round trip. Nobody may modify a row.
	Read(ctx context.Context, ranges ...Range) (rows [][]Row, now time.Time, err error)

	// Apply stores c whole, or stores nothing and returns an error. It returns ErrChanged if a
	// check of c does not hold. Rows of the table Threads that c puts get the revision that Apply
	// returns: no row of the same key ever had it. It answers the Reads of c in the view after the
	// change. It is one round trip. If ctx ends during the call, the outcome is unknown.
	Apply(ctx context.Context, c *Change) (rev uint64, rows [][]Row, err error)

	// Close frees what the Store holds. No call may follow or be in progress.
	Close() error
}

// Server is a Store that Savers of many processes use at the same time. It can lock rows, so that
// they do not repeat calls that meet.
type Server interface {
	Store

	// Locked reads ranges as Read does, locks the threads whose rows they select, and stores the
	// Change that choose returns. So the checks of that Change hold, unless a thread was created
	// meanwhile. The caller has sorted ranges by their threads. choose may run more than once.
	Locked(ctx context.Context, ranges []Range, choose func(rows [][]Row, now time.Time) (*Change, error)) error

	// Reserve reads the threads that rows of Index name, locks them, and stores the Change that
	// choose returns for them. It leaves out threads that others have locked. It reads up to Limit
	// threads of each Queue. The rows that it stores get the revision that Rev returns. choose may
	// run more than once.
	Reserve(ctx context.Context, queues []Queue, choose func(threads [][]Row) (*Change, error)) error
}

// Queue is a Range of Index whose keys end with the ids of threads, which begin at an offset.
type Queue struct {
	Range
	ID int // the offset

	graph   string
	first   time.Time // the least wake
	threads []string  // the first ones
}

// ErrChanged is the error of a Change whose checks do not hold. Nothing was stored.
var ErrChanged = errors.New("rows: a row has changed")

// Table is one of the tables of a Store.
type Table uint8

// The tables. A key begins with what all rows of one thread, version or log have in common, so
// each of these is a range.
const (
	Threads  Table = iota // key: the id of the thread; the only rows with a revision
	Records               // key: log, the id of the record before; a record, or several in a pack
	Logs                  // key: root, hash of the namespace; a namespace other than the root's
	Writes                // key: root, base, hash of the identity; a pending write, or a mark of a committed base
	Messages              // key: hash of the thread, kind, number; see messageKey
	Versions              // key: hash of the thread, number; a released version
	Index                 // key: kind, values, and the thread in the order of the index; no value
	States                // key: root; the state of a version as JSON, for people
	tables
)

// Tables is the number of tables.
const Tables = int(tables)

// String returns the name of the table, such as "thread".
func (t Table) String() string {
	names := [...]string{"thread", "record", "log", "write", "message", "version", "index", "state"}
	if int(t) < len(names) {
		return names[t]
	}
	return "unknown"
}

// Key names a row.
type Key struct {
	Table Table
	// Thread is the thread that the row belongs to, and empty in the table Index. All rows of a
	// thread may be kept in one partition. Rows of different threads never have equal Bytes.
	Thread string
	Bytes  []byte // at most MaxKey; nobody may modify them
}

// MaxKey is the greatest length of a key, in bytes.
const MaxKey = 2*checkpoint.MaxThread + 600

// Row is a stored row.
type Row struct {
	Key   []byte
	Rev   uint64 // of a row of Threads: never 0
	Value Value
}

// Value is the content of a row. Saver puts values that are decoded. A Store may keep them as they
// are, after Own, or the bytes of Encode. Then it returns Bytes. Nobody may modify a stored Value.
type Value interface {
	// appendTo appends the stored form of the value of the row with a key.
	appendTo(b, key []byte) []byte
}

// Bytes is the Value of a Store that keeps bytes. nil is the value of a row of Index.
type Bytes []byte

// Range selects the rows with Bytes <= key < To, in ascending order. To nil selects the one row
// with the key Bytes.
type Range struct {
	Key
	To      []byte
	Limit   int  // the maximum number of rows; 0 is all
	Reverse bool // in descending order
}

// Check demands that the row of a thread has a revision; 0 demands that it has no row.
type Check struct {
	Thread string
	Rev    uint64
}

// Put stores a row. New demands that there is none.
type Put struct {
	Key
	Value Value
	New   bool
}

// Change is one atomic write. Deletes precede Puts. No two Puts have the same key.
type Change struct {
	Checks  []Check
	Deletes []Range
	Puts    []Put
	Reads   []Range // answered after the change

	// Once forbids a Store to apply c again if a connection broke before the outcome was known. Other
	// changes may be applied again: they return ErrChanged, or store what they stored before.
	Once bool
}

// Rev returns a revision for the rows of Threads that c puts, for a Store that has no revisions of
// its own. It is greater than each revision that c checks. That of a new row is greater than those
// of all rows that were removed before now.
func (c *Change) Rev(now time.Time) (rev uint64) {
	for i := range c.Checks {
		rev = max(rev, c.Checks[i].Rev)
		if c.Checks[i].Rev == 0 {
			rev = max(rev, uint64(now.UnixNano()))
		}
	}
	return rev + 1
}
