package operate

import (
	"context"
	"iter"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Filter selects threads by what they wait for. No saver has an index for it, so the threads that
// the saver lists are read. The zero Filter selects all threads.
type Filter struct {
	Waits Kind // only threads that wait for this; empty is any
	Stuck bool // only threads whose wait is stuck: see Standing
}

// Any reports whether the filter selects all threads.
func (f Filter) Any() bool { return f == Filter{} }

// Match returns the Standing of a listed thread at the time now, and whether the filter selects
// the thread. Only for a thread that may wait for a queue, it calls Look.
func (o *Operator) Match(ctx context.Context, f Filter, t *checkpoint.Thread, now time.Time) (s Standing, ok bool, err error) {
	s = o.Standing(t, now)
	if s.queue && !f.Any() && (f.Waits == "" || f.Waits == KindQueue) && (!f.Stuck || now.Sub(t.Updated) > overdue) {
		err = o.Look(ctx, t, now, &s)
	}
	return s, (f.Waits == "" || s.Kind == f.Waits) && (!f.Stuck || s.Stuck), err
}

// Threads yields the threads that a query and a filter select, with what they wait for. An error
// of one thread alone does not end the list: see OfOneThread. The Limit of the query counts the
// selected threads.
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
			_, ok, err := o.Match(ctx, f, &t, now(&t))
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
