package graphmodel

import "slices"

// successors are what a superstep makes due, while its nodes are followed.
type successors struct {
	machine   *machine
	state     State // merged, of the whole superstep (rule 8.2)
	tasks     []dueTask
	pending   []int
	joins     [][]bool
	forParent []target
	stop      bool // a node stops the run after the superstep
	strayed   int  // the node whose route failed
}

// follow follows what leads out of the nodes of tasks. It reports whether all routes answered.
func (m *machine) follow(tasks []*task, merged *merged) (next *successors, ok bool) {
	next = &successors{machine: m, state: merged.State}
	for _, d := range m.due { // deferred ones that did not run (rules 7.1 and 7.3)
		if _, ran := m.tasks[d.key()]; !ran {
			next.makeDue(d)
		}
	}
	for _, j := range m.joins {
		next.joins = append(next.joins, slices.Clone(j))
	}
	if m.goes != nil { // rule 16.14
		next.choose(m.goes)
		return next, true
	}
	followed := map[int]bool{}
	for _, t := range tasks {
		if t.lost {
			continue // rule 6.5
		}
		next.choose(t.choice) // rule 8.8
		if followed[t.node] { // rules 2.4 and 8.1
			continue
		}
		followed[t.node] = true
		if !next.leave(t.node) {
			next.strayed = t.node
			return next, false
		}
	}
	return next, true
}

// makeDue makes a task due: of a node without a send once (rule 2.5), of sends each (rule 9.1).
func (s *successors) makeDue(d dueTask) {
	if !d.sent && slices.ContainsFunc(s.tasks, func(o dueTask) bool { return o.node == d.node && !o.sent }) {
		return
	}
	s.tasks = append(s.tasks, d)
}

// choose makes due what was chosen (rule 8.4).
func (s *successors) choose(choice []target) {
	for _, t := range choice {
		switch t.node {
		case End:
		case Parent:
			s.forParent = append(s.forParent, t.forParent...)
		default:
			s.makeDue(dueTask{node: t.node, sent: t.sent, job: t.job})
		}
	}
}

// leave follows the edges, joins and routes of a node that ran: all of them (rule 8.3). It reports
// whether its route answered.
func (s *successors) leave(node int) bool {
	edges := s.machine.spec.Entry
	if node != Start {
		n := &s.machine.spec.Nodes[node]
		edges = n.Edges
		s.stop = s.stop || s.machine.stopsAfter(node) && !s.machine.editing // rules 13.2 and 13.11
	}
	for _, to := range edges {
		s.arrive(to)
	}
	if race := s.machine.raceOf(node); race >= 0 {
		s.arrive(s.machine.spec.Races[race].To) // rule 6.5
	}
	for i, j := range s.machine.spec.Joins {
		k := slices.Index(j.From, node)
		if k < 0 {
			continue
		}
		s.joins[i][k] = true                     // rule 5.3
		if !slices.Contains(s.joins[i], false) { // rule 5.2
			clear(s.joins[i])
			s.arrive(j.To)
		}
	}
	switch {
	case len(s.machine.spec.targets(node)) == 0, node != Start && s.machine.spec.Nodes[node].routes():
		return true
	case node != Start && s.machine.stopsAfter(node) && s.machine.stopsBeforeRoute(): // rule 13.8
		s.pending = append(s.pending, node)
		return true
	}
	return s.askRoute(node)
}

// arrive follows an edge (rule 5.1).
func (s *successors) arrive(node int) {
	if node != End {
		s.makeDue(dueTask{node: node})
	}
}

// askRoute asks the route of a node, and reports whether it answered.
func (s *successors) askRoute(node int) bool {
	at := hash(node, Text(s.state))
	if node != Start && s.machine.fate.strays[at] < s.machine.spec.Nodes[node].Astray {
		s.machine.fate.strays[at]++
		return false
	}
	s.choose(s.machine.spec.chooses(doing{node: node}, s.state))
	return true
}

// ordered returns the tasks in order (rule 2.1), the sends numbered (rule 2.6).
func (s *successors) ordered() []dueTask { return inOrder(s.tasks) }

// inOrder sorts tasks, and numbers those of sends.
func inOrder(tasks []dueTask) []dueTask {
	var nodes, sends []dueTask
	for _, d := range tasks {
		if d.sent {
			d.index = len(sends)
			sends = append(sends, d)
			continue
		}
		nodes = append(nodes, d)
	}
	slices.SortFunc(nodes, func(a, b dueTask) int { return a.node - b.node })
	return append(nodes, sends...)
}

// once returns the values of all, each once.
func once[T comparable](all []T) (each []T) {
	for _, v := range all {
		if !slices.Contains(each, v) {
			each = append(each, v)
		}
	}
	return each
}
