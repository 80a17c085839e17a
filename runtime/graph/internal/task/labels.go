package task

import (
	"context"
	"maps"
	"sync"
)

// Labels are the labels of a thread, as a run sees them. It is safe for concurrent use.
type Labels struct {
	mu    sync.Mutex
	known map[string]string // never changed; an empty value is no label
	load  Load              // nil if all are known
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
