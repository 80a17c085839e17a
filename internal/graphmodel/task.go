package graphmodel

import (
	"fmt"
	"slices"
	"time"
)

// task is what is known of a task of the superstep in progress. Its result, waits and the results
// of its durable calls outlive the run.
type task struct {
	dueTask
	succeeded bool
	fell      bool       // its fallback has succeeded
	changes   [][]change // the updates that it returned: one, but of a call over the same state those of all its tasks
	choice    []target   // rule 8.7
	waits     []*wait    // in the order in which they began
	kept      [][]change // the updates of failed attempts (rule 11.13)
	results   []int64    // of the durable calls that it made
	call      *machine   // of the node of a subgraph

	failed   bool // in this run, as are those that follow
	panicked bool
	waiting  bool
	stopped  bool    // its call is
	lost     bool    // a race
	inside   []place // what its call waits for
}

// tasksOf returns what is known of tasks that are due.
func (m *machine) tasksOf(due []dueTask) []*task {
	var tasks []*task
	if m.tasks == nil {
		m.tasks = map[string]*task{}
	}
	for _, d := range due {
		t := m.tasks[d.key()]
		if t == nil {
			t = &task{dueTask: d}
			m.tasks[d.key()] = t
		}
		t.failed, t.waiting, t.stopped, t.lost, t.inside = false, false, false, false, nil
		tasks = append(tasks, t)
	}
	return tasks
}

// execute runs the tasks that have no result (rules 11.5 and 15.1), one after another, until one
// fails. It returns which failed.
func (m *machine) execute(tasks []*task) (failed []string) {
	m.decideRaces(tasks) // a winner whose result is stored wins again (rule 6.3)
	for _, t := range tasks {
		t.waiting = !t.succeeded && len(t.open()) > 0 // rule 12.3
	}
	over := false
	for _, t := range tasks {
		if t.succeeded || t.lost || t.waiting || over {
			continue
		}
		m.perform(t)
		m.decideRaces(tasks)
		over = over || m.fate.box.stopped || t.failed && m.raceOf(t.node) < 0 && !m.spec.Nodes[t.node].Lets // rules 6.6, 11.2 and 11.11
	}
	for _, t := range tasks {
		if t.failed && !t.lost {
			failed = append(failed, fmt.Sprintf("%s.%d", m.spec.name(t.node), t.index))
		}
	}
	return failed
}

// raceOf is the any-of join that a node leads to (rule 6.1); -1 for none.
func (m *machine) raceOf(node int) int {
	return slices.IndexFunc(m.spec.Races, func(f Fan) bool { return slices.Contains(f.From, node) })
}

// decideRaces makes the tasks count for nothing that lost (rules 6.2 and 6.4).
func (m *machine) decideRaces(tasks []*task) {
	for _, winner := range tasks {
		race := m.raceOf(winner.node)
		if race < 0 || !winner.succeeded {
			continue
		}
		for _, t := range tasks {
			if t != winner && m.raceOf(t.node) == race {
				t.lost, t.succeeded, t.failed, t.waiting, t.stopped = true, false, false, false, false
			}
		}
	}
}

// perform runs one task, as often as its node allows (rule 11.4), and then its fallback (rule
// 11.9).
func (m *machine) perform(t *task) {
	n := &m.spec.Nodes[t.node]
	key := fmt.Sprintf("%s/%d/%s", m.name, m.step+1, t.key()) // rule 17.1
	for attempt := 1 + t.paused(); ; attempt++ {
		var final bool
		if n.Child != nil {
			final = m.performCall(t, key)
		} else {
			final = m.attempt(t, n, key)
		}
		if !t.failed {
			return
		}
		if final || attempt >= n.Retry {
			break
		}
		t.failed = false
		if n.Pause > 0 { // rule 22.11
			t.waitFor(m.fate.box, forAttempt, t.paused(), "", "", n.Pause)
			t.waiting = true
			return
		}
	}
	if !n.Falls {
		return
	}
	d := t.doing()
	t.failed, t.succeeded, t.fell, t.inside = false, true, true, nil
	t.changes = append(slices.Clone(t.kept), m.spec.falling(d, m.state.State))
	if n.routes() {
		t.choice = m.spec.chooses(d, m.state.State)
	}
}

// paused returns how many pauses there have been before attempts of the task.
func (t *task) paused() (n int) {
	for _, w := range t.waits {
		if w.kind == forAttempt {
			n++
		}
	}
	return n
}

// attempt runs a node once, on the state of the checkpoint before (rule 1.2). It reports whether
// the task is not to be tried again, should it have failed.
func (m *machine) attempt(t *task, n *Node, key string) (final bool) {
	if m.fate.box.interrupts() { // no failure, whatever the node returns (rule 11.16)
		if n.Masks && n.Keeps { // rule 11.13
			t.kept = append(t.kept, failing)
		}
		return true
	}
	breaks := m.fate.fails[key] < n.Fails
	fail := func() bool { // rule 11.1
		m.fate.fails[key]++
		t.failed = true
		t.panicked = n.Panics
		if n.Keeps {
			t.kept = append(t.kept, failing)
		}
		return n.Panics && !n.Insists
	}
	if breaks && !n.Late {
		return fail()
	}
	d := doing{node: t.node, index: t.index, job: t.job, mended: m.fate.mended}
	for k := len(t.results); k < n.Calls; k++ { // rules 20.4 and 20.5
		t.results = append(t.results, m.spec.calling(d, k, m.state.State))
	}
	if n.Begins && len(t.results) == n.Calls { // rule 25.1
		t.results = append(t.results, m.child(t.doing()))
	}
	got, ok := m.await(t, n)
	if !ok { // whatever the node returns (rule 12.1)
		t.waiting = true
		return true
	}
	d.answers = append(slices.Clone(t.results), got...)
	if breaks {
		return fail()
	}
	t.succeeded, t.fell, t.changes = true, false, append(slices.Clone(t.kept), m.spec.does(d, m.state.State))
	if n.routes() {
		t.choice = m.spec.chooses(d, m.state.State)
	}
	return true
}

// child returns what a task gets of its child, which runs elsewhere and always ends as Done (rule
// 25.2).
func (m *machine) child(d doing) int64 {
	below := NewModel(m.below)
	return ended(below.toEnd(below.enter(m.spec.beginning(d, m.state.State), 0, "", nil, time.Time{})).State)
}

// performCall runs, or continues, the call of a task (rules 18.1, 18.9 and 18.11).
func (m *machine) performCall(t *task, key string) (final bool) {
	n := &m.spec.Nodes[t.node]
	var out Outcome
	switch c := t.call; {
	case c == nil:
		t.call = m.newCall(t, key)
		out = t.call.run()
	case !c.done:
		out = c.resume()
	}
	c := t.call
	t.inside = out.open
	switch {
	case c.done: // rule 18.13
		t.succeeded, t.choice, t.changes = true, c.forParent, c.changes
		if !n.Same {
			t.changes = [][]change{m.spec.leaving(t.doing(), m.state.State, c.state.State)}
		}
	case m.fate.box.stopped:
	case out.Failed != "":
		t.failed = true
		t.panicked = out.panicked
		return out.panicked
	case out.Status == "waiting":
		t.waiting = true // rule 18.7
	default:
		t.stopped = true
	}
	return true
}

// newCall returns the machine of a call that begins. Its state is empty, that of the newest call
// of the node, or that of the parent (rules 18.2, 18.3 and 18.5).
func (m *machine) newCall(t *task, key string) *machine {
	n := &m.spec.Nodes[t.node]
	c := &machine{spec: n.Child, below: m.below, fate: m.fate, name: key, own: m.own.in(t.node), commit: func([]string) {}}
	if last, ok := m.remembered[t.node]; ok {
		c.state, c.remembered = last.state, last.inside
	}
	if n.Same {
		c.state = m.state
		c.begin(0)
	} else {
		c.begin(0, m.spec.entering(t.doing(), m.state.State))
	}
	return c
}

// doing is what decides what the task does, without answers.
func (t *task) doing() doing { return doing{node: t.node, index: t.index, job: t.job} }
