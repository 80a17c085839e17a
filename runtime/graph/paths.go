package graph

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// nowhere stands for the end of an edge that is unknown: any node might be meant, or End.
const nowhere = -3

// paths is where the declared edges, targets and joins lead, by number. Those with a fault are among them, so that one fault
// is not reported again as a node that is never reached or leads nowhere.
type paths struct {
	out   [][]int // by node
	joins []plan.Join
	meant []int // the nodes to which an unknown one may lead: by what is declared, or in the place of one that is there
}

// declaredPaths collects them.
func (c *compiler[S, U]) declaredPaths() paths {
	p := paths{out: make([][]int, len(c.g.nodes))}
	for _, e := range c.b.edges {
		c.addPath(&p, e.from, e.to)
	}
	for _, d := range c.b.nodes {
		if d.kind.routes {
			c.addPath(&p, d.id, d.targets...)
		}
	}
	for _, r := range c.b.routes {
		c.addPath(&p, r.from, r.targets...)
	}
	for _, j := range c.b.races {
		for _, from := range j.from {
			c.addPath(&p, from, j.to)
		}
	}
	for _, j := range c.b.joins {
		made := plan.Join{To: c.meantBy(j.to)}
		for _, from := range j.from {
			if n := c.meantBy(from); n >= start {
				made.From = append(made.From, n)
			}
		}
		p.joins = append(p.joins, made)
	}
	if slices.ContainsFunc(p.out, func(to []int) bool { return slices.Contains(to, nowhere) }) {
		p.meant = slices.Concat(append(p.out, p.meant)...) // it might lead to any of those
	}
	return p
}

func (c *compiler[S, U]) addPath(p *paths, from ID, to ...ID) {
	n := c.meantBy(from)
	for _, id := range to {
		switch m := c.meantBy(id); {
		case n >= start && m == start: // a fault
			p.out[n] = append(p.out[n], nowhere)
		case n >= start:
			p.out[n] = append(p.out[n], m)
		case m > start:
			p.meant = append(p.meant, m)
		}
	}
}

func (c *compiler[S, U]) meantBy(id ID) int {
	if n, ok := c.g.index[id]; ok {
		return n
	}
	return nowhere
}

// checkPaths finds what no run can reach, joins that can never fire, and nodes from which no run can end.
func (c *compiler[S, U]) checkPaths() {
	g, p := c.g, c.declaredPaths()
	if len(p.out[start]) == 0 {
		c.fault("nothing leaves Start; add an edge from graph.Start to the node that comes first")
		return
	}
	reached, leaves := p.reachable(), p.leaves()
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
	for _, j := range p.joins {
		for _, from := range j.From {
			if !reached[from] && j.To > start {
				c.fault("the join to %s can never fire: %s is never reached", g.nodes[j.To].id, g.nodes[from].id)
			}
		}
	}
	for i, can := range p.ends(leaves) {
		if !can && reached[i] {
			c.fault("from %s no path leads to End, so a run that gets there never finishes", g.nodes[i].id)
		}
	}
}

// reachable marks the nodes that some run can get to. A join lets through only when all its sources are
// reachable, so it is asked again until nothing changes.
func (p *paths) reachable() []bool {
	reached := make([]bool, len(p.out))
	var visit func(n int)
	visit = func(n int) {
		if n < start || reached[n] {
			return
		}
		reached[n] = true
		for _, to := range p.out[n] {
			visit(to)
		}
	}
	visit(start)
	for _, n := range p.meant {
		visit(n)
	}
	for changed := true; changed; {
		changed = false
		for _, j := range p.joins {
			all := !slices.ContainsFunc(j.From, func(from int) bool { return !reached[from] })
			if all && j.To > start && !reached[j.To] {
				visit(j.To)
				changed = true
			}
		}
	}
	return reached
}

// leaves marks the nodes that lead anywhere.
func (p *paths) leaves() []bool {
	leaves := make([]bool, len(p.out))
	for i := range p.out {
		leaves[i] = len(p.out[i]) > 0
	}
	for _, j := range p.joins {
		for _, from := range j.From {
			leaves[from] = true
		}
	}
	return leaves
}

// ends marks the nodes from which a run can end; those that lead nowhere count, which is a fault of its own.
func (p *paths) ends(leaves []bool) []bool {
	out := slices.Clone(p.out)
	for _, j := range p.joins {
		for _, from := range j.From {
			out[from] = append(slices.Clip(out[from]), j.To)
		}
	}
	ends := make([]bool, len(out))
	for changed := true; changed; {
		changed = false
		for i, to := range out {
			can := !leaves[i] || slices.ContainsFunc(to, func(n int) bool { return n < start || ends[n] })
			if can && !ends[i] {
				ends[i], changed = true, true
			}
		}
	}
	return ends
}
