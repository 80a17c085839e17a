package graphmodel

import "slices"

// stop ends a run at a stop (rules 13.1 and 13.2). A call stays stopped until a resume clears
// that.
func (m *machine) stop() Outcome {
	m.stopped = true
	return m.end("paused")
}

// stops reports whether a stop holds what is about to run.
func (m *machine) stops() bool {
	return slices.ContainsFunc(m.stopsHere(), func(n int) bool { return !slices.Contains(m.cleared, n) })
}

// stopsAlways is stops without the stops of the call in progress. They do not hold a call in which
// nothing can run.
func (m *machine) stopsAlways() bool {
	always := *m
	always.own = nil
	return always.stops()
}

// blocked reports whether every task of the superstep in progress is held, and one of them waits
// for an answer. A stop of one call then holds nothing, because nothing would run (rule
// 13.15).
func (m *machine) blocked() bool {
	held, waits := m.held()
	return held && waits
}

// held reports whether every task of the superstep in progress is held, and whether one of them
// waits for an answer. A task is held if it has its result, has lost a race, waits for an answer
// or is a call that is held.
func (m *machine) held() (held, waits bool) {
	won := map[int]bool{}
	for _, d := range m.runnable() {
		if t := m.tasks[d.key()]; t != nil && t.succeeded {
			won[m.raceOf(d.node)] = true
		}
	}
	for _, d := range m.runnable() {
		t, race := m.tasks[d.key()], m.raceOf(d.node)
		switch {
		case race >= 0 && won[race], t != nil && t.succeeded:
		case t == nil:
			return false, false
		case t.call != nil && t.call.stopped:
		case t.call != nil:
			all, below := t.call.held()
			if !all || t.call.stopsAlways() && !below {
				return false, false
			}
			waits = waits || below
		case len(t.open()) > 0:
			waits = true
		default:
			return false, false
		}
	}
	return true, waits
}

// stopsHere are the nodes about to run before which a run stops. Deferred nodes that have to wait
// are not.
func (m *machine) stopsHere() (nodes []int) {
	for _, d := range m.runnable() {
		if d.node >= 0 && m.stopsBefore(d.node) {
			nodes = append(nodes, d.node)
		}
	}
	return nodes
}

// clearStopsOfCalls clears the stops of the calls that are due, at any depth (rule 18.8).
func (m *machine) clearStopsOfCalls() {
	for _, t := range m.tasks {
		c := t.call
		if c == nil {
			continue
		}
		if c.stopped {
			c.cleared, c.stopped = nil, false
			for _, d := range c.runnable() { // rule 13.16
				c.cleared = append(c.cleared, d.node)
			}
		}
		c.clearStopsOfCalls()
	}
}

// askPending asks the pending routes, without a superstep (rule 13.9). It returns the outcome of a
// run that ends with that.
func (m *machine) askPending() *Outcome {
	next := &successors{machine: m, state: m.state.State, tasks: slices.Clone(m.due)}
	for _, n := range m.pending {
		if n != End && !next.askRoute(n) {
			o := m.fail("route "+m.spec.name(n), nil) // rule 13.10
			return &o
		}
	}
	m.due, m.pending, m.forParent = next.ordered(), nil, append(m.forParent, next.forParent...)
	switch {
	case len(m.due) == 0:
		m.done = true
		o := m.outcome("done")
		return &o
	case m.stops():
		o := m.stop()
		return &o
	}
	return nil
}

// next are the names of the nodes that are due. If none is, they are the targets of the pending
// routes (rules 13.7 and 13.8).
func (m *machine) next() (names []string) {
	for _, d := range m.due {
		names = append(names, m.spec.shown(d.node))
	}
	if len(names) > 0 {
		return once(names)
	}
	for _, n := range m.pending {
		targets := []int{End}
		if n != End {
			targets = m.spec.targets(n)
		}
		for _, to := range targets {
			names = append(names, m.spec.shown(to))
		}
	}
	return once(names)
}
