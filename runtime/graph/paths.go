package graph

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/flow"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// nowhere stands for the unknown end of an edge. It may be any node, or End.
const nowhere = -3

// declaredPaths returns the paths of the declared edges, targets and joins. It includes those with
// a fault, so that one fault is not reported again as an unreachable node or a dead end.
func (c *compiler) declaredPaths() flow.Paths {
	p := flow.Paths{Out: make([][]int, len(c.g.nodes))}
	for _, e := range c.edges {
		c.addPath(&p, e.from, e.to)
	}
	for _, d := range c.nodes {
		if d.kind.routes {
			c.addPath(&p, d.id, d.opts.targets...)
		}
	}
	for _, r := range c.routes {
		c.addPath(&p, r.from, r.targets...)
	}
	for _, j := range c.races {
		for _, from := range j.from {
			c.addPath(&p, from, j.to)
		}
	}
	for _, j := range c.joins {
		made := plan.Join{To: c.meantBy(j.to)}
		for _, from := range j.from {
			if n := c.meantBy(from); n >= start {
				made.From = append(made.From, n)
			}
		}
		p.Joins = append(p.Joins, made)
	}
	if slices.ContainsFunc(p.Out, func(to []int) bool { return slices.Contains(to, nowhere) }) {
		p.Also = slices.Concat(append(p.Out, p.Also)...) // the edge might lead to any of those
	}
	return p
}

// addPath adds paths from a node. The target of a path from an unknown node counts as reached.
func (c *compiler) addPath(p *flow.Paths, from ID, to ...ID) {
	n := c.meantBy(from)
	for _, id := range to {
		switch m := c.meantBy(id); {
		case n >= start && m == start: // a fault
			p.Out[n] = append(p.Out[n], nowhere)
		case n >= start:
			p.Out[n] = append(p.Out[n], m)
		case m > start:
			p.Also = append(p.Also, m)
		}
	}
}

func (c *compiler) meantBy(id ID) int {
	if n, ok := c.g.index[id]; ok {
		return n
	}
	return nowhere
}

// checkPaths finds unreachable nodes, joins that can never fire, and nodes from which no run can
// end.
func (c *compiler) checkPaths() {
	g, p := c.g, c.declaredPaths()
	if len(p.Out[start]) == 0 {
		c.fault("nothing leaves Start; add an edge from graph.Start to the node that comes first")
		for n := range g.nodes[1:] {
			p.Also = append(p.Also, n+1) // the edge might lead to any of them
		}
	}
	if g.catchAll > 0 {
		p.Also = append(p.Also, g.catchAll)
	}
	reached, leaves := p.Reachable(), p.Leaves()
	for i := range g.nodes[1:] {
		id := string(g.nodes[i+1].id)
		switch {
		case !reached[i+1] && !leaves[i+1]:
			c.fault("node %q is never reached and leads nowhere; wire it in or take it out", id)
		case !reached[i+1]:
			c.fault("node %q is never reached; add an edge or a route target to it", id)
		case !leaves[i+1]:
			c.fault("node %q leads nowhere; add an edge to graph.End", id)
		}
	}
	for _, j := range p.Joins {
		for _, from := range j.From {
			if !reached[from] && j.To > start {
				c.fault("the join to %s can never fire: %s is never reached", g.nodes[j.To].id, g.nodes[from].id)
			}
		}
	}
	for i, can := range p.Ends() {
		if !can && reached[i] && (i > start || len(p.Out[start]) > 0) {
			c.fault("from %s no path leads to End, so a run that gets there never finishes", g.nodes[i].id)
		}
	}
}
