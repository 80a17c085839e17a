package task

import (
	"context"
	"fmt"
	"strings"
)

// These begin the names of the signals that report the ends of children. The name of the graph of
// the child follows. No signal of a node has such a name, because a name has no slash.
const (
	childMark = "__child/"
	keptMark  = "__kept/" // of a child that continues when its caller ends early
)

// ChildSignal returns the name of the signal that reports the end of a child of a graph. With
// abandon the child continues when its caller ends early.
func ChildSignal(graph string, abandon bool) string {
	if abandon {
		return keptMark + graph
	}
	return childMark + graph
}

// ChildOf returns the graph of the child whose end a signal reports. It reports false for any
// other signal. abandon is that of ChildSignal.
func ChildOf(signal string) (graph string, abandon, ok bool) {
	if graph, ok = strings.CutPrefix(signal, childMark); ok {
		return graph, false, true
	}
	graph, ok = strings.CutPrefix(signal, keptMark)
	return graph, true, ok
}

// IsChild reports whether a question with this name waits for the end of a child.
func IsChild(name string) bool {
	signal, ok := SignalOf(name)
	if ok {
		_, _, ok = ChildOf(signal)
	}
	return ok
}

// Await waits for the end of a child on behalf of the task that runs under ctx. It returns the
// stored form of the signal that reports the end. It calls begin if the task has not waited for
// the child before.
func Await(ctx context.Context, signal, key string, begin func() error) ([]byte, error) {
	c, _ := find(ctx)
	if c == nil {
		return nil, fmt.Errorf("%w: a child needs the context of a node; a route cannot wait", ErrNotAskable)
	}
	asks, ended := c.timers()
	switch {
	case ended:
		return nil, fmt.Errorf("%w: a child after the node has returned", ErrNotAskable)
	case asks == nil || asks.Now == nil:
		return nil, fmt.Errorf("%w: a child needs a thread that waits for it; call Invoke or Submit instead of Run", ErrNotAskable)
	}
	return asks.child(signal, key, begin)
}

// child is receive for the end of a child. All calls of a task for one child have one place.
func (a *Asks) child(signal, key string, begin func() error) ([]byte, error) {
	w := Awaited{Place: SignalName(signal) + ":" + key, Signal: signal, Key: key}
	a.mu.Lock()
	answer, begun := a.Answers[w.Place], a.Stored[w.Place] != nil || a.places[w.Place]
	a.mu.Unlock()
	if answer == nil && !begun {
		var err error
		if a.Take != nil {
			answer, err = a.Take(w) // an earlier attempt may have begun the child, which has ended
		}
		if err == nil && answer == nil {
			err = begin()
		}
		if err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case answer != nil:
		a.keep(w.Place, answer)
		return answer, nil
	case a.places[w.Place]:
		return nil, ErrWaiting // another call of the node waits
	case a.places == nil:
		a.places = make(map[string]bool)
	}
	a.places[w.Place] = true
	var payload []byte
	if a.Wrap != nil {
		payload = a.Wrap(SignalName(signal), []byte(key))
	}
	a.open = append(a.open, Asked{Place: w.Place, Payload: payload})
	return nil, ErrWaiting
}
