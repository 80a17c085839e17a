package graphmodel

import "slices"

// following is what comes after a superstep, in the making.
type following struct {
	*machine
	view  *merged // nil for that of the machine
	tasks []task
	owed  []int
	joins [][]bool
	ups   []pick
	stop  bool // a run is to stop after one of the nodes
}

// add makes a task due; a node to which nothing is sent, once.
func (f *following) add(t task) {
	if !t.sent && slices.ContainsFunc(f.tasks, func(o task) bool { return o.node == t.node && !o.sent }) {
		return
	}
	f.tasks = append(f.tasks, t)
}

func (f *following) to(node int) {
	if node != End {
		f.add(task{node: node})
	}
}

func (f *following) take(picks []pick) {
	for _, p := range picks {
		switch p.node {
		case End:
		case Parent:
			f.ups = append(f.ups, p.up...)
		default:
			f.add(task{node: p.node, sent: p.sent, job: p.job})
		}
	}
}

// leave follows what leads out of the node of a task; first of the tasks of its node. It reports whether routes answered.
func (f *following) leave(sl *slot, first bool) bool {
	s := f.spec
	f.take(sl.picks)
	if !first {
		return true
	}
	edges := s.Entry
	if sl.node != Start {
		n := &s.Nodes[sl.node]
		edges = n.Edges
		f.stop = f.stop || n.After && !f.edited
	}
	for _, to := range edges {
		f.to(to)
	}
	if race := f.raceOf(sl.node); race >= 0 {
		f.to(s.Races[race].To)
	}
	for i, j := range s.Joins {
		k := slices.Index(j.From, sl.node)
		if k < 0 {
			continue
		}
		f.joins[i][k] = true
		if !slices.Contains(f.joins[i], false) {
			clear(f.joins[i])
			f.to(j.To)
		}
	}
	switch {
	case len(s.targets(sl.node)) == 0, sl.node != Start && s.Nodes[sl.node].routes():
		return true
	case sl.node != Start && s.Nodes[sl.node].After && s.BeforeRoute:
		f.owed = append(f.owed, sl.node)
		return true
	}
	return f.route(sl.node)
}

// route asks the route of a node.
func (f *following) route(node int) bool {
	view := f.state.State
	if f.view != nil {
		view = f.view.State
	}
	at := hash(node, Text(view))
	if node != Start && f.fate.astray[at] < f.spec.Nodes[node].Astray {
		f.fate.astray[at]++
		return false
	}
	f.take(f.spec.chooses(doing{node: node}, view))
	return true
}

// turn returns the tasks in order, the sends to each node numbered.
func (f *following) turn() []task {
	slices.SortStableFunc(f.tasks, func(a, b task) int { return a.node - b.node })
	for i := range f.tasks {
		t := &f.tasks[i]
		t.index = 0
		if t.sent && i > 0 && f.tasks[i-1].node == t.node {
			t.index = f.tasks[i-1].index + 1
		}
	}
	return f.tasks
}
