package operate

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Filter selects threads by what they wait for. No saver has an index for it, so the threads that
// the saver lists are read. The zero Filter selects all threads.
type Filter struct {
	// Waits selects the threads that wait for this; empty is any. A thread that waits for a
	// question, signal, timer or child and also for a queue is selected by the former only.
	Waits Kind
	Stuck bool // only threads whose wait is stuck: see Standing
}

// Any reports whether the filter selects all threads.
func (f Filter) Any() bool { return f == Filter{} }

// Reads reports whether Match may call Complete for a thread.
func (f Filter) Reads() bool { return f.Waits == KindQueue || f.Waits == "" && f.Stuck }

// Match returns the Standing of a listed thread at the time now, and whether the filter selects
// the thread. read reports that it has called Complete, which it does only for a thread that may
// wait for a queue. With an error that is Unreadable, the results are those of the list alone.
func (o *Operator) Match(ctx context.Context, f Filter, t *checkpoint.Thread, now time.Time) (s Standing, ok, read bool, err error) {
	s = o.Standing(t, now)
	read = s.queue && f.Reads() && (!f.Stuck || now.Sub(t.Updated) > overdue)
	if read {
		err = o.Complete(ctx, t, now, &s)
	}
	if errors.Is(err, checkpoint.ErrNotFound) {
		return s, false, read, nil // deleted since it was listed
	}
	return s, (f.Waits == "" || s.Kind == f.Waits) && (!f.Stuck || s.Stuck), read, err
}

// Threads yields the threads that a query and a filter select, with what they wait for. An error
// of one thread alone does not end the list: see OfOneThread. Any other error has no thread, and
// ends it. The Limit of the query counts the selected threads.
func (o *Operator) Threads(ctx context.Context, q checkpoint.ThreadQuery, f Filter) iter.Seq2[checkpoint.Thread, error] {
	if f.Any() {
		return o.Saver.Threads(ctx, q)
	}
	left := q.Limit
	q.Limit = 0
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range o.Saver.Threads(ctx, q) {
			if err != nil {
				if !yield(t, err) {
					return
				}
				continue
			}
			_, ok, _, err := o.Match(ctx, f, &t, now(&t))
			if err != nil && !Unreadable(err) {
				yield(checkpoint.Thread{}, err)
				return
			}
			if !ok && err == nil {
				continue
			}
			if left--; !yield(t, err) || left == 0 {
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
