package graph

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// This file reads the messages of a thread for its opening. Load says whether messages wait; only
// then the run reads them. Package inbox decides about them, and the opening stores the decisions.
// The saver refuses the opening if another run has handled one of the messages meanwhile. It does
// so too if the inbox was that of another thread (rule 21.24). Then contend opens again.

// noteMail notes what a Load says of the messages of the thread.
func (r *run) noteMail(t *checkpoint.Thread) {
	waits := journal.NoInputs
	if t.Inputs > 0 {
		waits = journal.QueuedInputs
	}
	r.log.See(t.Posted, waits)
}

// noteWaiting notes which inputs wait after the opening.
func (r *opener) noteWaiting() {
	newest, _ := r.run.log.Seen()
	r.run.log.See(newest, r.mail.Waits())
}

// readMail reads the untaken messages of the thread, if there are any.
func (r *opener) readMail(c *checkpoint.Chain) error {
	if r.mail.Checked {
		return nil
	}
	r.mail.Checked = true
	newest := max(c.Thread.Posted, r.run.opt.due.posted())
	if c.Thread.Inputs+c.Thread.Others == 0 && (!c.Empty() || newest == 0) {
		r.run.log.See(newest, journal.NoInputs)
		return nil
	}
	all, found := r.run.opt.due.takeMail(c)
	if !found {
		var err error
		if all, err = r.run.g.mail(r.run.ctx, checkpoint.MailQuery{Thread: r.run.thread}); err != nil {
			return err
		}
	}
	r.read = all
	r.mail.Read(all, newest)
	for i := range all {
		if unfit := r.run.opt.due.unfit(all[i].Number); unfit != nil {
			r.adopt(r.mail.Refuse(&all[i], r.run.redacted(unfit.Error())))
		}
	}
	r.run.log.See(r.mail.Known, r.mail.Waits())
	return nil
}

// adopt makes the opening store what a decision says of messages. It returns the writes of the
// decision.
func (r *opener) adopt(a inbox.Act) []checkpoint.Write {
	r.act.Add(inbox.Act{Messages: a.Messages})
	return a.Writes
}

// refuseStray refuses the messages that cannot count on a thread on which nothing is due.
func (r *opener) refuseStray() { r.adopt(r.mail.RefuseStray(r.run.g.name, r.run.g.signals, nil)) }

// judge obeys the cancels that wait. It reports whether they end the tasks that are due at c.
func (r *opener) judge(c *checkpoint.Chain) (ends bool, err error) {
	line, err := r.run.line(c)
	if err != nil {
		return false, err
	}
	ends = r.mail.Ends(&line)
	r.obeyed = &CancelledError{Graph: r.run.g.name, Thread: r.run.thread, Reason: string(r.mail.Cancel().Payload)}
	r.adopt(r.mail.Obey(ends))
	if ends {
		r.run.ending = r.obeyed
		r.refuseStray()
	}
	return ends, nil
}

// line returns the run line of the tasks that are due at c. An Invoke that died before it read the
// inbox has not taken the cancels that are older than its opening. Times on the saver's clock tell
// them from newer ones.
func (r *run) line(c *checkpoint.Chain) (l inbox.Line, err error) {
	if l.Due = c.Unfinished() && c.Thread.Status != Cancelled && c.Last.ID == c.Head; !l.Due {
		return l, nil
	}
	begun, err := r.begun(&c.Last)
	if errors.Is(err, checkpoint.ErrNotFound) {
		l.Pruned = true
		return l, nil
	}
	if err != nil {
		return l, err
	}
	l.Mark, l.Least = journal.Mark(begun.Meta)
	if onlyOpened(c, &begun) {
		l.Opened = c.Thread.Updated.Truncate(time.Microsecond)
	}
	return l, nil
}

// onlyOpened reports whether the newest run of c has begun its line, whose first record is begun,
// and has stored no further record. Then that run updated the thread last when it opened it.
func onlyOpened(c *checkpoint.Chain, begun *checkpoint.Record) bool {
	return c.Thread.Status == checkpoint.Running && c.Last.Source == checkpoint.Input &&
		(c.Last.ID == begun.ID || c.Last.Parent == begun.ID)
}

// loadDue reads the newest checkpoint of a thread that a worker found. A thread without a fence
// has none, unless it was imported or another call has just opened it. So if an input waits,
// loadDue reads no checkpoint at the first try. If there is one, the saver refuses the opening,
// and the next try reads it.
func (r *opener) loadDue() (checkpoint.Chain, error) {
	if d := r.run.opt.due; d.found.Fence.IsZero() && !d.assumed {
		d.assumed = true
		var none checkpoint.Chain
		label(r, labelsOf(r.run.g, r.run.thread, &none))
		if err := r.readMail(&none); err != nil || r.mail.Input() != nil {
			return none, err
		}
		r.mail = inbox.Box{}
	}
	return r.load(checkpoint.ID{})
}

// nextInput decodes the oldest input that waits, and makes its request that of the run. It refuses
// inputs whose requests have run. It returns nil if no input waits.
func (r *opener) nextInput(c *checkpoint.Chain) (*journal.Input, error) {
	for m := r.mail.Input(); m != nil; m = r.mail.Input() {
		in, err := journal.ReadInput(m.Payload)
		if err == nil {
			err = r.run.state.decodeInput(in.Update)
		}
		if err != nil {
			return nil, r.run.changed(err, "input %q", m.ID) // a program of another version may read it
		}
		r.run.opt.request = m.ID
		again, err := r.run.repeats(c)
		if err != nil && !errors.Is(err, ErrRequestReused) {
			return nil, err
		}
		if err == nil && !again {
			return &in, nil
		}
		r.adopt(r.mail.RefuseInput(fmt.Sprintf("request %q has run", m.ID)))
	}
	r.run.opt.request = ""
	return nil, nil
}

// openMail opens the thread with the oldest input that waits.
func (r *opener) openMail(c *checkpoint.Chain, in *journal.Input) error {
	posted := r.mail.Input().Posted
	r.adopt(r.mail.TakeInput())
	r.noteWaiting()
	r.run.opt.title, r.run.opt.labels, r.run.opt.metadata = in.Title, in.Labels, in.Metadata
	r.run.caller = in.Metadata[callerKey]
	if err := r.run.propagate(in.Metadata, in.Metadata); err != nil {
		return err
	}
	r.limitPosted(posted)
	if err := r.run.restore(c); err != nil {
		return err
	}
	r.tail = nil
	r.refuseStray()
	if err := r.leaveForInput(c); err != nil {
		return err
	}
	return r.enter(c.Empty())
}

// readExpired reads the messages that have come since the opening read the inbox, if a question or
// a receive has expired at now. An answer or a signal that was posted in time counts.
func (r *opener) readExpired(open []inbox.Question, now time.Time) error {
	if !inbox.Expires(open, now) {
		return nil
	}
	newest, _ := r.run.log.Seen()
	all, err := r.run.g.mail(r.run.ctx, checkpoint.MailQuery{Thread: r.run.thread, After: newest})
	if err == nil {
		r.mail.ReadLate(all, 0)
	}
	return err
}

// provide adds to writes what the opening gives to the open questions. wake is when the time of
// the next question comes.
func (r *opener) provide(
	c *checkpoint.Chain, open []inbox.Question, writes []checkpoint.Write, now time.Time,
) (_ []checkpoint.Write, wake time.Time, err error) {
	if err := r.readExpired(open, now); err != nil {
		return nil, wake, err
	}
	counts, err := r.run.counting(c, open)
	if err != nil {
		return nil, wake, err
	}
	a, wake := r.mail.Provide(&inbox.Resumed{
		Graph: r.run.g.name, Signals: r.run.g.signals, Open: open, Counts: counts,
		Given: writes, Skipped: r.run.skipped(counts), Base: r.run.log.Base, Now: now,
		Check: func(q *inbox.Question, m *checkpoint.Message) error {
			err := r.run.g.checkAnswer(r.run.thread, r.run.plan.Step, &q.Stored, answer{id: m.Name, payload: m.Payload}, m.Posted)
			return r.run.g.redactedError(err)
		},
	})
	seeTaken(r.run.log, &a)
	return append(writes, r.adopt(a)...), wake, nil
}

// mark notes in the record that begins a run line which cancels are older than the line.
func (r *opener) mark(rec *checkpoint.Record) {
	newest, _ := r.run.log.Seen()
	newest, least := r.mail.Mark(newest, rec.Source == checkpoint.Input)
	markBy(rec, newest, least)
}

// markBy is mark with the number of the newest message that is known to be older than the run
// line. With least, newer ones that were posted before the opening are older as well.
func markBy(rec *checkpoint.Record, newest uint64, least bool) {
	if newest == 0 {
		return
	}
	meta := make(map[string]string, len(rec.Meta)+1)
	maps.Copy(meta, rec.Meta)
	journal.SetMark(meta, newest, least)
	rec.Meta = meta
}

// markNewest asks for the newest message, and marks rec by it. It serves a run that ends with its
// opening, began a run line and has not read the inbox: readAfter cannot take older cancels.
func (r *opener) markNewest(rec *checkpoint.Record) error {
	if r.mail.Checked || r.run.opt.rehearse {
		return nil
	}
	newest, err := r.run.g.newsOf(r.run.ctx, r.run.thread)
	markBy(rec, newest.Posted, false)
	return err
}

// readPast reads the inbox for a new run line that takes no input from there. It refuses the
// messages that cannot count any more. The inputs wait, but the end of the run makes the thread
// due if the oldest one drops the tasks that are due.
func (r *opener) readPast(c *checkpoint.Chain) error {
	if c.Thread.Inputs+c.Thread.Others == 0 {
		return nil
	}
	r.mail.Past = true
	if err := r.readMail(c); err != nil {
		return err
	}
	if c.Thread.Inputs > 0 {
		_, a, _ := r.mail.ObeyAll()
		r.adopt(a)
	}
	r.refuseStray()
	return nil
}

// readAfter reads the inbox after an opening that began a run line in person and did not know of
// the newest message. Cancels that came before the opening are older than the run line.
func (r *opener) readAfter(o journal.Change) error {
	seen, _ := r.run.log.Seen()
	posted := r.run.log.Opened()
	r.mail.Opened = posted
	if o.End || r.mail.Checked && !r.mail.Past || posted <= seen {
		return nil
	}
	r.mail = inbox.Box{Began: r.mail.Began, Opened: posted} // the opening stored the decisions of readPast about the others
	if err := r.readMail(&checkpoint.Chain{Thread: checkpoint.Thread{Posted: posted, Inputs: 1}}); err != nil {
		return err
	}
	var a inbox.Act
	if m := r.mail.Cancel(); m != nil && m.Number <= posted {
		_, a, _ = r.mail.ObeyAll()
	}
	a.Add(r.mail.RefuseStray(r.run.g.name, r.run.g.signals, nil)) // nothing has run, so the run line has not asked anything
	if a.Empty() {
		return nil
	}
	if err := r.run.reportRefused(r.read, a.Messages.Refuse); err != nil {
		return err
	}
	return r.run.saving("put writes", r.run.log.Put(r.run.ctx, nil, journal.Change{Messages: a.Messages}))
}

// olderThanRun returns the number of the newest message that is older than the run.
func (r *opener) olderThanRun() uint64 {
	newest, _ := r.run.log.Seen()
	return r.mail.Older(newest)
}
