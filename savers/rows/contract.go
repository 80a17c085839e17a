package rows

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Store is a storage of rows: an ordered map for each [Table]. It is what the author of a backend
// implements. It knows nothing of the commit protocol: a Saver reads rows, decides, and stores a
// [Change] whose checks fail if a thread has changed meanwhile. Package rowstest tests a Store.
//
// A Store is safe for concurrent use. Several processes may have a Store of the same rows, and see
// the changes of all. Once Apply has returned, each later Read in any process sees the Change.
type Store interface {
	// Read returns the rows of each range, in the order of ranges, and the time of the storage's
	// clock. All rows are from one moment: a Read sees each Change whole or not at all. A range
	// without rows has none, and is no error. Without ranges, Read returns the time.
	//
	// The clock is one for all processes, because leases end by it. Its time is not before that
	// of an earlier Read, is not later than the reply, and is exact to a microsecond or better. A
	// Saver estimates the time between two Reads, and relies on that. The time should not be
	// before the view: else a thread that another process has just made due may seem not due yet.
	//
	// Saver does not modify the rows and may keep them. So the Store must not write to their
	// bytes later. A Store may repeat a Read that failed. Make a Read one round trip: the latency
	// of most calls of a Saver is one to three of them.
	Read(ctx context.Context, ranges ...Range) (rows [][]Row, now time.Time, err error)

	// Apply stores c whole, or stores nothing and returns an error. Concurrent Changes have the
	// effect of one after the other: what a Check or a New put demands still holds at the moment
	// that the Change is stored. In a storage with snapshots, a Check locks its row.
	//
	// rev is the revision that the rows of the table Threads get that c puts. It is greater than
	// each revision that a row of the same key ever had, also one that was removed. Other tables
	// need no revisions. read has the rows of c.Reads, in the view after the Change.
	//
	// When Apply returns, c survives a crash of this process, and a crash of the storage as far as
	// the settings of the storage promise. If it returns an error, the error is or wraps:
	//   - ErrChanged, if a Check or a New put does not hold. Nothing was stored. A Store may also
	//     return it for a conflict with another Change, if one of the two was stored.
	//   - checkpoint.ErrTooLarge, best a *checkpoint.SizeError, if the storage never stores values
	//     of that size. Nothing was stored.
	//   - the error of ctx, if ctx ended. If it ended before the call, nothing was stored.
	//   - checkpoint.ErrUnavailable, if the storage cannot serve calls now. Read returns it, too.
	//   - Any other error. As with the two before, the outcome is unknown: all of c, or nothing.
	//
	// A Store may repeat a Change that was certainly not stored, such as after a deadlock. If the
	// outcome is unknown, it may repeat a Change without Once: that fails its own checks then,
	// which the Saver expects, or the Store recognises the revision that it gave the rows.
	//
	// A Store with partitions may store the threads of a Change one by one; see PartError.
	//
	// The Store may keep the keys and values of c. A Saver does not write to them later.
	Apply(ctx context.Context, c *Change) (rev uint64, read [][]Row, err error)

	// Close frees what the Store holds. No call is in progress, and none follows.
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
	// run more than once. read has the rows of the Reads of the Change, as Apply has them.
	Reserve(ctx context.Context, queues []Queue, choose func(threads [][]Row) (*Change, error)) (read [][]Row, err error)
}

// Queue is a Range of Index whose keys end with the ids of threads, which begin at an offset.
type Queue struct {
	Range
	ID int // the offset

	graph   string
	first   time.Time // the least wake
	threads []string  // the first ones
}

// ErrChanged is the error of a Change whose checks do not hold. Nothing was stored. A Saver reads
// again, decides again, and tries another Change.
var ErrChanged = errors.New("rows: a row has changed")

// PartError is the error of a Change of several threads that a Store has stored in part, because
// it keeps the threads in different partitions. Ready, Post and removals make such changes.
type PartError struct {
	Stored []string // the threads whose part is stored
	Err    error    // why others are not stored; it wraps ErrChanged
}

func (e *PartError) Error() string { return "rows: stored in part: " + e.Err.Error() }

// Unwrap returns Err.
func (e *PartError) Unwrap() error { return e.Err }

// Table is one of the tables of a Store. A Store needs no knowledge of what a table has. It may
// keep all of them in one map, whose keys begin with a byte for the table.
type Table uint8

// The tables. A key begins with what all rows of one thread, version or log have in common. So
// each of these is a range.
const (
	Threads  Table = iota // key: the id of the thread; the rows have revisions
	Records               // key: log, the id of the record before; a record, or several in a pack
	Logs                  // key: root, hash of the namespace; a namespace other than the root's
	Writes                // key: root, base, hash of the identity; a pending write, or a mark of a committed base
	Messages              // key: hash of the thread, kind, number; see messageKey
	Versions              // key: hash of the thread, number; a released version
	Index                 // key: kind, values, and the thread in the order of the index; no value
	States                // key: root; the state of a version as JSON, for people: never read, and put only if Options.Readable
	Items                 // key: see itemKey; items of the store; the rows have revisions
	Entries               // key: see entryKey; what finds items, and their values
	tables
)

// Tables is the number of tables.
const Tables = int(tables)

// String returns the name of the table, such as "thread".
func (t Table) String() string {
	names := [...]string{"thread", "record", "log", "write", "message", "version", "index", "state", "item", "entry"}
	if int(t) < len(names) {
		return names[t]
	}
	return "unknown"
}

// Revised reports whether the rows of the table have revisions.
func (t Table) Revised() bool { return t == Threads || t == Items }

// Key names a row. The order of keys is that of their Bytes, as bytes.Compare has it: no text, no
// collation.
type Key struct {
	Table Table
	// Thread is the thread that the row belongs to. It is empty in the tables Index, Items and
	// Entries, and in a Range over threads. A Change has rows of Items and Entries or of other
	// tables, not both. A Store may keep all rows of a thread in one partition. Other Stores
	// ignore it, because rows of different threads never have equal Bytes.
	Thread string
	// Bytes has 1 to MaxKey bytes, which may be any. The keys of tables other than Threads, Index,
	// Items and Entries have at most 64 bytes.
	Bytes []byte
}

// MaxKey is the greatest length of a key, in bytes.
const MaxKey = 2*checkpoint.MaxThread + 600

// Row is a stored row.
type Row struct {
	Key   []byte
	Rev   uint64 // of a row of Threads or Items: never 0. Other rows may have any.
	Value []byte // as it was put; empty in the table Index
}

// Range selects the rows of a table with Bytes <= key < To, in ascending order. A range whose To
// is not greater than Bytes selects nothing. To nil selects the one row with the key Bytes. Bytes
// may be empty if To is not nil. To may have MaxKey+1 bytes.
type Range struct {
	Key
	To      []byte
	Limit   int  // the maximum number of rows, the first of the order; 0 is all
	Reverse bool // in descending order

	// Items is not 0 if a range of Entries selects the items that its rows name, in place of these
	// rows. The key of the item is the end of a key of the range, from byte Items on. The keys of
	// the range have equal bytes before it. The items have the order of the rows that name them.
	// A row whose item does not exist selects nothing, and does not count for Limit. Such a Range
	// has To, is not Reverse, and is only in a Read.
	Items int
}

// Check demands that the row of a thread has a revision; 0 demands that it has no row.
type Check struct {
	Thread string // the key of the row
	Rev    uint64
	Table  Table // Threads or Items
}

// Put stores a row, in place of one with the same key. New demands that there is none.
type Put struct {
	Key
	Value []byte // at least 1 byte; none in the table Index
	New   bool

	// Columns is not nil in the tables Threads and States. Value says the same and more.
	Columns *Columns
}

// Columns are parts of a row for columns that people read. A Store may ignore them.
type Columns struct {
	// Of a row of Threads: see checkpoint.Thread. A time that is zero is unknown.
	Graph, Title           string
	Status                 checkpoint.Status
	Created, Updated, Wake time.Time

	Version int    // the number of the open version, or of the version with the state; 0 if none is
	Seq     uint64 // of a row of States: the Seq of the checkpoint that left the state
}

// Change is one atomic write. Its parts have this order: Checks and the demands of New puts,
// Deletes, Puts, Reads. A Saver keeps these rules, so that a Store need not check them:
//
//   - There is at least one Check, and at most one of a thread.
//   - A put of a row of Threads is not New. The Change has a Check of its thread.
//   - If a Check demands that a thread has no row, the Change puts the row.
//   - No two Puts have the same key. No key of a New put is in Deletes.
//   - The keys of other Puts may be in Deletes, and Deletes may overlap. Deletes have no Limit.
//
// Most Changes have one Check and up to ten rows. There is no limit: the end of a superstep with
// 10,000 sends puts as many rows, and an import puts a whole version.
type Change struct {
	Checks  []Check
	Deletes []Range
	Puts    []Put
	Reads   []Range // answered after the change

	// Once forbids a Store to apply c again if a connection broke before the outcome was known.
	// Other changes may be applied again: they return ErrChanged, or store what they stored
	// before.
	Once bool

	// Joint says that the Saver has joined several changes, such as removals of threads. It puts
	// no rows of States then. If the Store fails, the Saver applies each of them alone. So the
	// Store must return an error, such as ErrChanged, in place of waiting for the lock of one
	// thread.
	Joint bool
}

// Rev returns a revision for the rows of Threads that c puts, for a Store that has no revisions of
// its own. It is greater than each revision that c checks. That of a new row is greater than those
// of all rows that were removed before now, which is the time of the storage's clock.
func (c *Change) Rev(now time.Time) (rev uint64) {
	for i := range c.Checks {
		rev = max(rev, c.Checks[i].Rev)
		if c.Checks[i].Rev == 0 {
			rev = max(rev, uint64(now.UnixNano()))
		}
	}
	return rev + 1
}
