package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Sleep waits for d on behalf of the node that runs under ctx. On a thread it returns ErrWaiting
// until the time has passed, and the node must return, as with Ask. The node then runs again from
// its start, and Sleep returns nil.
//
// The due time is stored once, on the clock of the saver. A run with other work, or whose next
// timer is due within the lease, stays in memory and holds the thread. Otherwise it ends with the
// status Waiting. The thread is then due at the time of the timer: see checkpoint.Thread.Wake. A
// Resume after that time continues it. A Resume before it returns Waiting and stores nothing.
//
// A node that sleeps several times must do so in the same order each time it runs. The n-th call
// of Sleep and SleepUntil waits for the n-th timer. A later attempt of the task, by Retry, shares
// the timers of the attempts before. The time of a sleep does not count towards Timeout. A replay
// or a fork sleeps again.
//
// Without a thread, Sleep waits in memory, and the time counts towards Timeout. It returns the
// error of ctx if ctx ends first.
//
// It returns ErrNotAskable if ctx is not the context of a node.
func Sleep(ctx context.Context, d time.Duration) error {
	return task.Sleep(ctx, func(now time.Time) time.Time { return now.Add(d) })
}

// SleepUntil works like Sleep, until the time t. On a thread, t is compared with the
// clock of the saver.
func SleepUntil(ctx context.Context, t time.Time) error {
	return task.Sleep(ctx, func(time.Time) time.Time { return t })
}

// AskOption is an option of Question.Ask.
type AskOption interface{ ask(*waitOptions) }

// ReceiveOption is an option of Signal.Receive.
type ReceiveOption interface{ receive(*waitOptions) }

// waitOptions are the options of one call of Ask or Receive.
type waitOptions struct {
	given  given
	expire time.Duration // after which the wait ends; 0 for never
	as     string        // the name of a call of Ask
	key    string        // of the signals that Receive takes
}

type waitOption func(*waitOptions)

func (f waitOption) ask(o *waitOptions)     { f(o) }
func (f waitOption) receive(o *waitOptions) { f(o) }

// ExpireAfter ends the wait for an answer or a signal after d, which must be more than 0. Ask or
// Receive then returns ErrExpired, and the node decides. The time is stored with the question when
// it is first asked. Running the node again does not move it. An answer that is given before the
// end of the wait counts, even if the node runs again later. A later answer is refused with
// ErrExpired.
func ExpireAfter(d time.Duration) interface {
	AskOption
	ReceiveOption
} {
	return waitOption(func(o *waitOptions) {
		o.given.set("ExpireAfter")
		o.expire = d
	})
}

// waiting returns the options of one call of Ask or Receive.
func waiting[O comparable](opts []O, apply func(O, *waitOptions)) (o waitOptions, err error) {
	if len(opts) == 0 {
		return o, nil
	}
	var none O
	for _, opt := range opts {
		if opt != none {
			apply(opt, &o)
		}
	}
	switch {
	case len(o.given.twice) > 0:
		return o, errors.New(o.given.twice[0] + " is given twice; give it once")
	case slices.Contains(o.given.once, "ExpireAfter") && o.expire <= 0:
		return o, fmt.Errorf("ExpireAfter(%s): give it more than 0", o.expire)
	}
	return o, checkKey(o.key)
}

// Timer is a timer of a thread. A task waits for its time, because its node sleeps or because
// Retry pauses before the next attempt. Nobody can answer it.
type Timer struct {
	Path    []PathElement // the subgraph calls around Node, outermost first; nil for a node of the graph itself
	Node    ID            // the node that runs then
	Index   int           // number of the send that the task runs, else 0
	Summary string        // that the task gave Summary; empty for none
	Due     time.Time     // on the clock of the saver
	Attempt int           // the number of the attempt that begins then, from 2; 0 if the node sleeps
}

// String returns "sub/wait until 2026-01-02T15:04:05Z" for logs.
func (t Timer) String() string {
	place := OpenQuestion{Path: t.Path, Node: t.Node, Index: t.Index, Summary: t.Summary}.place()
	return place + " until " + t.Due.UTC().Format(time.RFC3339Nano)
}

// OpenTimers returns the timers of a thread that Threads of a saver lists, also those whose time
// has come. It leaves out those of branches that were left, and all of a cancelled thread.
func OpenTimers(t checkpoint.Thread) ([]Timer, error) { return timersIn(inbox.Listed(&t)) }

// timersIn reads the timers among the writes of questions.
func timersIn(writes []checkpoint.Write) ([]Timer, error) {
	return readEach(writes, "timer", task.IsTimer, func(place string, q *journal.Question) Timer {
		return Timer{
			Path: pathOf(q.Path), Node: ID(q.Node), Index: q.Index, Summary: q.Summary, Due: q.Due, Attempt: task.PauseAttempt(place),
		}
	})
}

// readEach reads the questions at the places for which is reports true, and returns what of makes
// of them. what names such a question in an error.
func readEach[T any](
	writes []checkpoint.Write, what string, is func(place string) bool, of func(place string, q *journal.Question) T,
) (all []T, err error) {
	for i := range writes {
		w := &writes[i]
		if w.Kind != checkpoint.Question || !is(w.Name) {
			continue
		}
		q, err := journal.ReadQuestion(w.Payload)
		if err != nil {
			return nil, fmt.Errorf("graph: %s %s: %w: %w", what, inbox.QuestionID(w), checkpoint.ErrDamaged, err)
		}
		all = append(all, of(w.Name, &q))
	}
	return all, nil
}
