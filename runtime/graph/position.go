package graph

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// A record stores a position with the ids of nodes; a plan has their numbers.

// dueTasks returns the due tasks in their stored form.
func (r recorder) dueTasks() []checkpoint.Task {
	tasks := r.log.Due(len(r.plan.Due))
	for i := range tasks {
		d := &r.plan.Due[i]
		tasks[i] = checkpoint.Task{Node: string(r.g.nodes[d.Node].id), Index: uint32(d.Index), Payload: d.Raw}
	}
	return tasks
}

// ran returns the stored names of the nodes that ran in this superstep (rule 1.8).
func (r recorder) ran() []string {
	n := 0
	for range r.ranNodes {
		n++
	}
	names := r.log.Names(n)[:0]
	for node := range r.ranNodes {
		names = append(names, string(r.g.nodes[node].id))
	}
	return names
}

// ranNodes calls yield with each of these nodes.
func (r recorder) ranNodes(yield func(node int) bool) {
	last := start
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		if t.Node == last || t.Progress == exec.Beaten {
			continue
		}
		if last = t.Node; !yield(last) {
			return
		}
	}
}

// names returns the ids of nodes in their stored form; nil for none.
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

// placeJoins restores half-reached joins. It adds the targets of those that the graph does not
// have to missing.
func (g *core) placeJoins(p *plan.Planner, stored []checkpoint.Join, missing *[]string) {
	if len(stored) == 0 {
		return
	}
	to := make(map[int][]int) // joins, by the node that they lead to
	for i, j := range g.plan.Joins {
		to[j.To] = append(to[j.To], i)
	}
	for _, j := range stored {
		n, ok := g.find(j.To)
		at := slices.IndexFunc(to[n], func(i int) bool { return g.placeJoin(p, i, j.Fired) })
		if !ok || at < 0 {
			*missing = append(*missing, j.To)
			continue
		}
		to[n] = slices.Delete(to[n], at, at+1)
	}
}

// placeJoin restores join i if all of fired are among its sources, and reports whether they are.
// Several joins can lead to one node; their sources distinguish them.
func (g *core) placeJoin(p *plan.Planner, i int, fired []string) bool {
	sources := make(map[int]int, len(g.plan.Joins[i].From))
	for k, n := range g.plan.Joins[i].From {
		sources[n] = k
	}
	reached := make([]bool, len(g.plan.Joins[i].From))
	for _, id := range fired {
		n, ok := g.find(id)
		k, waits := sources[n]
		if !ok || !waits {
			return false
		}
		reached[k] = true
	}
	if len(fired) == len(reached) {
		return false
	}
	p.Joins[i] = reached
	return true
}
