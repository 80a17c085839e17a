package graph

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// addJoins adds the joins that wait for all their sources.
func (c *compiler[S, U]) addJoins() {
	for _, j := range c.b.joins {
		what := fmt.Sprintf("join of %v -> %s", j.from, j.to)
		to, ok := c.target(what, j.to)
		if to == end && ok {
			c.fault("%s: a join leads to a node; branches end by themselves", what)
			ok = false
		}
		if ok && c.takesSends(what, to) {
			ok = false
		}
		if len(j.from) < 2 {
			c.fault("%s: a join waits for at least two nodes; use Edge for one", what)
			ok = false
		}
		number := len(c.g.plan.Joins)
		made := plan.Join{To: to}
		seen := make(map[ID]bool, len(j.from))
		for i, id := range j.from {
			if seen[id] {
				c.fault("%s names %s twice", what, id)
				continue
			}
			seen[id] = true
			from, found := c.source(what, id)
			if found && from == start {
				c.fault("%s: Start has always run; leave it out", what)
			}
			if ok = ok && found; ok {
				c.g.plan.Nodes[from].Joins = append(c.g.plan.Nodes[from].Joins, plan.Arrival{Join: number, Source: i})
				made.From = append(made.From, from)
			}
		}
		c.g.plan.Joins = append(c.g.plan.Joins, made)
	}
}

// addRaces adds the joins that wait for any of their sources.
func (c *compiler[S, U]) addRaces() {
	for _, j := range c.b.races {
		what := fmt.Sprintf("any-of join of %v -> %s", j.from, j.to)
		to, ok := c.target(what, j.to)
		if ok && c.takesSends(what, to) {
			ok = false
		}
		if len(j.from) == 0 {
			c.fault("%s: it has no nodes to wait for", what)
		}
		c.g.plan.Races++
		c.g.races = append(c.g.races, j)
		seen := make(map[ID]bool, len(j.from))
		for _, id := range j.from {
			from, found := c.source(what, id)
			twice := seen[id]
			seen[id] = true
			switch {
			case !found:
			case twice:
				c.fault("%s names %s twice", what, id)
			case from == start:
				c.fault("%s: Start has always run; leave it out", what)
			case c.g.plan.Nodes[from].Race != 0:
				c.fault("%s: %s leads to another any-of join already", what, id)
			case ok:
				c.g.plan.Nodes[from].Race = c.g.plan.Races
				c.g.plan.Nodes[from].Edges = append(c.g.plan.Nodes[from].Edges, to)
			}
		}
	}
}
