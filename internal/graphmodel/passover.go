package graphmodel

import (
	"fmt"
	"slices"
)

// passOver keeps what the due tasks have finished, because an input takes their place (rule 10.8).
// It returns the nodes of those that have finished, and the tasks that are dropped (rule 10.11).
func (m *Model) passOver() (ran, dropped []string) {
	if len(m.due) == 0 || m.due[0].node == Start {
		return nil, nil
	}
	var tasks, finished []*task
	for _, d := range m.runnable() {
		if t := m.tasks[d.key()]; t != nil && !t.lost {
			tasks = append(tasks, t)
		}
	}
	unfit := map[*task]bool{} // rule 10.10
	state, step, again := m.state, new(merging), true
	for again {
		state, step, again = m.state, new(merging), false
		for i, t := range tasks {
			if !unfit[t] && state.mergeAll(step, i, m.leaves(t)) != nil {
				unfit[t], again = true, true
				break
			}
		}
	}
	state.endSuperstep(step)
	m.state = state
	for _, t := range tasks {
		if t.succeeded && !unfit[t] {
			finished = append(finished, t)
		}
	}
	m.remember(finished)
	for _, d := range m.due {
		if t := m.tasks[d.key()]; t == nil || !t.lost && !slices.Contains(finished, t) {
			dropped = append(dropped, fmt.Sprintf("%s.%d", m.spec.name(d.node), d.index))
		}
	}
	return m.ran(finished), dropped
}

// leaves are the updates that a task has left, which need not have finished (rules 10.8 and 10.9).
func (m *machine) leaves(t *task) [][]change {
	if t.succeeded {
		return t.changes
	}
	all := t.kept
	if t.call != nil && m.spec.Nodes[t.node].Same {
		all = append(all, t.call.leaving()...)
	}
	return all
}

// leaving are the updates that an unfinished call over the same state has left.
func (m *machine) leaving() [][]change {
	before := m.changes
	defer func() { m.changes = before }()
	m.changes = before[:len(before):len(before)]
	for _, d := range m.runnable() {
		if t := m.tasks[d.key()]; t != nil && !t.lost {
			for _, changes := range m.leaves(t) {
				m.keep(changes)
			}
		}
	}
	return m.changes
}
