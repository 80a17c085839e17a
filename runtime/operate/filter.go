package operate

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Filter selects threads by what no saver has an index for, so the threads that the saver lists
// are read. The zero Filter selects all threads.
type Filter struct {
	// Text is part of the id, of the title or of a label name=value. Case does not count.
	Text string
	// Waits selects the threads that wait for this; empty is any. A thread that waits for a
	// question, signal, timer or child and also for a queue is selected by the former only.
	Waits Kind
	Stuck bool // only threads whose wait is stuck: see Standing
	// Waited selects the threads that have waited for longer, for whatever they wait; 0 is any.
	// For a task in a queue it counts from the last update of the thread.
	Waited time.Duration
}

// Any reports whether the filter selects all threads.
func (f Filter) Any() bool { return f == Filter{} }

// Reads reports whether Match may call Complete for a thread.
func (f Filter) Reads() bool { return f.Waits == KindQueue || f.Waits == "" && f.Stuck }

// Finds reports whether a thread has the Text.
func (f Filter) Finds(t *checkpoint.Thread) bool {
	has := func(s string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(f.Text)) }
	if has(t.ID) || has(t.Title) {
		return true
	}
	for name, value := range t.Labels {
		if has(name + "=" + value) {
			return true
		}
	}
	return false
}

// Match returns the Standing of a listed thread at the time now, and whether the filter selects
// the thread. read reports that it has called Complete, which it does only for a thread that may
// wait for a queue. With an error that is Unreadable, the results are those of the list alone.
func (o *Operator) Match(ctx context.Context, f Filter, t *checkpoint.Thread, now time.Time) (s Standing, ok, read bool, err error) {
	s = o.Standing(t, now)
	if !f.Finds(t) {
		return s, false, false, nil
	}
	read = s.queue && f.Reads() && (!f.Stuck || now.Sub(t.Updated) > overdue)
	if read {
		err = o.Complete(ctx, t, now, &s)
	}
	if errors.Is(err, checkpoint.ErrNotFound) {
		return s, false, read, nil // deleted since it was listed
	}
	long := f.Waited == 0 || s.Since != nil && now.Sub(*s.Since) > f.Waited
	return s, long && (f.Waits == "" || s.Kind == f.Waits) && (!f.Stuck || s.Stuck), read, err
}

// Threads yields the threads that a query and a filter select, unless Sees hides them. An error of
// one thread alone does not end the list: see OfOneThread. Any other error has no thread, and ends
// the list. The Limit of the query counts the selected threads.
func (o *Operator) Threads(ctx context.Context, q checkpoint.ThreadQuery, f Filter) iter.Seq2[checkpoint.Thread, error] {
	if f.Any() && o.Sees == nil {
		return o.Saver.Threads(ctx, q)
	}
	left := q.Limit
	q.Limit = 0
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range o.Saver.Threads(ctx, q) {
			damaged, ok := OfOneThread(&t, err), true
			switch {
			case err != nil && !damaged:
			case o.Sees != nil && (t.ID == "" || !o.Sees(&t)), damaged && !f.Finds(&t):
				continue
			case !damaged:
				if _, ok, _, err = o.Match(ctx, f, &t, now(&t)); err != nil && !Unreadable(err) {
					yield(checkpoint.Thread{}, err)
					return
				}
			}
			if !ok && err == nil {
				continue
			}
			if !yield(t, err) {
				return
			}
			if damaged {
				continue
			}
			if left--; left == 0 {
				return
			}
		}
	}
}

// now returns when the saver has listed a thread, on its clock.
func now(t *checkpoint.Thread) time.Time {
	if t.Now.IsZero() {
		return time.Now()
	}
	return t.Now
}
