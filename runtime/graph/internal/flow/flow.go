// Package flow proves at Compile what a graph can do, whatever its nodes and routes decide. It
// finds the nodes that a run can reach, those from which it can end, and those that always run in
// one superstep. It is pure, and knows nodes by number as package plan does. Its time is in
// proportion to the nodes and edges.
package flow

import "github.com/graphgen-go/graphgen/runtime/graph/internal/plan"

// Paths is where a graph leads, as it was declared. Numbers below plan.Start are places where a
// branch ends.
type Paths struct {
	Out   [][]int     // by node: where its edges, choices and any-of joins lead
	Joins []plan.Join // of sources that are nodes
	Also  []int       // nodes that count as reached, although no path may lead there

	work int // nodes, edges and sources looked at
}

// Reachable returns for each node whether a run can get there. A join fires if all its sources
// can run.
func (p *Paths) Reachable() []bool {
	reached := make([]bool, len(p.Out))
	var todo []int
	visit := func(n int) {
		p.work++
		if n >= plan.Start && !reached[n] {
			reached[n] = true
			todo = append(todo, n)
		}
	}
	visit(plan.Start)
	for _, n := range p.Also {
		visit(n)
	}
	joins := make([][]int, len(p.Out))   // by node: the joins that it is a source of
	missing := make([]int, len(p.Joins)) // by join: how many sources are not reached
	for i, j := range p.Joins {
		for _, n := range j.From {
			p.work++
			joins[n] = append(joins[n], i)
		}
		if missing[i] = len(j.From); missing[i] == 0 {
			visit(j.To)
		}
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range p.Out[n] {
			visit(to)
		}
		for _, i := range joins[n] {
			p.work++
			if missing[i]--; missing[i] == 0 {
				visit(p.Joins[i].To)
			}
		}
	}
	return reached
}

// Leaves returns for each node whether anything follows it.
func (p *Paths) Leaves() []bool {
	leaves := make([]bool, len(p.Out))
	for i := range p.Out {
		p.work++
		leaves[i] = len(p.Out[i]) > 0
	}
	for _, j := range p.Joins {
		for _, from := range j.From {
			p.work++
			leaves[from] = true
		}
	}
	return leaves
}

// Ends returns for each node whether a run that gets there can end. A node that nothing follows
// ends it.
func (p *Paths) Ends() []bool {
	ends := make([]bool, len(p.Out))
	var todo []int
	end := func(n int) {
		p.work++
		if !ends[n] {
			ends[n] = true
			todo = append(todo, n)
		}
	}
	before := make([][]int, len(p.Out)) // by node: what leads to it
	edge := func(from, to int) {
		p.work++
		if to < plan.Start {
			end(from)
			return
		}
		before[to] = append(before[to], from)
	}
	for n, leaves := range p.Leaves() {
		if !leaves {
			end(n)
		}
		for _, to := range p.Out[n] {
			edge(n, to)
		}
	}
	for _, j := range p.Joins {
		for _, n := range j.From {
			edge(n, j.To)
		}
	}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range before[n] {
			end(from)
		}
	}
	return ends
}
