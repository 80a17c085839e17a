package graphmodel

import (
	"fmt"
	"slices"
	"time"
)

// mailbox is what a thread has outside of its log: the clock of its saver, and its messages. All
// machines of a thread share it.
type mailbox struct {
	now     time.Time
	posted  uint64   // the number of the newest message
	signals []signal // that no task has received
	letters []letter // the other untaken messages
	refused []refusal
	replies map[uint64]int64 // to messages, by their numbers
	ids     map[string]bool  // of letters, also of those that were taken

	wake    time.Time // when the thread is due; zero for never
	running bool      // a run holds the thread
	seen    uint64    // the newest message that the run knows
	stopped bool      // and that was a cancel; or the context of the run has ended
	leaves  bool      // it was the context
	expires time.Time // the deadline of the run line; zero for none
	expired bool      // it has ended the run
	worker  bool      // the run is that of a worker
	arrive  func()    // called when an attempt begins; nil for none
}

// signal is a signal in the inbox.
type signal struct {
	number    uint64
	name, key string
	payload   int64
	posted    time.Time
}

// lease is how long a run holds its thread. A run waits in memory for a timer that is due sooner.
const lease = 15 * time.Second

// post adds a signal to the inbox.
func (m *mailbox) post(name, key string, now time.Time) signal {
	m.posted++
	s := signal{m.posted, name, key, payloadOf(m.posted, name, key), now}
	m.signals = append(m.signals, s)
	return s
}

// payloadOf is the payload of the signal with a number.
func payloadOf(number uint64, name, key string) int64 {
	return int64(hash("signal", number, name, key) % 1000)
}

// find returns the index of the oldest signal that a receive may take, or -1 (rules 21.13,
// 21.18 and 21.19).
func (m *mailbox) find(w *wait) int {
	return slices.IndexFunc(m.signals, func(s signal) bool {
		return s.name == w.name && s.key == w.key && (w.due.IsZero() || !s.posted.After(w.due))
	})
}

// reply gives the replies of a task whose result counts (rule 27.2).
func (m *mailbox) reply(t *task) {
	for _, w := range t.waits {
		if t.succeeded && !t.fell && w.kind == forSignal && w.over && !w.expired && w.name == signalNames[1] {
			m.replies[w.signal.number] = replyTo(w.signal.payload)
		}
	}
}

// takeBack puts signals into the inbox that a task had received, with their numbers (rule 21.17).
// The replies to them count no more.
func (m *mailbox) takeBack(received []signal) {
	m.signals = append(m.signals, received...)
	for _, s := range received {
		delete(m.replies, s.number)
	}
	slices.SortFunc(m.signals, func(a, b signal) int { return int(a.number) - int(b.number) })
}

// wait is something that a task waits for, or has waited for: a timer, a signal or an answer.
type wait struct {
	kind      waitKind
	number    int       // among the waits of the task of that kind, name and key
	name, key string    // of a signal; the text of a question is its name
	due       time.Time // of a timer, and when the others expire; zero for never
	over      bool      // the time has come, or the task has the signal or the answer
	stored    bool      // by the end of a run
	asked     bool      // the task has waited for it
	expired   bool      // the due time of a signal or an answer has come first
	signal    signal
}

// waitKind is what a task waits for.
type waitKind int

const (
	forTime waitKind = iota
	forSignal
	forAnswer
	forAttempt // a pause of Retry (rule 22.11)
)

// timer reports whether only the run can end the wait.
func (w *wait) timer() bool { return w.kind == forTime || w.kind == forAttempt }

// value is what a node gets for a signal or an answer.
func (w *wait) value() int64 {
	switch {
	case w.expired:
		return -1
	case w.kind == forSignal:
		return w.signal.payload
	}
	return answering(w.name)
}

// waitFor returns the wait of a kind, a name and a key with a number among those of the task. If
// the task has none, it begins one (rules 21.15 and 22.3). A duration of zero never ends.
func (t *task) waitFor(box *mailbox, kind waitKind, number int, name, key string, d time.Duration) *wait {
	for _, w := range t.waits {
		if w.kind == kind && w.number == number && w.name == name && w.key == key {
			return w
		}
	}
	w := &wait{kind: kind, number: number, name: name, key: key}
	if d > 0 {
		w.due = box.now.Add(d) // rules 22.2 and 22.8
	}
	t.waits = append(t.waits, w)
	return w
}

// await makes a task wait for what its node waits for (rule 22.1), and returns what it gets. ok
// reports that it has everything.
func (m *machine) await(t *task, n *Node) (got []int64, ok bool) {
	box := m.fate.box
	for k, d := range n.Naps {
		if !t.waitFor(box, forTime, k, "", "", d).over {
			return nil, false
		}
	}
	ok = true
	numbers := map[string]int{}
	for k := range n.Receives {
		name, key := n.receives(k)
		w := t.waitFor(box, forSignal, numbers[name+key], name, key, n.Expires)
		numbers[name+key]++
		if i := box.find(w); !w.over && i >= 0 {
			box.give(w, i)
		}
		w.asked = w.asked || !w.over
		if ok = ok && w.over; !ok && !n.AtOnce {
			return nil, false
		}
		got = append(got, w.value())
	}
	for k := range n.Asks {
		w := t.waitFor(box, forAnswer, k, m.spec.asking(t.doing(), k, m.state.State), "", n.Expires)
		if ok = ok && w.over; !ok && !n.AtOnce {
			return nil, false
		}
		got = append(got, w.value())
	}
	return got, ok
}

// give gives a signal in the inbox to a receive.
func (m *mailbox) give(w *wait, i int) {
	w.over, w.signal = true, m.signals[i]
	if w.signal.number == m.seen+1 {
		m.seen++
	}
	m.signals = slices.Delete(m.signals, i, i+1)
}

// open are the waits of a task that are not over.
func (t *task) open() (open []*wait) {
	for _, w := range t.waits {
		if !w.over {
			open = append(open, w)
		}
	}
	return open
}

// received are the signals that a task, and the call that it made, have received. A task that
// fails keeps them (rule 21.23).
func (t *task) received() (all []signal) {
	for _, w := range t.waits {
		if w.kind == forSignal && w.over && !w.expired {
			all = append(all, w.signal)
		}
	}
	if t.call != nil {
		all = append(all, t.call.received...)
		for _, t := range t.call.tasks {
			all = append(all, t.received()...)
		}
	}
	return all
}

// leave gives back the signals that unfinished tasks have received, at any depth, because their
// branch is left (rule 21.17). A task that waited for such a signal waits again. With all it gives
// back those of all tasks, because the call does not count any more (rule 21.27).
func (m *machine) leave(all bool) {
	if all {
		m.fate.box.takeBack(m.received)
		m.received = nil
	}
	for _, t := range m.tasks {
		if t.call != nil && (all || !t.call.done) {
			t.call.leave(all || t.lost || t.succeeded)
		}
		if t.succeeded && !all {
			m.fate.box.reply(t)
			continue
		}
		t.waits = slices.DeleteFunc(t.waits, func(w *wait) bool {
			if w.kind != forSignal || !w.over || w.expired {
				return false
			}
			m.fate.box.takeBack([]signal{w.signal})
			w.over = false
			return !w.asked
		})
	}
}

// settleSignals decides, at a commit, whether the signals that tasks have received go back (rule
// 21.17).
func (m *machine) settleSignals(tasks []*task) {
	for _, t := range tasks {
		received := t.received()
		if t.lost || t.call != nil && !t.call.done { // a fallback has handled that the call failed
			m.fate.box.takeBack(received)
			continue
		}
		m.fate.box.reply(t)
		m.received = append(m.received, received...)
	}
}

// place is an open wait, with where the task is.
type place struct {
	*wait
	at string
}

// String is what a report shows of the wait.
func (p place) String() string {
	switch p.kind {
	case forTime, forAttempt:
		return p.at + at(p.due)
	case forAnswer:
		return p.name
	}
	return p.name + "/" + p.key + " " + p.at + at(p.due)
}

func at(due time.Time) string {
	if due.IsZero() {
		return ""
	}
	return " until " + due.UTC().Format(time.DateTime)
}

// openIn returns the open waits of tasks, and those that their calls have left in this run, in
// task order (rule 12.11).
func (m *machine) openIn(tasks []*task) (all []place) {
	for _, t := range tasks {
		if t.lost || t.succeeded {
			continue
		}
		name := fmt.Sprintf("%s.%d", m.spec.name(t.node), t.index)
		for _, p := range t.inside {
			all = append(all, place{p.wait, name + "/" + p.at})
		}
		for _, w := range t.open() {
			all = append(all, place{w, name})
		}
	}
	return all
}

// stored returns the open waits of the superstep in progress, at any depth.
func (m *machine) stored() (all []place) {
	for _, d := range m.runnable() {
		t := m.tasks[d.key()]
		if t == nil || t.lost {
			continue
		}
		if t.call != nil && !t.call.done {
			t.inside = t.call.stored()
		}
		all = append(all, m.openIn([]*task{t})...)
	}
	return all
}

// wake ends the waits whose signal or time has come (rules 21.16, 22.4 and 22.6). It reports
// whether there are any.
func (m *machine) wake(open []place) (woken bool) {
	box := m.fate.box
	for _, p := range open {
		if i := box.find(p.wait); p.kind == forSignal && i >= 0 {
			box.give(p.wait, i)
			woken = true
		}
	}
	for _, p := range open {
		if !p.over && !p.due.IsZero() && !p.due.After(box.now) && (p.kind != forAnswer || !box.answered(p.wait)) {
			p.over, p.expired, woken = true, !p.timer(), true
		}
	}
	return woken
}

// rest waits in memory for the next timer of a run that has nothing else to do (rule 22.5). It
// reports whether tasks run again.
func (m *machine) rest(tasks []*task) bool {
	if !m.root || m.blocks || slices.ContainsFunc(tasks, func(t *task) bool { return t.stopped }) {
		return false
	}
	open := m.openIn(tasks)
	box := m.fate.box
	if slices.ContainsFunc(open, func(p place) bool { return p.kind == forSignal && box.find(p.wait) >= 0 }) {
		return m.wake(open)
	}
	next := nextDue(open)
	answerable := slices.ContainsFunc(open, func(p place) bool { return !p.timer() })
	wait := next.Sub(box.now)
	if next.IsZero() || wait > lease || wait > 0 && answerable {
		return false
	}
	if box.limited(next).Before(next) { // rule 14.9
		box.now, box.stopped, box.expired = box.expires, true, true
		return false
	}
	if wait > 0 {
		box.now = next
	}
	return m.wake(open)
}

// limited returns the earlier of a time and the deadline of the run line. Zero is never.
func (m *mailbox) limited(at time.Time) time.Time {
	if at.IsZero() || !m.expires.IsZero() && m.expires.Before(at) {
		return m.expires
	}
	return at
}

// late reports whether the deadline of the run line has passed.
func (m *mailbox) late() bool { return !m.expires.IsZero() && !m.now.Before(m.expires) }

// nextDue is when the next of some waits is due; zero for never.
func nextDue(open []place) (next time.Time) {
	for _, p := range open {
		if !p.due.IsZero() && (next.IsZero() || p.due.Before(next)) {
			next = p.due
		}
	}
	return next
}

// waitFor makes open what the outcome of a run waits for.
func (o *Outcome) waitFor(open []place) {
	o.open = open
	for _, p := range open {
		switch p.kind {
		case forTime, forAttempt:
			o.Timers = append(o.Timers, p.String())
		case forSignal:
			o.Signals = append(o.Signals, p.String())
		case forAnswer:
			o.Waiting = append(o.Waiting, p.String())
		}
	}
}
