package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// State returns the thread at its head, or at the checkpoint that At names. It takes no lease, so
// it can be called during a run. A thread whose first input waits has no checkpoint yet: its
// snapshot has an empty state, the status Ready, and the number of Inputs.
//
// State returns checkpoint.ErrNotFound if the thread or checkpoint does not exist, and
// ErrGraphChanged if the code cannot read it. Other errors are *SaverErrors.
func (t Thread[S, U]) State(ctx context.Context) (Snapshot[S], error) {
	a := newAdapter(t.g)
	s, err := t.thread.state(ctx, a)
	return snapshotWith(&s, a.shown), err
}

// state is Thread.State. state shows the state of the snapshot.
func (t threadCore) state(ctx context.Context, state typedState) (snapshot, error) {
	var none snapshot
	if err := t.usable(); err != nil {
		return none, err
	}
	if at, err := t.stands(ctx, state); err != nil {
		return none, err
	} else if at != nil {
		state.show()
		s := t.snapshot(&at.last, nil)
		s.Status = at.thread.Status
		s.Title, s.Labels, s.Inputs = at.thread.Title, maps.Clone(at.thread.Labels), at.thread.Inputs
		return s, nil
	}
	t, c, err := t.find(ctx, t.at)
	if err != nil {
		return none, err
	}
	if c.Empty() && t.at.IsZero() && t.version == 0 && t.inside == nil {
		return t.beforeFirst(ctx, state)
	}
	if c.Empty() {
		return none, t.fail("%w", checkpoint.ErrNotFound)
	}
	return t.read(ctx, state, &c)
}

// read returns the snapshot of the last record of a chain, which is not empty. state shows its
// state.
func (t threadCore) read(ctx context.Context, state typedState, c *checkpoint.Chain) (snapshot, error) {
	var none snapshot
	if err := t.g.owns(t.id, &c.Last); err != nil {
		return none, err
	}
	state.start(false, t.dropUnknown())
	if err := fold(ctx, state, c); err != nil {
		if ctx.Err() != nil {
			return none, t.readError(ctx, "load", err)
		}
		return none, decodeError(t.g.name, t.id, err, "its state")
	}
	last := &c.Last
	for _, w := range journal.Edits(c.Writes, t.namespace(), last.Base) {
		if err := state.mergeStored(w.Payload, false); err != nil {
			return none, decodeError(t.g.name, t.id, err, "an edit of its state")
		}
	}
	s := t.snapshot(last, c.Due)
	if !c.Committed {
		if t.inside != nil && t.g.nests && c.Unfinished() {
			thread, err := loadChain(ctx, t.g, t.saver(), checkpoint.Ref{Thread: t.id, Version: t.version, Namespace: checkpoint.NoCall})
			if err != nil {
				return none, err
			}
			c.Thread.Questions = thread.Thread.Questions
		}
		var err error
		if s.Tasks, err = taskStates(ctx, t.namespace(), last, c); err == nil {
			err = setWaits(ctx, &s, inTaskOrder(t.g, openQuestions(t.namespace(), c), t.inside.depth()), c.Thread.Now)
		}
		if err == nil {
			s.Stops, err = stopsIn(t.namespace(), c)
		}
		if err != nil {
			return none, t.readError(ctx, "load", err)
		}
	}
	if !c.Committed && t.inside == nil {
		s.Reason, s.Deadline = reasonIn(c), deadlineIn(c)
	}
	s.Title, s.Labels = c.Thread.Title, maps.Clone(c.Thread.Labels)
	switch {
	case last.ID != c.Head:
	case t.inside != nil && !c.Unfinished():
		s.Status = checkpoint.Done // whatever the status of its thread
	default:
		s.Status = c.Thread.Status
		s.Cancelling, s.Inputs = c.Thread.Cancels > 0, c.Thread.Inputs
	}
	state.show()
	return s, nil
}

// setWaits sets what the due tasks of a snapshot wait for, from their open questions. It leaves
// out those that have expired at now.
func setWaits(ctx context.Context, s *snapshot, open []checkpoint.Write, now time.Time) (err error) {
	open = slices.DeleteFunc(open, func(w checkpoint.Write) bool {
		q, err := journal.ReadQuestion(w.Payload)
		return err == nil && inbox.Expired(w.Name, q.Due, now)
	})
	if s.Questions, err = waitingOf(ctx, open); err != nil {
		return err
	}
	if s.Timers, err = timersIn(open); err != nil {
		return err
	}
	s.Signals, err = signalsIn(open)
	return err
}

// beforeFirst returns the snapshot of a thread whose first input waits. state shows its state.
func (t threadCore) beforeFirst(ctx context.Context, state typedState) (s snapshot, err error) {
	d, err := t.queued(ctx)
	if err == nil && d.Graph != "" {
		err = t.g.owns(t.id, &checkpoint.Record{Graph: d.Graph})
	}
	if err != nil {
		return s, err
	}
	state.start(false, false)
	state.show()
	return snapshot{
		Thread: t.id, Created: d.Created, Title: d.Title, Labels: maps.Clone(d.Labels),
		Status: d.Status, Cancelling: d.Cancels > 0, Inputs: d.Inputs,
	}, nil
}

// snapshot returns the Snapshot of a record, without its state.
func (t threadCore) snapshot(rec *checkpoint.Record, due []checkpoint.Task) snapshot {
	s := snapshot{
		Thread: t.id, Version: t.version, Checkpoint: rec.ID, Parent: rec.Parent, Step: rec.Step, Source: rec.Source,
		Ran: ids(rec.Ran), Created: rec.Created, Metadata: journal.Metadata(rec.Meta),
		Dropped: droppedAt(rec),
	}
	for _, task := range due {
		if n, ok := t.g.find(task.Node); t.g.nests && ok && n > start && t.g.nodes[n].sub != nil && !t.g.nodes[n].unstored {
			s.Calls = append(s.Calls, t.call(rec, task))
		}
	}
	if stops, err := journal.ReadStops(journal.Stops(rec.Meta)); err == nil { // else State returns the error
		s.Stops = shownStops(stops)
	}
	s.Next = t.g.next(dueNodes(due), t.g.pendingRoutes(rec))
	return s
}

// dueNodes returns the ids of the nodes of stored tasks, each once.
func dueNodes(due []checkpoint.Task) []ID { return ids((&checkpoint.Chain{Due: due}).Next()) }

// pendingRoutes returns the nodes of rec whose routes were not called yet, without those that the
// graph does not have any more.
func (g *core) pendingRoutes(rec *checkpoint.Record) []int {
	var nodes []int
	for _, name := range rec.PendingRoutes {
		if n, ok := g.find(name); ok {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// taskStates returns the stored state of each due task.
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
			if err := s.readFailure(w); err != nil {
				return nil, err
			}
		case w.Kind == checkpoint.Question && w.Task != journal.StopTask:
			if q, err := journal.ReadQuestion(w.Payload); err == nil { // else State returns the error
				s.Summary = q.Summary
			}
		}
		stored[w.Task] = s
	}
	waiting := journal.Gather(c.Writes, rec.Base, namespace)
	var states []TaskState
	for _, d := range c.Due {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s := TaskState{Node: ID(d.Node), Index: int(d.Index)}
		if len(stored) > 0 {
			key := journal.DueKey(rec, namespace, d)
			of := stored[key]
			s.Finished, s.Failure, s.Summary = of.Finished, of.Failure, of.Summary
			s.Progress, _ = waiting.Progress(key)
			if s.Attempts = of.Attempts; s.Failure != "" {
				s.Attempt, s.FailedAt = of.Attempt, of.FailedAt
			}
			if out, execution := waiting.Waiting(key); execution != "" && !s.Finished && !pauses(waiting.Asked(key)) {
				q := queuedTask{Graph: c.Thread.Graph, Thread: c.Thread.ID, Base: rec.Base, Node: ID(out.Node), Task: key, Execution: execution}
				s.Queue, s.Queued, s.QueueThread = out.Queue, out.At, q.thread()
			}
		}
		states = append(states, s)
	}
	return states, nil
}

// pauses reports whether a task waits for its next attempt.
func pauses(a *journal.Asked) bool {
	return a != nil && slices.ContainsFunc(a.Places, func(place string) bool {
		_, over := a.Answers[place]
		return task.IsPause(place) && !over
	})
}

// readFailure reads a stored part of the failure of a task.
func (s *TaskState) readFailure(w *checkpoint.Write) (err error) {
	switch w.Name {
	case journal.SummaryName:
		s.Summary = string(w.Payload)
	case "":
		s.Failure = string(w.Payload)
	default:
		var a journal.StoredAttempt
		if !journal.IsAttempt(w.Name) {
			return nil
		} else if a, err = journal.ReadAttempt(w.Payload); err != nil {
			return err
		}
		at, _ := slices.BinarySearchFunc(s.Attempts, a.Ordinal, func(f FailedAttempt, ordinal int) int { return f.Number - ordinal })
		s.Attempts = slices.Insert(s.Attempts, at, FailedAttempt{a.Ordinal, a.Number, a.Failed.UTC(), a.Worker, a.Text, a.Stack})
		newest := &s.Attempts[len(s.Attempts)-1]
		s.Attempt, s.FailedAt = newest.Attempt, newest.Failed
	}
	return err
}

// History yields the thread's checkpoints that q selects, newest first. With At it yields only
// older ones. HistoryForward yields checkpoints from old to new.
//
// The loop reads records on demand, in pages. A page costs one load of the state at its oldest
// checkpoint. The changes in the page, and a copy of the state's maps for each checkpoint, add to
// the cost. Without a Limit the loop reads pages of growing size.
//
// With q.Headers the snapshots have no State. History then decodes no state.
//
// Savers keep no index of what q selects, Metadata among it. History also reads the records
// between those that it yields, a page at a time, and keeps at most one page of them in memory. So
// a query that nothing matches reads the whole version, without payloads if q.Headers is set.
// q.Before says where the reading starts, and leaving the loop or the end of ctx stops it.
//
// An error ends the sequence; errors are those of State. It is checkpoint.ErrConflict if unread
// records were pruned or released in the meantime. A thread that does not exist yields no
// checkpoints and no error.
func (t Thread[S, U]) History(ctx context.Context, q checkpoint.Query) iter.Seq2[Snapshot[S], error] {
	return sequence(t.g, func(v views) error { return t.thread.history(ctx, q, v) })
}

// sequence yields the snapshots that walk shows, and then its error.
func sequence[S, U any](g *Graph[S, U], walk func(views) error) iter.Seq2[Snapshot[S], error] {
	return func(yield func(Snapshot[S], error) bool) {
		a := newAdapter(g)
		var built []Snapshot[S]
		err := walk(views{
			state: a,
			push:  func(s snapshot) { built = append(built, snapshotWith(&s, a.shown)) },
			pop: func() bool {
				last := len(built) - 1
				s := built[last]
				built = built[:last]
				return yield(s, nil)
			},
		})
		if err != nil && !errors.Is(err, errLeft) {
			yield(Snapshot[S]{}, err)
		}
	}
}

// views are the snapshots of a thread that wait to be yielded.
type views struct {
	state typedState
	push  func(s snapshot)    // adds s with the state that is shown now
	pop   func() (wants bool) // yields the one that was added last; reports whether the consumer wants more
}

// history is Thread.History.
func (t threadCore) history(ctx context.Context, q checkpoint.Query, v views) error {
	given := q.Meta
	q.Meta = make(map[string]string, len(given))
	for key, value := range given {
		journal.SetMetadata(q.Meta, key, value)
	}
	walk := threadCore.walk
	if q.Headers {
		walk = threadCore.headers
	}
	return t.past(ctx, q, func(t threadCore, q checkpoint.Query) error { return walk(t, ctx, q, v) })
}

// errLeft reports that the consumer of a sequence has left the loop.
var errLeft = errors.New("left")

// past calls walk for the version of q: the open one, or the released version that has the
// checkpoint q.Before.
func (t threadCore) past(ctx context.Context, q checkpoint.Query, walk func(threadCore, checkpoint.Query) error) error {
	if err := t.usable(); err != nil {
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

// walk yields the history of one version.
func (t threadCore) walk(ctx context.Context, q checkpoint.Query, v views) error {
	h := historian{t: t, q: q, views: v, past: past{t: t, state: v.state}, room: min(max(q.Limit, firstBlock), largePage)}
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

// The sizes of the blocks of a history, in snapshots: that of the first block, and the factor
// between two blocks. A block costs one restored state, and all its records are in memory.
const (
	firstBlock  = 16
	largePage   = 1024 // the maximum of a first block that is a whole page
	blockGrowth = 8
)

// historian turns records, newest first, into snapshots. The state of a record is the change of
// the record before it, so records are gathered in blocks. The state of the oldest wanted record
// of a block is restored. The other states of the block follow from it in order, and all snapshots
// are yielded in reverse order.
type historian struct {
	t       threadCore
	q       checkpoint.Query
	views   views
	past    past
	block   []checkpoint.Record // newest first; the first one is wanted
	wanted  []int               // the indexes of the wanted records in block
	room    int                 // how many wanted records fill a block
	yielded int
}

// take adds a record to the block. It flushes the block if that is full, has everything that the
// query wants, or reaches a snapshot.
func (h *historian) take(ctx context.Context, rec checkpoint.Record) error {
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
func (h *historian) flush(ctx context.Context) error {
	next, err := h.begin(ctx)
	if err != nil {
		return err
	}
	built := len(h.wanted)
	for _, at := range slices.Backward(h.wanted) {
		for ; next >= at; next-- {
			if err := h.past.step(ctx, &h.block[next]); err != nil {
				return err
			}
		}
		s, err := h.past.snapshot(ctx, &h.block[at])
		if err != nil {
			return err
		}
		h.views.push(s)
		h.past.state.share()
	}
	h.block, h.wanted, h.room = h.block[:0], h.wanted[:0], h.room*blockGrowth
	for range built {
		if !h.views.pop() {
			return errLeft
		}
		if h.yielded++; h.yielded == h.q.Limit {
			return errLeft
		}
	}
	return nil
}

// begin returns the index of the first record of the block whose state must be built. If the
// oldest record has a snapshot, that is its index. Otherwise begin restores the state of the
// oldest wanted record, and returns the index of the next one.
func (h *historian) begin(ctx context.Context) (next int, err error) {
	h.past.begun = false
	if last := len(h.block) - 1; h.block[last].Snapshot {
		return last, nil
	}
	oldest := h.wanted[len(h.wanted)-1]
	c, err := loadChain(ctx, h.t.g, h.t.saver(), h.t.place(h.block[oldest].ID))
	if errors.Is(err, checkpoint.ErrNotFound) {
		return 0, h.t.saverError("history", fmt.Errorf("records were removed while they were read; read the history again: %w", checkpoint.ErrConflict))
	}
	if err != nil {
		return 0, err
	}
	return oldest - 1, h.past.restore(ctx, &c)
}
