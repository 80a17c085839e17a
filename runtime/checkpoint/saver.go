// Package checkpoint is the contract between graphs and what stores their checkpoints.
//
// A thread is a named line of runs. It has versions: one open, the others released and read-only. A
// version has a log of records in each namespace (the root is "", a subgraph call has one of its own) and
// pending writes. A Saver keeps all of it as bytes: it never sees a state, a node or a graph, so any saver
// serves any graph, and package savertest proves any saver.
//
// # The commit protocol
//
// A version has one fence: the id of the record that opened its current run. Only an opening Append
// replaces it; every other write, in any namespace, must name it. A run that lost its fence to another
// finds out at its next write, which fails with [ErrConflict] and changes nothing.
//
// Appends compare and append: the caller names the id of the head it builds on, ids are never used twice,
// so nobody can append to a log that has moved, was released, or was deleted and made again.
//
// Savers do not interpret: they compare ids, keep bytes, and number records.
package checkpoint

import (
	"context"
	"iter"
	"time"
)

// Saver stores the checkpoints of many threads. All methods may be called at the same time from many
// goroutines, and, for a saver on shared storage, from many processes. A call is atomic: it happens whole
// or not at all, also when the process dies in the middle of it.
//
// Thread ids and namespaces are opaque bytes of at most [MaxThread] and [MaxNamespace] bytes: any value
// that is longer, and the empty thread id, is an [*InvalidError].
//
// Payloads that a saver returns never change, not even after Close: strings of a restored state share
// their memory for as long as the state lives. Neither the caller nor the saver may write to that memory or
// use it for something else. The same holds for a saver that wraps another one: it returns new memory for
// what it decrypts or unpacks. A state keeps the memory around its payloads, too. So a saver must not return
// a payload as a small part of a large buffer.
//
// When ctx ends before a write is known to have happened, the write may or may not have happened; the same
// call may be made again, since writes are idempotent. After Close every method fails with [ErrClosed].
type Saver interface {
	// Append stores records after the head of one namespace and returns what the opening of a run needs.
	// It fails with an error that is ErrConflict when r.After is not the head's id, the version it was in
	// is not open any more, or r.Fence is not the thread's fence; with a *BusyError when r.Open is set and
	// another run's lease lives, whatever r.After is. It is idempotent by record id: if the records offered already stand after
	// r.After, it succeeds and changes nothing, also when a Prune has removed any of these but the last; an opening only while
	// the fence is still its own, and an Append with Release also when the version that holds the records is the one it released.
	Append(ctx context.Context, r Append) (AppendResult, error)

	// PutWrites stores pending writes under the fence, sets the thread's status, and renews or ends the
	// lease; without writes it does just that. It fails with ErrConflict when the fence is another's. A run
	// that has ended its lease does not get it back by a later write under its fence, which is stored all
	// the same; one whose lease expired does, as long as nobody took the thread.
	PutWrites(ctx context.Context, w PutWrites) error

	// Load returns what restoring a checkpoint takes. A thread without an open version is an empty Chain and
	// no error; a Version or an At that does not exist is ErrNotFound. The Chain of a namespace without records has the version
	// and the Thread, and costs no reading of records.
	Load(ctx context.Context, p Ref) (Chain, error)

	// History yields the records of one namespace, newest first, as the query asks, with their payloads unless Headers is set. It
	// reads lazily: leaving the loop stops the reading. An error ends it. Records that are
	// appended after the loop began are not shown. What is not there is as for Load: no records, or ErrNotFound.
	History(ctx context.Context, p Ref, q Query) iter.Seq2[Record, error]

	// Threads yields the threads that the query asks for, one for each open version, ordered by thread id
	// (bytewise). For a thread that is damaged it yields an error that is ErrDamaged and a Thread with the ID alone,
	// which is empty if the ID cannot be read, and continues. A damaged thread does not count towards Limit, and may
	// be one that the query does not select. Any other error ends the iteration.
	Threads(ctx context.Context, q ThreadQuery) iter.Seq2[Thread, error]

	// Schemas returns the descriptions of schemas that a version of a thread has, by fingerprint; nil for none. Version
	// 0 is the open one. What is not there is as for Load: no descriptions, or ErrNotFound. The caller must not modify the
	// descriptions.
	Schemas(ctx context.Context, thread string, version int) (map[uint64][]byte, error)

	// Versions returns the thread's versions, oldest first; nil for a thread that does not exist.
	Versions(ctx context.Context, thread string) ([]Version, error)

	// Release closes the open version and returns it; the next run starts an empty one. It fails with a
	// *BusyError while a lease lives, with ErrConflict when ifHead is neither zero nor the id of the root's
	// head, and with ErrNotFound when the thread has no open version.
	Release(ctx context.Context, thread string, ifHead ID) (Version, error)

	// Delete removes the thread with all its versions. A thread that does not exist is no error; one whose
	// lease lives is a *BusyError.
	Delete(ctx context.Context, thread string) error

	// Prune removes old records as keep says. What it leaves always loads: the oldest kept record of each
	// namespace gets a snapshot (made by Fold) in place of its delta, and neither a head nor a record that
	// has pending writes, or is the base of a kept one, is removed; Seq keeps its gaps. A thread whose lease
	// lives is a *BusyError; one that does not exist is ErrNotFound.
	Prune(ctx context.Context, thread string, keep Retention) (PruneResult, error)

	// Export yields everything one version holds, in an order that Import accepts. Version 0 is the open one.
	// It is one consistent view of the version. A version that does not exist is ErrNotFound.
	Export(ctx context.Context, thread string, version int) iter.Seq2[ExportItem, error]

	// Import makes a thread's next version from exported items, whole or not at all: an error from the
	// sequence leaves nothing behind. A thread that exists with an open version is ErrConflict. Record ids,
	// Seq and writes are kept; the version has no fence and no lease, gets the status of its ExportItem, and is
	// open also when the exported one was released. Items in a wrong order are an *InvalidError.
	//
	// The caller must not change what a record id stands for: processes keep states in memory by the ids of records. Records
	// that were edited need new ids.
	Import(ctx context.Context, thread string, items iter.Seq2[ExportItem, error]) error

	// Close frees what the saver holds. Leases it took end. It waits for calls under way.
	Close() error
}

// Limits on the names that a saver accepts, in bytes.
const (
	MaxThread    = 64 << 10
	MaxNamespace = 64 << 10
)

// Append is one atomic write of records to the end of one namespace's log.
type Append struct {
	Thread    string
	Namespace string   // "" is the root
	After     ID       // the head that Records follow; zero when the log is empty
	Records   []Record // at least one, in order
	Writes    []Write  // stored in the same act (the answers of a resume, descriptions of schemas); bases are known or among Records

	// Open makes this the first act of a run: it replaces the fence by the id of Records[0] and takes the
	// lease. Only for the root. Nil for every other Append.
	Open *Opening
	// Fence is the fence the caller holds; ignored on an opening Append.
	Fence ID

	Status  Status        // the thread's status from here on; zero leaves it, and is Running for a new version
	Lease   time.Duration // how long the lease lives from now on the saver's clock; zero for the saver's DefaultLease
	End     bool          // the run ends with this: the lease is given up
	Release bool          // with End: the version is released in the same act
}

// Opening is what an opening Append says of its run.
type Opening struct {
	Holder   string // who runs, for people: host, process, name; shown in a *BusyError
	TakeOver bool   // take the thread although another's lease lives
}

// DefaultLease is how long a lease lives when the caller does not say.
const DefaultLease = 15 * time.Second

// AppendResult is the result of a successful Append.
type AppendResult struct {
	Version int     // the version appended to, from 1
	Head    uint64  // the Seq of the last record
	Writes  []Write // for an opening: the pending writes that stand, in every namespace, read once the fence was taken
}

// PutWrites is one atomic store of pending writes.
type PutWrites struct {
	Thread string
	Fence  ID
	Writes []Write       // none is allowed: the lease is renewed
	Status Status        // zero leaves it
	Lease  time.Duration // as in Append
	End    bool          // the run ends with this: the lease is given up
}

// Ref names a checkpoint.
type Ref struct {
	Thread    string
	Version   int    // 0 is the open one
	Namespace string // "" is the root
	At        ID     // zero is the head
}

// Chain is what restoring one checkpoint takes.
type Chain struct {
	Version int
	// Last is the checkpoint asked for, whole. Its ID is zero if the thread or the namespace has no records.
	Last Record
	// Snapshot is the state at the nearest record up to Last that has a snapshot. Deltas lead from there to the
	// state at Last, in order. Each is the payload of one record, or the joined payloads of several. So
	// Fold(Snapshot, Deltas...) returns the state.
	Snapshot []byte
	Deltas   [][]byte
	// Chained is the number of records after the one with the snapshot, up to Last.
	Chained int
	// Head is the id of the namespace's newest record; zero for none.
	Head ID
	// Due are the tasks of the last record's Base, which is not always among Records.
	Due []Task
	// Writes are the pending writes of the last record's Base, in the order first stored; none once it is
	// committed.
	Writes []Write
	// Committed says that a later record commits the last record's Base: running on from here is a replay.
	Committed bool
	// Thread is the state of the version as a whole.
	Thread Thread
}

// Query selects records of a history. The zero Query selects every checkpoint.
type Query struct {
	Limit   int       // at most so many; less than 1 is all
	Before  ID        // only records older than this one (for paging); zero starts at the head. Unknown: ErrNotFound
	Sources []Source  // only these; nil is every one but Resume
	Step    int       // with HasStep: only this step
	HasStep bool      //
	Node    string    // only records that make this node due or were edited as it; empty is all
	Since   time.Time // only records created at or after; zero is all
	Until   time.Time // only records created before; zero is all
	Headers bool      // the records have no Payload
}

// Thread describes the open version of a thread.
type Thread struct {
	ID       string
	Version  int
	Status   Status
	Holder   string    // of the living lease, else empty
	Lease    time.Time // when the lease ends, on the saver's clock; zero for none
	Head     ID        // of the root
	Step     int       // of the root's head
	Updated  time.Time // when the newest run opened or ended, on the saver's clock
	Versions int       // how many there are, the open one included
	// Questions are the pending writes of kind Question that have no Answer, oldest first.
	Questions []Write
}

// ThreadQuery selects threads. The zero ThreadQuery selects all.
type ThreadQuery struct {
	Status    Status    // zero is any
	Prefix    string    // of the thread id
	After     string    // only ids that sort after this one (for paging)
	Limit     int       // at most so many; less than 1 is all
	IdleSince time.Time // only threads last updated before, and with no living lease; zero is all
}

// Version is one version of a thread.
type Version struct {
	Thread   string
	Number   int       // from 1
	Released time.Time // zero for the open one
	Head     ID        // of the root
	Records  int       // of the root
	Status   Status
}

// Retention says what Prune leaves. The zero Retention leaves everything. Last and Since cut the log of each namespace of
// the open version at one place: records from there on stay. With both set the older of the two places counts.
type Retention struct {
	Last     int       // keep the newest so many checkpoints; less than 1 says nothing
	Since    time.Time // keep from the oldest record that was created at or after; zero says nothing
	Released int       // keep the newest so many released versions; 0 keeps them all, less than 0 removes them all
}

// PruneResult counts what Prune removed.
type PruneResult struct {
	Records  int
	Versions int
}

// ExportItem is one piece of an exported version: first one with Thread set, then records by namespace in
// order of Seq, then descriptions of schemas and pending writes, each in the order first stored. Exactly one field is set. What an ExportItem points to may
// be shared with the saver it came from: it must not be modified.
type ExportItem struct {
	Thread *Thread
	Record *NamespaceRecord
	Write  *Write
}

// NamespaceRecord is a record with the log it stands in.
type NamespaceRecord struct {
	Namespace string
	Record
}

// Empty reports whether the thread or the namespace has no records.
func (c *Chain) Empty() bool { return c.Last.ID.IsZero() }

// Unfinished reports whether tasks are due, or routes owed, at the chain's last record.
func (c *Chain) Unfinished() bool { return len(c.Due) > 0 || len(c.Last.PendingRoutes) > 0 }

// Next returns the names of the nodes that are due, in order, each once.
func (c *Chain) Next() []string {
	var names []string
	for i := range c.Due {
		if i == 0 || c.Due[i].Node != c.Due[i-1].Node {
			names = append(names, c.Due[i].Node)
		}
	}
	return names
}
