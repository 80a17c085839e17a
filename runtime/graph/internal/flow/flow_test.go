package flow_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/flow"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// numbers returns the nodes that are marked.
func numbers(marked []bool) []int {
	var all []int
	for n, yes := range marked {
		if yes {
			all = append(all, n)
		}
	}
	return all
}

func TestPaths(t *testing.T) {
	tests := []struct {
		name          string
		p             flow.Paths
		reached, ends []int
	}{
		{"a chain", flow.Paths{Out: [][]int{{1}, {2}, {plan.End}}}, []int{0, 1, 2}, []int{0, 1, 2}},
		{"a loop with a way out", flow.Paths{Out: [][]int{{1}, {2}, {1, plan.End}}}, []int{0, 1, 2}, []int{0, 1, 2}},
		{"a loop without one", flow.Paths{Out: [][]int{{1}, {2}, {1}}}, []int{0, 1, 2}, nil},
		{"a node that nothing leads to", flow.Paths{Out: [][]int{{1}, {plan.End}, {1}}}, []int{0, 1}, []int{0, 1, 2}},
		{"a node that leads nowhere", flow.Paths{Out: [][]int{{1}, nil}}, []int{0, 1}, []int{0, 1}},
		{"a node that counts as reached", flow.Paths{Out: [][]int{{1}, {plan.End}, {3}, {plan.End}}, Also: []int{2}}, []int{0, 1, 2, 3}, []int{0, 1, 2, 3}},
		{
			"a join", flow.Paths{Out: [][]int{{1, 2}, nil, nil, {plan.End}}, Joins: []plan.Join{{To: 3, From: []int{1, 2}}}},
			[]int{0, 1, 2, 3}, []int{0, 1, 2, 3},
		},
		{
			"a join that waits for a node that is not reached",
			flow.Paths{Out: [][]int{{1}, nil, nil, {plan.End}}, Joins: []plan.Join{{To: 3, From: []int{1, 2}}}},
			[]int{0, 1}, []int{0, 1, 2, 3},
		},
		{
			"a join that names a source twice", flow.Paths{Out: [][]int{{1}, nil, {plan.End}}, Joins: []plan.Join{{To: 2, From: []int{1, 1}}}},
			[]int{0, 1, 2}, []int{0, 1, 2},
		},
		{
			"a join of no known node", flow.Paths{Out: [][]int{{1}, {plan.End}, {plan.End}}, Joins: []plan.Join{{To: 2}}},
			[]int{0, 1, 2}, []int{0, 1, 2},
		},
		{
			"joins that lead to joins", flow.Paths{
				Out:   [][]int{{1, 2}, nil, nil, nil, {plan.End}},
				Joins: []plan.Join{{To: 4, From: []int{3, 2}}, {To: 3, From: []int{1, 2}}},
			},
			[]int{0, 1, 2, 3, 4}, []int{0, 1, 2, 3, 4},
		},
	}
	for _, tt := range tests {
		if got := numbers(tt.p.Reachable()); !slices.Equal(got, tt.reached) {
			t.Errorf("%s: reachable: got %v, want %v", tt.name, got, tt.reached)
		}
		if got := numbers(tt.p.Ends()); !slices.Equal(got, tt.ends) {
			t.Errorf("%s: ends: got %v, want %v", tt.name, got, tt.ends)
		}
	}
}

// chain is n nodes in a row; the last ends the run.
func chain(n int) [][]int {
	out := make([][]int, n)
	for i := range n {
		out[i] = []int{i + 1}
	}
	out[n-1] = []int{plan.End}
	return out
}

func TestPathsAreFoundInTimeThatFollowsTheGraph(t *testing.T) {
	const n = 10_000
	all := make([]int, n-2)
	for i := range all {
		all[i] = i + 1
	}
	backwards := flow.Paths{Out: make([][]int, n)}
	backwards.Out[0], backwards.Out[1] = []int{n - 1}, []int{plan.End}
	fan, join := flow.Paths{Out: make([][]int, n)}, flow.Paths{Out: make([][]int, n)}
	fan.Out[0], join.Out[0] = all, all
	join.Joins = []plan.Join{{To: n - 1, From: all}}
	joins := flow.Paths{Out: make([][]int, n)} // each waits for the one declared after it
	joins.Out[0] = []int{n - 2, n - 1}
	for i := 2; i < n; i++ {
		backwards.Out[i] = []int{i - 1}
		fan.Out[i-1] = []int{n - 1}
		joins.Joins = append(joins.Joins, plan.Join{To: i - 1, From: []int{i, n - 1}})
	}
	for name, p := range map[string]*flow.Paths{
		"chain": {Out: chain(n)}, "backwards": &backwards, "fan": &fan, "join": &join, "joins": &joins,
	} {
		for i, yes := range p.Reachable() {
			if !yes {
				t.Fatalf("%s: node %d is not reached", name, i)
			}
		}
		p.Ends()
		size := len(p.Out)
		for _, to := range p.Out {
			size += len(to)
		}
		for _, j := range p.Joins {
			size += 1 + len(j.From)
		}
		if got := p.Work(); got > 5*size {
			t.Errorf("%s: looked at %d things of a graph of %d nodes, edges and sources, want at most five times as many", name, got, size)
		}
	}
}

func TestMeetings(t *testing.T) {
	// 0 -> 1 -> 3 -> 5, 0 -> 2 -> 4 -> 5
	m := flow.NewMeetings([][]int{{1, 2}, {3}, {4}, {5}, {5}, nil})
	pairs := m.Among(func(int, int) bool { return true })
	if want := []flow.Pair{{A: 1, B: 2}, {A: 3, B: 4}}; !slices.Equal(pairs, want) {
		t.Errorf("got %v, want %v", pairs, want)
	}
	origin, toA, toB := m.Ways(flow.Pair{A: 3, B: 4})
	if got, want := fmt.Sprint(origin, toA, toB), "0 [1 3] [2 4]"; got != want {
		t.Errorf("ways to 3 and 4: got %s, want %s", got, want)
	}
	if got := m.Among(func(a, b int) bool { return a == 3 && b == 4 }); len(got) != 1 {
		t.Errorf("among 3 and 4: got %v, want one pair", got)
	}
}

func TestMeetingsAreFoundInTimeThatFollowsTheGraph(t *testing.T) {
	const n = 10_000
	next := chain(n)
	next[n-1] = nil
	if got := flow.NewMeetings(next).Work(); got > n {
		t.Errorf("a chain of %d: examined %d pairs of edges, want at most as many", n, got)
	}
	wide := make([][]int, n)
	for i := 1; i < n; i++ {
		wide[0] = append(wide[0], i)
	}
	m := flow.NewMeetings(wide)
	if got := m.Work(); got > flow.MostPairs+1 {
		t.Errorf("%d nodes side by side: examined %d pairs of edges, want at most %d", n, got, flow.MostPairs)
	}
	if got := m.Among(func(a, b int) bool { return b <= 3 }); len(got) != 3 {
		t.Errorf("%d nodes side by side: got %v among the first three, want three pairs", n, got)
	}
}
