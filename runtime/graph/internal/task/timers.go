package task

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrExpired is an error of Ask. See graph.ErrExpired, which is this.
var ErrExpired = errors.New("the question has expired")

// Passed is the answer to a timer, and to a question that has expired. No encoded answer is equal
// to it, because no value of MessagePack begins with this byte.
const Passed = "\xc1t"

// Names of timers, and of receives of signals. No question of a node has such a name, because a
// name has no slash.
const (
	timerMark = "/"
	sleepName = timerMark + "sleep"
	retryName = timerMark + "retry"
)

// IsTimer reports whether a question with this name is a timer, which nobody answers.
func IsTimer(name string) bool { return strings.HasPrefix(name, timerMark) && !IsSignal(name) }

// IsPause reports whether a question with this name is a timer of Park.
func IsPause(name string) bool { return strings.HasPrefix(name, retryName+"#") }

// PauseAttempt returns the number of the attempt that begins after a timer of Park; 0 for other
// questions.
func PauseAttempt(name string) int {
	number, ok := strings.CutPrefix(name, retryName+"#")
	attempt, err := strconv.Atoi(number)
	if !ok || err != nil {
		return 0
	}
	return attempt
}

// IsQuestion reports whether a person answers a question with this name: it is neither a timer nor
// a receive of a signal.
func IsQuestion(name string) bool { return !strings.HasPrefix(name, timerMark) }

// Sleep waits on behalf of the task that runs under ctx. until returns the end, from the present
// time. Without a place to store the timer Sleep waits in memory. Otherwise it returns ErrWaiting
// until the timer is answered.
func Sleep(ctx context.Context, until func(now time.Time) time.Time) error {
	c, _ := find(ctx)
	if c == nil {
		return fmt.Errorf("%w: a sleep needs the context of a node; a route cannot sleep", ErrNotAskable)
	}
	asks, ended := c.timers()
	switch {
	case ended:
		return fmt.Errorf("%w: a sleep after the node has returned", ErrNotAskable)
	case asks != nil:
		return asks.sleep(until)
	}
	now := time.Now()
	t := time.NewTimer(until(now).Sub(now))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// timers returns what holds the timers of the task of c, and whether its attempt has ended.
func (c *Context) timers() (a *Asks, ended bool) {
	w := c.worker
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.ended {
		return nil, true
	}
	if w.carried.Asks == nil {
		w.carried.Asks = w.host.Asks(&w.task)
	}
	return w.carried.Asks, false
}

// sleep returns nil if the next timer of the task has passed, else ErrWaiting.
func (a *Asks) sleep(until func(now time.Time) time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	place := a.place(sleepName, "")
	if _, passed := a.Answers[place]; passed || a.Now == nil {
		return nil
	}
	now := a.Now()
	due := a.due(place, until(now))
	if !due.After(now) {
		return nil
	}
	var payload []byte
	if a.Wrap != nil {
		payload = a.Wrap(sleepName, nil)
	}
	a.open = append(a.open, Asked{place, payload, due})
	return ErrWaiting
}

// never is the latest due time. Savers can store it.
var never = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// due returns when the question at a place is due: the stored time, else the given one. Savers
// keep microseconds.
func (a *Asks) due(place string, first time.Time) time.Time {
	if stored, ok := a.Due[place]; ok {
		return stored
	}
	if first.After(never) {
		return never
	}
	return first.UTC().Round(0).Truncate(time.Microsecond)
}

// Park sets a timer for the given attempt.
func (a *Asks) Park(attempt int, delay time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	place := retryName + "#" + strconv.Itoa(attempt)
	var payload []byte
	if a.Wrap != nil {
		payload = a.Wrap(retryName, nil)
	}
	a.open = append(a.open, Asked{place, payload, a.due(place, a.Now().Add(delay))})
}

// Attempt returns the number of the attempt that begins: 1, or that of the last timer of Park that
// has passed.
func (a *Asks) Attempt() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	attempt := 1
	for place := range a.Answers {
		if number, ok := strings.CutPrefix(place, retryName+"#"); ok {
			if n, err := strconv.Atoi(number); err == nil { // there is no error: Park made it
				attempt = max(attempt, n)
			}
		}
	}
	return attempt
}
