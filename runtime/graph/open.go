package graph

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// opener is a run that does not hold its thread yet.
type opener struct {
	*run
	known   uint64 // hash of the schemas whose descriptions are stored; zero for none
	mail    mail
	birth   checkpoint.ID // of the thread when its mail was read; zero if the thread did not exist
	edited  bool          // the Resume starts with an edit
	entered bool          // the opening committed the merged input, which is not published yet

	labels *task.Labels // of the thread after the opening; nil for none

	leaving []checkpoint.Write // that leave the branch of the head

	tail    *journal.Tail // records the writes of the run; nil if its head is not kept
	chained int           // records since the last snapshot, at the opening
}

// openInput starts a run with input. It loads the thread, merges the input, and takes the thread
// with the records of both. If a route chooses the first nodes, the input is stored first, as the
// result of Start. So no user code runs on a thread that others may hold.
func (r *opener) openInput(at checkpoint.ID) error {
	if !at.IsZero() {
		return fmt.Errorf("%s: input goes to the head of a thread; use UpdateState to continue from a checkpoint", where(r.g.name, r.thread, -1))
	}
	c, err := r.load(at)
	if err != nil {
		return err
	}
	if again, err := r.repeats(&c); err != nil {
		return err
	} else if again {
		if ended, err := r.looking().attend(&c); err != nil || ended {
			return err
		}
		return r.resume(&c)
	}
	if err := r.restoring().restore(&c); err != nil {
		return err
	}
	if c.Unfinished() && !r.opt.abandon && c.Thread.Status != Cancelled {
		if c.Thread.Holder != "" && !r.opt.takeOver {
			return r.saving("open", &checkpoint.BusyError{Thread: r.thread, Holder: c.Thread.Holder, Until: c.Thread.Lease})
		}
		return fmt.Errorf("%s: %w: %v is due; Resume it, or pass graph.DiscardPending to drop what is due",
			where(r.g.name, r.thread, r.plan.Step), ErrUnfinished, r.g.next(ids(c.Next()), r.g.pendingRoutes(&c.Last)))
	}
	if err := r.looking().leavePast(&c, true); err != nil {
		return err
	}
	r.setApart(c.Empty())
	return r.enter(c.Empty())
}

// enter opens the thread with the input, on the state of the run: that of the head, or the empty
// state of an empty thread.
func (r *opener) enter(empty bool) (err error) {
	defer rescueReducer(r.run, &err)
	r.chained = r.log.Chained
	r.plan.Enter(r.plan.Step + 1)
	first, err := r.inputRecord(empty)
	if err != nil {
		return err
	}
	if r.g.plan.Nodes[start].Route {
		return r.openRouted(first)
	}
	r.fill()
	turn, err := r.settle()
	if err != nil {
		return err
	}
	o := r.decide(turn)
	if o.End && o.Status != Done {
		if err := r.looking().markNewest(&first); err != nil {
			return err
		}
	}
	r.log.Keep() // it contains the first record
	second, err := r.storing().record(checkpoint.Input)
	if err != nil {
		return err
	}
	second.Parent = first.ID
	if err := r.storing().fillPayload(&second, false); err != nil {
		return err
	}
	r.entered = true
	return r.opened([]checkpoint.Record{first, second}, nil, o)
}

// inputRecord returns the record that makes Start due. Every run with input starts a new run line.
func (r *opener) inputRecord(empty bool) (checkpoint.Record, error) {
	r.log.Base, r.log.Again = checkpoint.ID{}, nil
	rec, err := r.storing().record(checkpoint.Input)
	if err == nil {
		err = r.nameRequest(&rec)
	}
	if err != nil {
		return rec, err
	}
	r.looking().mark(&rec)
	r.keys.SetLine(rec.ID)
	rec.Line = rec.ID
	r.log.Base = rec.ID
	return rec, r.storing().fillPayload(&rec, empty)
}

// openRouted opens the thread with the input stored, but not merged. The loop merges it.
func (r *opener) openRouted(first checkpoint.Record) error {
	r.fill()
	w, err := r.storing().resultOf(0)
	if err != nil {
		return r.nodeError(&r.exec.Tasks[0], err)
	}
	r.exec.Tasks = r.exec.Tasks[:0] // the loop restores it from storage
	return r.opened([]checkpoint.Record{first}, []checkpoint.Write{w}, journal.Outcome{Status: checkpoint.Running})
}

// openResume continues a run from the head, or from an older checkpoint.
func (r *opener) openResume(at checkpoint.ID) error {
	c, err := r.load(at)
	if err != nil {
		return err
	}
	if c.Empty() {
		return fmt.Errorf("%s: %w; begin it with Invoke", where(r.g.name, r.thread, -1), checkpoint.ErrNotFound)
	}
	if c.Committed || r.edited && c.Last.ID != c.Head {
		return r.replay(&c) // the tasks at that checkpoint have run, so they run again; with an edit it is a fork
	}
	if ended, err := r.looking().attend(&c); err != nil || ended {
		return err
	}
	return r.resume(&c)
}

// resume continues from the head, or continues an older run line whose due tasks did not run.
func (r *opener) resume(c *checkpoint.Chain) error {
	r.tail = nil
	if err := r.restoring().continueAt(c); err != nil {
		return err
	}
	if !c.Unfinished() {
		if len(r.opt.answers) > 0 {
			return r.answerError(r.opt.answers[0].id, "the thread is finished")
		}
		return r.resumeDone(c)
	}
	if err := r.restoring().place(c); err != nil {
		return err
	}
	if r.opt.due != nil && paused(c) && !r.opt.rehearse {
		r.status = checkpoint.Paused // the stop is for a person
		return nil
	}
	r.log.Resumed = true
	open := openQuestions(r.log.Namespace, c)
	r.looking().leaveFor(c, open)
	now, err := saverTime(r.run, open)
	if err != nil {
		return err
	}
	writes, err := r.checkAnswers(c, open, now)
	if err != nil {
		return err
	}
	if err := r.looking().lookAgain(open, now); err != nil {
		return err
	}
	writes, wake, err := r.looking().provide(c, open, writes, now)
	if err != nil {
		return err
	}
	if paused(c) {
		writes = append(writes, subgraph.ClearStops(c)...)
	}
	r.restoring().gather(append(slices.Clone(c.Writes), writes...))
	p := &prober{run: r.run, writes: writes}
	blocked, err := p.blocked(c, len(writes) == 0 || !paused(c) && r.plan.Stops())
	if err != nil {
		return err
	}
	if blocked && len(writes) == 0 && !r.edited && r.mail.handled.Empty() && listedAsWaiting(c) {
		r.status = checkpoint.Waiting
		return p.restoreBlocked()
	}
	records, edits, err := r.editRecords(c)
	if err != nil {
		return err
	}
	rec, err := r.resumeRecord(c)
	if err != nil {
		return err
	}
	if len(records) > 0 {
		rec.Parent = records[0].ID
	}
	discards, err := r.discards(c, &rec)
	if err != nil {
		return err
	}
	o := journal.Outcome{Status: checkpoint.Running}
	switch {
	case blocked:
		o = journal.Outcome{Status: checkpoint.Waiting, End: true, Wake: wake}
	case r.plan.Stops():
		o = journal.Outcome{Status: checkpoint.Paused, End: true}
	}
	if err := r.opened(append(records, rec), append(append(writes, edits...), discards...), o); err != nil || !blocked {
		return err
	}
	return p.restoreBlocked()
}

// resumeDone resumes a thread on which nothing is due. Without an edit it stores nothing.
func (r *opener) resumeDone(c *checkpoint.Chain) error {
	r.log.Head = c.Head
	records, _, err := r.editRecords(c)
	if err == nil && len(records) > 0 {
		err = r.opened(records, nil, journal.Outcome{End: true, Wake: wakeOf(c)})
	}
	r.status = checkpoint.Done
	return err
}

// resumeRecord returns the record of a resume. A Resume of a thread that stopped for people passes
// the stop. It does not pass the stop if the run died before it stopped, or on a run line that was
// left.
func (r *opener) resumeRecord(c *checkpoint.Chain) (checkpoint.Record, error) {
	if paused(c) {
		r.plan.Clear()
	}
	rec, err := r.storing().record(checkpoint.Resume)
	if err != nil {
		return rec, err
	}
	rec.Parent, rec.Base, rec.Commits, rec.Due = c.Last.ID, r.log.Base, checkpoint.ID{}, nil
	return rec, r.storing().fillPayload(&rec, c.Last.ID != c.Head)
}

// paused reports whether the thread stopped for people at its head, and its status says so.
func paused(c *checkpoint.Chain) bool {
	return c.Thread.Status == checkpoint.Paused && c.Last.ID == c.Head
}

// discards returns the writes that drop the stored results of the nodes of Rerun. Their subgraph
// calls start again, which rec, the record of the resume, notes.
func (r *opener) discards(c *checkpoint.Chain, rec *checkpoint.Record) (writes []checkpoint.Write, err error) {
	if reasonIn(c) != "" {
		writes = append(writes, checkpoint.Write{Base: r.log.Base, Task: journal.RunTask, Kind: checkpoint.Discard})
	}
	calls := make(map[string]bool) // the namespaces of the calls that start again
	for _, id := range r.opt.rerun {
		found := false
		for _, d := range r.plan.Due {
			if r.g.nodes[d.Node].id != id || d.Node == start {
				continue
			}
			found = true
			key := r.taskKey(&d)
			writes = append(writes, checkpoint.Write{Base: r.log.Base, Task: key, Kind: checkpoint.Discard})
			for n := range journal.Kept(r.pending.Parts(key)) {
				writes = append(writes, checkpoint.Write{Base: r.log.Base, Task: key, Kind: checkpoint.Discard, Name: journal.KeptName(n + 1)})
			}
			writes = append(writes, endRoundOf(r.run, d.Node, key)...)
			if r.g.nodes[d.Node].sub != nil {
				calls[journal.Within(r.log.Namespace, r.log.Call(key))] = true
				r.log.BeginAgain(key, rec.ID)
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: Rerun: node %s is not due; due are %v", where(r.g.name, r.thread, r.plan.Step), quoted(id), r.dueIDs())
		}
	}
	if len(calls) > 0 {
		rec.Meta, err = r.storing().meta()
	}
	if err == nil && len(calls) > 0 && len(r.g.signals) > 0 {
		var notes []journal.Received
		if notes, err = journal.Notes(c.Writes, r.log.Base); err != nil {
			return nil, r.changed(err, "a received signal")
		}
		lost := losses{calls: calls}
		back, drop := lost.among(notes, r.log.Base)
		r.mail.giveBack(back)
		writes = append(writes, drop...)
	}
	return append(writes, subgraph.Withdrawals(c.Thread.Questions, calls)...), err
}

// opened writes the opening Append, and restores the results that are already stored.
func (r *opener) opened(records []checkpoint.Record, writes []checkpoint.Write, o journal.Outcome) error {
	if o.Status == 0 && !o.End {
		o.Status = checkpoint.Running
	}
	opening := checkpoint.Opening{
		Holder: r.g.opt.holder, TakeOver: r.opt.takeOver, Title: r.opt.title, Labels: r.opt.labels, Priority: r.opt.priority, Birth: r.birth,
	}
	r.opt.due.open(&opening)
	if r.known != r.g.hash {
		writes = append(writes, r.g.schemas()...)
	}
	o.Messages = r.mail.handled
	if o.End && beginsInput(r.run, o.Status) {
		o.Wake = time.Unix(1, 0)
	}
	writes = append(writes, r.leaving...)
	last := &records[len(records)-1]
	r.storing().noteStops(last, o)
	writes = append(writes, r.storing().reason(last.Base, o, r.ending)...)
	stand, err := r.log.Open(r.ctx, opening, records, writes, o)
	if err != nil {
		return r.saving("open", err)
	}
	r.opt.due.opened(records[0].ID)
	r.status = 0
	if o.End {
		r.status = o.Status
	}
	r.restoring().gather(stand)
	return r.looking().lookAfter(o)
}

// load reads a checkpoint and its chain.
func (r *opener) load(at checkpoint.ID) (checkpoint.Chain, error) {
	c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, At: at})
	if errors.Is(err, checkpoint.ErrNotFound) && !at.IsZero() {
		err = r.released(at, err)
	}
	if err != nil {
		return c, err
	}
	label(r, labelsOf(r.g, r.thread, &c))
	if !c.Empty() {
		if err := r.g.owns(r.thread, &c.Last); err != nil {
			return c, err
		}
		r.known = knownSchemas(&c.Last)
	}
	r.looking().knows(&c.Thread)
	r.birth, r.log.Head = c.Birth, c.Head
	if !r.opt.ifHead.IsZero() && r.opt.ifHead != c.Head {
		return c, r.saving("open", &checkpoint.ConflictError{Thread: r.thread, Want: r.opt.ifHead, Found: c.Head, Reason: "head"})
	}
	return c, nil
}

// history yields records of the root's log, newest first, before the run opens.
func (r *opener) history(q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		call, cancel := context.WithTimeout(r.ctx, r.g.opt.saverTimeout)
		defer cancel()
		for rec, err := range r.g.opt.saver.History(call, checkpoint.Ref{Thread: r.thread}, q) {
			switch {
			case err != nil && r.ctx.Err() != nil && errors.Is(err, r.ctx.Err()):
				err = r.cancelled()
			case err != nil:
				err = r.saving("load", err)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// knownSchemas returns the hash of the schemas whose descriptions the run of a record has stored.
func knownSchemas(rec *checkpoint.Record) uint64 {
	if hash := journal.Schemas(rec.Meta); hash != 0 {
		return hash
	}
	return rec.Fingerprint
}

// reload sets the stored state of the thread in a result, because the run's own state cannot be
// used.
func (t driver[S, U]) reload(ctx context.Context, res *Result[S]) error {
	snap, err := Thread[S, U]{g: t.g, id: t.id}.State(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	res.State, res.Next, res.Checkpoint = snap.State, snap.Next, snap.Checkpoint
	return nil
}
