package graphmodel

import (
	"fmt"
	"maps"
	"slices"
)

// Model is a thread on which a Spec runs, by the rules alone.
type Model struct {
	*machine
	Trace  []Point      // the checkpoints, in the order made
	base   int          // the Point that made due what is
	over   map[int]bool // the bases whose tasks are done
	inputs int
	edits  int
	lines  int
}

// Point is a checkpoint.
type Point struct {
	Step  int
	State State
	Next  []string
	at    position
	base  int // the Point that made due what is due here
}

// Outcome is what a call comes to.
type Outcome struct {
	Status   string // "finished", "asked" or "paused"
	Failed   string // why a superstep did not commit, and who it was; empty when nothing failed
	Waiting  []string
	Next     []string
	Unjoined []string
	State    State // the newest committed one

	rerun    []string // the nodes whose results have to go
	panicked bool
}

// fate is what outlives a process, as World is.
type fate struct {
	mended bool
	fails  map[string]int
	astray map[uint64]int
}

// position is where a machine stands between two supersteps. It is a value.
type position struct {
	state    merged
	step     int
	due      []task
	owed     []int
	joins    [][]bool
	recalled map[int]recalled // what subgraphs remember, by node
}

// besides reports whether more is due than one task of a node which is due itself.
func (p *position) besides(node int) bool {
	nodes := slices.Clone(p.owed)
	for _, t := range p.due {
		nodes = append(nodes, t.node)
	}
	return len(nodes) > 1 && slices.Contains(nodes, node)
}

// recalled is what the last call of a subgraph came to.
type recalled struct {
	state merged
	below map[int]recalled
}

// task is one that is due.
type task struct {
	node  int
	index int
	sent  bool
	job   Job
}

// machine runs one graph: that of the thread, or of one call of a subgraph.
type machine struct {
	spec *Spec
	fate *fate
	name string // what tells its tasks from those of others
	position
	pass   []int            // nodes whose stop was answered
	halted bool             // it stopped, and nobody has answered that
	slots  map[string]*slot // of the superstep under way
	status string           // what the newest run came to: "" for one under way
	edited bool             // an edit stands for the superstep: no run stops after it
	commit func()           // called when a superstep is
	done   bool

	changes [][]change // of a subgraph over the same state: those of its tasks, in the order in which they merged
	ups     []pick     // what it has the graph around it do
}

// slot is what is known of a task of the superstep under way.
type slot struct {
	task
	ended    bool
	changes  [][]change // of a subgraph over the same state several updates, else one
	picks    []pick
	asked    []string         // questions, in the order asked
	answers  map[string]int64 // by question
	child    *machine
	failed   bool // in this run, as are those that follow
	panicked bool
	asking   bool
	stopped  bool
	beaten   bool
	below    []string
}

// NewModel returns an empty thread.
func NewModel(s *Spec) *Model {
	m := &Model{machine: &machine{spec: s, fate: &fate{fails: map[string]int{}, astray: map[uint64]int{}}}}
	m.step = -1
	m.over = map[int]bool{}
	m.commit = func() { m.over[m.base] = true; m.made() }
	return m
}

func (m *Model) point() Point {
	return Point{Step: m.step, State: m.state.State, Next: m.next(), at: m.position, base: m.base}
}

// made takes down a checkpoint that makes tasks due.
func (m *Model) made() {
	m.base = len(m.Trace)
	m.Trace = append(m.Trace, m.point())
}

// Invoke gives the thread its next input.
func (m *Model) Invoke() Outcome {
	m.inputs++
	m.line()
	m.enter(m.step + 1)
	m.made()
	m.slots[slotName(task{node: Start})].changes = [][]change{m.spec.input(m.inputs)}
	return m.loop()
}

// line begins a line of its own: its tasks are others.
func (m *Model) line() {
	m.lines++
	m.name = fmt.Sprint("line ", m.lines)
	m.pass, m.halted, m.slots, m.status, m.done = nil, false, nil, "", false
}

// enter makes Start due at a step, and done.
func (m *machine) enter(step int) {
	m.position = position{state: m.state, step: step, due: []task{{node: Start}}, joins: m.noJoins(), recalled: m.recalled}
	m.slots = map[string]*slot{slotName(task{node: Start}): {task: task{node: Start}, ended: true}}
}

func (m *machine) noJoins() [][]bool {
	var joins [][]bool
	for _, f := range m.spec.Joins {
		joins = append(joins, make([]bool, len(f.From)))
	}
	return joins
}

// Resume takes the thread up, with answers to some questions and the results of some nodes dropped. With again it was left
// for another line, or made by a fork: its stop has not been answered.
func (m *Model) Resume(answers []string, rerun []string, again bool) Outcome {
	if m.done {
		return m.outcome("finished")
	}
	for _, q := range answers {
		m.answer(q)
	}
	for _, sl := range m.slots {
		if slices.Contains(rerun, m.spec.name(sl.node)) {
			sl.ended = false // its questions, answers and subgraph stay
		}
	}
	m.halted = false // at the top it is the call that stopped, and this is another one
	if m.status == "paused" && !again {
		m.pass = m.stopsHere()
		m.letPass()
	}
	return m.goOn()
}

// answer gives the answer to a question, wherever it was asked.
func (m *machine) answer(q string) bool {
	for _, sl := range m.slots {
		if slices.Contains(sl.asked, q) {
			if sl.answers == nil {
				sl.answers = map[string]int64{}
			}
			sl.answers[q] = answering(q)
			return true
		}
		if sl.child != nil && sl.child.answer(q) {
			return true
		}
	}
	return false
}

// pay asks the routes that are owed.
func (m *machine) pay() (out Outcome, ok bool) {
	next := &following{machine: m, tasks: slices.Clone(m.due)}
	for _, n := range m.owed {
		if n != End && !next.route(n) {
			return m.fails("route "+m.spec.name(n), nil), false
		}
	}
	m.due, m.owed, m.ups = next.turn(), nil, append(m.ups, next.ups...)
	if len(m.due) == 0 {
		m.done = true
		return m.outcome("finished"), false
	}
	if m.stops() {
		return m.halts(), false
	}
	return out, true
}

// loop runs supersteps.
func (m *machine) loop() Outcome {
	for {
		stop, out := m.superstep()
		if out != nil {
			return *out
		}
		switch {
		case len(m.due) == 0 && len(m.owed) == 0:
			m.done = true
			return m.outcome("finished")
		case stop || m.stops():
			return m.halts()
		}
	}
}

// superstep runs what is due; stop says that a run is to stop after one of its nodes. With an outcome it did not commit.
func (m *machine) superstep() (stop bool, out *Outcome) {
	now := m.now()
	slots := m.slotsOf(now)
	failed := m.execute(slots)
	m.race(slots)
	if len(failed) > 0 {
		o := m.fails("node "+failed[0], slots)
		o.panicked = slices.ContainsFunc(slots, func(sl *slot) bool { return sl.failed && !sl.beaten && sl.panicked })
		return false, &o
	}
	for _, status := range []string{"asked", "paused"} {
		for _, sl := range slots {
			if !sl.beaten && (status == "asked" && sl.asking || status == "paused" && sl.stopped) {
				o := m.ends(status)
				o.Waiting = waiting(slots)
				return false, &o
			}
		}
	}
	return m.settle(slots)
}

// now are the due tasks without the deferred ones, unless there are no others.
func (m *machine) now() []task {
	var now []task
	for _, t := range m.due {
		if t.node == Start || !m.spec.Nodes[t.node].Deferred {
			now = append(now, t)
		}
	}
	if now == nil {
		return m.due
	}
	return now
}

func slotName(t task) string { return fmt.Sprintf("%d.%d", t.node, t.index) }

// slotsOf takes up what is known of tasks.
func (m *machine) slotsOf(now []task) []*slot {
	var slots []*slot
	if m.slots == nil {
		m.slots = map[string]*slot{}
	}
	for _, t := range now {
		sl := m.slots[slotName(t)]
		if sl == nil {
			sl = &slot{task: t}
			m.slots[slotName(t)] = sl
		}
		sl.failed, sl.asking, sl.stopped, sl.beaten, sl.below = false, false, false, false, nil
		slots = append(slots, sl)
	}
	return slots
}

// execute runs the tasks that have no result, one after another, until one fails; it returns who failed.
func (m *machine) execute(slots []*slot) (failed []string) {
	m.race(slots)
	for _, sl := range slots {
		sl.asking = !sl.ended && len(sl.open()) > 0
	}
	fatal := false
	for _, sl := range slots {
		if sl.ended || sl.beaten || sl.asking || fatal {
			continue
		}
		m.perform(sl)
		m.race(slots)
		fatal = sl.failed && m.raceOf(sl.node) < 0
	}
	for _, sl := range slots {
		if sl.failed && !sl.beaten {
			failed = append(failed, fmt.Sprintf("%s.%d", m.spec.name(sl.node), sl.index))
		}
	}
	return failed
}

// open are the questions of a task without an answer.
func (sl *slot) open() []string {
	var open []string
	for _, q := range sl.asked {
		if _, ok := sl.answers[q]; !ok {
			open = append(open, q)
		}
	}
	return open
}

// raceOf is the any-of join that a node leads to; -1 for none.
func (m *machine) raceOf(node int) int {
	return slices.IndexFunc(m.spec.Races, func(f Fan) bool { return slices.Contains(f.From, node) })
}

// race makes the tasks count for nothing that lost.
func (m *machine) race(slots []*slot) {
	for _, winner := range slots {
		race := m.raceOf(winner.node)
		if race < 0 || !winner.ended {
			continue
		}
		for _, sl := range slots {
			if sl != winner && m.raceOf(sl.node) == race {
				sl.beaten, sl.ended, sl.failed, sl.asking, sl.stopped = true, false, false, false, false
			}
		}
	}
}

// waiting are the open questions, in task order.
func waiting(slots []*slot) (all []string) {
	for _, sl := range slots {
		if sl.beaten {
			continue
		}
		all = append(all, sl.below...)
		if sl.asking && sl.child == nil {
			all = append(all, sl.open()...)
		}
	}
	return all
}

// perform runs one task, as often as its node is to be tried.
func (m *machine) perform(sl *slot) {
	n := &m.spec.Nodes[sl.node]
	key := fmt.Sprintf("%s/%d/%s", m.name, m.step+1, slotName(sl.task))
	for attempt := 1; ; attempt++ {
		var final bool
		if n.Kind == Sub {
			final = m.performChild(sl, key)
		} else {
			final = m.attempt(sl, n, key)
		}
		if !sl.failed || final || attempt >= n.Retry {
			return
		}
		sl.failed = false
	}
}

// attempt runs a node once. final says that a failure is not to be tried again.
func (m *machine) attempt(sl *slot, n *Node, key string) (final bool) {
	breaks := m.fate.fails[key] < n.Fails
	if breaks && !n.Late {
		m.fate.fails[key]++
		sl.failed = true
		sl.panicked = n.Panics
		return n.Panics
	}
	d := doing{node: sl.node, index: sl.index, job: sl.job, mended: m.fate.mended}
	for k := range n.Asks {
		q := m.spec.asking(d, k, m.state.State)
		if !slices.Contains(sl.asked, q) {
			sl.asked = append(sl.asked, q)
		}
		if _, ok := sl.answers[q]; !ok {
			sl.asking = true
			if !n.AtOnce {
				return true
			}
		}
		d.answers = append(d.answers, answering(q))
	}
	if sl.asking {
		return true
	}
	if breaks {
		m.fate.fails[key]++
		sl.failed = true
		sl.panicked = n.Panics
		return n.Panics
	}
	sl.ended, sl.changes = true, [][]change{m.spec.does(d, m.state.State)}
	if n.routes() {
		sl.picks = m.spec.chooses(d, m.state.State)
	}
	return true
}

// performChild runs, or goes on with, a subgraph.
func (m *machine) performChild(sl *slot, key string) (final bool) {
	n := &m.spec.Nodes[sl.node]
	c := sl.child
	var out Outcome
	if c == nil {
		c = &machine{spec: n.Child, fate: m.fate, name: key, commit: func() {}}
		sl.child = c
		if r, ok := m.recalled[sl.node]; ok {
			c.state, c.recalled = r.state, r.below
		}
		if n.Same {
			c.state = m.state
		}
		c.enter(0)
		if !n.Same {
			c.slots[slotName(task{node: Start})].changes = [][]change{m.spec.entering(sl.node, m.state.State)}
		}
		out = c.loop()
	} else {
		if !c.done {
			out = c.goOn()
		}
	}
	sl.below = out.Waiting
	switch {
	case c.done:
		sl.ended, sl.picks, sl.changes = true, c.ups, c.changes
		if !n.Same {
			sl.changes = [][]change{m.spec.leaving(sl.node, m.state.State, c.state.State)}
		}
	case out.Failed != "":
		sl.failed = true
		sl.panicked = out.panicked
		return out.panicked
	case out.Status == "asked":
		sl.asking = true
	default:
		sl.stopped = true
	}
	return true
}

// letPass answers the stops of the subgraphs under way.
func (m *machine) letPass() {
	for _, sl := range m.slots {
		c := sl.child
		if c == nil {
			continue
		}
		if c.halted {
			c.pass, c.halted = c.stopsHere(), false
		}
		c.letPass()
	}
}

// goOn takes the graph up.
func (m *machine) goOn() Outcome {
	m.status = ""
	if m.halted || m.stops() {
		return m.halts()
	}
	if len(m.owed) > 0 {
		if out, ok := m.pay(); !ok {
			return out
		}
	}
	return m.loop()
}

// settle merges what the tasks changed, and finds out what is due next.
func (m *machine) settle(slots []*slot) (stop bool, out *Outcome) {
	state, step := m.state, new(superstep)
	fails := func(why string, nodes ...string) (bool, *Outcome) {
		o := m.fails(why, nil)
		o.rerun = nodes
		return false, &o
	}
	for i, sl := range slots {
		if sl.beaten {
			continue
		}
		switch c := state.mergeAll(step, i, sl.changes); {
		case c == nil:
		case c.other < 0:
			return fails(fmt.Sprintf("node %s.%d", m.spec.name(sl.node), sl.index), m.spec.name(sl.node))
		default:
			a, b := m.spec.name(slots[c.other].node), m.spec.name(sl.node)
			return fails(fmt.Sprintf("conflict %s %s", a, b), a, b)
		}
	}
	if m.due[0].node != Start || len(slots[0].changes) > 0 { // else a subgraph over the same state begins
		state.end(step)
	}
	next := &following{machine: m, view: &state}
	for _, t := range m.due {
		if _, ran := m.slots[slotName(t)]; !ran {
			next.add(t)
		}
	}
	for _, j := range m.joins {
		next.joins = append(next.joins, slices.Clone(j))
	}
	left := map[int]bool{}
	for _, sl := range slots {
		if sl.beaten {
			continue
		}
		if !next.leave(sl, !left[sl.node]) {
			return fails("route " + m.spec.name(sl.node))
		}
		left[sl.node] = true
	}
	m.remember(slots)
	m.ups = append(m.ups, next.ups...)
	m.position = position{state: state, step: m.step + 1, due: next.turn(), owed: next.owed, joins: next.joins, recalled: m.recalled}
	if next.stop && len(m.due)+len(m.owed) == 0 {
		m.owed = []int{End} // the stop has yet to be passed
	}
	m.slots, m.pass = nil, nil
	m.commit()
	return next.stop, nil
}

// remember keeps what the superstep that is merged leaves for others: what its subgraphs came to, and its changes.
func (m *machine) remember(slots []*slot) {
	for _, sl := range slots {
		if sl.beaten {
			continue
		}
		for _, changes := range sl.changes {
			m.changes = append(m.changes, slices.DeleteFunc(slices.Clone(changes), func(c change) bool { return c.what == setDraft }))
		}
		if sl.child != nil && m.spec.Nodes[sl.node].Recalls {
			m.recalled = maps.Clone(m.recalled)
			if m.recalled == nil {
				m.recalled = map[int]recalled{}
			}
			m.recalled[sl.node] = recalled{sl.child.state, sl.child.recalled}
		}
	}
}

// halts ends a run at a stop, which holds a subgraph until it is answered.
func (m *machine) halts() Outcome {
	m.halted = true
	return m.ends("paused")
}

// stops reports whether a stop holds what is about to run.
func (m *machine) stops() bool {
	return slices.ContainsFunc(m.stopsHere(), func(n int) bool { return !slices.Contains(m.pass, n) })
}

func (m *machine) stopsHere() (nodes []int) {
	for _, t := range m.now() {
		if t.node >= 0 && m.spec.Nodes[t.node].Before {
			nodes = append(nodes, t.node)
		}
	}
	return nodes
}

// next are the names of the nodes that are due. If none is, they are those that may follow.
func (m *machine) next() (names []string) {
	for i, t := range m.due {
		if i == 0 || m.due[i-1].node != t.node {
			names = append(names, m.spec.shown(t.node))
		}
	}
	if len(names) > 0 {
		return names
	}
	for _, n := range m.owed {
		targets := []int{End}
		if n != End {
			targets = m.spec.targets(n)
		}
		for _, to := range targets {
			if name := m.spec.shown(to); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func (m *machine) outcome(status string) Outcome {
	o := Outcome{Status: status, Next: m.next(), State: m.state.State}
	if status == "finished" {
		for i, fired := range m.joins {
			if slices.Contains(fired, true) {
				o.Unjoined = append(o.Unjoined, m.spec.name(m.spec.Joins[i].To))
			}
		}
	}
	return o
}

// ends says that a run is over and goes on later.
func (m *machine) ends(status string) Outcome {
	m.status = status
	return m.outcome(status)
}

// fails ends a run whose superstep does not commit.
func (m *machine) fails(why string, slots []*slot) Outcome {
	m.status = "failed"
	o := m.outcome("paused")
	o.Failed, o.Waiting = why, waiting(slots)
	return o
}

// Edit changes the state at the head: what is due stays due.
func (m *Model) Edit() {
	m.edits++
	m.state.merge(new(superstep), 0, m.spec.edit(m.edits))
	m.Trace = append(m.Trace, m.point())
}

// Fork goes on from the given checkpoint on a line of its own, with an edit or without. It has not run anything.
func (m *Model) Fork(at int, edit bool) {
	m.line()
	m.position = m.Trace[at].at
	if edit {
		m.edits++
		m.state.merge(new(superstep), 0, m.spec.edit(m.edits))
	}
	m.done = len(m.due) == 0 && len(m.owed) == 0
	m.made()
}

// ForkAs goes on from the given checkpoint as if a node had made an edit. It reports whether its route answered; else
// nothing has changed.
func (m *Model) ForkAs(at, node int) bool {
	before := *m.machine
	base := m.base
	m.line()
	m.position = m.Trace[at].at
	m.due, m.owed, m.joins, m.base = []task{{node: node}}, nil, m.noJoins(), -1
	m.edits++
	sl := &slot{task: task{node: node}, ended: true, changes: [][]change{m.spec.edit(m.edits)}}
	m.slots = map[string]*slot{slotName(sl.task): sl}
	m.edited = true
	_, out := m.settle([]*slot{sl})
	m.edited = false
	if out != nil {
		*m.machine, m.base = before, base
		m.edits--
		return false
	}
	m.done = len(m.due) == 0 && len(m.owed) == 0
	return true
}

// left is a line that was left for another one.
type left struct {
	machine machine
	base    int
}

func (m *Model) leave() left { return left{*m.machine, m.base} }

// take makes a line that was left the thread's again.
func (m *Model) take(l left) { *m.machine, m.base = l.machine, l.base }
