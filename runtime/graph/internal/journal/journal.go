// Package journal is the commit protocol from the side of a run. It has the opening that takes a
// thread, the records and pending writes, the lease, and the last write. The page
// docs/protocol.md describes the protocol. The file format.go has everything that is stored under
// a name or in a form of its own.
//
// A Log is a run's connection to its thread, in one of three durabilities: Sync, Async and OnExit.
// A Writer is one namespace as the run writes it: that of the run itself, or of a subgraph call.
//
// Invariants:
//   - Only Open takes the fence. Every later write names it.
//   - Records of a namespace are stored in the order in which they were given. A record is never
//     stored before the record that made its call due.
//   - Load returns what the run has written, stored or not.
//   - After a write was refused because another run has the thread, Lost returns the reason and
//     nothing more is written.
//   - After an End that was acknowledged the lease is given up and nothing renews it.
//   - A write that failed may have been stored. Repeating it is safe: records and writes are
//     identified.
package journal

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/internal/news"
)

// Change is what a write changes of the thread in addition to its records. The writes of a
// subgraph call have only messages and labels.
type Change struct {
	Status checkpoint.Status // of the thread from here on; zero leaves it
	End    bool              // the run ends with this write
	Keep   bool              // it leaves the version open, also with Config.Release
	Closes bool              // with End: it releases the version, whatever Keep and Config.Release are
	Wake   time.Time         // with End: when the thread is due without anybody's call; zero is never

	Messages checkpoint.Handled // the messages that the write takes, refuses or returns; Seen is set by the Log
	Labels   map[string]string  // changes of the labels of the thread, with records only; nil for none
}

// Inputs says which inputs wait in the inbox of a thread.
type Inputs int32

// The kinds of Inputs.
const (
	NoInputs         Inputs = iota
	QueuedInputs            // the first one begins when nothing is due
	DiscardingInputs        // the first one drops what is due
)

// Entry is one atomic write to a namespace.
type Entry struct {
	Namespace string
	After     checkpoint.ID       // the record that Records follow
	Records   []checkpoint.Record // none to store only Writes
	Writes    []checkpoint.Write
	Change
}

// Log writes to one thread on behalf of one run. Write, Stored, Load, Lost and Broken are safe for
// concurrent use: subgraph calls and durable calls write from goroutines of their own. The other
// methods, and a Write with End, are for the goroutine of the run.
type Log interface {
	// Thread returns the id of the thread.
	Thread() string
	// Open makes the run's first write, which takes the thread. It returns the pending writes of
	// the thread, read once the thread was taken.
	Open(ctx context.Context, o checkpoint.Opening, e Entry) ([]checkpoint.Write, error)
	// Write stores e, or makes sure that it is stored later, in order. With End it returns when
	// everything is stored. With End and no Status, the thread is due as for LetGo.
	Write(ctx context.Context, e Entry) error
	// Opened returns the number of the newest message of the thread when the run took it.
	Opened() uint64
	// Birth returns the Birth of the thread that the run took.
	Birth() checkpoint.ID
	// Posted returns the number of the newest message of the thread that is known.
	Posted() uint64
	// See notes that the run knows all messages of the thread up to a number, and which inputs
	// among them wait. A newer message makes the thread due when the run ends.
	See(newest uint64, waits Inputs)
	// Seen returns what See noted last.
	Seen() (newest uint64, waits Inputs)
	// Now returns the time on the saver's clock. It is never ahead of that clock, and at most a
	// round trip behind. Before Open it is zero.
	Now() time.Time
	// WaitStored waits until the entries that were written before are stored, unless they are held
	// for the end of the run. It returns the error of the one that failed.
	WaitStored() error
	// Load reads a checkpoint of the thread with what this run has written.
	Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error)
	// Keeps reports whether entries are used after Write has returned, so that their memory must
	// not be reused.
	Keeps() bool
	// Eager reports whether a result is worth storing while other tasks of its superstep run.
	Eager() bool
	// Holds reports whether the run has taken the thread and not given it up.
	Holds() bool
	// Lost returns why another run has the thread; nil while none is known to.
	Lost() error
	// Broken returns the error of a write that was made later; nil for none that is known.
	Broken() error
	// Attempts returns how many runs of workers failed or died in a row before this one, without a
	// new result. It is 0 once this run has written one, and for a run that a person opened.
	Attempts() int
	// Over says that a subgraph call has ended, and that the run has the result of its task. The
	// run does not load the call again.
	Over(namespace string)
	// LetGo gives up the lease without storing anything, as far as that succeeds. The thread is
	// due when the last Write with End says, because that may be stored although it failed. If no
	// Write had End, or one handled messages, the thread is due now if it ever had a message. With
	// Config.Abandon it leaves the lease to run out.
	LetGo(ctx context.Context)
	// Close ends the renewals of the lease, and waits for writes in progress. It stores nothing
	// else.
	Close() error
}

// Config says which thread a Log writes to, and how.
type Config struct {
	Saver    checkpoint.Saver
	ThreadID string
	Lease    time.Duration
	Timeout  time.Duration     // of one call of the saver
	Release  bool              // the write that ends the run as Done releases the version
	Tail     *Tail             // keeps what the run stores; nil for nothing
	Lost     func(error)       // called when a renewal finds that another run has the thread
	Panicked func(v any) error // makes the error of a saver that panicked with v

	Abandon bool                     // a run that cannot store its end leaves the lease to run out, as if it had died
	News    func()                   // called when a message has come that the run does not know; it returns immediately
	Refused func(checkpoint.Refusal) // called for each message that a stored write has refused; nil for nobody
	Room    *news.Room               // asks for messages while the run holds the thread; nil for nobody
	Keep    int                      // how many of the newest checkpoints a Prune keeps; 0 prunes nothing
	Beats   *Heartbeats              // the notes that writes without a record store; nil for none
	Kept    func(int, error)         // called with the step and the error of a Prune that failed; nil for nobody
	Late    func(late bool)          // called when renewals of the lease begin and cease to be late; nil for nobody
}

// rescue makes the panic of a saver an error. It is deferred.
func (c *Config) rescue(err *error) {
	if v := recover(); v != nil {
		*err = c.Panicked(v)
	}
}

// calling returns the context of a call of the saver that begins now, with ctx's values.
func (c *Config) calling(ctx context.Context, now time.Time) *saverCall {
	return &saverCall{run: ctx, began: now, timeout: c.Timeout}
}
