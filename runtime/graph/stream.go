package graph

import (
	"context"
	"iter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// EventKind says what an event is. Kinds can be or-ed, to choose several by Events.
type EventKind uint8

const (
	// EventUpdate: a task's update, once its superstep is committed; in the order in which updates merge.
	EventUpdate EventKind = 1 << iota
	// EventValue: the state of a checkpoint, once it is committed; that of the input first.
	EventValue
	// EventEnd: the last event of a stream, always yielded; it has the Result, and the error of the run is
	// yielded beside it.
	EventEnd
)

// Event is one thing that a run did. Which fields are set depends on Kind.
type Event[S, U any] struct {
	Kind       EventKind
	Step       int           // the superstep's number in the thread
	Checkpoint checkpoint.ID // the superstep's; zero on EventEnd
	Node       ID            // EventUpdate: whose
	Index      int           // EventUpdate: of the send that the task was of, else 0
	Update     U             // EventUpdate; to be read only
	State      S             // EventValue; shared as in Result
	Result     *Result[S]    // EventEnd
}

// Stream is Invoke, with events. The run is under way while the sequence is ranged over, on the same goroutine:
// a slow consumer slows the run, and nothing is buffered. Leaving the loop ends the run at its newest
// checkpoint, as Paused; Resume goes on. Each range over the sequence is a run of its own.
//
// With Async an event may come before its checkpoint is stored.
func (t Thread[S, U]) Stream(ctx context.Context, in U, opts ...InvokeOption) iter.Seq2[Event[S, U], error] {
	return t.stream(ctx, running(t.g.opt.limits, opts, InvokeOption.invoke), &in)
}

// ResumeStream is Resume, with events. See Stream.
func (t Thread[S, U]) ResumeStream(ctx context.Context, opts ...ResumeOption) iter.Seq2[Event[S, U], error] {
	return t.stream(ctx, running(t.g.opt.limits, opts, ResumeOption.resume), nil)
}

func (t Thread[S, U]) stream(ctx context.Context, o runOptions, in *U) iter.Seq2[Event[S, U], error] {
	return func(yield func(Event[S, U], error) bool) {
		left := false
		res, err := t.drive(ctx, o, func(e Event[S, U], err error) bool {
			left = !yield(e, err)
			return !left
		}, in)
		if !left {
			yield(Event[S, U]{Kind: EventEnd, Result: &res}, err)
		}
	}
}

// publish yields what the superstep that has just been committed came to. It reports whether anybody listens.
// From here on the slots are no tasks of a superstep under way.
func (r *run[S, U]) publish() bool {
	done := r.slots
	r.slots = r.slots[:0]
	if r.yield == nil {
		return true
	}
	e := Event[S, U]{Step: r.step, Checkpoint: r.base}
	if r.opt.events&EventUpdate != 0 {
		for i := range done {
			if done[i].node == start {
				continue
			}
			e.Kind, e.Node, e.Index, e.Update = EventUpdate, r.g.nodes[done[i].node].id, done[i].index, done[i].update
			if !r.yield(e, nil) {
				return false
			}
		}
	}
	if r.opt.events&EventValue != 0 {
		e = Event[S, U]{Kind: EventValue, Step: r.step, Checkpoint: r.base, State: r.live.View()}
		r.live.Share()
		return r.yield(e, nil)
	}
	return true
}
