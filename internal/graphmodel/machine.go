package graphmodel

import (
	"fmt"
	"maps"
	"slices"
)

// machine interprets one graph: that of the thread, or of one call of a subgraph.
type machine struct {
	spec  *Spec
	below *Spec // of the children
	fate  *fate
	name  string // the run line of the thread, or the key of the task that made the call
	position
	cleared []int            // the nodes whose stop is cleared
	stopped bool             // of a call: it stopped, and nothing has cleared that
	root    bool             // of the thread
	blocks  bool             // the run in progress can run nothing
	own     *CallStops       // of the newest call of the thread
	tasks   map[string]*task // of the superstep in progress, by key
	status  string           // of the newest run; "" while one is in progress
	editing bool             // the superstep is an edit as nodes
	goes    []target         // what is due after that edit; nil for what follows its nodes
	commit  func([]string)   // called when a superstep is committed, with the nodes that ran
	done    bool

	changes   [][]change // of a call over the same state: those of its tasks, in the order in which they merged
	forParent []target   // what was chosen for the parent
	received  []signal   // of a call: by the tasks of the supersteps that it has committed
}

// fate outlives a process, as World does.
type fate struct {
	box    *mailbox
	mended bool
	fails  map[string]int // by task
	strays map[uint64]int // by route and state
}

// position is where a machine is between two supersteps: what a checkpoint has (rule 1.5). It is a
// value.
type position struct {
	state      merged
	step       int
	due        []dueTask
	pending    []int // the nodes whose routes are pending; End for a stop after the last node
	joins      [][]bool
	remembered map[int]remembered // the newest calls of subgraphs that remember, by node
}

// dueTask is a task that is due, with what was sent to it (rule 9.2).
type dueTask struct {
	node  int
	index int // the number of the send
	sent  bool
	job   Job
}

// key tells the tasks of a superstep apart.
func (d dueTask) key() string { return fmt.Sprintf("%d.%d", d.node, d.index) }

// remembered is what a call of a subgraph that remembers left.
type remembered struct {
	state  merged
	inside map[int]remembered // what the subgraphs in the call remember (rule 18.6)
}

// ended reports whether nothing is due or pending (rule 1.7).
func (p *position) ended() bool { return len(p.due) == 0 && len(p.pending) == 0 }

// moreThan reports whether one of the nodes is due, and something else is due or pending as well.
func (p *position) moreThan(tasks []dueTask) bool {
	left := slices.Clone(p.pending)
	for _, t := range p.due {
		left = append(left, t.node)
	}
	all := len(left)
	for _, t := range tasks {
		if i := slices.Index(left, t.node); i >= 0 {
			left = slices.Delete(left, i, i+1)
		}
	}
	return len(left) < all && len(left) > 0
}

// begin makes Start due at a step, with its result. Joins are empty (rule 5.5); the state stays
// (rule 10.3).
func (m *machine) begin(step int, input ...[]change) {
	m.step, m.due, m.pending, m.joins = step, []dueTask{{node: Start}}, nil, m.emptyJoins()
	t := &task{dueTask: m.due[0], succeeded: true, changes: input}
	m.tasks = map[string]*task{t.key(): t}
}

func (m *machine) emptyJoins() [][]bool {
	var joins [][]bool
	for _, f := range m.spec.Joins {
		joins = append(joins, make([]bool, len(f.From)))
	}
	return joins
}

// resume continues at the head (rules 15.1 and 18.11).
func (m *machine) resume() Outcome {
	m.status = ""
	if m.stopped || m.stops() && !m.blocked() { // rule 13.15
		return m.stop()
	}
	if len(m.pending) > 0 {
		if out := m.askPending(); out != nil {
			return *out
		}
	}
	return m.run()
}

// run runs supersteps until the graph is done, or something ends the run.
func (m *machine) run() Outcome {
	for { // rules 1.1 and 14.1
		stop, out := m.superstep()
		switch {
		case out != nil:
			return *out
		case m.ended():
			m.done = true
			return m.outcome("done")
		case stop || m.stops():
			return m.stop()
		}
	}
}

// superstep runs what is due. It reports whether a node that ran stops the run. With an outcome it
// is not committed.
func (m *machine) superstep() (stop bool, out *Outcome) {
	tasks := m.tasksOf(m.runnable())
	var failed []string
	if box := m.fate.box; m.root && m.due[0].node != Start && box.late() {
		box.stopped, box.expired = true, true // the input has begun too late
	} else {
		failed = m.execute(tasks)
	}
	for len(failed) == 0 && !m.fate.box.stopped && m.rest(tasks) {
		failed = m.execute(tasks)
	}
	m.decideRaces(tasks)
	if box := m.fate.box; box.stopped && !box.leaves { // rule 21.10
		o := m.end("cancelled")
		o.waitFor(m.openIn(tasks))
		return false, &o
	} else if box.stopped && (len(failed) == 0 || box.worker) { // rules 14.7 and 15.8
		o := m.end("ready")
		if o.Failed = unknown; len(failed) > 0 {
			o.Failed = "node " + failed[0]
		}
		o.waitFor(m.openIn(tasks))
		return false, &o
	}
	if len(failed) > 0 { // rule 11.7: failures, then questions, then stops
		o := m.fail("node "+failed[0], tasks)
		o.panicked = slices.ContainsFunc(tasks, func(t *task) bool { return t.failed && !t.lost && t.panicked })
		return false, &o
	}
	for _, status := range []string{"waiting", "paused"} {
		for _, t := range tasks {
			if !t.lost && (status == "waiting" && t.waiting || status == "paused" && t.stopped) { // rules 12.2 and 18.8
				o := m.end(status)
				o.waitFor(m.openIn(tasks))
				return false, &o
			}
		}
	}
	return m.finish(tasks)
}

// runnable are the due tasks, without the deferred ones as long as there are others (rules 7.1 and
// 7.2).
func (m *machine) runnable() []dueTask {
	var others []dueTask
	for _, d := range m.due {
		if d.node == Start || !m.spec.Nodes[d.node].Deferred {
			others = append(others, d)
		}
	}
	if others == nil {
		return m.due
	}
	return others
}

// finish merges what the tasks changed, follows what leads out of their nodes, and commits (rule
// 1.4).
func (m *machine) finish(tasks []*task) (stop bool, out *Outcome) {
	fail := func(why string, rerun ...string) (bool, *Outcome) {
		o := m.fail(why, nil)
		o.rerun = rerun
		return false, &o
	}
	state, merging := m.state, new(merging)                      // a failure leaves the state of the machine as it is (rule 3.8)
	input := m.due[0].node == Start && len(tasks[0].changes) > 0 // not in a call over the same state (rule 18.3)
	if input && !m.editing {                                     // rule 4.4
		state.newInput()
	}
	for i, t := range tasks { // rule 2.3
		if t.lost {
			continue // rules 6.4 and 6.5
		}
		switch c := state.mergeAll(merging, i, t.changes); {
		case c == nil:
		case c.other < 0: // rule 3.6
			return fail(fmt.Sprintf("node %s.%d", m.spec.name(t.node), t.index), m.spec.name(t.node))
		default:
			a, b := m.spec.name(tasks[c.other].node), m.spec.name(t.node)
			return fail(fmt.Sprintf("conflict %s %s", a, b), a, b)
		}
	}
	if m.due[0].node != Start || input {
		state.endSuperstep(merging)
	}
	next, ok := m.follow(tasks, &state)
	if !ok {
		return fail("route " + m.spec.name(next.strayed)) // rule 8.6
	}
	m.remember(tasks)
	m.settleSignals(tasks)
	m.forParent = append(m.forParent, next.forParent...)
	m.state, m.step = state, m.step+1 // rule 1.6
	m.due, m.pending, m.joins = next.ordered(), next.pending, next.joins
	if next.stop && m.ended() {
		m.pending = []int{End} // rules 13.2 and 13.7
	}
	m.tasks, m.cleared = nil, nil // rule 13.4
	m.commit(m.ran(tasks))
	return next.stop, nil
}

// ran are the nodes of the tasks of a superstep (rule 1.8).
func (m *machine) ran(tasks []*task) (nodes []string) {
	for _, t := range tasks {
		if !t.lost && (t.node != Start || m.editing) {
			nodes = append(nodes, m.spec.shown(t.node))
		}
	}
	return once(nodes)
}

// remember keeps what a superstep leaves for others: the changes of a call over the same state,
// and the calls to be remembered.
func (m *machine) remember(tasks []*task) {
	for _, t := range tasks {
		if t.lost {
			continue
		}
		for _, changes := range t.changes {
			m.keep(changes)
		}
		if t.call != nil && m.spec.Nodes[t.node].Recalls { // rule 18.5
			m.remembered = maps.Clone(m.remembered)
			if m.remembered == nil {
				m.remembered = map[int]remembered{}
			}
			m.remembered[t.node] = remembered{t.call.state, t.call.remembered}
		}
	}
}

// keep keeps changes of a call for the graph around it, without those of ephemeral fields (rule
// 18.4).
func (m *machine) keep(changes []change) {
	ephemeral := func(c change) bool { return c.what == setDraft }
	m.changes = append(m.changes, slices.DeleteFunc(slices.Clone(changes), ephemeral))
}

func (m *machine) outcome(status string) Outcome {
	o := Outcome{Status: status, Next: m.next(), State: m.state.State}
	if status == "done" { // rule 5.6
		for i, arrived := range m.joins {
			if slices.Contains(arrived, true) {
				o.Unjoined = append(o.Unjoined, m.spec.name(m.spec.Joins[i].To))
			}
		}
	}
	return o
}

// end ends a run that can be resumed.
func (m *machine) end(status string) Outcome {
	m.status = status
	return m.outcome(status)
}

// fail ends a run whose superstep cannot be committed. The results of its tasks stay (rule 11.5).
func (m *machine) fail(why string, tasks []*task) Outcome {
	o := m.end("failed")
	o.Failed = why
	o.waitFor(m.openIn(tasks))
	return o
}
