package task

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// signalMark begins the name of a question that waits for a signal. The name of the signal
// follows.
const signalMark = timerMark + "signal/"

// SignalName returns the name of the questions that wait for a signal.
func SignalName(signal string) string { return signalMark + signal }

// SignalOf returns the signal that a question with this name waits for. It reports false for any
// other question.
func SignalOf(name string) (signal string, ok bool) { return strings.CutPrefix(name, signalMark) }

// IsSignal reports whether a question with this name or at this place waits for a signal.
func IsSignal(name string) bool { return strings.HasPrefix(name, signalMark) }

// Awaited is a signal that a task wants.
type Awaited struct {
	Place  string
	Signal string
	Key    string    // empty for a signal without one
	Due    time.Time // a later message does not count; zero for never
}

// Receive waits for a signal on behalf of the task that runs under ctx, and returns its stored
// form. The wait ends after the given time, unless that is zero.
func Receive(ctx context.Context, signal, key string, expire time.Duration) ([]byte, error) {
	c, _ := find(ctx)
	if c == nil {
		return nil, fmt.Errorf("%w: signal %q needs the context of a node; a route cannot receive", ErrNotAskable, signal)
	}
	asks, ended := c.asks()
	switch {
	case ended:
		return nil, fmt.Errorf("%w: signal %q: the node has returned", ErrNotAskable, signal)
	case asks == nil:
		return nil, fmt.Errorf("%w: signal %q: list it among the options of the node, and run it on a thread", ErrNotAskable, signal)
	}
	return asks.receive(signal, key, expire)
}

// receive returns the message that the task has at the next place of the signal. If it has none,
// receive takes one, or waits.
func (a *Asks) receive(signal, key string, expire time.Duration) ([]byte, error) {
	want, answer, err := a.want(signal, key, expire)
	if err == nil && answer == nil && a.Take != nil {
		answer, err = a.Take(want) // without the lock, because it stores
	}
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case string(answer) == Passed:
		return nil, fmt.Errorf("%w: signal %q", ErrExpired, signal)
	case answer != nil:
		a.keep(want.Place, answer)
		return answer, nil
	}
	var payload []byte
	if a.Wrap != nil {
		payload = a.Wrap(SignalName(signal), []byte(key))
	}
	a.open = append(a.open, Asked{want.Place, payload, want.Due})
	return nil, ErrWaiting
}

// TakeFor takes a message that an execution in another process waits for. It reports whether there
// was one.
func (a *Asks) TakeFor(w Awaited) (bool, error) {
	if a == nil || a.Take == nil {
		return false, nil
	}
	answer, err := a.Take(w)
	if err != nil || answer == nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep(w.Place, answer)
	return true, nil
}

// want returns the next place of a signal, and the answer that is stored for it; nil for none.
func (a *Asks) want(signal, key string, expire time.Duration) (w Awaited, answer []byte, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.declares(SignalName(signal)) {
		return w, nil, fmt.Errorf("%w: signal %q: list it among the options of the node", ErrNotAskable, signal)
	}
	w = Awaited{Place: a.signalPlace(signal, key), Signal: signal, Key: key}
	if expire != 0 && a.Now != nil {
		w.Due = a.due(w.Place, a.Now().Add(expire))
	}
	return w, a.Answers[w.Place], nil
}

// signalPlace returns the next place of a signal with a key: "/signal/paid#2:order-7". The number
// is that of the call among those with the same key.
func (a *Asks) signalPlace(signal, key string) string {
	place := SignalName(signal)
	of := place + ":" + key
	if a.ordinals == nil {
		a.ordinals = make(map[string]int)
	}
	a.ordinals[of]++
	if n := a.ordinals[of]; n > 1 {
		place += "#" + strconv.Itoa(n)
	}
	if key != "" {
		place += ":" + key
	}
	return place
}

// Give answers open questions, by their places.
func (a *Asks) Give(answers map[string][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	open := a.open
	a.open = nil
	for _, o := range open {
		if answer, ok := answers[o.Place]; ok {
			a.keep(o.Place, answer)
			continue
		}
		a.open = append(a.open, o)
	}
}

// keep notes the answer at a place.
func (a *Asks) keep(place string, answer []byte) {
	if a.Answers == nil {
		a.Answers = make(map[string][]byte)
	}
	a.Answers[place] = answer
}
