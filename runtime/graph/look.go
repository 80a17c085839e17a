package graph

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// A run looks into the inbox of its thread before it opens the thread. Load says whether messages
// wait; only then the run reads them. The opening itself stores which messages it takes, and what
// they lead to. The saver refuses the opening if another run has handled one of them meanwhile, or
// if the inbox was that of another thread (rule 21.24). Then contend looks again.

// mail is the untaken messages of a thread, as an opening has found them.
type mail struct {
	looked  bool
	past    bool                // an Invoke looked, and takes none of the inputs
	cancel  *checkpoint.Message // the newest; nil for none
	older   []uint64            // the numbers of older cancels
	inputs  []checkpoint.Message
	answers []checkpoint.Message
	signals []checkpoint.Message
	read    uint64 // the newest message, if the messages were read; else 0
	all     []checkpoint.Message

	began   uint64             // the input with which the run begins; 0 for none
	opened  uint64             // the newest message at the opening
	handled checkpoint.Handled // what the opening makes of them
}

// looker looks into the inbox of a thread for its opening.
type looker struct{ *opening }

func (r *opening) looking() looker { return looker{r} }

// knows notes what a Load says of the messages of the thread.
func (r looker) knows(t *checkpoint.Thread) {
	waits := journal.NoInputs
	if t.Inputs > 0 {
		waits = journal.QueuedInputs
	}
	r.log.Look(t.Posted, waits)
}

// look reads the untaken messages of the thread, if there are any.
func (r looker) look(c *checkpoint.Chain) error {
	if r.mail.looked {
		return nil
	}
	r.mail.looked = true
	newest := max(c.Thread.Posted, r.opt.due.posted())
	if c.Thread.Inputs+c.Thread.Others == 0 && (!c.Empty() || newest == 0) {
		r.log.Look(newest, journal.NoInputs)
		return nil
	}
	all, err := r.g.mail(r.ctx, checkpoint.MailQuery{Thread: r.thread})
	if err != nil {
		return err
	}
	for i := range all {
		newest = max(newest, all[i].Number)
		if unfit := r.opt.due.unfit(all[i].Number); unfit != nil {
			r.mail.refuse(all[i].Number, unfit.Error())
			continue
		}
		r.mail.add(&all[i])
	}
	r.mail.all = all
	r.mail.dropInputs()
	r.mail.read = newest
	r.log.Look(newest, r.mail.waits())
	return nil
}

// waits says which inputs wait.
func (m *mail) waits() journal.Inputs {
	if len(m.inputs) == 0 {
		return journal.NoInputs
	}
	if in, err := journal.ReadInput(m.inputs[0].Payload); err == nil && in.Discard {
		return journal.DiscardingInputs
	}
	return journal.QueuedInputs
}

// add sorts a message in.
func (m *mail) add(one *checkpoint.Message) {
	switch one.Kind {
	case checkpoint.InputMessage:
		m.inputs = append(m.inputs, *one)
	case checkpoint.AnswerMessage:
		m.answers = append(m.answers, *one)
	case checkpoint.SignalMessage:
		m.signals = append(m.signals, *one)
	case checkpoint.CancelMessage:
		if m.cancel != nil {
			m.older = append(m.older, m.cancel.Number)
		}
		m.cancel = one
	}
}

// dropInputs refuses the inputs that were submitted before the newest cancel.
func (m *mail) dropInputs() {
	if m.cancel == nil {
		return
	}
	m.inputs = slices.DeleteFunc(m.inputs, func(in checkpoint.Message) bool {
		if in.Number > m.cancel.Number {
			return false
		}
		m.refuse(in.Number, (&CancelledError{Reason: string(m.cancel.Payload)}).text())
		return true
	})
}

func (m *mail) refuse(number uint64, reason string) {
	m.handled.Refuse = append(m.handled.Refuse, refusal(number, reason))
}

// giveBack returns signals to the inbox.
func (m *mail) giveBack(back []checkpoint.Message) {
	m.handled.Return = append(m.handled.Return, back...)
}

func (m *mail) take(numbers ...uint64) { m.handled.Take = append(m.handled.Take, numbers...) }

// attend looks into the inbox of the thread at c. ended reports that a cancel has ended it.
func (r looker) attend(c *checkpoint.Chain) (ended bool, err error) {
	if err := r.look(c); err != nil || r.mail.cancel == nil {
		return false, err
	}
	counts, err := r.cancels(c)
	if err != nil {
		return false, err
	}
	r.mail.take(r.mail.older...)
	if counts {
		r.refuseStray(nil)
		r.mail.take(r.mail.cancel.Number)
		return true, r.openCancelled(c)
	}
	if len(r.mail.handled.Refuse) > 0 {
		r.mail.take(r.mail.cancel.Number) // it has ended inputs
		return false, nil
	}
	r.mail.refuse(r.mail.cancel.Number, "the thread had no unfinished work before the cancel")
	return false, nil
}

// cancels reports whether the newest cancel ends what is due at c: it was posted after the input
// of the run line. An Invoke that died before it looked into the inbox has not taken the cancels
// that are older than its opening. The times of both on the saver's clock tell them apart.
func (r looker) cancels(c *checkpoint.Chain) (bool, error) {
	if !c.Unfinished() || c.Thread.Status == Cancelled || c.Last.ID != c.Head {
		return false, nil
	}
	begun, err := r.begun(&c.Last)
	if errors.Is(err, checkpoint.ErrNotFound) {
		return true, nil // it was pruned
	}
	if err != nil {
		return false, err
	}
	mark, least := journal.Mark(begun.Meta)
	if least && opens(c, &begun) && r.mail.cancel.Posted.Before(c.Thread.Updated.Truncate(time.Microsecond)) {
		return false, nil
	}
	return r.mail.cancel.Number > mark, nil
}

// openCancelled ends an unfinished thread, because somebody cancelled it.
func (r looker) openCancelled(c *checkpoint.Chain) error {
	r.ending = r.cancelError()
	if err := r.restoring().restore(c); err != nil {
		return err
	}
	if err := r.restoring().place(c); err != nil {
		return err
	}
	return r.openEnded(c, Cancelled)
}

// cancelError returns the error of a run that the newest cancel ends.
func (r looker) cancelError() error {
	return &CancelledError{Graph: r.g.name, Thread: r.thread, Reason: string(r.mail.cancel.Payload)}
}

// openEnded stores a record of a resume that runs nothing, with what the opening makes of the
// messages, and after the edit of the Resume.
func (r looker) openEnded(c *checkpoint.Chain, status Status) error {
	records, edits, err := r.editRecords(c)
	if err != nil {
		return err
	}
	rec, err := r.storing().record(checkpoint.Resume)
	if err != nil {
		return err
	}
	rec.Parent, rec.Base, rec.Commits, rec.Due = c.Last.ID, r.log.Base, checkpoint.ID{}, nil
	if len(records) > 0 {
		rec.Parent = records[0].ID
	}
	rec.Meta = journal.KeepStops(rec.Meta, c.Last.Meta)
	if err := r.storing().fillPayload(&rec, false); err != nil {
		return err
	}
	o := journal.Outcome{Status: status, End: true, Keep: true, Wake: wakeAfter(r.run, status)}
	if status == Waiting {
		_, o.Wake = pass(openQuestions(r.log.Namespace, c), nil, time.Time{})
	}
	return r.opened(append(records, rec), edits, o)
}

// loadDue reads the newest checkpoint of a thread that a worker found. A thread without a fence
// has none, unless it was imported or another call has just opened it. So if an input waits,
// loadDue reads no checkpoint at the first try. If there is one, the saver refuses the opening,
// and the next try reads it.
func (r looker) loadDue() (checkpoint.Chain, error) {
	if d := r.opt.due; d.found.Fence.IsZero() && !d.assumed {
		d.assumed = true
		var none checkpoint.Chain
		label(r.opening, labelsOf(r.g, r.thread, &none))
		if err := r.look(&none); err != nil || len(r.mail.inputs) > 0 {
			return none, err
		}
		r.mail = mail{}
	}
	return r.load(checkpoint.ID{})
}

// openDue opens a thread for a worker, if something can be done.
func (r looker) openDue() error {
	c, err := r.loadDue()
	if err != nil {
		return err
	}
	if ended, err := r.attend(&c); err != nil || ended {
		return err
	}
	in, err := r.nextInput(&c)
	switch {
	case err != nil:
		return err
	case in != nil && (in.Discard || idle(&c)):
		return r.openMail(&c, in)
	case idle(&c):
		return r.openNothing(&c)
	case c.Thread.Status == Paused && !r.opt.rehearse:
		r.status = Paused
		return r.stay(&c)
	}
	return r.resume(&c)
}

// idle reports whether an input begins at c without dropping anything.
func idle(c *checkpoint.Chain) bool { return !c.Unfinished() || c.Thread.Status == Cancelled }

// nextInput decodes the first waiting input, and makes it the input of the run. It refuses inputs
// that cannot run. It returns nil if none waits.
func (r looker) nextInput(c *checkpoint.Chain) (*journal.Input, error) {
	for len(r.mail.inputs) > 0 {
		m := &r.mail.inputs[0]
		in, err := journal.ReadInput(m.Payload)
		if err == nil {
			err = r.state.decodeInput(in.Update)
		}
		if err != nil {
			return nil, r.changed(err, "input %q", m.ID) // a program of another version may read it
		}
		r.opt.request = m.ID
		again, err := r.repeats(c)
		if err != nil && !errors.Is(err, ErrRequestReused) {
			return nil, err
		}
		if err == nil && !again {
			return &in, nil
		}
		r.mail.refuse(m.Number, fmt.Sprintf("request %q has run", m.ID))
		r.mail.inputs = r.mail.inputs[1:]
	}
	r.opt.request = ""
	return nil, nil
}

// openMail starts a run with the first waiting input.
func (r looker) openMail(c *checkpoint.Chain, in *journal.Input) error {
	m := &r.mail.inputs[0]
	r.mail.take(m.Number)
	r.mail.began, r.mail.inputs = m.Number, r.mail.inputs[1:]
	r.noteWaiting()
	r.opt.title, r.opt.labels, r.opt.metadata = in.Title, in.Labels, in.Metadata
	if err := r.restoring().propagate(in.Metadata, in.Metadata); err != nil {
		return err
	}
	if err := r.restoring().restore(c); err != nil {
		return err
	}
	r.tail = nil
	r.refuseStray(nil)
	if err := r.leaveForInput(c); err != nil {
		return err
	}
	return r.enter(c.Empty())
}

// noteWaiting notes which inputs wait after the opening.
func (r looker) noteWaiting() {
	newest, _ := r.log.Looked()
	r.log.Look(newest, r.mail.waits())
}

// openNothing opens an idle thread only to refuse messages.
func (r looker) openNothing(c *checkpoint.Chain) error {
	r.noteWaiting()
	r.refuseStray(nil)
	if r.mail.handled.Empty() {
		r.status = cmp.Or(c.Thread.Status, Done)
		return r.stay(c)
	}
	if c.Empty() {
		return r.openEmpty()
	}
	if err := r.restoring().restore(c); err != nil {
		return err
	}
	if err := r.restoring().place(c); err != nil {
		return err
	}
	return r.openEnded(c, c.Thread.Status)
}

// openEmpty begins a thread whose inputs were cancelled or refused before the first one has begun.
func (r looker) openEmpty() error {
	if err := r.restoring().restore(&checkpoint.Chain{}); err != nil {
		return err
	}
	rec, err := r.storing().first()
	if err != nil {
		return err
	}
	o := journal.Outcome{Status: Cancelled, End: true}
	switch {
	case r.mail.cancel != nil:
		r.ending = r.cancelError()
	case r.opt.due != nil && len(r.opt.due.unfits) > 0:
		o.Status = Failed
		r.ending = fmt.Errorf("%s: %w", where(r.g.name, r.thread, -1), r.opt.due.unfit(r.mail.handled.Refuse[0].Number))
	}
	return r.opened([]checkpoint.Record{rec}, nil, o)
}

// stay restores a thread on which nothing can run. It is not opened.
func (r looker) stay(c *checkpoint.Chain) error {
	if err := r.restoring().restore(c); err != nil {
		return err
	}
	if c.Empty() {
		return nil
	}
	return r.restoring().place(c)
}

// answersIn returns the writes of the answers that were posted to open questions, in addition to
// given.
func (r looker) answersIn(open, given []checkpoint.Write) []checkpoint.Write {
	if r.refuseStray(open); len(r.mail.answers) == 0 {
		return nil
	}
	asked := make(map[string]*checkpoint.Write, len(open))
	for i := range open {
		asked[questionID(&open[i])] = &open[i]
	}
	answered := make(map[string]bool, len(given))
	for i := range given {
		answered[questionID(&given[i])] = true
	}
	var writes []checkpoint.Write
	for i := range r.mail.answers {
		m := &r.mail.answers[i]
		q := asked[m.Name]
		if answered[m.Name] {
			r.mail.refuse(m.Number, "it was answered by a Resume")
			continue
		}
		if err := r.g.checkAnswer(r.thread, r.plan.Step, q, answer{id: m.Name, payload: m.Payload}, m.Posted); err != nil {
			r.mail.refuse(m.Number, err.Error())
			continue
		}
		r.mail.take(m.Number)
		answered[m.Name] = true
		writes = append(writes, checkpoint.Write{
			Namespace: q.Namespace, Base: q.Base, Task: q.Task, Name: q.Name, Kind: checkpoint.Answer, Payload: m.Payload,
		})
	}
	return writes
}
