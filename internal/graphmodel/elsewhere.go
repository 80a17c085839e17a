package graphmodel

import "slices"

// Elsewhere returns a function that returns the graphs of draw, with nodes that begin children.
// With queues, workers of a queue run some nodes, also those of children and subgraphs. The Model
// executes all of them itself (rules 23.1, 23.4 and 23.5). It does not change what else is drawn
// for a seed. A graph with a race stays as it is, because its tasks have to run in order.
func Elsewhere(draw func(uint64) *Spec, queues bool) func(uint64) *Spec {
	return func(seed uint64) *Spec {
		s := draw(seed)
		if s.racy() {
			return s
		}
		s.Below = drawBelow(seed)
		s.elsewhere(queues, true)
		s.Below.elsewhere(queues, false)
		return s
	}
}

// drawBelow returns a graph that needs nobody, so that it always ends as Done.
func drawBelow(seed uint64) *Spec {
	for k := 0; ; k++ {
		s := Draw(hash("below", seed, k))
		s.tame(false)
		for i := range s.Nodes {
			s.Nodes[i].Astray, s.Nodes[i].Clashes, s.Nodes[i].Booms = 0, 0, false
		}
		if s.Stormy(true) && !s.racy() {
			return s
		}
	}
}

// elsewhere draws which nodes, at any depth, are on the queue and begin children.
func (s *Spec) elsewhere(queues, begin bool) {
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Child != nil {
			n.Child.elsewhere(queues, begin)
			continue
		}
		choice := hash("elsewhere", s.Seed, i)
		n.Queued = queues && !n.Keeps && choice%3 == 0
		n.Begins = begin && choice>>8%4 == 0
	}
}

// queued reports whether a node, at any depth, is on the queue.
func (s *Spec) queued() bool {
	return slices.ContainsFunc(s.Nodes, func(n Node) bool { return n.Queued || n.Child != nil && n.Child.queued() })
}
