package journal

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// A chain of deltas gets a snapshot when its superseded bytes outgrow the state: restoring then
// reads at most twice the state and the slack. A record's header counts as so many superseded
// bytes.
const (
	headerSize   = 48
	snapshotOver = 64 << 10
)

// State is what a Writer stores the changes of.
type State interface {
	AppendSnapshot(b []byte) ([]byte, error)
	// AppendDelta appends the change since the last call of either.
	AppendDelta(b []byte) ([]byte, error)
	// Sizes returns how many bytes the state is, and how many its chain has superseded.
	Sizes() (live, dead int)
}

// Writer writes the records of one namespace. It is for one goroutine, except Put and WaitStored.
type Writer struct {
	Log
	Namespace string        // "" for the run itself, else that of a subgraph call
	Head      checkpoint.ID // the newest record, stored or not
	Base      checkpoint.ID // the record that made the due tasks due
	Chained   int           // records since the last snapshot
	Stale     bool          // the newest record has another fingerprint, so that the next needs a snapshot
	Resumed   bool          // the run continues another one: subgraph calls may have begun before

	// Again has the resume records that began the subgraph calls of due tasks again, by the keys
	// of the tasks.
	Again map[string]checkpoint.ID

	made    checkpoint.ID       // the newest id of a record
	first   []checkpoint.Record // of a subgraph call: records that are stored with its next write
	stored  checkpoint.ID       // the newest record before first
	putting sync.Mutex          // guards first in Put

	tried bool // first may be stored, with other writes than those that it is written with now
	next  scratch
}

// scratch is memory for the next record. It is used again and again where the log does not keep
// it.
type scratch struct {
	record  [1]checkpoint.Record
	due     []checkpoint.Task
	ran     []string
	one     [1]string // ran of a superstep of one node, as most are
	payload []byte
}

// NewWriter returns the Writer of the log of a run.
func NewWriter(l Log) *Writer { return &Writer{Log: l} }

// Child returns the Writer of the log of a subgraph call.
func (b *Writer) Child(namespace string) *Writer { return &Writer{Log: b.Log, Namespace: namespace} }

// NewID returns an id for the next record. It is greater than those of all records before it,
// stored or not.
func (b *Writer) NewID() (id checkpoint.ID, err error) {
	after := b.Head
	if bytes.Compare(b.made[:], after[:]) > 0 {
		after = b.made
	}
	b.made, err = checkpoint.NewIDAfter(after)
	return b.made, err
}

// Call returns the name of the subgraph call of a due task.
func (b *Writer) Call(key string) string { return CallName(key, b.Base, b.Again[key]) }

// CallLine returns the run line of the tasks in that call. line is that of the task itself.
func (b *Writer) CallLine(key string, line checkpoint.ID) checkpoint.ID {
	if resume, ok := b.Again[key]; ok {
		return resume
	}
	return line
}

// BeginAgain has the subgraph call of a due task begin again, because of a resume record.
func (b *Writer) BeginAgain(key string, resume checkpoint.ID) {
	if b.Again == nil {
		b.Again = make(map[string]checkpoint.ID)
	}
	b.Again[key] = resume
}

// Fill gives rec its payload: the change since the last payload, or the whole state if whole says
// so or that is cheaper to restore.
func (b *Writer) Fill(rec *checkpoint.Record, s State, whole bool) (err error) {
	live, dead := s.Sizes()
	rec.Snapshot = whole || b.Stale || dead+b.Chained*headerSize > live+snapshotOver
	into := b.next.payload[:0]
	if rec.Snapshot {
		into, err = s.AppendSnapshot(into)
	} else {
		into, err = s.AppendDelta(into)
	}
	if err != nil {
		return err
	}
	if b.Chained++; rec.Snapshot {
		b.Chained = 0
	}
	b.Stale = false
	rec.Payload = into
	if !b.Keeps() {
		b.next.payload = into
	}
	return nil
}

// About returns a write about a task of the base, without its kind, name and payload.
func (b *Writer) About(task string) checkpoint.Write {
	return checkpoint.Write{Namespace: b.Namespace, Base: b.Base, Task: task}
}

// Due returns memory for n due tasks of the next record. Their contents are undefined.
func (b *Writer) Due(n int) []checkpoint.Task {
	if n == 0 {
		return nil
	}
	if b.Keeps() {
		return make([]checkpoint.Task, n)
	}
	clear(b.next.due) // payloads can be large
	b.next.due = slices.Grow(b.next.due[:0], n)[:n]
	return b.next.due
}

// Names returns memory for the names of n nodes that ran, in the next record. Its contents are
// undefined.
func (b *Writer) Names(n int) []string {
	if n == 0 {
		return nil
	}
	if b.Keeps() {
		return make([]string, n)
	}
	if n == 1 {
		return b.next.one[:]
	}
	b.next.ran = slices.Grow(b.next.ran[:0], n)[:n]
	return b.next.ran
}

// Keep makes what Fill and Due returned last the caller's: the next record gets memory of its own.
func (b *Writer) Keep() { b.next = scratch{} }

// Open opens the run with records after the head, and returns the pending writes of the thread.
func (b *Writer) Open(ctx context.Context, o checkpoint.Opening, records []checkpoint.Record, writes []checkpoint.Write, out Change) ([]checkpoint.Write, error) {
	stand, err := b.Log.Open(ctx, o, Entry{After: b.Head, Records: records, Writes: writes, Change: out})
	if err != nil {
		return nil, err
	}
	last := &records[len(records)-1]
	b.Head, b.Base = last.ID, last.Base
	b.Keep() // payloads of several records may have grown side by side
	return stand, nil
}

// Begin keeps a record for the next write: a subgraph call opens nothing.
func (b *Writer) Begin(rec checkpoint.Record) {
	if len(b.first) == 0 {
		b.stored = b.Head
	}
	rec.Ran = slices.Clone(rec.Ran)
	b.first, b.Head, b.Base = append(b.first, rec), rec.ID, rec.ID
	b.Keep()
}

// Began reports whether records wait to be stored with the next write.
func (b *Writer) Began() bool { return len(b.first) > 0 }

// Next returns memory for the record of the next Commit, which then needs no copy of it. The
// record is empty.
func (b *Writer) Next() *checkpoint.Record {
	b.next.record = [1]checkpoint.Record{}
	return &b.next.record[0]
}

// Commit stores a record with writes in the same act.
func (b *Writer) Commit(ctx context.Context, rec *checkpoint.Record, writes []checkpoint.Write, o Change) error {
	records := b.next.record[:]
	switch {
	case len(b.first) > 0 || b.Keeps():
		records = append(b.first, *rec)
	case rec != &records[0]:
		records[0] = *rec
	}
	err := b.append(ctx, records, writes, o)
	if err == nil {
		b.Head, b.Base = rec.ID, rec.ID
	}
	return err
}

// append stores records. All but the last are in first. It leaves Head, which tasks in progress
// read: Begin has set it for those in first.
func (b *Writer) append(ctx context.Context, records []checkpoint.Record, writes []checkpoint.Write, o Change) error {
	after := b.Head
	if len(b.first) > 0 {
		after = b.stored // the log is still without them
	}
	if err := b.write(ctx, Entry{After: after, Records: records, Writes: writes, Change: o}); err != nil {
		return err
	}
	b.first = nil
	return nil
}

// Put stores pending writes. With none it stores what waits for the next write, and the outcome
// of the run. The tasks of a superstep may call it concurrently.
func (b *Writer) Put(ctx context.Context, writes []checkpoint.Write, o Change) error {
	if done, err := b.putFirst(ctx, writes, o); done || err != nil {
		return err
	}
	if b.Namespace != "" && len(writes) == 0 {
		return nil
	}
	return b.write(ctx, Entry{Writes: writes, Change: o})
}

// putFirst stores the records that wait for the next write, with pending writes. done reports
// whether that stored the writes.
func (b *Writer) putFirst(ctx context.Context, writes []checkpoint.Write, o Change) (done bool, err error) {
	b.putting.Lock()
	defer b.putting.Unlock()
	if len(b.first) == 0 {
		return false, nil
	}
	before := b.tried
	b.tried = true
	if err := b.append(ctx, b.first, writes, o); err != nil {
		return false, err
	}
	return !before, nil // else they may have been stored with other writes
}

func (b *Writer) write(ctx context.Context, e Entry) error {
	e.Namespace = b.Namespace
	if b.Namespace != "" {
		e.Change = Change{Messages: e.Messages, Labels: e.Labels}
	}
	return b.Write(ctx, e)
}
