package graphmodel

import (
	"fmt"
	"slices"
	"time"
)

// Model is a thread on which a Spec runs by the rules.
type Model struct {
	*machine
	Trace []Point // the checkpoints, in the order made

	base      int          // the Point that is the base of what is due
	committed map[int]bool // the bases whose superstep is committed
	inputs    int
	edits     int
	runLines  int

	mark     uint64 // the newest message that is older than the run line
	request  string // the id of the newest input; empty for none
	withEdit bool   // the next Resume begins with an edit
	onExit   bool   // the next run stores its data at its end
}

// Point is a checkpoint.
type Point struct {
	Step  int
	State State
	Next  []string
	Ran   []string
	Drops []string // the tasks that the input dropped
	at    position
	base  int // the Point that is the base of what is due here
}

// Outcome is the outcome of a call.
type Outcome struct {
	Status   string   // "done", "waiting", "paused", "failed", "cancelled" or "ready"
	Failed   string   // why a superstep was not committed, and who failed; empty if nothing failed
	Waiting  []string // the texts of the open questions
	Timers   []string
	Signals  []string
	Next     []string
	Unjoined []string
	State    State // the newest committed one

	open     []place
	rerun    []string // the nodes whose results have to be dropped
	panicked bool
}

// NewModel returns an empty thread.
func NewModel(s *Spec) *Model {
	m := &Model{machine: &machine{spec: s, below: s.Below, root: true, fate: &fate{box: &mailbox{ids: map[string]bool{}, replies: map[uint64]int64{}}, fails: map[string]int{}, strays: map[uint64]int{}}}}
	m.step = -1
	m.committed = map[int]bool{}
	m.commit = func(ran []string) {
		m.committed[m.base] = true
		m.checkpoint()
		m.Trace[m.base].Ran = ran
	}
	return m
}

func (m *Model) point() Point {
	return Point{Step: m.step, State: m.state.State, Next: m.next(), at: m.position, base: m.base}
}

// checkpoint records a checkpoint that is a base.
func (m *Model) checkpoint() {
	m.base = len(m.Trace)
	m.Trace = append(m.Trace, m.point())
}

// Invoke gives the thread its next input, with stops of this call. It begins before the posted
// inputs (rule 21.4). limit is its ExecutionTimeout; zero for none.
func (m *Model) Invoke(stops *CallStops, request string, limit time.Duration) Outcome {
	m.inputs++
	first := !m.begun() && m.fate.box.posted > 0
	inputs := m.begun() && len(m.fate.box.left(new(handling), anInput)) > 0
	if inputs {
		m.fate.box.obeyBefore(m.fate.box.posted)
	}
	out := m.enter(m.inputs, m.fate.box.posted, request, stops, deadline(m.fate.box.now, limit))
	switch {
	case inputs: // the opening looks
	case !first: // the run knows the number of the newest message, and need not look
	case out.Status == "paused" && m.spec.EntryRoute == nil && m.step == 1 && m.tasks == nil:
		m.fate.box.seen = 0 // the opening was the end, before the run could look (rule 21.7)
	default:
		m.fate.box.obeyBefore(m.mark)
		var h handling
		for _, l := range m.fate.box.left(&h, anAnswer) {
			if l.number <= m.mark { // the run looks at its beginning
				h.refuse(l.number, "not asked")
			}
		}
		m.fate.box.handle(&h)
	}
	m.closes(&out, 0)
	return out
}

// deadline is when an input with an ExecutionTimeout ends whose time begins at since (rule 14.9).
func deadline(since time.Time, limit time.Duration) (at time.Time) {
	if limit > 0 {
		at = since.Add(limit)
	}
	return at
}

// enter begins a run line with an input (rules 10.1, 10.2 and 10.3). mark is the number of the
// newest message that is older (rule 21.9). expires is the deadline; zero for none.
func (m *Model) enter(input int, mark uint64, request string, stops *CallStops, expires time.Time) Outcome {
	m.machine.leave(false) // rule 21.17
	m.leaveBranch()
	ran, drops := m.passOver()
	m.newRunLine()
	m.mark, m.request, m.fate.box.running, m.fate.box.seen = mark, request, true, m.fate.box.posted
	m.fate.box.expires = expires
	m.stopAt(stops)
	m.begin(m.step+1, m.spec.input(input))
	m.checkpoint()
	m.Trace[m.base].Ran, m.Trace[m.base].Drops = ran, drops
	return m.run()
}

// leaveBranch leaves the branch of the head (rule 21.25).
func (m *Model) leaveBranch() {
	if !m.begun() {
		return // there is no version yet
	}
	var h handling
	m.refuseStray(&h, nil)
	m.fate.box.handle(&h)
}

// newRunLine forgets what belongs to the run line before (rules 10.5, 14.10, 17.2 and 22.9).
func (m *Model) newRunLine() {
	m.runLines++
	m.mark, m.fate.box.expires = m.fate.box.posted, time.Time{}
	m.name = fmt.Sprint("run line ", m.runLines)
	m.cleared, m.stopped, m.own, m.tasks, m.status, m.done = nil, false, nil, nil, "", false
}

// Resume continues the thread, with answers to some questions, the results of some nodes dropped,
// and stops of this call. With unseen nobody has seen that the thread is paused there: it was
// forked, or its branch was left.
func (m *Model) Resume(answers []string, rerun []string, unseen bool, stops *CallStops) Outcome {
	if m.done {
		return m.outcome("done") // rule 15.2
	}
	var h handling
	if m.attend(&h) || m.late(&h) {
		m.withEdit = false // it is stored, and runs nothing (rule 16.15)
		m.fate.box.endsOpening(&h)
		out := m.end("cancelled")
		m.closes(&out, 0)
		return out
	}
	out, opened := m.reopen(&h, answers, rerun, unseen, stops)
	if opened {
		m.closes(&out, 0)
	}
	return out
}

// reopen is Resume without the end of the run. h is what the opening makes of messages. opened
// reports whether the call stored anything (rule 12.9).
func (m *Model) reopen(h *handling, answers, rerun []string, unseen bool, stops *CallStops) (out Outcome, opened bool) {
	m.stopAt(stops)
	open := m.stored()
	taken := m.takeAnswers(h, answers)
	for _, p := range open { // rule 12.6
		p.over = p.over || p.kind == forAnswer && slices.Contains(answers, p.name)
	}
	decided := len(h.gone) > 0
	m.fate.box.handle(h)
	woken := m.wake(open)
	blocked := len(rerun) == 0 && m.blocked()
	opened = !blocked || m.withEdit || taken || woken || len(answers) > 0 || decided || m.status != "waiting"
	m.withEdit = false
	m.fate.box.running, m.fate.box.seen = opened, m.fate.box.posted
	for _, t := range m.tasks { // rule 11.8
		if slices.Contains(rerun, m.spec.name(t.node)) {
			t.succeeded, t.fell, t.kept = false, false, nil
		}
	}
	if len(rerun) > 0 {
		m.decideRaces(m.tasksOf(m.runnable())) // rule 11.20
	}
	m.stopped = false                    // the call that stopped has ended, and this is another one
	if m.status == "paused" && !unseen { // rules 13.3, 13.5 and 13.6
		m.cleared = m.stopsHere()
		m.clearStopsOfCalls()
	}
	if blocked {
		m.status, m.blocks = "", true
		defer func() { m.blocks = false }()
		return m.run(), opened // which runs nothing
	}
	return m.resume(), true
}

// Edit changes the state at the head. The due tasks stay due (rules 4.2 and 16.1).
func (m *Model) Edit() {
	m.edits++
	m.state.merge(new(merging), 0, m.spec.edit(m.edits))
	m.editBelow(m.spec.edit(m.edits))
	m.keepDue()
	m.Trace = append(m.Trace, m.point())
}

// Replay continues the thread at the given checkpoint (rule 16.2), with stops of this call (rule
// 13.6).
func (m *Model) Replay(at int, stops *CallStops) Outcome {
	m.Fork(at, false)
	m.stopAt(stops)
	m.fate.box.running, m.fate.box.seen = true, m.fate.box.posted
	out := m.resume()
	m.closes(&out, 0)
	return out
}

// Fork begins a run line at the given checkpoint, with an edit (rule 16.4) or without, for a
// replay (rule 16.2). Joins stay as they were there (rule 5.4), the step is repeated (rule 1.6),
// and calls begin again (rule 18.16). Nothing has run yet.
func (m *Model) Fork(at int, edit bool) {
	m.leaveBranch()
	m.newRunLine()
	m.position = m.Trace[at].at
	if edit {
		m.edits++
		m.state.merge(new(merging), 0, m.spec.edit(m.edits))
	}
	m.done = m.ended()
	m.checkpoint()
}

// empty is the place of an edit of an empty thread, where Fork, ForkAs and Goto have a Point.
const empty = -1

// place returns the position of a checkpoint, or of an empty thread.
func (m *Model) place(at int) position {
	if at == empty {
		return position{step: -1, joins: m.emptyJoins()}
	}
	return m.Trace[at].at
}

// Seed begins the thread with an edit. Nothing is due (rule 16.11).
func (m *Model) Seed() {
	m.newRunLine()
	m.position = m.place(empty)
	m.edits++
	m.state.merge(new(merging), 0, m.spec.edit(m.edits))
	m.step++
	m.done = true
	m.checkpoint()
}

// Goto begins a run line at the given checkpoint with an edit, after which a choice is due (rules
// 16.14 and 5.4).
func (m *Model) Goto(at int, choice []target) {
	m.leaveBranch()
	m.newRunLine()
	m.position = m.place(at)
	m.edits++
	m.state.merge(new(merging), 0, m.spec.edit(m.edits))
	if at == empty {
		m.step++
	}
	next := &successors{machine: m.machine}
	next.choose(choice)
	m.due, m.pending = next.ordered(), nil
	m.done = m.ended()
	m.checkpoint()
}

// ForkAs begins a run line at the given checkpoint (rules 16.5, 16.6, 16.12 and 16.13). The line
// is as if nodes had returned the edits from number first on. If goes is not nil, it is what is
// due next (rule 16.14). ForkAs reports whether the routes answered. If not, nothing has changed
// (rule 16.8).
func (m *Model) ForkAs(at int, nodes []dueTask, goes []target) bool {
	before := m.branch()
	m.newRunLine()
	m.position = m.place(at)
	m.due, m.pending, m.joins, m.base = nodes, nil, m.emptyJoins(), -1 // rule 5.5
	m.tasks = map[string]*task{}
	var tasks []*task
	for i, d := range nodes {
		t := &task{dueTask: d, succeeded: true, changes: [][]change{m.spec.editAs(m.edits+1+i, i)}}
		m.tasks[t.key()] = t
		tasks = append(tasks, t)
	}
	m.editing, m.goes = true, goes
	_, failed := m.finish(tasks)
	m.editing, m.goes = false, nil
	if failed != nil {
		m.continueBranch(before)
		return false
	}
	m.leaveBranch()
	m.edits += len(nodes)
	m.done = m.ended()
	return true
}

// branch is the end of a branch that is left, to be continued later.
type branch struct {
	machine machine
	base    int
}

func (m *Model) branch() branch { return branch{*m.machine, m.base} }

// continueBranch makes a branch that was left that of the thread again, with its results and
// questions (rule 16.3).
func (m *Model) continueBranch(b branch) { *m.machine, m.base = b.machine, b.base }
