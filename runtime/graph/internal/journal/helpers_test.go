package journal_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var errDown = errors.New("the saver is down")

// spy is a saver that counts writing calls, and fails on demand.
type spy struct {
	checkpoint.Saver
	mu      sync.Mutex
	calls   []string // one a writing call: "append <namespace>" or "put"
	records []checkpoint.ID
	fails   func(call int) bool // by the number of the writing call, from 0
	late    bool                // a call that fails has stored all the same
}

func newSpy() *spy { return &spy{Saver: memory.New()} }

// fail notes a call, and reports whether it must fail.
func (s *spy) fail(call string, records []checkpoint.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
	for _, r := range records {
		s.records = append(s.records, r.ID)
	}
	return s.fails != nil && s.fails(len(s.calls)-1)
}

// down makes every writing call fail from n further calls on.
func (s *spy) down(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := len(s.calls) + n
	s.fails = func(call int) bool { return call >= from }
}

// failing makes those writing calls fail for which f returns true.
func (s *spy) failing(f func(call int) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = f
}

// up ends the failures and forgets the calls so far.
func (s *spy) up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails, s.late, s.calls, s.records = nil, false, nil, nil
}

func (s *spy) made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

func (s *spy) Append(ctx context.Context, a checkpoint.Append) (done checkpoint.AppendResult, err error) {
	fail := s.fail("append "+a.Namespace, a.Records)
	if !fail || s.late {
		done, err = s.Saver.Append(ctx, a)
	}
	if fail {
		return checkpoint.AppendResult{}, errDown
	}
	return done, err
}

func (s *spy) PutWrites(ctx context.Context, w checkpoint.PutWrites) (done checkpoint.PutResult, err error) {
	fail := s.fail("put", nil)
	if !fail || s.late {
		done, err = s.Saver.PutWrites(ctx, w)
	}
	if fail {
		return checkpoint.PutResult{}, errDown
	}
	return done, err
}

// logs are the durabilities, by name.
var logs = []struct {
	name string
	make func(journal.Config) journal.Log
}{
	{"sync", func(c journal.Config) journal.Log { return journal.NewSync(c) }},
	{"async", func(c journal.Config) journal.Log { return journal.NewAsync(c) }},
	{"on exit", func(c journal.Config) journal.Log { return journal.NewOnExit(c) }},
}

func config(s checkpoint.Saver) journal.Config {
	return journal.Config{
		Saver: s, ThreadID: "t", Lease: time.Hour, Timeout: time.Minute,
		Lost:     func(error) {},
		Panicked: func(v any) error { return fmt.Errorf("panic: %v", v) },
	}
}

// newID returns an id.
func newID(tb testing.TB) checkpoint.ID {
	tb.Helper()
	id, err := checkpoint.NewID()
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// snapshotOf and deltaOf are the payloads of a state with one field, and of a change of it.
func snapshotOf(n int) []byte {
	return wire.AppendInt(wire.AppendString(wire.AppendMapLen(nil, 1), "n"), int64(n))
}

func deltaOf(n int) []byte {
	b := wire.AppendMapLen(wire.AppendInt(wire.AppendArrayLen(nil, 2), 0), 1)
	b = wire.AppendInt(wire.AppendArrayLen(wire.AppendString(b, "n"), 2), int64(delta.Set))
	return wire.AppendInt(b, int64(n))
}

// value returns the field of the state that a chain restores.
func value(tb testing.TB, c checkpoint.Chain) int {
	tb.Helper()
	if c.Empty() {
		tb.Fatal("the chain has no records")
	}
	b, err := delta.Fold(c.Snapshot, c.Deltas...)
	if err != nil {
		tb.Fatalf("Fold: %v", err)
	}
	r := wire.NewReader("state", b)
	if n := r.MapLen(); n != 1 || r.Str() != "n" {
		tb.Fatalf("the state is %x", b)
	}
	n := r.Int()
	if err := r.End(); err != nil {
		tb.Fatal(err)
	}
	return n
}

// scene is a run on thread "t" of a saver.
type scene struct {
	testing.TB
	*spy
	log  journal.Log
	root *journal.Writer
}

// begin opens a run of a new thread.
func begin(tb testing.TB, s *spy, log journal.Log) *scene {
	tb.Helper()
	return beginAs(tb, s, log, newID(tb))
}

// beginAs is begin with the id of the opening record.
func beginAs(tb testing.TB, s *spy, log journal.Log, id checkpoint.ID) *scene {
	tb.Helper()
	sc := &scene{TB: tb, spy: s, log: log, root: journal.NewWriter(log)}
	rec := sc.record(sc.root, 0)
	rec.ID, rec.Base = id, id
	rec.Source, rec.Commits = checkpoint.Input, checkpoint.ID{}
	rec.Snapshot, rec.Payload = true, snapshotOf(0)
	sc.open(rec)
	return sc
}

// resume opens another run, which continues the thread.
func (sc *scene) resume(log journal.Log) *scene {
	sc.Helper()
	return sc.resumeAs(log, newID(sc))
}

// resumeAs is resume with the id of the opening record.
func (sc *scene) resumeAs(log journal.Log, id checkpoint.ID) *scene {
	sc.Helper()
	next := &scene{TB: sc.TB, spy: sc.spy, log: log, root: journal.NewWriter(log)}
	next.root.Head, next.root.Base = sc.root.Head, sc.root.Base
	rec := next.record(next.root, 0)
	rec.ID, rec.Source, rec.Base, rec.Commits = id, checkpoint.Resume, next.root.Base, checkpoint.ID{}
	rec.Payload = append(wire.AppendInt(wire.AppendArrayLen(nil, 2), 0), 0x80)
	next.open(rec)
	return next
}

func (sc *scene) open(rec checkpoint.Record) {
	sc.Helper()
	if _, err := sc.root.Open(sc.Context(), checkpoint.Opening{TakeOver: true}, []checkpoint.Record{rec}, nil, journal.Change{Status: checkpoint.Running}); err != nil {
		sc.Fatalf("Open: %v", err)
	}
}

// call returns the branch of a call that node makes in the namespace of b.
func (sc *scene) call(b *journal.Writer, node string) *journal.Writer {
	key := journal.TaskKey(checkpoint.ID{1}, journal.Scope(b.Namespace), 1, node, 0)
	return b.Child(journal.Within(b.Namespace, journal.CallName(key, b.Base, checkpoint.ID{})))
}

// again returns the branch of a call that another run has stored a part of.
func (sc *scene) again(namespace string) *journal.Writer {
	sc.Helper()
	b := sc.root.Child(namespace)
	c := sc.load(namespace)
	b.Head, b.Base = c.Head, c.Last.Base
	return b
}

// record returns the record that follows the head of b, with the state n. It has one due task.
func (sc *scene) record(b *journal.Writer, n int) checkpoint.Record {
	sc.Helper()
	id := newID(sc)
	return checkpoint.Record{
		ID: id, Parent: b.Head, Base: id, Line: checkpoint.ID{1}, Commits: b.Base, Source: checkpoint.Loop, Graph: "g",
		Due: []checkpoint.Task{{Node: "x"}}, Payload: deltaOf(n), Snapshot: false,
	}
}

// next is record, as Commit takes it.
func (sc *scene) next(b *journal.Writer, n int) *checkpoint.Record {
	sc.Helper()
	rec := sc.record(b, n)
	return &rec
}

// enter begins a call: its first record waits for its next write.
func (sc *scene) enter(b *journal.Writer, n int) {
	sc.Helper()
	rec := sc.record(b, n)
	rec.Source, rec.Commits = checkpoint.Input, checkpoint.ID{}
	rec.Snapshot, rec.Payload = true, snapshotOf(n)
	b.Begin(rec)
}

// commit stores a record of b with the state n, and remembers calls in it by node.
func (sc *scene) commit(b *journal.Writer, n int, memory map[string]string, writes ...checkpoint.Write) checkpoint.Record {
	sc.Helper()
	rec := sc.record(b, n)
	for node, namespace := range memory {
		if rec.Meta == nil {
			rec.Meta = make(map[string]string)
		}
		journal.SetMemory(rec.Meta, node, namespace)
	}
	if err := b.Commit(sc.Context(), &rec, writes, journal.Change{}); err != nil {
		sc.Fatalf("Commit: %v", err)
	}
	return rec
}

// put stores pending writes of b.
func (sc *scene) put(b *journal.Writer, writes ...checkpoint.Write) {
	sc.Helper()
	if err := b.Put(sc.Context(), writes, journal.Change{}); err != nil {
		sc.Fatalf("Put: %v", err)
	}
}

// end makes the last write of the run.
func (sc *scene) end(status checkpoint.Status, writes ...checkpoint.Write) error {
	return sc.root.Put(sc.Context(), writes, journal.Change{Status: status, End: true})
}

// write returns a pending write of b.
func write(b *journal.Writer, kind checkpoint.Kind, task, name string) checkpoint.Write {
	return checkpoint.Write{Namespace: b.Namespace, Base: b.Base, Task: task, Kind: kind, Name: name, Payload: []byte{0xc0}}
}

// load reads the newest checkpoint of a namespace as the run sees it.
func (sc *scene) load(namespace string) checkpoint.Chain {
	sc.Helper()
	c, err := sc.log.Load(sc.Context(), checkpoint.Ref{Thread: "t", Namespace: namespace})
	if err != nil {
		sc.Fatalf("Load %q: %v", namespace, err)
	}
	return c
}

// stored reads it as others see it.
func (sc *scene) stored(namespace string) checkpoint.Chain {
	sc.Helper()
	c, err := sc.Saver.Load(sc.Context(), checkpoint.Ref{Thread: "t", Namespace: namespace})
	if err != nil {
		sc.Fatalf("Load %q of the saver: %v", namespace, err)
	}
	return c
}
