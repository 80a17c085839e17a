package task

import (
	"context"
	"errors"
	"maps"
	"sync"
)

// Labels are the labels of a thread, as a run sees them. It is safe for concurrent use.
type Labels struct {
	mu    sync.Mutex
	known map[string]string // never changed; an empty value is no label
	load  Load              // nil if all are known
	set   map[string]bool   // the names that tasks have set, committed or not
}

// Errors of SetLabel. See graph.ErrNoTask and graph.ErrTooManyLabels, which are these.
var (
	ErrNoTask        = errors.New("no node runs under the context")
	ErrTooManyLabels = errors.New("the thread has too many labels")
)

// LabelPart begins the name of the part of a result that sets a label.
const LabelPart = "label:"

// SetLabel makes the task that runs under ctx set a label if it succeeds. most is how many labels
// a thread can have.
func SetLabel(ctx context.Context, name, value string, most int) error {
	if c, _ := find(ctx); c == nil {
		return ErrNoTask
	}
	if l := labelsOf(ctx); l != nil && value != "" {
		if err := l.reserve(ctx, name, most); err != nil {
			return err
		}
	}
	return SetPart(ctx, LabelPart+name, value)
}

// SetPart adds a part to the result of the task that runs under ctx, in the place of an earlier
// one with the name. The result has no parts if the attempt does not succeed.
func SetPart(ctx context.Context, name, value string) error {
	runs := during(ctx, func(w *Worker) {
		if w.parts == nil {
			w.parts = make(map[string]string)
		}
		w.parts[name] = value
	})
	if !runs {
		return ErrNoTask
	}
	return nil
}

// reserve notes that a task sets a label. It returns an error if the thread would have more than
// most.
func (l *Labels) reserve(ctx context.Context, name string, most int) error {
	if _, err := l.get(ctx, name); err != nil { // knows all from here on, or the label itself
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	names := map[string]bool{name: true}
	for name, value := range l.known {
		if value != "" {
			names[name] = true
		}
	}
	for name := range l.set {
		names[name] = true
	}
	if len(names) > most {
		return ErrTooManyLabels
	}
	if l.set == nil {
		l.set = make(map[string]bool)
	}
	l.set[name] = true
	return nil
}

// Relabel changes the labels of the run under ctx, after a commit has changed those of the thread.
func Relabel(ctx context.Context, changed map[string]string) {
	l := labelsOf(ctx)
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := make(map[string]string, len(l.known)+len(changed))
	maps.Copy(known, l.known)
	maps.Copy(known, changed)
	l.known = known
	for name, value := range changed {
		if value == "" {
			delete(l.set, name)
		}
	}
}

// Load reads all labels of a thread.
type Load func(ctx context.Context) (map[string]string, error)

// NewLabels returns the labels that are known. load reads the others when one is first asked for;
// it is nil if all are known. The caller must not modify known after the call.
func NewLabels(known map[string]string, load Load) *Labels { return &Labels{known: known, load: load} }

// With returns the labels after the given ones were added. Those of l do not change.
func (l *Labels) With(given map[string]string) *Labels {
	if len(given) == 0 {
		return l
	}
	if l == nil {
		return NewLabels(given, nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]string, len(l.known)+len(given))
	maps.Copy(all, l.known)
	maps.Copy(all, given)
	return NewLabels(all, l.load)
}

// Size returns about how much memory the labels take, in bytes.
func (l *Labels) Size() (n int) {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, value := range l.known {
		n += len(name) + len(value) + 64
	}
	return n
}

// get returns the value of a label; empty for none.
func (l *Labels) get(ctx context.Context, name string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if value, ok := l.known[name]; ok || l.load == nil {
		return value, nil
	}
	stored, err := l.load(ctx)
	if err != nil {
		return "", err
	}
	all := make(map[string]string, len(stored)+len(l.known))
	maps.Copy(all, stored)
	maps.Copy(all, l.known) // the opening has perhaps not stored these yet
	l.known, l.load = all, nil
	return all[name], nil
}

// labelsKey is the key of the Labels in a context.
type labelsKey struct{}

// WithLabels returns a child context of parent for a run with the given labels. Without labels it
// returns parent, unless parent has the labels of another run.
func WithLabels(parent context.Context, l *Labels) context.Context {
	if l == nil && labelsOf(parent) == nil {
		return parent
	}
	return context.WithValue(parent, labelsKey{}, l)
}

// Label returns the value of a label of the run under ctx; empty for none.
func Label(ctx context.Context, name string) (string, error) {
	if l := labelsOf(ctx); l != nil {
		return l.get(ctx, name)
	}
	return "", nil
}

func labelsOf(ctx context.Context) *Labels {
	l, _ := ctx.Value(labelsKey{}).(*Labels)
	return l
}
