package graph

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// A record stores a position with the ids of nodes; a plan has their numbers.

// dueTasks returns the due tasks as they are stored.
func (r recorder) dueTasks() []checkpoint.Task {
	tasks := r.log.Due(len(r.plan.Due))
	for i := range tasks {
		d := &r.plan.Due[i]
		tasks[i] = checkpoint.Task{Node: string(r.g.nodes[d.Node].id), Index: uint32(d.Index), Payload: d.Raw}
	}
	return tasks
}

// names returns the ids of nodes as they are stored; nil for none.
func (g *core) names(nodes []int) []string {
	var names []string
	for _, n := range nodes {
		if n == end {
			names = append(names, string(End))
			continue
		}
		names = append(names, string(g.nodes[n].id))
	}
	return names
}

// halfJoins returns the joins that some of their sources have reached.
func (g *core) halfJoins(p *plan.Planner) []checkpoint.Join {
	var joins []checkpoint.Join
	for i, reached := range p.Joins {
		j := checkpoint.Join{To: string(g.nodes[g.plan.Joins[i].To].id)}
		for k, yes := range reached {
			if yes {
				j.Fired = append(j.Fired, string(g.nodes[g.plan.Joins[i].From[k]].id))
			}
		}
		if len(j.Fired) > 0 {
			joins = append(joins, j)
		}
	}
	return joins
}

// numbers returns the nodes of stored ids. It adds those that the graph does not have to missing.
func (g *core) numbers(ids []string, missing *[]string) []int {
	var numbers []int
	for _, id := range ids {
		n, ok := g.find(id)
		if !ok {
			*missing = append(*missing, id)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// placeJoin restores a half-reached join. Two joins to one node are told apart by their sources.
func (g *core) placeJoin(p *plan.Planner, stored checkpoint.Join) bool {
	for i, j := range g.plan.Joins {
		if to, ok := g.find(stored.To); !ok || to != j.To {
			continue
		}
		reached := make([]bool, len(j.From))
		found := 0
		for _, id := range stored.Fired {
			n, ok := g.find(id)
			if k := slices.Index(j.From, n); ok && k >= 0 {
				reached[k] = true
				found++
			}
		}
		if found == len(stored.Fired) && found < len(reached) && !slices.Contains(p.Joins[i], true) {
			p.Joins[i] = reached
			return true
		}
	}
	return false
}
