package graphmodel

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// This file has the messages of a thread but its signals: inputs, answers and cancels, and what a
// run makes of them.

// letter is an untaken input, answer or cancel in the inbox.
type letter struct {
	post
	number uint64
	posted time.Time
	reason string // of a cancel
}

// postKind is what somebody sends to a thread.
type postKind int

const (
	anInput postKind = iota
	anAnswer
	aSignal
	aCancel
)

// policy is how an input treats the work that its thread has to do.
type policy int

const (
	queued policy = iota
	ifIdle
	discards
	cancels
)

// post is one call that sends something to a thread.
type post struct {
	kind      postKind
	request   string // of an input: its id
	input     int    // of an input: its number
	policy    policy
	limit     time.Duration // of an input: its ExecutionTimeout; zero for none
	question  string        // of an answer: the text of the question; empty for one that nobody asks
	id        string        // of an answer: that of the question
	wrong     bool          // of an answer: the check of the question refuses it
	name, key string        // of a signal
	number    int           // of a cancel; of a signal it is that of its message
}

// reason is that of a cancel, and of the cancel before an input.
func (p *post) reason() string {
	if p.kind == anInput {
		return "instead of " + p.request
	}
	return fmt.Sprint("reason ", p.number)
}

// The results of a call that posts.
const (
	stored  = "stored"
	known   = "known"
	notIdle = "not idle"
)

// send stores what a post sends (rules 21.1, 21.5, 21.21 and 21.22), and returns the result of the
// call. now is the time.
func (m *Model) send(p *post, now time.Time) string {
	box := m.fate.box
	ids := []string{p.id}
	switch p.kind {
	case aSignal:
		p.number = int(box.post(p.name, p.key, now).number)
		m.dueNow(m.begun(), now)
		return stored
	case aCancel:
		ids[0] = p.reason()
	case anInput:
		ids[0] = p.request
		if p.policy == cancels {
			ids = []string{"cancel before " + p.request, p.request}
		}
	}
	fresh := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return box.ids[id] })
	if len(fresh) == 0 {
		return known
	}
	if p.policy == ifIdle && p.kind == anInput && !m.idle() {
		return notIdle
	}
	for _, id := range fresh {
		box.posted++
		box.ids[id] = true
		l := letter{post: *p, number: box.posted, posted: now, reason: p.reason()}
		if len(ids) > 1 && id == ids[0] {
			l.kind = aCancel
		}
		box.letters = append(box.letters, l)
	}
	m.dueNow(m.begun() || p.kind == anInput, now)
	if !slices.Contains(fresh, ids[len(ids)-1]) {
		return known
	}
	return stored
}

// dueNow makes the thread due, unless a run holds it. The run makes it due when it ends (rule
// 21.7).
func (m *Model) dueNow(wakes bool, now time.Time) {
	box := m.fate.box
	switch {
	case box.running:
	case wakes && (box.wake.IsZero() || box.wake.After(now)):
		box.wake = now
	}
}

// begun reports whether the thread has a version.
func (m *Model) begun() bool { return len(m.Trace) > 0 }

// idle reports whether the thread has no work to do.
func (m *Model) idle() bool {
	box := m.fate.box
	waits := slices.ContainsFunc(box.letters, func(l letter) bool { return l.kind == anInput })
	return !waits && !box.running && m.rests()
}

// rests reports whether an input begins without dropping anything (rules 21.2 and 21.11).
func (m *Model) rests() bool { return !m.begun() || m.done || m.status == "cancelled" }

// handling is what an opening makes of messages. It counts only if the thread is opened.
type handling struct {
	gone    []uint64
	refused []refusal
}

// refusal is a message that could not take effect, and why.
type refusal struct {
	number uint64
	why    string
}

func (h *handling) take(number uint64) { h.gone = append(h.gone, number) }

func (h *handling) refuse(number uint64, why string) {
	h.gone = append(h.gone, number)
	h.refused = append(h.refused, refusal{number, why})
}

// handle makes what an opening or an end has decided count. After a refused answer, the next one
// that is posted counts (rule 21.5).
func (m *mailbox) handle(h *handling) {
	for _, l := range m.letters {
		if l.kind == anAnswer && slices.ContainsFunc(h.refused, func(r refusal) bool { return r.number == l.number }) {
			delete(m.ids, l.id)
		}
	}
	m.letters = slices.DeleteFunc(m.letters, func(l letter) bool { return slices.Contains(h.gone, l.number) })
	m.refused = append(m.refused, h.refused...)
	*h = handling{}
}

// endsOpening is handle for a run that ends with its opening.
func (m *mailbox) endsOpening(h *handling) {
	m.handle(h)
	m.seen = m.posted
}

// left are the letters of a kind that nothing has been decided about.
func (m *mailbox) left(h *handling, kind postKind) (all []letter) {
	for _, l := range m.letters {
		if l.kind == kind && !slices.Contains(h.gone, l.number) {
			all = append(all, l)
		}
	}
	return all
}

// answered reports whether an answer to a question waits that was posted in time.
func (m *mailbox) answered(w *wait) bool {
	return slices.ContainsFunc(m.letters, func(l letter) bool {
		return l.kind == anAnswer && l.question == w.name && !l.posted.After(w.due)
	})
}

// waiting are the open waits of the superstep in progress, at any depth, also those that do not
// count any more. at is the place of its calls.
func (m *machine) waiting(at string) (all []place) {
	for _, d := range m.due {
		t := m.tasks[d.key()]
		if t == nil {
			continue
		}
		name := fmt.Sprintf("%s%s.%d", at, m.spec.name(d.node), d.index)
		for _, w := range t.open() {
			all = append(all, place{w, name})
		}
		if t.call != nil && !t.call.done {
			all = append(all, t.call.waiting(name+"/")...)
		}
	}
	return all
}

// asked are the questions among those waits.
func (m *machine) asked() []place {
	return slices.DeleteFunc(m.waiting(""), func(p place) bool { return p.kind != forAnswer })
}

// shown is what a snapshot shows of those waits: those that have not expired (rule 21.25).
func (m *machine) shown() (o Outcome) {
	o.waitFor(slices.DeleteFunc(m.waiting(""), func(p place) bool { return m.fate.box.tooLate(p.wait) }))
	return o
}

// tooLate reports whether an answer or a signal would come too late now (rules 21.18 and 22.8).
func (m *mailbox) tooLate(w *wait) bool { return !w.timer() && !w.due.IsZero() && m.now.After(w.due) }

// storeQuestions is the end of a run. With OnExit it does not store what tasks have waited for in
// that run before they lost a race (rule 14.6).
func (m *machine) storeQuestions(onExit bool) {
	for _, t := range m.tasks {
		t.waits = slices.DeleteFunc(t.waits, func(w *wait) bool {
			return onExit && t.lost && !w.over && !w.stored
		})
		for _, w := range t.waits {
			w.stored = true
		}
		if t.call != nil && !t.call.done {
			t.call.storeQuestions(onExit)
		}
	}
}

// during makes posts arrive when the n-th attempt of the next run begins. It returns their
// results, which the run sets.
func (m *Model) during(n int, posts []*post) *[]string {
	results, box := new([]string), m.fate.box
	box.arrive = func() {
		if n--; n != 0 {
			return
		}
		before := box.posted
		for _, p := range posts {
			*results = append(*results, m.send(p, box.now))
		}
		box.stopped = slices.ContainsFunc(box.letters, func(l letter) bool { return l.kind == aCancel && l.number > before })
		box.now = box.now.Add(meantime)
	}
	return results
}

// leave ends the context of the next run when its n-th attempt begins (rule 14.7).
func (m *Model) leave(n int) {
	box := m.fate.box
	box.arrive = func() {
		if n--; n == 0 {
			box.stopped, box.leaves = true, true
		}
	}
}

// meantime is how long an attempt takes in which messages arrive: longer than a run needs to learn
// of them (rule 21.10).
const meantime = 2 * time.Second

// interrupts begins an attempt. It reports whether a cancel ends it, or the end of the context.
func (m *mailbox) interrupts() bool {
	if m.arrive != nil {
		m.arrive()
	}
	return m.stopped
}

// closes ends a run that has opened the thread.
func (m *Model) closes(out *Outcome, pause time.Duration) {
	box := m.fate.box
	if box.stopped && !box.leaves && !box.expired {
		var h handling
		newest, _ := box.newestCancel(&h)
		h.take(newest.number)
		box.obey(&h, newest)
		m.refuseStray(&h, nil)
		box.handle(&h)
		box.seen = box.posted
	}
	m.ends(out, pause)
	m.storeQuestions(m.onExit)
	box.stopped, box.leaves, box.expired, box.worker, box.arrive = false, false, false, false, nil
}

// ends notes when the thread is due after a run. pause is that before the next run of a worker
// that failed; zero for a run in person (rules 15.5, 21.7, 21.10 and 22.5).
func (m *Model) ends(o *Outcome, pause time.Duration) {
	box := m.fate.box
	box.running, box.wake = false, time.Time{}
	inputs := box.left(new(handling), anInput)
	begins := len(inputs) > 0 && (o.Status == "done" || o.Status == "cancelled" || inputs[0].policy == discards)
	switch {
	case box.posted > box.seen, begins:
		box.wake = box.now
	case o.Status == "waiting":
		box.wake = box.limited(nextDue(o.open))
	case o.Status == "ready" && pause > 0: // rule 15.8
		box.wake = box.now
	case o.Status == "failed" && pause > 0:
		box.wake = box.limited(box.now.Add(pause))
	case o.Status == "ready" || o.Status == "paused": // rule 14.9
		box.wake = box.expires
	}
	if !box.wake.IsZero() && box.wake.Before(box.now) {
		box.wake = box.now
	}
	if o.Status == "cancelled" { // rule 14.10
		box.expires = time.Time{}
	}
}

// keepDue notes when the thread is due after an edit (rules 22.9 and 22.12).
func (m *Model) keepDue() {
	box := m.fate.box
	if next := nextDue(m.stored()); m.status != "cancelled" && !next.IsZero() && (box.wake.IsZero() || next.Before(box.wake)) {
		box.wake = next
	}
	if !box.wake.IsZero() && box.wake.Before(box.now) {
		box.wake = box.now
	}
}

// mailText prints the inbox: each message with its number.
func (m *mailbox) mailText() string {
	lines := map[uint64]string{}
	for _, s := range m.signals {
		lines[s.number] = fmt.Sprintf("signal %s/%s", s.name, s.key)
	}
	for _, l := range m.letters {
		lines[l.number] = [...]string{"input " + l.request, "answer", "", "cancel"}[l.kind]
	}
	return numbered(lines)
}

// refusedText prints the refused messages, each with the reason.
func (m *mailbox) refusedText() string {
	lines := map[uint64]string{}
	for _, r := range m.refused {
		lines[r.number] = r.why
	}
	return numbered(lines)
}

func numbered(lines map[uint64]string) string {
	var all []string
	for n, line := range lines {
		all = append(all, fmt.Sprintf("%6d %s\n", n, line))
	}
	slices.Sort(all)
	return strings.Join(all, "")
}
