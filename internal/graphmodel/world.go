package graphmodel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// ErrBroken is the error of nodes and routes that fail.
var ErrBroken = errors.New("it broke")

// World outlives processes. It records what the tasks of one thread did, and what a saver
// acknowledged.
type World struct {
	// Hook, if set, is called before each task and route, with the number of those so far.
	Hook func(n int)

	// Settles lets each task begin only when nothing else happens, in a bubble of
	// testing/synctest. So a task that has lost a race does not begin.
	Settles bool

	Replies bool // that of the Spec

	// Arrive, if set, is called when an attempt of a node begins, and waits as long as it takes.
	Arrive func(ctx context.Context) error

	mu      sync.Mutex
	ran     int
	fails   map[string]int // by task key
	strays  map[uint64]int // by node and state
	mended  bool
	ended   map[string][]checkpoint.ID           // by the key of a task or call: the records that acknowledged its end
	records map[checkpoint.ID]offered            // those offered to the saver
	tasks   map[string]string                    // by key: the node and index of those that ran
	bases   map[checkpoint.ID][]string           // the keys of the tasks that a record makes due
	schemas map[checkpoint.ID]uint64             // the fingerprints of records
	calls   map[string]checkpoint.ID             // by namespace: the record that made the task of the call due
	offers  map[checkpoint.ID][]checkpoint.Write // offered with a record every time
	faults  []string

	received map[int64][]string // by the payload of a signal: the keys of the tasks that got it
}

// offered is a record that was offered to the saver.
type offered struct {
	stored    bool
	namespace string // of the call that it is in; empty in the thread itself
}

// NewWorld returns a World in which nothing has happened.
func NewWorld() *World {
	return &World{
		fails: map[string]int{}, strays: map[uint64]int{}, ended: map[string][]checkpoint.ID{},
		records: map[checkpoint.ID]offered{}, tasks: map[string]string{}, bases: map[checkpoint.ID][]string{},
		schemas: map[checkpoint.ID]uint64{}, calls: map[string]checkpoint.ID{},
		offers: map[checkpoint.ID][]checkpoint.Write{}, received: map[int64][]string{},
	}
}

// heir returns the world of a process that takes over: what was acknowledged stays acknowledged.
func (w *World) heir() *World {
	h := NewWorld()
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.Copy(h.ended, w.ended)
	maps.Copy(h.records, w.records)
	maps.Copy(h.bases, w.bases)
	maps.Copy(h.schemas, w.schemas)
	maps.Copy(h.calls, w.calls)
	return h
}

// hook sets the Hook. No task may run meanwhile.
func (w *World) hook(f func(int)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Hook = f
}

// Mend mends the nodes that lead to conflicts or panics of a reducer.
func (w *World) Mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mended = true
}

// Faults returns what broke a rule. Examples are a task that ran although its end was
// acknowledged, and two tasks with one key.
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

// settle waits as Settles says. It returns the error of ctx.
func (w *World) settle(ctx context.Context) error {
	if !w.Settles {
		return nil
	}
	time.Sleep(time.Nanosecond) //nolint:forbidigo // in a bubble
	return ctx.Err()
}

// arrive calls Arrive, and returns its error.
func (w *World) arrive(ctx context.Context) error {
	if w.Arrive == nil {
		return nil
	}
	return w.Arrive(ctx)
}

// begin records that a task runs (rules 15.4 and 17.3).
func (w *World) begin(t graph.Task) {
	name := fmt.Sprintf("%s.%d", t.Node, t.Index)
	w.mu.Lock()
	if w.hasEnded(t.Key) {
		w.faults = append(w.faults, fmt.Sprintf("task %s of step %d ran again, although its end was acknowledged", name, t.Step))
	}
	if other, ok := w.tasks[t.Key]; ok && other != name {
		w.faults = append(w.faults, fmt.Sprintf("tasks %s and %s have the same key", other, name))
	}
	w.tasks[t.Key] = name
	w.mu.Unlock()
	w.count()
}

// call records that a durable call is made (rules 20.1 and 20.3).
func (w *World) call(t graph.Task) {
	w.mu.Lock()
	if w.hasEnded(t.Key) {
		w.faults = append(w.faults, fmt.Sprintf("%s of %s was called again, although its result was acknowledged", t.Key, t.Node))
	}
	w.mu.Unlock()
	w.count()
}

// receive records that a task got a signal.
func (w *World) receive(t graph.Task, payload int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.received[payload] = append(w.received[payload], t.Key)
}

// hasEnded reports whether the end of a task, or the result of a durable call, is permanently
// acknowledged. The writes of a call count once the record that made its task due is stored too.
// An OnExit run can lose it (rule 18.12).
func (w *World) hasEnded(key string) bool {
	return slices.ContainsFunc(w.ended[key], w.counts)
}

func (w *World) counts(record checkpoint.ID) bool {
	o := w.records[record]
	return o.stored && (o.namespace == "" || w.counts(w.calls[o.namespace]))
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

// stray makes a route fail the first few times that it is asked in a state.
func (w *World) stray(node int, times int, view State) error {
	w.count()
	w.mu.Lock()
	defer w.mu.Unlock()
	at := hash(node, Text(view))
	if w.strays[at] < times {
		w.strays[at]++
		return ErrBroken
	}
	return nil
}

func (w *World) isMended() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mended
}
