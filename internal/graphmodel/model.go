package graphmodel

import (
	"fmt"
	"slices"
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
}

// Point is a checkpoint.
type Point struct {
	Step  int
	State State
	Next  []string
	Ran   []string
	at    position
	base  int // the Point that is the base of what is due here
}

// Outcome is the outcome of a call.
type Outcome struct {
	Status   string   // "done", "waiting", "paused", "failed" or "ready"
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
	m := &Model{machine: &machine{spec: s, root: true, fate: &fate{box: &mailbox{}, fails: map[string]int{}, strays: map[uint64]int{}}}}
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

// Invoke gives the thread its next input (rules 10.1, 10.2 and 10.3), with stops of this call.
func (m *Model) Invoke(stops *CallStops) Outcome {
	m.inputs++
	m.newRunLine()
	m.stopAt(stops)
	m.begin(m.step+1, m.spec.input(m.inputs))
	m.checkpoint()
	return m.run()
}

// newRunLine forgets what belongs to the run line before (rules 10.5, 17.2 and 22.9).
func (m *Model) newRunLine() {
	m.runLines++
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
	m.stopAt(stops)
	open := m.stored()
	for _, p := range open { // rule 12.6
		p.over = p.over || p.kind == forAnswer && slices.Contains(answers, p.name)
	}
	m.wake(open)
	blocked := len(rerun) == 0 && m.blocked()
	for _, t := range m.tasks { // rule 11.8
		if slices.Contains(rerun, m.spec.name(t.node)) {
			t.succeeded, t.kept = false, nil
		}
	}
	m.stopped = false                    // the call that stopped has ended, and this is another one
	if m.status == "paused" && !unseen { // rules 13.3, 13.5 and 13.6
		m.cleared = m.stopsHere()
		m.clearStopsOfCalls()
	}
	if blocked {
		m.status, m.blocks = "", true
		defer func() { m.blocks = false }()
		return m.run() // which runs nothing
	}
	return m.resume()
}

// Edit changes the state at the head. The due tasks stay due (rules 4.2 and 16.1).
func (m *Model) Edit() {
	m.edits++
	m.state.merge(new(merging), 0, m.spec.edit(m.edits))
	m.editBelow(m.spec.edit(m.edits))
	m.Trace = append(m.Trace, m.point())
}

// Replay continues the thread at the given checkpoint (rule 16.2), with stops of this call (rule
// 13.6).
func (m *Model) Replay(at int, stops *CallStops) Outcome {
	m.Fork(at, false)
	m.stopAt(stops)
	return m.resume()
}

// Fork begins a run line at the given checkpoint, with an edit (rule 16.4) or without, for a
// replay (rule 16.2). Joins stay as they were there (rule 5.4), the step is repeated (rule 1.6),
// and calls begin again (rule 18.16). Nothing has run yet.
func (m *Model) Fork(at int, edit bool) {
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
