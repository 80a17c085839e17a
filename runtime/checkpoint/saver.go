// Package checkpoint is the contract between graphs and the savers that store their checkpoints.
//
// A thread is a named sequence of runs. It has versions: at most one is open, and the others are
// released and read-only. A version has a log of records in each namespace: a record is a
// checkpoint, or marks a resume. A version also has pending writes: the stored results, questions
// and failures of tasks whose superstep has no checkpoint yet. The namespace of the thread itself,
// the root, is "". Each call of a subgraph has a namespace of its own. A [Saver] keeps all of this
// as bytes. It never sees a state, a node or a graph, so every saver works with every graph.
// Package savertest tests any saver.
//
// Programs use this package to list threads ([Saver] with a [ThreadQuery]) and to read a [Thread]
// or a history ([Query]). They copy threads ([Copy]), and test errors. The rest is for savers,
// workers and tools.
//
// # Runs and messages
//
// A run holds its thread by a lease, which it renews until it ends. If its process dies, the lease
// expires, and another run can take the thread. The inbox of a thread has the messages that wait
// for a run: inputs, answers, signals and cancels. The Wake of a thread is the time at which it is
// due, so that a worker runs it: see [Saver] and its Ready.
//
// # The commit protocol
//
// A version has one fence: the id of the record that opened its current run. A run begins with an
// opening: an [Append] with Open set. Only an opening replaces the fence. Every other write, in
// any namespace, must name the fence. After another run has taken the fence, the next write of the
// old run fails with [ErrConflict] and changes nothing.
//
// An Append compares and appends: the caller names the id of the head that the records follow. The
// ids of a log strictly increase, and each id belongs to one record. So an Append fails if another
// caller has appended to the log, or has released, deleted or recreated it.
//
// A thread id can be used again after a Delete. So each thread has a Birth, an id that no other
// thread has. The head and the fence of a thread without records are zero. So a caller passes the
// Birth to tell such a thread from an earlier one with its id.
//
// Savers do not interpret records. They compare ids, keep bytes, and number the records.
package checkpoint

import (
	"context"
	"iter"
	"time"
)

// Saver stores the checkpoints of many threads. It is safe for concurrent use, and for use by many
// processes if the storage is shared. A call is atomic: it takes effect as a whole or not at all,
// even if the process dies during the call.
//
// Thread ids and namespaces are opaque bytes of at most [MaxThread] and [MaxNamespace] bytes. A
// longer value or the empty thread id causes an [*InvalidError].
//
// Payloads that a saver returns never change, not even after Close, because the strings of a
// restored state share their memory. Neither the caller nor the saver may write to that memory or
// reuse it. A saver that wraps another one returns new memory for payloads that it decrypts or
// unpacks. A state also keeps the memory around its payloads. So a saver must not return a payload
// as a small part of a large buffer.
//
// If ctx ends during a write, the outcome of the write is unknown. The caller may repeat the call,
// because writes are idempotent. After Close every method fails with [ErrClosed].
type Saver interface {
	Inbox

	// Append stores records after the head of one namespace. For an opening it also returns the
	// data that a run needs.
	//
	// The id of each record must be greater, bytewise, than that of the record before it: see
	// [NewIDAfter]. Otherwise Append fails with an *InvalidError. The caller must not use the id
	// of a record in another namespace. A saver may refuse that with ErrConflict, and need not.
	//
	// It fails with ErrConflict if r.After is not the id of the head, if the version with r.After
	// is no longer open, or if r.Fence is not the fence of the thread. An opening fails with a
	// *BusyError if the lease of another run is alive, whatever r.After is.
	//
	// An opening also fails with ErrConflict if r.Open.Birth is set and is not the Birth of the
	// thread, or if it takes or refuses a message that another run has already taken or refused.
	// So two runs never take one message, even if the version of the first run was released. If
	// Want of the [ConflictError] is the id of its own first record, the opening was stored, and
	// another run took the fence before the pending writes were read.
	//
	// Append is idempotent by record id. If the records are already stored after r.After, it
	// succeeds and changes nothing. This also holds if Prune has removed all of them except the
	// last. A repeated opening succeeds only while the fence is still its own. A repeated Append
	// with Release succeeds if it released the version that holds the records.
	Append(ctx context.Context, r Append) (AppendResult, error)

	// PutWrites stores pending writes under the fence, sets the status of the thread, and renews
	// or ends the lease. Without writes it only sets the status and changes the lease. See [Write]
	// for the Namespace and the Base of a write. PutWrites fails with ErrConflict if another run
	// has the fence. After a run has ended its lease, its later writes are stored, but they do not
	// renew the lease. After the lease of a run has expired, a write renews it, unless another run
	// has taken the thread.
	PutWrites(ctx context.Context, w PutWrites) (PutResult, error)

	// Load returns the data that restores a checkpoint. For a thread without an open version it
	// returns an empty Chain and no error. If p.Version or p.At does not exist, it returns
	// ErrNotFound. For a namespace without records, the Chain has the version and the Thread, and
	// Load reads no records.
	Load(ctx context.Context, p Ref) (Chain, error)

	// History yields the records of one namespace that q selects, newest first. The records have
	// payloads unless q.Headers is set. History reads lazily: leaving the loop stops the reading.
	// An error ends the sequence. Records that are appended after the loop began are not yielded.
	// For a missing thread or namespace it yields no records. If p.Version or p.At does not exist,
	// it yields ErrNotFound.
	History(ctx context.Context, p Ref, q Query) iter.Seq2[Record, error]

	// Threads yields the open versions that q selects, in the order of q. It leaves out the
	// threads that store tasks of queues, unless q.Tasks returns true. It yields a
	// thread that has untaken inputs and no open version with Version 0 and status Ready. It
	// yields a thread that has neither only if q.Released is set. If q is invalid, it yields an
	// *InvalidError.
	//
	// A thread that is created or deleted during the loop may be left out. No thread is yielded
	// twice. The same holds for pages: see ThreadQuery.
	//
	// For a damaged thread it yields an error that is ErrDamaged, with a Thread that has only the
	// ID and Created, and continues. Each is zero if it cannot be read. Threads yields every
	// damaged thread, because it cannot check whether q selects it. In the order NewestFirst,
	// those without Created come before the others, and only if q.After is empty. A damaged thread
	// does not count towards q.Limit. Any other error ends the sequence. If a part of the storage
	// does not answer, Threads yields those of the others, and then an error that is ErrPartial.
	Threads(ctx context.Context, q ThreadQuery) iter.Seq2[Thread, error]

	// Ready returns threads that are due: their Wake has come, and no lease of a run is alive.
	// Within a graph it returns those of the highest Priority first, and within a priority those
	// that have been due for longest.
	//
	// Ready moves the Wake of the returned threads to q.Reserve from now, so that other callers do
	// not get them meanwhile. That is no lock: only an opening Append takes a thread. It moves the
	// Wake of a due thread with a live lease to the end of the lease. If q.Reserve is zero, Ready
	// changes nothing. With q.Mail it also returns the messages of each thread, read together with
	// the move of its Wake. A run then need not read them. If a part of the storage does not
	// answer, Ready returns the threads of the others together with an error that is ErrPartial.
	Ready(ctx context.Context, q ReadyQuery) (ReadyThreads, error)

	// Rewake sets the Wake, the time at which a thread is due, of a thread that no run holds. It
	// fails with ErrConflict if r.Fence is not the fence of the thread, if r.Posted is not the
	// number of its newest message, if r.Birth is set and is not the Birth of the thread, or if
	// the thread has neither an open version nor a message. The fence of a thread without an open
	// version is zero. Rewake fails with a *BusyError if a lease is alive.
	Rewake(ctx context.Context, r Rewake) error

	// Schemas returns the descriptions of schemas in a version of a thread, by fingerprint, or nil
	// if there are none. Version 0 is the open one. For a thread without an open version it
	// returns nil. If another version does not exist, it returns ErrNotFound. The caller must not
	// modify the descriptions.
	Schemas(ctx context.Context, thread string, version int) (map[uint64][]byte, error)

	// Versions returns the versions of a thread, oldest first. It returns nil if the thread does
	// not exist.
	Versions(ctx context.Context, thread string) ([]Version, error)

	// Release closes the open version and returns it. The next run starts an empty version.
	// Release fails with a *BusyError if a lease is alive, and with ErrNotFound if the thread has
	// no open version. If ifHead is not zero and not the id of the head of the root, it fails with
	// ErrConflict. Untaken inputs stay, and make the thread due now. Other untaken messages were
	// for the version: they are refused. An Append with Release does the same.
	Release(ctx context.Context, thread string, ifHead ID) (Version, error)

	// Delete removes a thread with all its versions. It returns nil if the thread does not exist,
	// and a *BusyError if its lease is alive.
	Delete(ctx context.Context, thread string) error

	// Prune removes the records that keep does not retain. The remaining checkpoints always load:
	// the oldest record in each namespace gets a snapshot (by Fold) in place of its delta. Prune
	// never removes a head, a record with pending writes, or the base of a retained record, except
	// that keep.Ended removes whole threads. The values of Seq do not change. Prune fails with a
	// *BusyError if the lease of the thread is alive, unless keep.Fence is set. It fails with
	// ErrConflict if keep.Fence is set and is not the fence of the open version. It fails with
	// ErrNotFound if the thread does not exist.
	Prune(ctx context.Context, thread string, keep Retention) (PruneResult, error)

	// Export yields all data of one version, in an order that Import accepts. The data is one
	// consistent view of the version. Version 0 is the open one. If the version does not exist,
	// Export yields ErrNotFound.
	Export(ctx context.Context, thread string, version int) iter.Seq2[ExportItem, error]

	// Import creates the next version of a thread from exported items, as a whole or not at all.
	// If items yields an error, nothing is stored. Import fails with ErrConflict if the thread has
	// an open version, and with an *InvalidError if the order of the items is wrong.
	//
	// Import keeps record ids, Seq and writes. The new version has no fence and no lease, and the
	// exported status. It is open even if the exported version was released.
	//
	// A new thread gets the exported Graph, Created, Title, Labels and Priority, and a Birth of
	// its own. If the thread exists, they change its own as an opening does, and Created stays.
	//
	// Import keeps messages, and leaves out those whose id the thread has already. A message keeps
	// its Number unless the thread has a newer one. Then it gets the next number. Import does not
	// change the Wake of the thread, which is none for a new thread.
	//
	// The caller must not change the record of an id, because processes keep states in memory by
	// the ids of records. Edited records need new ids. The ids of each namespace must increase as
	// those of an Append do. Otherwise Import fails with an *InvalidError.
	Import(ctx context.Context, thread string, items iter.Seq2[ExportItem, error]) error

	// Close ends the leases that the saver took and frees its resources. It waits for calls in
	// progress.
	Close() error
}

// Limits on the names that a saver accepts, in bytes.
const (
	MaxThread    = 1 << 10
	MaxNamespace = 64 << 10
)

// Append is one atomic write of records to the end of one namespace's log.
type Append struct {
	Thread    string
	Namespace string   // "" is the root
	After     ID       // the head that Records follow; zero if the log is empty
	Records   []Record // at least one, in order
	Writes    []Write  // stored atomically with Records, such as answers of a resume or descriptions of schemas

	// Open makes this the first Append of a run. It replaces the fence by the id of Records[0] and
	// takes the lease. It is for the root only, and nil for every other Append.
	Open *Opening
	// Fence is the fence that the caller holds. An opening ignores it.
	Fence ID

	Status  Status        // the new status of the thread; zero keeps the old one, which is Running for a new version
	Lease   time.Duration // the duration of the lease from now, on the saver's clock; zero is the saver's DefaultLease
	End     bool          // the run ends with this Append, which ends the lease
	Release bool          // with End: also releases the version
	Wake    time.Time     // with End: when the thread is due, as Thread.Wake; zero is never, a time in the past is now, and one after the year 9999 is its end
	// Progress sets the Attempts of the thread to 0. A run sets it in its first write of a result
	// or a record, if the thread has Attempts.
	Progress bool

	// Messages are the messages that the write takes or refuses.
	Messages Handled

	// Labels replace the labels of the thread as Opening.Labels do, in the same act. They are for
	// an Append without Open, of any namespace.
	Labels map[string]string
}

// Opening describes the run that an opening Append starts.
type Opening struct {
	Holder   string // the host, process or name that runs; shown in a *BusyError
	TakeOver bool   // take the thread even if the lease of another run is alive
	// Retry adds one to the Attempts of the thread if the run before did not end, or failed.
	// Without Retry, an opening sets them to 0.
	Retry bool
	// Birth is that of the thread whose inbox the caller has read; zero is any.
	Birth ID

	// Title replaces the title of the thread; empty leaves it.
	Title string
	// Labels replace the labels of the thread that have the same names; the others stay. An empty
	// value removes a label. A thread has at most MaxLabels labels.
	Labels map[string]string
	// Priority replaces the priority of the thread; zero leaves it.
	Priority Priority
}

// DefaultLease is the duration of a lease if the caller names none.
const DefaultLease = 15 * time.Second

// AppendResult is the result of a successful Append.
type AppendResult struct {
	Version int     // the number of the version, from 1
	Head    uint64  // the Seq of the last record
	Writes  []Write // for an opening: the pending writes of all namespaces, read after the fence was taken

	Attempts int // for an opening: those of the thread, including this run

	Now   time.Time // for an opening: the time of the write, on the saver's clock
	Birth ID        // for an opening: that of the thread

	Posted uint64 // the number of the newest message of the thread
}

// PutWrites is one atomic write of pending writes.
type PutWrites struct {
	Thread string
	Fence  ID
	// Writes are the pending writes to store, in order.
	Writes []Write       // may be empty: the lease is renewed
	Status Status        // the new status of the thread; zero keeps the old one
	Lease  time.Duration // as in Append
	End    bool          // the run ends with this call, which ends the lease
	Wake   time.Time     // as in Append

	Progress bool // as in Append

	Messages Handled // as in Append
}

// PutResult is the result of a successful PutWrites.
type PutResult struct {
	Posted uint64 // the number of the newest message of the thread
}

// Ref names a checkpoint.
type Ref struct {
	Thread    string
	Version   int    // 0 is the open one
	Namespace string // "" is the root
	At        ID     // zero is the head
}

// NoCall is a namespace that no subgraph call has. A Load of it describes the thread with its
// Questions, and reads no records.
const NoCall = "-"

// Questions reports whether a Load of p sets the Questions of the Thread of the Chain.
func (p Ref) Questions() bool { return p.Namespace == "" || p.Namespace == NoCall }

// Chain is the data that restores one checkpoint.
type Chain struct {
	Version int
	Birth   ID // of the thread: a thread that is created again has another one
	Fence   ID // of the newest run, as in ReadyThread; zero for a version that is released
	// Last is the requested checkpoint. Its ID is zero if the thread or the namespace has no
	// records.
	Last Record
	// Snapshot is the state at the newest record up to Last that has a snapshot. Deltas lead from
	// there to the state at Last, in order. Each delta is the payload of one record, or the joined
	// payloads of several. So Fold(Snapshot, Deltas...) returns the state.
	Snapshot []byte
	Deltas   [][]byte
	// Chained is the number of records after the one with the snapshot, up to Last.
	Chained int
	// Head is the id of the newest record of the namespace, or zero if there is none.
	Head ID
	// Due are the tasks of the base of Last. The base is not always one of the chained records.
	Due []Task
	// Writes are the pending writes of the last record's Base, in the order first stored; none
	// once it is committed.
	Writes []Write
	// Committed reports whether a later record commits the base of Last. A run from here is then a
	// replay.
	Committed bool
	// Thread describes the whole version. A Load of the root or of NoCall sets Questions, which
	// are those of all calls. A Load of another namespace leaves them out.
	Thread Thread
}

// Query selects records of a history. The zero Query selects every checkpoint.
type Query struct {
	Limit   int      // the maximum number of records; less than 1 is all
	Before  ID       // only records older than this one, for paging; zero starts at the head; an unknown id is ErrNotFound
	Sources []Source // nil is every source except Resume
	Step    int      // with HasStep: only this step
	HasStep bool     // Step counts
	Next    string   // only records that make this node due; empty is all
	Ran     string   // only records whose superstep ran this node, or that edit the state as this node; empty is all
	// Meta selects records whose Meta has all of these entries, or snapshots of a graph.Thread
	// whose Metadata has them; nil is all.
	Meta    map[string]string
	Since   time.Time // only records created at or after this time; zero is all
	Until   time.Time // only records created before this time; zero is all
	Headers bool      // the records have no Payload; the snapshots of a graph.Thread have no State
}

// Thread describes the open version of a thread.
type Thread struct {
	ID       string
	Version  int       // 0 if no version is open
	Status   Status    // 0 if no version is open and there are no untaken inputs
	Holder   string    // of the lease if it is alive, else empty
	Lease    time.Time // when the lease ends, on the saver's clock; zero for none
	Head     ID        // of the root
	Step     int       // of the root's head
	Updated  time.Time // when the newest run opened or ended, on the saver's clock; Created if there was none; zero if Status is 0
	Now      time.Time // when the saver read all of this, on its clock, to the microsecond
	Versions int       // the number of versions, including the open one

	// Wake is when the thread is due without anybody's call, on the saver's clock; zero is
	// never. An opening sets it to the end of its lease, and the end of the run to the Wake of
	// its write. Only Ready, Rewake, Post and Release change it otherwise. It is never later than
	// the thread is due, but may be earlier. A released thread without untaken inputs has none.
	Wake time.Time
	// Attempts counts the openings with Retry after runs that did not end or that failed. A run
	// that ends with another status than Failed sets it to 0, and so does Progress. FailedAttempts
	// includes the newest run.
	Attempts int

	// The following describes the thread in all its versions. Opening appends set it, and Import
	// keeps it.
	Graph   string            // the Graph of the record that opened the newest run
	Created time.Time         // when the first opening, Post or Import created the thread, on the saver's clock
	Title   string            // empty for none
	Labels  map[string]string // nil for none; the caller must not modify it
	// Priority orders the threads that Ready returns. A Post sets it too. It is never zero.
	Priority Priority

	Posted uint64 // the number of the newest message
	Inputs int    // the number of untaken inputs
	Others int    // the number of untaken answers, signals and cancels
	// Cancels is how many of Others are cancels. If it is not zero, somebody has asked to end the
	// run, and it has not ended yet.
	Cancels int

	// Questions are the pending writes of kind Question that have no Answer, oldest first.
	Questions []Write
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

// Retention selects the records that Prune keeps. The zero Retention keeps all. Last and Since
// each name an oldest record, in the log of each namespace of the open version. That record and
// all later ones are kept. If both are set, the older of the two records counts.
type Retention struct {
	Last     int       // the number of newest checkpoints to keep; less than 1 is no limit
	Since    time.Time // keep the records from the oldest one that was created at or after this time; zero is no limit
	Released int       // the number of newest released versions to keep; 0 keeps all, less than 0 removes all

	// Ended removes the whole thread, with all versions, if all of these are true:
	//   - Its open version is Done or Cancelled, or all of its versions are released.
	//   - It was last updated before this time, on the saver's clock.
	//   - No input waits, and all other messages that wait were posted before this time.
	//   - If no message waits, the thread is not due: a child reports its end first.
	//
	// A release is no update: the age of a thread without an open version is that of the newest
	// run of its last version. If Prune removes the thread, the other fields have no effect, so
	// Released does not protect a version. Zero removes no thread. Prune checks and removes the
	// thread in one act, so it loses no message, and no run.
	Ended time.Time

	// Fence is the fence of the run that prunes its own thread while it holds the thread, or after
	// its last write. Then a live lease does not refuse the Prune, and Ended has no effect. Zero
	// is a Prune by anybody else.
	Fence ID

	// Fold returns the snapshot at the last record of a chain, in its stored form; nil is the
	// function Fold. A saver that wraps another one and changes payloads sets it. The first record
	// of chain has a snapshot, and others may have one. Fold must not modify the records.
	Fold func(namespace string, chain []Record) ([]byte, error)
}

// PruneResult is the number of records and versions that Prune removed. Deleted reports that it
// removed the thread because of Retention.Ended; then it does not count the others.
type PruneResult struct {
	Records  int
	Versions int
	Deleted  bool
}

// ExportItem is one item of an exported version. Exactly one field is set. The first item has
// Thread. The records follow, by namespace, in order of Seq. Descriptions of schemas and pending
// writes are next, each in the order in which they were first stored. If the version is open, the
// messages that the saver keeps are last, in order of Number. An ExportItem may share
// memory with the saver, so the caller must not modify it.
type ExportItem struct {
	Thread *Thread
	Record *NamespaceRecord
	Write  *Write

	Message *Message
}

// NamespaceRecord is a record together with the namespace of its log.
type NamespaceRecord struct {
	Namespace string
	Record
}

// Empty reports whether the thread or the namespace has no records.
func (c *Chain) Empty() bool { return c.Last.ID.IsZero() }

// Unfinished reports whether tasks are due, or routes are pending, at Last.
func (c *Chain) Unfinished() bool { return len(c.Due) > 0 || len(c.Last.PendingRoutes) > 0 }

// Next returns the names of the nodes that are due, in order and without repetition.
func (c *Chain) Next() []string {
	var names []string
	seen := make(map[string]bool)
	for i := range c.Due {
		if node := c.Due[i].Node; !seen[node] {
			seen[node] = true
			names = append(names, node)
		}
	}
	return names
}
