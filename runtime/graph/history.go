package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/internal/live"
)

// State returns the thread at its head, or at the checkpoint that At names. A thread or checkpoint that does not
// exist is checkpoint.ErrNotFound, one that holds what the code cannot read ErrGraphChanged; others are a *SaverError. It takes
// no lease: it can be called while a run goes on.
func (t Thread[S, U]) State(ctx context.Context) (Snapshot[S], error) {
	var none Snapshot[S]
	if err := t.ready(); err != nil {
		return none, err
	}
	if at, err := stands(ctx, t); err != nil {
		return none, err
	} else if at != nil {
		s := t.snapshot(&at.last, nil)
		s.State, s.Status = at.state.View(), at.status
		return s, nil
	}
	t, c, err := t.find(ctx, t.at)
	if err != nil {
		return none, err
	}
	if c.Empty() {
		return none, t.fail("%w", checkpoint.ErrNotFound)
	}
	if err := t.g.owns(t.id, &c.Last); err != nil {
		return none, err
	}
	live := t.g.schema.New(live.Options{DropUnknown: t.dropUnknown()})
	if err := fold(ctx, stored[S, U]{live}, &c); err != nil {
		if ctx.Err() != nil {
			return none, t.readError(ctx, "load", err)
		}
		return none, decodeError(t.g.name, t.id, err, "its state")
	}
	last := &c.Last
	s := t.snapshot(last, c.Due)
	s.State = live.View()
	if !c.Committed {
		if s.Tasks, err = taskStates(ctx, t.namespace(), last, &c); err == nil {
			s.Questions, err = waitingOf(ctx, openQuestions(t.namespace(), &c))
		}
		if err == nil {
			s.Stops, err = stopsIn(t.namespace(), &c)
		}
		if err != nil {
			return none, t.readError(ctx, "load", err)
		}
	}
	if !c.Committed && t.inside == nil {
		s.Reason = reasonIn(&c)
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

// snapshot describes a record, but for its state.
func (t Thread[S, U]) snapshot(rec *checkpoint.Record, due []checkpoint.Task) Snapshot[S] {
	s := Snapshot[S]{
		Checkpoint: rec.ID, Parent: rec.Parent, Step: rec.Step, Source: rec.Source, Node: ID(rec.Node), Created: rec.Created,
	}
	for i, task := range due {
		if i > 0 && task.Node == due[i-1].Node {
			continue
		}
		s.Next = append(s.Next, ID(task.Node))
		if n, ok := t.g.find(task.Node); ok && n > start && t.g.nodes[n].sub != nil {
			s.Calls = append(s.Calls, t.call(rec, task))
		}
	}
	if stops, err := journal.ReadStops(journal.Stops(rec.Meta)); err == nil { // else State returns the error
		s.Stops = shownStops(stops)
	}
	s.Next = t.g.next(s.Next, t.g.pendingRoutes(rec))
	return s
}

// pendingRoutes are the nodes of rec whose routes have yet to be asked, those that the graph still has.
func (g *core) pendingRoutes(rec *checkpoint.Record) []int {
	var nodes []int
	for _, name := range rec.PendingRoutes {
		if n, ok := g.find(name); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// taskStates says of each due task what is stored of it.
func taskStates(ctx context.Context, namespace string, rec *checkpoint.Record, c *checkpoint.Chain) ([]TaskState, error) {
	stored := make(map[string]TaskState)
	for i := range c.Writes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w := &c.Writes[i]
		if w.Base != rec.Base {
			continue
		}
		s := stored[w.Task]
		switch {
		case w.Kind == checkpoint.Result && w.Name == "":
			s.Finished = true
		case w.Kind == checkpoint.Failure:
			s.Failure = string(w.Payload)
		}
		stored[w.Task] = s
	}
	var states []TaskState
	for _, d := range c.Due {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := TaskState{Node: ID(d.Node), Index: int(d.Index)}
		if len(stored) > 0 {
			of := stored[journal.DueKey(rec, namespace, d)]
			s.Finished, s.Failure = of.Finished, of.Failure
		}
		states = append(states, s)
	}
	return states, nil
}

// History yields the thread's checkpoints, newest first, as q asks; with At only those older than that one.
// Records are read as the loop asks for them. A page costs what State costs at its oldest checkpoint, the changes in the page, and
// a copy of each map of the state for each checkpoint. Without a Limit the loop reads pages that grow. With q.Headers set, and by
// Checkpoints, the states are left out. Forward goes from old to new.
//
// An error, as of State, ends the sequence. If the part that was not read yet is pruned or released meanwhile, it is
// checkpoint.ErrConflict. A thread that does not exist has no checkpoints, and is no error.
func (t Thread[S, U]) History(ctx context.Context, q checkpoint.Query) iter.Seq2[Snapshot[S], error] {
	return func(yield func(Snapshot[S], error) bool) {
		walk := Thread[S, U].walk
		if q.Headers {
			walk = Thread[S, U].headers
		}
		err := t.past(ctx, q, func(t Thread[S, U], q checkpoint.Query) error { return walk(t, ctx, q, yield) })
		if err != nil && !errors.Is(err, errLeft) {
			yield(Snapshot[S]{}, err)
		}
	}
}

// errLeft says that the consumer of a sequence is gone.
var errLeft = errors.New("left")

// past calls walk for the version that q is about: the open one, or a released one that has the checkpoint before which it begins.
func (t Thread[S, U]) past(ctx context.Context, q checkpoint.Query, walk func(Thread[S, U], checkpoint.Query) error) error {
	if err := t.ready(); err != nil {
		return err
	}
	if q.Before.IsZero() {
		q.Before = t.at
	}
	err := walk(t, q)
	if q.Before.IsZero() || t.version != 0 || !errors.Is(err, checkpoint.ErrNotFound) {
		return err
	}
	if t, _, lost := t.find(ctx, q.Before); lost == nil && t.version != 0 {
		return walk(t, q)
	}
	return err
}

// walk is the history of one version.
func (t Thread[S, U]) walk(ctx context.Context, q checkpoint.Query, yield func(Snapshot[S], error) bool) error {
	h := historian[S, U]{t: t, q: q, yield: yield, past: past[S, U]{t: t}, room: min(max(q.Limit, firstBlock), largePage)}
	all := checkpoint.Query{Before: q.Before, Sources: everySource}
	for rec, err := range t.saver().History(ctx, t.place(checkpoint.ID{}), all) {
		if err != nil {
			return t.readError(ctx, "history", err)
		}
		if err := h.take(ctx, rec); err != nil {
			return err
		}
	}
	if len(h.block) > 0 {
		return t.saverError("history", fmt.Errorf("the oldest record %s has no snapshot: %w", h.block[len(h.block)-1].ID, checkpoint.ErrDamaged))
	}
	return nil
}

var everySource = []checkpoint.Source{checkpoint.Input, checkpoint.Loop, checkpoint.Update, checkpoint.Fork, checkpoint.Resume}

// How many snapshots a block of a history has: the first, and how many times as many each one after it. A block costs one
// restored state, and all its records are in memory.
const (
	firstBlock  = 16
	largePage   = 1024 // a first block that is the whole page has at most so many
	blockGrowth = 8
)

// historian turns records, newest first, into snapshots. The state of a record follows from that of the record before it. So
// records are gathered in blocks. The state at the oldest one that is wanted of a block is restored, those of the rest are made
// from it in order, and all are yielded in reverse.
type historian[S, U any] struct {
	t       Thread[S, U]
	q       checkpoint.Query
	yield   func(Snapshot[S], error) bool
	past    past[S, U]
	block   []checkpoint.Record // the first is the newest that is wanted
	wanted  []int               // which of the block are
	room    int                 // how many of them fill a block
	yielded int
}

// take adds a record to the block, which it flushes when that is full, has all that the query wants, or goes back to a snapshot.
func (h *historian[S, U]) take(ctx context.Context, rec checkpoint.Record) error {
	if h.q.Match(&rec) {
		h.wanted = append(h.wanted, len(h.block))
	}
	n := len(h.wanted)
	if n == 0 {
		return nil
	}
	h.block = append(h.block, rec)
	all := h.q.Limit > 0 && h.yielded+n == h.q.Limit
	if !all && n < h.room && len(h.block) < firstBlock*h.room && !rec.Snapshot {
		return nil
	}
	return h.flush(ctx)
}

// flush yields the wanted records of the block, and begins a larger one.
func (h *historian[S, U]) flush(ctx context.Context) error {
	next, err := h.begin(ctx)
	if err != nil {
		return err
	}
	built := make([]Snapshot[S], len(h.wanted))
	for left := len(built) - 1; left >= 0; left-- {
		at := h.wanted[left]
		for ; next >= at; next-- {
			if err := h.past.step(ctx, &h.block[next]); err != nil {
				return err
			}
		}
		if built[left], err = h.past.snapshot(ctx, &h.block[at]); err != nil {
			return err
		}
		h.past.live.Share()
	}
	h.block, h.wanted, h.room = h.block[:0], h.wanted[:0], h.room*blockGrowth
	for _, s := range built {
		if !h.yield(s, nil) {
			return errLeft
		}
		if h.yielded++; h.yielded == h.q.Limit {
			return errLeft
		}
	}
	return nil
}

// begin returns the number of the first record of the block whose state is still to be made: the oldest if that has a snapshot,
// else the one after the oldest that is wanted, whose state it restores.
func (h *historian[S, U]) begin(ctx context.Context) (next int, err error) {
	h.past.live = nil
	if last := len(h.block) - 1; h.block[last].Snapshot {
		return last, nil
	}
	oldest := h.wanted[len(h.wanted)-1]
	c, err := loadChain(ctx, &h.t.g.core, h.t.saver(), h.t.place(h.block[oldest].ID))
	if errors.Is(err, checkpoint.ErrNotFound) {
		return 0, h.t.saverError("history", fmt.Errorf("records went while they were read; read them again: %w", checkpoint.ErrConflict))
	}
	if err != nil {
		return 0, err
	}
	return oldest - 1, h.past.restore(ctx, &c)
}
