package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// State returns the thread at its head, or at the checkpoint that At names. A thread or checkpoint that does not
// exist is checkpoint.ErrNotFound, one that holds what the code cannot read ErrGraphChanged; others are a *SaverError. It takes
// no lease: it can be called while a run goes on.
func (t Thread[S, U]) State(ctx context.Context) (Snapshot[S], error) {
	var none Snapshot[S]
	if err := t.ready(); err != nil {
		return none, err
	}
	c, err := loadChain(ctx, t.g, t.saver(), t.place(t.at))
	if err != nil {
		return none, err
	}
	if len(c.Records) == 0 {
		return none, t.fail("%w", checkpoint.ErrNotFound)
	}
	if err := t.made(&c.Records[len(c.Records)-1]); err != nil {
		return none, err
	}
	live := t.g.schema.New(state.Options{DropUnknown: t.dropUnknown()})
	if err := fold(live, c.Records); err != nil {
		return none, decodeError(t.g.name, t.id, err, "its state")
	}
	last := &c.Records[len(c.Records)-1]
	s := t.snapshot(last, c.Due, live)
	if !c.Committed {
		s.Tasks = taskStates(t.namespace(), last, c.Due, c.Writes)
		if s.Waiting, err = waitingOf(openQuestions(t.namespace(), &c)); err != nil {
			return none, t.saverError("load", err)
		}
	}
	switch {
	case last.ID != c.Head:
	case t.inside != nil && !c.Unfinished():
		s.Status = checkpoint.Done // whatever its thread does
	default:
		s.Status = c.Thread.Status
	}
	return s, nil
}

// snapshot describes a record whose state live holds.
func (t Thread[S, U]) snapshot(rec *checkpoint.Record, due []checkpoint.Task, live state.Live[S, U]) Snapshot[S] {
	s := Snapshot[S]{
		State: live.View(), Checkpoint: rec.ID, Parent: rec.Parent, Step: rec.Step, Source: rec.Source,
		Node: ID(rec.Node), Created: rec.Created,
	}
	live.Share()
	for i, task := range due {
		if i > 0 && task.Node == due[i-1].Node {
			continue
		}
		s.Next = append(s.Next, ID(task.Node))
		if n, ok := t.g.find(task.Node); ok && n > start && t.g.nodes[n].sub != nil {
			s.Calls = append(s.Calls, t.call(rec, task))
		}
	}
	return s
}

// taskStates says of each due task what is stored of it.
func taskStates(namespace string, rec *checkpoint.Record, due []checkpoint.Task, writes []checkpoint.Write) []TaskState {
	var states []TaskState
	for _, d := range due {
		key := dueKey(rec, namespace, d)
		s := TaskState{Node: ID(d.Node), Index: int(d.Index)}
		for _, w := range writes {
			switch {
			case w.Task != key || w.Base != rec.Base:
			case w.Kind == checkpoint.Result && w.Name == "":
				s.Finished = true
			case w.Kind == checkpoint.Failure:
				s.Failure = string(w.Payload)
			}
		}
		states = append(states, s)
	}
	return states
}

// History yields the thread's checkpoints, newest first, as q asks; with At only those older than that one.
// Records are read as the loop asks for them, back to one snapshot at a time. An error, as of State, ends the sequence; a thread
// that does not exist has no checkpoints, and is no error.
func (t Thread[S, U]) History(ctx context.Context, q checkpoint.Query) iter.Seq2[Snapshot[S], error] {
	return func(yield func(Snapshot[S], error) bool) {
		if err := t.history(ctx, q, yield); err != nil && !errors.Is(err, errLeft) {
			yield(Snapshot[S]{}, err)
		}
	}
}

// errLeft says that the consumer of a sequence is gone.
var errLeft = errors.New("left")

func (t Thread[S, U]) history(ctx context.Context, q checkpoint.Query, yield func(Snapshot[S], error) bool) error {
	if err := t.ready(); err != nil {
		return err
	}
	if q.Before.IsZero() {
		q.Before = t.at
	}
	h := historian[S, U]{t: t, q: q, yield: yield}
	all := checkpoint.Query{Before: q.Before, Sources: everySource}
	for rec, err := range t.saver().History(ctx, t.place(checkpoint.ID{}), all) {
		if err != nil {
			return t.saverError("history", err)
		}
		h.block = append(h.block, rec)
		if !rec.Snapshot {
			continue
		}
		if err := h.flush(ctx); err != nil {
			return err
		}
	}
	if len(h.block) > 0 {
		return t.saverError("history", fmt.Errorf("the oldest record %s has no snapshot: %w", h.block[len(h.block)-1].ID, checkpoint.ErrDamaged))
	}
	return nil
}

var everySource = []checkpoint.Source{checkpoint.Input, checkpoint.Loop, checkpoint.Update, checkpoint.Fork, checkpoint.Resume}

// historian turns records, newest first, into snapshots. A state can only be built from the snapshot before it,
// so records are gathered back to one, built in order, and yielded in reverse.
type historian[S, U any] struct {
	t       Thread[S, U]
	q       checkpoint.Query
	yield   func(Snapshot[S], error) bool
	block   []checkpoint.Record
	yielded int
}

// flush yields the gathered records that the query selects.
func (h *historian[S, U]) flush(ctx context.Context) error {
	slices.Reverse(h.block)
	live := h.t.g.schema.New(state.Options{DropUnknown: h.t.dropUnknown()})
	built := make([]Snapshot[S], 0, len(h.block))
	for i := range h.block {
		rec := &h.block[i]
		if err := h.t.made(rec); err != nil {
			return err
		}
		if err := fold(live, h.block[i:i+1]); err != nil {
			return decodeError(h.t.g.name, h.t.id, err, fmt.Sprintf("the state of checkpoint %s", rec.ID))
		}
		if h.q.Match(rec) {
			due, err := h.due(ctx, i)
			if err != nil {
				return err
			}
			built = append(built, h.t.snapshot(rec, due, live))
		}
	}
	h.block = h.block[:0]
	for _, s := range slices.Backward(built) {
		if !h.yield(s, nil) {
			return errLeft
		}
		if h.yielded++; h.yielded == h.q.Limit {
			return errLeft
		}
	}
	return nil
}

// due returns what was due at the i-th record of the block, which is in the order of the log: an edit and a resume leave
// due what their base made so.
func (h *historian[S, U]) due(ctx context.Context, i int) ([]checkpoint.Task, error) {
	rec := &h.block[i]
	if rec.Base == rec.ID {
		return rec.Due, nil
	}
	for k := range h.block[:i] {
		if h.block[k].ID == rec.Base {
			return h.block[k].Due, nil
		}
	}
	c, err := loadChain(ctx, h.t.g, h.t.saver(), h.t.place(rec.ID))
	return c.Due, err
}
