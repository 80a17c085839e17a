package graphmodel

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// CallStops are stops of one call of a thread, in addition to those of its Spec (rule 13.12). Nil
// is none.
type CallStops struct {
	before, after []int
	beforeRoute   bool
	inside        map[int]*CallStops // by subgraph node
}

// stopsBefore reports whether a run stops before a node.
func (m *machine) stopsBefore(node int) bool {
	return m.spec.Nodes[node].Before || m.own != nil && slices.Contains(m.own.before, node)
}

// stopsAfter reports whether a run stops after a node. An edit as the node does not (rule 13.11).
func (m *machine) stopsAfter(node int) bool {
	return m.spec.Nodes[node].After || m.own != nil && slices.Contains(m.own.after, node)
}

// stopsBeforeRoute reports whether the routes of nodes with a stop after them wait.
func (m *machine) stopsBeforeRoute() bool {
	return m.spec.BeforeRoute || m.own != nil && m.own.beforeRoute
}

// stopAt makes stops those of the call in progress, and removes those of the call before. They
// hold every call of a subgraph that the run makes or continues (rule 13.13).
func (m *machine) stopAt(stops *CallStops) {
	m.own = stops
	for _, t := range m.tasks {
		if t.call != nil {
			t.call.stopAt(stops.in(t.node))
		}
	}
}

// in returns the stops in the calls of a subgraph node.
func (c *CallStops) in(node int) *CallStops {
	if c == nil {
		return nil
	}
	return c.inside[node]
}

// callStops draws the stops of one call; nil for none.
func (s *Spec) callStops(r *rand.Rand) *CallStops {
	stops := &CallStops{inside: map[int]*CallStops{}}
	after := false
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if r.IntN(8) == 0 {
			stops.before = append(stops.before, i)
		}
		if r.IntN(8) == 0 {
			stops.after = append(stops.after, i)
		}
		after = after || n.After
		if n.Child != nil && r.IntN(2) == 0 {
			if inner := n.Child.callStops(r); inner != nil {
				stops.inside[i] = inner
			}
		}
	}
	stops.beforeRoute = (after || len(stops.after) > 0) && r.IntN(2) == 0
	if len(stops.before)+len(stops.after)+len(stops.inside) == 0 && !stops.beforeRoute {
		return nil
	}
	return stops
}

// options returns the options of a call of a graph of s.
func (c *CallStops) options(s *Spec) (opts []graph.InterruptOption) {
	if c == nil {
		return nil
	}
	for _, i := range c.before {
		opts = append(opts, graph.InterruptBefore(graph.ID(s.name(i))))
	}
	for _, i := range c.after {
		opts = append(opts, graph.InterruptAfter(graph.ID(s.name(i))))
	}
	if c.beforeRoute {
		opts = append(opts, graph.BeforeRoute())
	}
	for i := range s.Nodes {
		if inner := c.inside[i]; inner != nil {
			opts = append(opts, graph.InSubgraph(graph.ID(s.name(i)), inner.options(s.Nodes[i].Child)...))
		}
	}
	return opts
}

// text prints the stops of a call of a graph of s, for a report.
func (c *CallStops) text(s *Spec) string {
	if c == nil {
		return "none"
	}
	names := func(nodes []int) (names []string) {
		for _, i := range nodes {
			names = append(names, s.name(i))
		}
		return names
	}
	text := fmt.Sprintf("before %v, after %v", names(c.before), names(c.after))
	if c.beforeRoute {
		text += ", before routes"
	}
	for i := range s.Nodes {
		if inner := c.inside[i]; inner != nil {
			text += fmt.Sprintf(", in %s (%s)", s.name(i), inner.text(s.Nodes[i].Child))
		}
	}
	return text
}

// wrongStop draws a stop that cannot hold.
func (s *Spec) wrongStop(r *rand.Rand) graph.InterruptOption {
	wrong := []graph.InterruptOption{
		graph.InterruptBefore("nobody"), graph.InterruptAfter(graph.End), graph.InSubgraph("nobody", graph.InterruptBefore("a")),
	}
	for i := range s.Nodes {
		id := graph.ID(s.name(i))
		if s.Nodes[i].Child != nil {
			wrong = append(wrong, graph.InSubgraph(id), graph.InSubgraph(id, s.Nodes[i].Child.wrongStop(r)))
		} else {
			wrong = append(wrong, graph.InSubgraph(id, graph.InterruptBefore(id)))
		}
	}
	return wrong[r.IntN(len(wrong))]
}
