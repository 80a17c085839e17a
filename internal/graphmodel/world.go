package graphmodel

import (
	"context"
	"errors"
	"fmt"
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

	mu        sync.Mutex
	ran       int
	fails     map[string]int // by task key
	astray    map[uint64]int // by node and state
	mended    bool
	line      checkpoint.ID
	results   map[string]bool // acknowledged, by task key
	committed map[place]int   // the newest acknowledged step
	faults    []string        // what must not have happened
}

// place is a log on one line.
type place struct {
	line      checkpoint.ID
	namespace string
}

// NewWorld returns a World in which nothing has happened.
func NewWorld() *World {
	return &World{fails: map[string]int{}, astray: map[uint64]int{}, results: map[string]bool{}, committed: map[place]int{}}
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

// begin takes down that a task runs, in the given namespace.
func (w *World) begin(t graph.Task, namespace string) {
	w.mu.Lock()
	if t.Key == "" {
		w.faults = append(w.faults, fmt.Sprintf("task %s.%d of step %d has no key", t.Node, t.Index, t.Step))
	}
	if w.results[t.Key] || w.committed[place{w.line, namespace}] >= t.Step {
		w.faults = append(w.faults, fmt.Sprintf("task %s.%d of step %d in %q ran again; its result was acknowledged: %t", t.Node, t.Index, t.Step, namespace, w.results[t.Key]))
	}
	w.mu.Unlock()
	w.count()
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
	done, err := s.Saver.Append(ctx, a)
	if err != nil {
		return done, err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if a.Open != nil {
		s.w.line = a.Records[len(a.Records)-1].Line
	}
	for i := range a.Records {
		at := place{a.Records[i].Line, a.Namespace}
		s.w.committed[at] = max(s.w.committed[at], a.Records[i].Step)
	}
	s.w.note(a.Writes)
	return done, nil
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

func (w *World) note(writes []checkpoint.Write) {
	for i := range writes {
		if writes[i].Kind == checkpoint.Result {
			w.results[writes[i].Task] = true
		}
	}
}

// discard forgets results that are to go, and may be gone also when the answer to that gets lost.
func (w *World) discard(writes []checkpoint.Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range writes {
		if writes[i].Kind == checkpoint.Discard {
			delete(w.results, writes[i].Task)
		}
	}
}
