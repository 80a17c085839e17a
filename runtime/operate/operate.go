// Package operate (experimental) has the operations of an operator on stored threads. They select
// threads, read checkpoints and their due tasks, answer questions from JSON, and send signals and
// inputs. They wake, cancel, release, prune, delete, count, verify and import. With the graph of a
// thread, they edit, replay and resume. Package operate needs no Go types of states.
//
// The command graphctl and the pages of package inspect are made of these operations. They add
// words and layout. A program uses them for its own console:
//
//	o := operate.Operator{Saver: saver}
//	t, err := o.Find(ctx, "order-7")
//	...
//	_, err = o.Answer(ctx, &t, "approve", operate.JSON(`{"OK": true}`))
//
// The methods wrap the errors of the saver, for errors.Is and errors.As.
package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/encrypt"
)

// Operator has the operations on the threads of a saver. The zero value of each field but Saver is
// usable. An Operator is a small value, and safe for concurrent use. The caller owns the saver.
type Operator struct {
	// Saver stores the threads.
	Saver checkpoint.Saver
	// Graphs are the graphs that this program has, by the names of their threads' graphs. The
	// operations check payloads with them. Without its graph, a thread is described by what it
	// stores.
	Graphs map[string]graph.Untyped
	// Explain returns why a payload cannot be read, or nil if it can be. It is for a saver that
	// returns encrypted payloads as they are. The default is that all payloads can be read.
	Explain func(payload []byte) error
	// Sees reports whether an operation may use a thread that it finds in a list, as Threads,
	// Tallies, Fleet and Describe do. The default is all threads.
	Sees func(t *checkpoint.Thread) bool
	// LongWait is how long a thread may wait for a person, a signal or a child before it counts
	// as stuck. The default is 7 days.
	LongWait time.Duration
}

// RequestError reports an operation that the thread or its graph does not have, or whose options
// contradict each other. Nothing was stored. Its text says what to change.
type RequestError struct{ Text string }

func (e *RequestError) Error() string { return e.Text }

// LockedError reports a payload that Operator.Explain explains.
type LockedError struct{ Err error }

func (e *LockedError) Error() string { return e.Err.Error() }

// Unwrap returns the error of Explain.
func (e *LockedError) Unwrap() error { return e.Err }

// Locked returns a *LockedError with the error of Explain for a payload, or nil.
func (o *Operator) Locked(payload []byte) error {
	if o.Explain == nil {
		return nil
	}
	if err := o.Explain(payload); err != nil {
		return &LockedError{err}
	}
	return nil
}

// Find returns a thread as the saver lists it. The Version of a thread without an open version is
// 0. Find returns checkpoint.ErrNotFound if nothing is stored of the thread. A damaged thread has
// its ID, and the error says what is damaged.
func (o *Operator) Find(ctx context.Context, id string) (checkpoint.Thread, error) {
	if t, err := checkpoint.FindThread(ctx, o.Saver, id); !errors.Is(err, checkpoint.ErrNotFound) {
		return t, err
	}
	versions, err := o.Saver.Versions(ctx, id)
	if err != nil {
		return checkpoint.Thread{}, err
	}
	t := checkpoint.Thread{ID: id, Versions: len(versions)}
	if len(versions) == 0 {
		mail, err := o.Saver.Mail(ctx, checkpoint.MailQuery{Thread: id, Limit: 1})
		if err == nil && len(mail) == 0 {
			return checkpoint.Thread{}, fmt.Errorf("thread %q: %w", id, checkpoint.ErrNotFound)
		}
		return t, err
	}
	last := &versions[len(versions)-1]
	t.Status = last.Status
	c, err := o.Saver.Load(ctx, checkpoint.Ref{Thread: id, Version: last.Number, Namespace: checkpoint.NoCall})
	if err == nil { // the description is that of the thread in all versions
		t.Graph, t.Title, t.Labels, t.Created = c.Thread.Graph, c.Thread.Title, c.Thread.Labels, c.Thread.Created
	}
	return t, err
}

// OfOneThread reports whether the error of a list is that of its thread t alone, so that the list
// continues. Savers list all damaged threads, whatever the query selects.
func OfOneThread(t *checkpoint.Thread, err error) bool {
	return errors.Is(err, checkpoint.ErrDamaged) || err != nil && t.ID != ""
}

// Unreadable reports whether err is about the stored data of one thread: damage, or a key that is
// missing. Lists report such a thread and continue.
func Unreadable(err error) bool {
	var locked *LockedError
	return errors.Is(err, checkpoint.ErrDamaged) || errors.Is(err, encrypt.ErrNoKey) || errors.As(err, &locked)
}
