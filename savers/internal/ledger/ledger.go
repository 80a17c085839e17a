// Package ledger implements the commit protocol on plain data: one version of a thread with its
// fence, its logs and its pending writes. It does no input or output, takes no locks and reads no
// clock, except that a new thread gets a new id as its Birth. The saver in memory is a ledger with
// locks. Package rows shares the rules that need no Version.
package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Version is one version of a thread. It is made by New. Its methods must not be called at the
// same time; what they return may be read while others are called.
type Version struct {
	Thread   string
	Number   int
	Status   checkpoint.Status
	Fence    checkpoint.ID // the record that opened the newest run; zero for none
	Holder   string        // who opened it
	Ended    bool          // that run has given its lease up, or there was none
	Updated  time.Time     // when the newest run opened or ended
	Released time.Time     // zero while open
	About    About         // of the thread
	Wake     time.Time     // when the thread is due; zero for never
	Attempts int           // as in checkpoint.Thread
	Mail     Mail          // of the thread

	root    []*Entry            // the log of the root, oldest first
	calls   map[string][]*Entry // the logs of the other namespaces
	where   map[checkpoint.ID]*Entry
	pending map[checkpoint.ID]map[identity]*stored // by base
	stores  uint64                                 // counts the writes ever stored, for their order
}

// Entry is one record of a log. Its Record does not change after its log has it.
type Entry struct {
	checkpoint.Record

	place // the version's
}

// place says where a record stands, and whether its tasks have been committed.
type place struct {
	namespace string
	index     int
	committed bool
}

// identity is a pending write's, within its base.
type identity struct {
	namespace, task, name string
	kind                  checkpoint.Kind
}

// stored is a pending write with its place in the order of storing.
type stored struct {
	checkpoint.Write
	order uint64
}

// New returns an empty version.
func New(thread string, number int) *Version {
	return &Version{
		Thread:  thread,
		Number:  number,
		Ended:   true,
		calls:   make(map[string][]*Entry),
		where:   make(map[checkpoint.ID]*Entry),
		pending: make(map[checkpoint.ID]map[identity]*stored),
	}
}

// Empty reports whether nothing was ever appended.
func (v *Version) Empty() bool { return len(v.root)+len(v.calls) == 0 }

// log returns the log of a namespace, oldest first; nil for none.
func (v *Version) log(namespace string) []*Entry {
	if namespace == "" {
		return v.root
	}
	return v.calls[namespace]
}

// setLog sets the log of a namespace.
func (v *Version) setLog(namespace string, log []*Entry) {
	if namespace == "" {
		v.root = log
		return
	}
	v.calls[namespace] = log
}

// Head returns the newest record of a namespace, or nil.
func (v *Version) Head(namespace string) *Entry {
	log := v.log(namespace)
	if len(log) == 0 {
		return nil
	}
	return log[len(log)-1]
}

// headID returns the id of the newest record of a namespace; zero for none.
func (v *Version) headID(namespace string) checkpoint.ID {
	if e := v.Head(namespace); e != nil {
		return e.ID
	}
	return checkpoint.ID{}
}

// Namespaces returns the namespaces that have records, sorted: the root, "", is the first.
func (v *Version) Namespaces() []string {
	names := make([]string, 0, len(v.calls)+1)
	if len(v.root) > 0 {
		names = append(names, "")
	}
	for name := range v.calls {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// notFound makes an ErrNotFound that says what is missing where.
func notFound(thread, format string, args ...any) error {
	if len(thread) > 64 {
		thread = thread[:64] + "..."
	}
	return fmt.Errorf("checkpoint: thread %q: %s: %w", thread, fmt.Sprintf(format, args...), checkpoint.ErrNotFound)
}

// NoVersion is the error of a version that does not exist; number 0 stands for the open one.
func NoVersion(thread string, number int) error {
	if number == 0 {
		return notFound(thread, "no open version")
	}
	return notFound(thread, "version %d", number)
}

// NoRecord is the error of a record that does not exist.
func NoRecord(thread, namespace string, id checkpoint.ID) error {
	if len(namespace) > 64 {
		namespace = namespace[:64] + "..."
	}
	return notFound(thread, "record %s in namespace %q", id, namespace)
}

// NoThread is the error of a thread that does not exist.
func NoThread(thread string) error { return notFound(thread, "no such thread") }

// Absent is what Load and History return for a place in a version that does not exist: nil when
// nothing in particular was asked for.
func Absent(p checkpoint.Ref) error {
	switch {
	case p.Version != 0:
		return NoVersion(p.Thread, p.Version)
	case !p.At.IsZero():
		return NoRecord(p.Thread, p.Namespace, p.At)
	}
	return nil
}
