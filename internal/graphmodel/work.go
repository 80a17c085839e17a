package graphmodel

import (
	"slices"
	"time"
)

// This file has what an opening makes of the messages of its thread.

// Work lets a worker look at the thread, which is due. pause is that before its next run, should
// this one fail.
func (m *Model) Work(pause time.Duration) (out Outcome, opened bool) {
	m.fate.box.worker = true
	if out, opened = m.openDue(); opened {
		m.closes(&out, pause)
		return out, true
	}
	m.fate.box.wake, m.fate.box.worker = time.Time{}, false // rule 21.8
	if out.Status == "waiting" || out.Status == "paused" {
		m.fate.box.wake = m.fate.box.limited(nextDue(out.open))
	}
	return out, false
}

// late reports whether the deadline of what is due has passed. It then ends that as a cancel does
// (rule 14.9).
func (m *Model) late(h *handling) bool {
	if m.rests() || !m.fate.box.late() {
		return false
	}
	m.refuseStray(h, nil)
	return true
}

// attend looks for a cancel. ended reports that it ends what is due (rules 21.9 and 21.10).
func (m *Model) attend(h *handling) (ended bool) {
	newest, ok := m.fate.box.newestCancel(h)
	if !ok {
		return false
	}
	some := m.fate.box.obey(h, newest)
	switch {
	case m.begun() && !m.done && m.status != "cancelled" && newest.number > m.mark:
		h.take(newest.number)
		m.refuseStray(h, nil)
		return true
	case some:
		h.take(newest.number)
	default:
		h.refuse(newest.number, "nothing to cancel")
	}
	return false
}

// obeyBefore obeys the cancels that are older than a run line, up to the message with a number.
func (m *mailbox) obeyBefore(mark uint64) {
	var h handling
	for _, l := range slices.Backward(m.left(&h, aCancel)) {
		if l.number <= mark {
			h.take(l.number)
			m.obey(&h, l)
		}
	}
	m.handle(&h)
}

// newestCancel returns the newest cancel, and takes the older ones.
func (m *mailbox) newestCancel(h *handling) (newest letter, ok bool) {
	all := m.left(h, aCancel)
	if len(all) == 0 {
		return newest, false
	}
	for _, l := range all[:len(all)-1] {
		h.take(l.number)
	}
	return all[len(all)-1], true
}

// obey refuses the inputs that are older than a cancel (rule 21.9), and reports whether there are
// any.
func (m *mailbox) obey(h *handling, newest letter) (some bool) {
	for _, in := range m.left(h, anInput) {
		if in.number < newest.number {
			h.refuse(in.number, "cancelled: "+newest.reason)
			some = true
		}
	}
	return some
}

// openDue is Work without the end of the run. opened reports whether the worker opened the thread
// (rules 15.9 and 21.8).
func (m *Model) openDue() (out Outcome, opened bool) {
	var h handling
	if m.attend(&h) || m.late(&h) {
		m.fate.box.endsOpening(&h)
		return m.end("cancelled"), true
	}
	next := m.nextInput(&h)
	switch {
	case next != nil && (next.policy == discards || m.rests()): // rules 21.2 and 21.3
		h.take(next.number)
		m.refuseStray(&h, nil)
		m.fate.box.handle(&h)
		return m.enter(next.input, next.number, next.request, nil, deadline(next.posted, next.limit)), true
	case m.rests():
		return m.openAtRest(&h)
	case m.status == "paused":
		return m.outcome("paused"), false // rule 15.9
	}
	return m.reopen(&h, nil, nil, false, nil)
}

// nextInput returns the input that begins next. It refuses those that have run.
func (m *Model) nextInput(h *handling) *letter {
	for _, l := range m.fate.box.left(h, anInput) {
		if l.request != m.request {
			return &l
		}
		h.refuse(l.number, "has run")
	}
	return nil
}

// openAtRest opens a thread that has nothing to do only to refuse messages (rules 21.6 and 21.12).
func (m *Model) openAtRest(h *handling) (out Outcome, opened bool) {
	m.refuseStray(h, nil)
	status := "done"
	if m.status == "cancelled" {
		status = "cancelled"
	}
	if len(h.gone) == 0 {
		return m.outcome(status), false
	}
	m.fate.box.endsOpening(h)
	if !m.begun() {
		m.step, m.done, m.status = 0, true, "cancelled"
		m.checkpoint()
		return m.outcome("cancelled"), true
	}
	return m.outcome(status), true
}

// refuseStray refuses answers to other questions than the open ones (rules 21.6 and 21.25).
func (m *Model) refuseStray(h *handling, asked []place) {
	for _, l := range m.fate.box.left(h, anAnswer) {
		if !slices.ContainsFunc(asked, func(w place) bool { return w.name == l.question }) {
			h.refuse(l.number, "not asked")
		}
	}
}

// takeAnswers gives the posted answers to the questions of the branch. given are the questions
// that the call answers itself (rules 21.5 and 22.8).
func (m *Model) takeAnswers(h *handling, given []string) (some bool) {
	open := m.asked()
	m.refuseStray(h, open)
	for _, l := range m.fate.box.left(h, anAnswer) {
		i := slices.IndexFunc(open, func(w place) bool { return w.name == l.question })
		switch {
		case slices.Contains(given, l.question):
			h.refuse(l.number, "answered")
		case !open[i].due.IsZero() && l.posted.After(open[i].due):
			h.refuse(l.number, "expired")
		case l.wrong: // rule 12.12
			h.refuse(l.number, "wrong")
		default:
			h.take(l.number)
			open[i].over, some = true, true
		}
	}
	return some
}
