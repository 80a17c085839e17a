package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/ending"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/opening"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// opener opens a thread for a run that does not hold it yet: it has what only the opening needs.
type opener struct {
	run     *run
	known   uint64               // hash of the schemas whose descriptions are stored; zero for none
	mail    inbox.Box            // the messages of the thread that were read
	read    []checkpoint.Message // all messages that the opening has read
	act     inbox.Act            // what the opening stores about messages
	obeyed  *CancelledError      // of the newest cancel about which the opening has decided; nil for none
	birth   checkpoint.ID        // of the thread when its mail was read; zero if the thread did not exist
	edited  bool                 // the Resume starts with an edit
	entered bool                 // the opening committed the merged input, which is not published yet

	labels *task.Labels // of the thread after the opening; nil for none

	leaving []checkpoint.Write // that leave the branch of the head
	left    superseded         // the tasks whose place the input takes

	tail    *journal.Tail // records the writes of the run; nil if its head is not kept
	chained int           // records since the last snapshot, at the opening
}

// open opens the thread for a call, at a checkpoint; zero is the head. Package opening decides
// what the call does, and open reads what it asks for. No user code runs on a thread that others
// may hold: if a route chooses the first nodes, only the input is stored first.
func (r *opener) open(kind opening.Kind, at checkpoint.ID) (err error) {
	f := opening.Facts{Request: opening.Request{
		Kind: kind, Named: r.run.opt.request != "", Discard: r.run.opt.abandon, TakeOver: r.run.opt.takeOver, Edit: r.edited, Rehearse: r.run.opt.rehearse,
	}}
	var c checkpoint.Chain
	var in *journal.Input
	for err == nil {
		switch step := f.Next(); step {
		case opening.Load:
			if kind == opening.Due {
				c, err = r.loadDue()
			} else {
				c, err = r.load(at)
			}
			f.Head = headOf(&c)
			f.Head.Late = r.late(&c)
		case opening.Compare:
			f.Same, err = r.run.repeats(&c)
		case opening.ReadMail:
			err = r.readMail(&c)
			f.Cancel = r.mail.Cancel() != nil
		case opening.ReadPast:
			err = r.readPast(&c)
		case opening.Judge:
			f.Ends, err = r.judge(&c)
		case opening.Pick:
			in, err = r.nextInput(&c)
			f.Input, f.Drops = in != nil, in != nil && in.Discard
		case opening.Refuse:
			r.noteWaiting()
			r.refuseStray()
			f.Noted = !r.act.Empty()
		case opening.End:
			if !f.Ends { // the deadline has passed
				r.obeyed = r.run.timedOut()
				r.run.ending = r.obeyed
				r.refuseStray()
			}
			return r.perform(step, &c, in)
		default:
			return r.perform(step, &c, in)
		}
	}
	return err
}

// headOf returns what package opening knows of a chain.
func headOf(c *checkpoint.Chain) opening.Head {
	return opening.Head{
		Empty: c.Empty(), Due: c.Unfinished(), Committed: c.Committed, Newest: c.Last.ID == c.Head,
		Leased: c.Thread.Holder != "", Mail: c.Thread.Inputs+c.Thread.Others > 0, Status: c.Thread.Status,
	}
}

// perform does what package opening has decided. in is the input of BeginMail.
func (r *opener) perform(step opening.Move, c *checkpoint.Chain, in *journal.Input) error {
	switch step {
	case opening.Continue:
		return r.resume(c)
	case opening.Replay:
		return r.replay(c)
	case opening.Missing:
		return fmt.Errorf("%s: %w; begin it with Invoke", where(r.run.g.name, r.run.thread, -1), checkpoint.ErrNotFound)
	case opening.BeginMail:
		return r.openMail(c, in)
	}
	if err := r.run.restore(c); err != nil {
		return err
	}
	if step != opening.Begin {
		r.run.carry(c)
	}
	switch step {
	case opening.Begin:
		if err := r.leaveForInput(c); err != nil {
			return err
		}
		if err := r.limitInput(c); err != nil {
			return err
		}
		r.setApart(c.Empty())
		return r.enter(c.Empty())
	case opening.Busy:
		return r.run.saving("open", &checkpoint.BusyError{Thread: r.run.thread, Holder: c.Thread.Holder, Until: c.Thread.Lease})
	case opening.Unfinished:
		return fmt.Errorf("%s: %w: %v is due; Resume it, or pass graph.DiscardPending to drop what is due",
			where(r.run.g.name, r.run.thread, r.run.plan.Step), ErrUnfinished, r.run.g.next(ids(c.Next()), r.run.g.pendingRoutes(&c.Last)))
	case opening.Seed:
		return r.openEmpty()
	}
	if !c.Empty() {
		if err := r.run.place(c); err != nil {
			return err
		}
	}
	switch step {
	case opening.End:
		if err := r.run.cancelChildren(c.Thread.Questions, r.obeyed.Reason); err != nil {
			return err
		}
		return r.openEnded(c, Cancelled)
	case opening.Note:
		return r.openEnded(c, idleStatus(c))
	}
	r.run.status = idleStatus(c) // the thread is not opened
	return nil
}

// idleStatus returns the status of a thread that the opening leaves as it is. A thread on which
// nothing is due is not Ready, whatever its stored status says: it would be due without end.
func idleStatus(c *checkpoint.Chain) Status {
	if c.Thread.Status == Ready && !c.Unfinished() {
		return Done
	}
	return cmp.Or(c.Thread.Status, Done)
}

// enter opens the thread with the input, on the state of the run: that of the head, or the empty
// state of an empty thread.
func (r *opener) enter(empty bool) (err error) {
	defer rescueReducer(r.run, &err)
	r.chained = r.run.log.Chained
	r.run.plan.Enter(r.run.plan.Step + 1)
	first, err := r.inputRecord(empty)
	if err != nil {
		return err
	}
	if r.run.g.plan.Nodes[start].Route {
		return r.openRouted(first)
	}
	r.run.fill()
	turn, err := r.run.settle()
	if err != nil {
		return err
	}
	o := r.run.decide(turn)
	if o.End && o.Status != Done {
		if err := r.markNewest(&first); err != nil {
			return err
		}
	}
	r.run.log.Keep() // it contains the first record
	second, err := r.run.record(checkpoint.Input)
	if err != nil {
		return err
	}
	second.Parent = first.ID
	if err := r.run.fillPayload(&second, false); err != nil {
		return err
	}
	r.entered = true
	return r.opened([]checkpoint.Record{first, second}, nil, o)
}

// inputRecord returns the record that makes Start due. Every run with input starts a new run line.
func (r *opener) inputRecord(empty bool) (checkpoint.Record, error) {
	r.run.log.Base, r.run.log.Again = checkpoint.ID{}, nil
	rec, err := r.run.record(checkpoint.Input)
	if err == nil {
		err = r.run.nameRequest(&rec)
	}
	if err != nil {
		return rec, err
	}
	r.mark(&rec)
	r.noteLeft(&rec)
	r.run.keys.SetLine(rec.ID)
	rec.Line = rec.ID
	r.run.log.Base = rec.ID
	return rec, r.run.fillPayload(&rec, empty)
}

// openRouted opens the thread with the input stored, but not merged. The loop merges it.
func (r *opener) openRouted(first checkpoint.Record) error {
	r.run.fill()
	w, err := r.run.resultWrite(0)
	if err != nil {
		return r.run.nodeError(&r.run.exec.Tasks[0], err)
	}
	r.run.exec.Tasks = r.run.exec.Tasks[:0] // the loop restores it from storage
	return r.opened([]checkpoint.Record{first}, []checkpoint.Write{w}, journal.Change{Status: checkpoint.Running})
}

// openEnded stores a record of a resume that runs nothing, with the decisions about messages, and
// after the edit of the Resume.
func (r *opener) openEnded(c *checkpoint.Chain, status Status) error {
	records, edits, err := r.editRecords(c)
	if err != nil {
		return err
	}
	rec, err := r.run.record(checkpoint.Resume)
	if err != nil {
		return err
	}
	rec.Parent, rec.Base, rec.Commits, rec.Due = c.Last.ID, r.run.log.Base, checkpoint.ID{}, nil
	if len(records) > 0 {
		rec.Parent = records[0].ID
	}
	rec.Meta = journal.KeepStops(rec.Meta, c.Last.Meta)
	if err := r.run.fillPayload(&rec, false); err != nil {
		return err
	}
	o := journal.Change{Status: status, End: true, Keep: true, Wake: wakeAfter(r.run, status)}
	return r.opened(append(records, rec), edits, o)
}

// openEmpty begins a thread whose inputs were cancelled or refused before the first one has begun.
func (r *opener) openEmpty() error {
	rec, err := r.run.firstRecord()
	if err != nil {
		return err
	}
	o := journal.Change{Status: Cancelled, End: true}
	switch {
	case r.obeyed != nil:
		r.run.ending = r.obeyed
	case r.run.opt.due != nil && len(r.run.opt.due.unfits) > 0:
		o.Status = Failed
		r.run.ending = fmt.Errorf("%s: %w", where(r.run.g.name, r.run.thread, -1), r.run.opt.due.unfit(r.act.Messages.Refuse[0].Number))
	}
	return r.opened([]checkpoint.Record{rec}, nil, o)
}

// resume continues from the head, or continues an older run line whose due tasks did not run.
func (r *opener) resume(c *checkpoint.Chain) error {
	r.tail = nil
	if err := r.run.continueAt(c); err != nil {
		return err
	}
	if !c.Unfinished() {
		if len(r.run.opt.answers) > 0 {
			return r.run.answerError(r.run.opt.answers[0].id, "the thread is finished")
		}
		return r.resumeDone(c)
	}
	if err := r.run.place(c); err != nil {
		return err
	}
	r.run.log.Resumed = true
	stored := openQuestions(r.run.log.Namespace, c)
	r.leaveFor(c, stored)
	open := r.run.g.questions(stored)
	now, err := saverTime(r.run, open)
	if err != nil {
		return err
	}
	writes, err := r.run.checkAnswers(c, stored, now)
	if err != nil {
		return err
	}
	writes, wake, err := r.provide(c, open, writes, now)
	if err != nil {
		return err
	}
	if paused(c) {
		writes = append(writes, subgraph.ClearStops(c)...)
	}
	r.run.gather(append(slices.Clone(c.Writes), writes...))
	blocked, below, err := r.run.blocked(c, len(writes) == 0 || !paused(c) && r.run.plan.Stops(), writes)
	if err != nil {
		return err
	}
	next := (&opening.Waiting{
		Held: blocked, Stops: !paused(c) && r.run.plan.Stops(), Writes: len(writes) > 0, Edited: r.edited, Noted: !r.act.Empty(), Listed: listedAsWaiting(c),
	}).Next()
	if next == opening.Stay {
		r.run.status = checkpoint.Waiting
		return r.run.restoreHeld(below)
	}
	records, edits, err := r.editRecords(c)
	if err != nil {
		return err
	}
	rec, err := r.run.resumeRecord(c)
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
	o := journal.Change{Status: checkpoint.Running}
	switch next {
	case opening.Wait:
		o = journal.Change{Status: checkpoint.Waiting, End: true, Wake: inbox.Earlier(wake, r.run.deadline)}
	case opening.Pause:
		o = journal.Change{Status: checkpoint.Paused, End: true, Wake: r.run.deadline}
	}
	if err := r.opened(append(records, rec), append(append(writes, edits...), discards...), o); err != nil || next != opening.Wait {
		return err
	}
	return r.run.restoreHeld(below)
}

// resumeDone resumes a thread on which nothing is due. Without an edit it stores nothing.
func (r *opener) resumeDone(c *checkpoint.Chain) error {
	r.run.log.Head = c.Head
	records, _, err := r.editRecords(c)
	if err == nil && len(records) > 0 {
		err = r.opened(records, nil, journal.Change{End: true, Wake: c.Thread.Wake})
	}
	r.run.status = checkpoint.Done
	return err
}

// resumeRecord returns the record of a resume. A Resume of a thread that stopped for people passes
// the stop. It does not pass the stop if the run died before it stopped, or on a run line that was
// left.
func (r *run) resumeRecord(c *checkpoint.Chain) (checkpoint.Record, error) {
	if paused(c) {
		r.plan.Clear(false)
	}
	rec, err := r.record(checkpoint.Resume)
	if err != nil {
		return rec, err
	}
	rec.Parent, rec.Base, rec.Commits, rec.Due = c.Last.ID, r.log.Base, checkpoint.ID{}, nil
	return rec, r.fillPayload(&rec, c.Last.ID != c.Head)
}

// paused reports whether the thread stopped for people at its head, and its status says so.
func paused(c *checkpoint.Chain) bool {
	return c.Thread.Status == checkpoint.Paused && c.Last.ID == c.Head
}

// discards returns the writes that drop the stored results of the nodes of Rerun. Their subgraph
// calls start again, which rec, the record of the resume, notes.
func (r *opener) discards(c *checkpoint.Chain, rec *checkpoint.Record) (writes []checkpoint.Write, err error) {
	if reasonIn(c) != "" {
		writes = append(writes, checkpoint.Write{Base: r.run.log.Base, Task: journal.RunTask, Kind: checkpoint.Discard})
	}
	calls := make(map[string]bool) // the namespaces of the calls that start again
	for _, id := range r.run.opt.rerun {
		found := false
		for _, d := range r.run.plan.Due {
			if r.run.g.nodes[d.Node].id != id || d.Node == start {
				continue
			}
			found = true
			key := r.run.taskKey(&d)
			writes = append(writes, checkpoint.Write{Base: r.run.log.Base, Task: key, Kind: checkpoint.Discard})
			if _, ok := r.run.pending.Progress(key); ok {
				writes = append(writes, checkpoint.Write{Base: r.run.log.Base, Task: key, Kind: checkpoint.Discard, Name: journal.ProgressName})
			}
			for name := range storedParts(r.run.pending.Parts(key)) {
				writes = append(writes, checkpoint.Write{Base: r.run.log.Base, Task: key, Kind: checkpoint.Discard, Name: name})
			}
			for n := range journal.Kept(r.run.pending.Parts(key)) {
				writes = append(writes, checkpoint.Write{Base: r.run.log.Base, Task: key, Kind: checkpoint.Discard, Name: journal.KeptName(n + 1)})
			}
			for _, w := range endRoundOf(r.run, d.Node, key) {
				journal.Forget(&w)
				writes = append(writes, w)
			}
			if r.run.g.nodes[d.Node].sub != nil {
				calls[journal.Within(r.run.log.Namespace, r.run.log.Call(key))] = true
				r.run.log.BeginAgain(key, rec.ID)
			}
		}
		if !found {
			return nil, fmt.Errorf("%s: Rerun: node %s is not due; due are %v", where(r.run.g.name, r.run.thread, r.run.plan.Step), quoted(id), r.run.dueIDs())
		}
	}
	if len(calls) > 0 {
		rec.Meta, err = r.run.meta()
	}
	if err == nil && len(calls) > 0 && len(r.run.g.signals) > 0 {
		var notes []journal.Received
		if notes, err = journal.Notes(c.Writes, r.run.log.Base); err != nil {
			return nil, r.run.changed(err, "a received signal")
		}
		lost := inbox.Losses{Calls: calls}
		a, err := lost.Back(notes, r.run.log.Base, nil)
		if err != nil {
			return nil, err
		}
		writes = append(writes, r.adopt(a)...)
	}
	return append(writes, subgraph.Withdrawals(c.Thread.Questions, calls)...), err
}

// opened writes the opening Append, and restores the results that are already stored.
func (r *opener) opened(records []checkpoint.Record, writes []checkpoint.Write, o journal.Change) error {
	if o.Status == 0 && !o.End {
		o.Status = checkpoint.Running
	}
	taking := checkpoint.Opening{
		Holder: r.run.g.opt.holder, TakeOver: r.run.opt.takeOver, Title: r.run.opt.title, Labels: r.run.opt.labels, Priority: r.run.opt.priority, Birth: r.birth,
	}
	r.run.opt.due.open(&taking)
	if r.known != r.run.g.hash {
		writes = append(writes, r.run.g.schemas()...)
	}
	o.Messages = r.act.Messages
	if rest := restAfter(r.run, o.Status); o.End && !o.Closes && rest.Begins() {
		o.Wake = ending.Now()
	}
	if o.End && !o.Closes && o.Wake.IsZero() && o.Status != Failed && r.run.reports(o.Status) {
		o.Wake = ending.Now()
	}
	writes = append(writes, r.leaving...)
	last := &records[len(records)-1]
	r.run.noteStops(last, o.Status)
	writes = append(writes, r.run.reasonWrite(last.Base, o.Status, r.run.ending)...)
	if err := r.run.reportRefused(r.read, r.act.Messages.Refuse); err != nil {
		return err
	}
	stand, err := r.run.log.Open(r.run.ctx, taking, records, writes, o)
	if err != nil {
		return r.run.saving("open", err)
	}
	r.run.fence = records[0].ID
	r.run.opt.due.opened(r.run.fence)
	r.run.status = 0
	if o.End {
		r.run.status = o.Status
	}
	r.run.gather(stand)
	return r.readAfter(o)
}

// load reads a checkpoint and its chain.
func (r *opener) load(at checkpoint.ID) (checkpoint.Chain, error) {
	c, err := loadChain(r.run.ctx, r.run.g, r.run.log, checkpoint.Ref{Thread: r.run.thread, At: at})
	if errors.Is(err, checkpoint.ErrNotFound) && !at.IsZero() {
		err = r.run.released(at, err)
	}
	if err != nil {
		return c, err
	}
	label(r, labelsOf(r.run.g, r.run.thread, &c))
	if !c.Empty() {
		if err := r.run.g.owns(r.run.thread, &c.Last); err != nil {
			return c, err
		}
		r.known = knownSchemas(&c.Last)
	}
	r.run.noteMail(&c.Thread)
	r.birth, r.run.log.Head = c.Birth, c.Head
	if !r.run.opt.ifHead.IsZero() && r.run.opt.ifHead != c.Head {
		return c, r.run.saving("open", &checkpoint.ConflictError{Thread: r.run.thread, Want: r.run.opt.ifHead, Found: c.Head, Reason: "head"})
	}
	return c, nil
}

// history yields records of the root's log, newest first, before the run opens.
func (r *run) history(q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
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

// reload makes s the stored state of the thread, because the run's own state cannot be used. It
// sets the position of that state in a result.
func (t threadCore) reload(ctx context.Context, s typedState, res *result) error {
	snap, err := threadCore{g: t.g, id: t.id}.state(context.WithoutCancel(ctx), s)
	if err != nil {
		return err
	}
	res.Next, res.Checkpoint = snap.Next, snap.Checkpoint
	return nil
}
