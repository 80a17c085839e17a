package graphmodel

import "slices"

// EditCall changes the state of a stopped call (rules 18.18 and 18.19).
func (m *Model) EditCall(c stoppedCall) {
	m.edits++
	changes := m.changesOf(c)
	c.machine.state.merge(new(merging), 0, changes)
	c.machine.keep(changes)
	c.machine.editBelow(changes)
	m.keepDue()
	m.Trace = append(m.Trace, m.point())
}

// changesOf returns the changes of the newest edit in a call. A call over the state of its parent
// has siblings that may set the same fields. There it sets no field that only one task may set.
func (m *Model) changesOf(c stoppedCall) []change {
	if c.same {
		return m.spec.editAs(m.edits, 1)
	}
	return m.spec.edit(m.edits)
}

// editBelow changes the states of the stopped calls over the state of m (rule 18.17).
func (m *machine) editBelow(changes []change) {
	for _, c := range m.stoppedCalls() {
		if c.same {
			c.machine.state.merge(new(merging), 0, changes)
			c.machine.editBelow(changes)
		}
	}
}

// stoppedCall is a call that has begun, is due and is not finished.
type stoppedCall struct {
	*machine
	path []dueTask // the tasks that lead to it
	same bool      // it is over the state of its parent
}

// stoppedCalls returns those that tasks of m made.
func (m *machine) stoppedCalls() (calls []stoppedCall) {
	for _, d := range m.due {
		t := m.tasks[d.key()]
		if t == nil || t.call == nil || t.succeeded || t.lost || t.call.done || len(t.call.due) > 0 && t.call.due[0].node == Start {
			continue
		}
		calls = append(calls, stoppedCall{t.call, []dueTask{d}, m.spec.Nodes[d.node].Same})
	}
	return calls
}

// callsAtAnyDepth returns the stopped calls of m and those within them.
func (m *machine) callsAtAnyDepth() (calls []stoppedCall) {
	for _, c := range m.stoppedCalls() {
		calls = append(calls, c)
		for _, inner := range c.callsAtAnyDepth() {
			calls = append(calls, stoppedCall{inner.machine, append(slices.Clone(c.path), inner.path...), inner.same})
		}
	}
	return calls
}
