package graphmodel

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// ErrBroken is what nodes and routes fail with.
var ErrBroken = errors.New("it broke")

// World is what outlives a process: what tasks did to it, and what a saver has acknowledged, of one thread.
type World struct {
	// Hook, when set, is called before each task and route with how many there have been.
	Hook func(n int)

	mu     sync.Mutex
	ran    int
	fails  map[string]int // by task key
	astray map[uint64]int // by node and state
	mended bool
	ended  map[string][]checkpoint.ID           // by task key: the records with which the task's end was acknowledged
	kept   map[checkpoint.ID]kept               // what is known of records
	tasks  map[string]bool                      // those that ran
	bases  map[checkpoint.ID][]string           // the keys of the tasks that a record makes due
	prints map[checkpoint.ID]uint64             // the schemas of records
	calls  map[string]checkpoint.ID             // by namespace of a subgraph call: the record that made it due
	offers map[checkpoint.ID][]checkpoint.Write // with a record, each time that it was
	faults []string                             // what must not have happened
}

// kept is what is known of a record that was offered to the saver.
type kept struct {
	stored    bool   // acknowledged
	namespace string // of the subgraph call that it is in; empty in the thread itself
}

// NewWorld returns a World in which nothing has happened.
func NewWorld() *World {
	return &World{
		fails: map[string]int{}, astray: map[uint64]int{}, ended: map[string][]checkpoint.ID{},
		kept: map[checkpoint.ID]kept{}, tasks: map[string]bool{}, bases: map[checkpoint.ID][]string{},
		prints: map[checkpoint.ID]uint64{}, calls: map[string]checkpoint.ID{}, offers: map[checkpoint.ID][]checkpoint.Write{},
	}
}

// Mend makes the nodes well that led to conflicts or broke a reducer.
func (w *World) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mended = true
}

// Faults returns what must not have happened: tasks that ran although their result was acknowledged.
func (w *World) Faults() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.faults
}

// Ran returns how many tasks and routes there have been.
func (w *World) Ran() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ran
}

// begin takes down that a task runs.
func (w *World) begin(t graph.Task) {
	w.mu.Lock()
	if w.hasEnded(t.Key) {
		w.faults = append(w.faults, fmt.Sprintf("task %s.%d of step %d ran again, though its end was acknowledged", t.Node, t.Index, t.Step))
	}
	w.tasks[t.Key] = true
	w.mu.Unlock()
	w.count()
}

// hasEnded reports whether the end of a task is acknowledged for good. What a subgraph stored counts
// once the record that made its call due is stored too: an OnExit run may lose that one.
func (w *World) hasEnded(key string) bool {
	return slices.ContainsFunc(w.ended[key], w.counts)
}

func (w *World) counts(record checkpoint.ID) bool {
	k := w.kept[record]
	return k.stored && (k.namespace == "" || w.counts(w.calls[k.namespace]))
}

// Unended returns how many tasks ran whose end was never acknowledged.
func (w *World) Unended() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.tasks {
		if !w.hasEnded(key) {
			n++
		}
	}
	return n
}

func (w *World) count() {
	w.mu.Lock()
	w.ran++
	n, hook := w.ran, w.Hook
	w.mu.Unlock()
	if hook != nil {
		hook(n)
	}
}

// fail makes the first attempts of a task fail.
func (w *World) fail(key string, n *Node) error {
	w.mu.Lock()
	left := n.Fails - w.fails[key]
	if left > 0 {
		w.fails[key]++
	}
	w.mu.Unlock()
	switch {
	case left <= 0:
		return nil
	case n.Panics:
		panic(ErrBroken) //nolint:forbidigo // the node of a test
	}
	return ErrBroken
}

// stray makes a route fail the first times that it is asked in a state.
func (w *World) stray(node int, times int, view State) error {
	w.count()
	w.mu.Lock()
	defer w.mu.Unlock()
	at := hash(node, Text(view))
	if w.astray[at] < times {
		w.astray[at]++
		return ErrBroken
	}
	return nil
}

func (w *World) isMended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mended
}

// Watch returns s, as a saver that takes down in the world what it acknowledges.
func (w *World) Watch(s checkpoint.Saver) checkpoint.Saver { return &watch{s, w} }

type watch struct {
	checkpoint.Saver
	w *World
}

func (s *watch) Append(ctx context.Context, a checkpoint.Append) (checkpoint.Appended, error) {
	s.w.discard(a.Writes)
	s.w.know(a.Namespace, a.Records)
	sure := s.w.offer(a.Records[0].ID, a.Writes)
	done, err := s.Saver.Append(ctx, a)
	if err != nil {
		return done, err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for i := range a.Records {
		rec := &a.Records[i]
		k := s.w.kept[rec.ID]
		k.stored = true
		s.w.kept[rec.ID] = k
		if rec.Source == checkpoint.Resume || rec.Source == checkpoint.Input {
			continue // routes that were owed have answered, and what was due is due; or a subgraph begins again
		}
		for _, key := range s.w.bases[rec.Commits] {
			s.w.ended[key] = append(s.w.ended[key], rec.ID)
		}
	}
	s.w.note(sure)
	return done, nil
}

// offer takes down what is to be stored with a record, and returns what was each time that the record was offered: an Append
// that is made again changes nothing when it had happened, so that what it has more is not stored.
func (w *World) offer(record checkpoint.ID, writes []checkpoint.Write) []checkpoint.Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	if before, again := w.offers[record]; again {
		writes = slices.DeleteFunc(slices.Clone(writes), func(x checkpoint.Write) bool {
			return !slices.ContainsFunc(before, func(y checkpoint.Write) bool { return x.Task == y.Task && x.Kind == y.Kind && x.Name == y.Name })
		})
	}
	w.offers[record] = slices.Clone(writes)
	return w.offers[record]
}

func (s *watch) PutWrites(ctx context.Context, p checkpoint.PutWrites) error {
	err := s.Saver.PutWrites(ctx, p)
	if err == nil {
		s.w.mu.Lock()
		defer s.w.mu.Unlock()
		s.w.note(p.Writes)
	}
	return err
}

// know takes down which tasks records make due. Deferred ones among them may not run; then their keys are never used.
func (w *World) know(namespace string, records []checkpoint.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range records {
		r := &records[i]
		if before, ok := w.prints[r.Parent]; ok && before != r.Fingerprint && !r.Snapshot {
			w.faults = append(w.faults, fmt.Sprintf("a %s record of step %d changes the schema, and is no snapshot", r.Source, r.Step))
		}
		w.prints[r.ID] = r.Fingerprint
		w.kept[r.ID] = kept{stored: w.kept[r.ID].stored, namespace: namespace}
		for _, t := range r.Due {
			key := taskKey(r.Line, scope(namespace), r.Step+1, t.Node, uint64(t.Index))
			w.bases[r.ID] = append(w.bases[r.ID], key)
			w.calls[within(namespace, callName(key, r.ID))] = r.ID
		}
		for name, resume := range r.Meta {
			if key, ok := strings.CutPrefix(name, "again:"); ok {
				again := checkpoint.ID([]byte(resume))
				w.calls[within(namespace, callName(key, r.Base, again))] = r.Base
			}
		}
	}
}

// callName is the name of the subgraph call of a task, which the namespace of the call ends with. again is the resume record
// whose Rerun began the call again.
func callName(key string, base checkpoint.ID, again ...checkpoint.ID) string {
	b := base[:]
	for _, id := range again {
		b = append(b[:len(b):len(b)], id[:]...)
	}
	sum := sha256.Sum256(b)
	return key + "-" + hex.EncodeToString(sum[:8])
}

func within(namespace, call string) string { return strings.TrimPrefix(namespace+"/"+call, "/") }

// scope is a namespace without what its calls depend on besides their tasks.
func scope(namespace string) string {
	names := strings.Split(namespace, "/")
	for i := range names {
		names[i], _, _ = strings.Cut(names[i], "-")
	}
	return strings.Join(names, "/")
}

// taskKey is what graph.CurrentTask has as Key: it has to stay so, or stored threads run their tasks again.
func taskKey(line checkpoint.ID, scope string, step int, node string, index uint64) string {
	b := append([]byte(nil), line[:]...)
	b = append(binary.AppendUvarint(b, uint64(len(scope))), scope...)
	b = binary.AppendUvarint(b, uint64(step))
	b = append(binary.AppendUvarint(b, uint64(len(node))), node...)
	sum := sha256.Sum256(binary.AppendUvarint(b, index))
	return hex.EncodeToString(sum[:16])
}

func (w *World) note(writes []checkpoint.Write) {
	for i := range writes {
		if writes[i].Kind == checkpoint.Result && writes[i].Name == "" { // those with a name are parts of one
			w.ended[writes[i].Task] = append(w.ended[writes[i].Task], writes[i].Base)
		}
	}
}

// discard forgets results that are to go, and may be gone also when the answer to that gets lost.
func (w *World) discard(writes []checkpoint.Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range writes {
		if writes[i].Kind == checkpoint.Discard {
			delete(w.ended, writes[i].Task)
		}
	}
}
