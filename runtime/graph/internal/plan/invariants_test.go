package plan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// TestInvariants walks random graphs and checks what the package comment promises.
func TestInvariants(t *testing.T) {
	met := make(map[string]int)
	for seed := range uint64(250) {
		w := newWalk(seed)
		for range 20 {
			if err := w.step(met); err != nil {
				t.Fatalf("seed %d: %v, after\n%s", seed, err, w.path)
			}
		}
	}
	for _, what := range []string{"go", "stop", "done", "deferred", "sends", "joins", "pending"} {
		if met[what] < 20 {
			t.Errorf("the walks had %d of %s, want many more", met[what], what)
		}
	}
}

// The nodes of a walk are numbered from 1: ordinary ones, and then task nodes, which only sends
// make due.
const ordinary, nodes = 6, 9

// walk is a Planner on its way through a random graph.
type walk struct {
	*rand.Rand
	graph   *plan.Graph
	stops   bool
	planner plan.Planner
	path    []byte // the positions so far
}

func newWalk(seed uint64) *walk {
	w := &walk{Rand: rand.New(rand.NewPCG(seed, 0)), graph: &plan.Graph{Nodes: make([]plan.Node, nodes+1)}}
	for n := range w.graph.Nodes {
		node := &w.graph.Nodes[n]
		node.Route = w.one(2)
		for w.one(2) {
			node.Edges = append(node.Edges, w.target())
		}
		if n != plan.Start {
			node.Defers, node.Before, node.After = w.one(5), w.one(8), w.one(8)
			w.graph.Defers = w.graph.Defers || node.Defers
		}
	}
	for w.one(2) {
		addJoin(w.graph, []int{1 + w.IntN(3), 4 + w.IntN(2), 6 + w.IntN(4)}, 1+w.IntN(ordinary))
	}
	w.graph.BeforeRoute = w.one(2)
	w.stops = !w.one(4)
	w.planner = plan.New(w.graph, w.stops)
	w.planner.Enter(-1)
	return w
}

// one reports whether the one of n ways was drawn.
func (w *walk) one(n int) bool { return w.IntN(n) == 0 }

// target returns End or an ordinary node.
func (w *walk) target() int {
	if n := w.IntN(ordinary + 1); n > 0 {
		return n
	}
	return plan.End
}

// chooses returns what each route, and each task of a task node, will choose.
func (w *walk) chooses() choices {
	all := make(choices)
	draw := func(who string) {
		for w.IntN(3) > 0 {
			c := plan.Task{Node: w.target()}
			if w.one(3) {
				c = taskOf(fmt.Sprintf("%s(%d)", name(ordinary+1+w.IntN(nodes-ordinary)), w.IntN(100)))
			}
			all[who] = append(all[who], c)
		}
	}
	for n := range w.graph.Nodes {
		draw(name(n))
	}
	for _, t := range w.planner.Due {
		if t.Sent != nil {
			draw(taskText(t, false))
		}
	}
	return all
}

// step makes a transition and checks it. A run that is done gets another input.
func (w *walk) step(met map[string]int) error {
	p := &w.planner
	if p.Done() {
		p.Enter(p.Step)
	}
	if p.Clear(false); p.Stops() {
		return errors.New("a stop holds after it was cleared")
	}
	before, chose := clone(p.Position), w.chooses()
	w.path = fmt.Appendln(w.path, positionText(w.graph, &before))
	now := slices.Clone(p.Now())
	if err := w.checkNow(now, met); err != nil {
		return err
	}

	begin(p, now, chose)
	held := clone(p.Position)
	held.Joins = before.Joins
	if got, want := positionText(w.graph, &held), positionText(w.graph, &before); got != want {
		return fmt.Errorf("before Turn the position was %s, want %s", got, want)
	}
	chosen := p.Chosen()
	d := p.Turn()
	left := slices.Clone(p.Pending)
	for _, t := range p.Due {
		left = append(left, t.Node)
	}
	slices.Sort(left)
	if left = slices.Compact(left); !slices.Equal(left, chosen) {
		return fmt.Errorf("Chosen returned %s, and Turn left %s", names(chosen), names(left))
	}
	if d == plan.Stop {
		p.StopHere()
	}
	met[decisionText(d)]++
	if err := w.checkStep(&before, met); err != nil {
		return err
	}
	if err := w.checkDecision(d); err != nil {
		return err
	}
	if err := w.checkPosition(met); err != nil {
		return err
	}
	return w.checkAgain(before, now, chose, d)
}

func clone(p plan.Position) plan.Position {
	p.Due, p.Pending, p.Cleared = slices.Clone(p.Due), slices.Clone(p.Pending), slices.Clone(p.Cleared)
	joins := make([][]bool, len(p.Joins))
	for i := range joins {
		joins[i] = slices.Clone(p.Joins[i])
	}
	p.Joins = joins
	return p
}

// checkNow: all that is due runs, but deferred nodes only if nothing else does.
func (w *walk) checkNow(now []plan.Task, met map[string]int) error {
	due := w.planner.Due
	deferred := func(t plan.Task) bool { return w.graph.Nodes[t.Node].Defers }
	want := slices.DeleteFunc(slices.Clone(due), deferred)
	switch len(want) {
	case 0:
		want = due
	case len(due):
	default:
		met["deferred"]++
	}
	if got, want := tasksText(now), tasksText(want); got != want {
		return fmt.Errorf("the next superstep runs %s, want %s", got, want)
	}
	return nil
}

// checkStep: a superstep has the next step and lets no cleared stop pass. Pending routes repeat
// the step.
func (w *walk) checkStep(before *plan.Position, met map[string]int) error {
	step, cleared := before.Step+1, ""
	if len(before.Pending) > 0 {
		met["pending"]++
		step, cleared = before.Step, names(before.Cleared)
	}
	if w.planner.Step != step || names(w.planner.Cleared) != cleared {
		return fmt.Errorf("got step %d and cleared stops %s, want %d and %s",
			w.planner.Step, names(w.planner.Cleared), step, cleared)
	}
	return nil
}

// checkDecision: what Turn says is what the position says.
func (w *walk) checkDecision(d plan.Decision) error {
	p := &w.planner
	want := plan.Go
	switch {
	case p.Stops():
		want = plan.Stop
	case len(p.Due)+len(p.Pending) == 0:
		want = plan.Done
	case len(p.Pending) > 0:
		return fmt.Errorf("routes of %s are pending, and no stop holds the run", names(p.Pending))
	}
	if d != want {
		return fmt.Errorf("the run has to %s, want %s", decisionText(d), decisionText(want))
	}
	if p.Done() != (d == plan.Done) {
		return fmt.Errorf("done: %t, though the run has to %s", p.Done(), decisionText(d))
	}
	return nil
}

// checkPosition: nodes, then sends by index; only sends repeat a node; no join wholly reached.
func (w *walk) checkPosition(met map[string]int) error {
	due := w.planner.Due
	sends := 0
	for i, t := range due {
		switch {
		case t.Node <= plan.Start || (t.Sent != nil) != (t.Node > ordinary):
			return fmt.Errorf("due is %s, of which %s was never chosen", tasksText(due), taskText(t, true))
		case t.Sent == nil && (t.Index != 0 || i > 0 && due[i-1].Node >= t.Node):
			return fmt.Errorf("due is %s, which is out of order or has a node twice", tasksText(due))
		case t.Sent != nil && t.Index != sends:
			return fmt.Errorf("due is %s, with another index", tasksText(due))
		case t.Sent != nil:
			sends++
		}
	}
	met["sends"] += sends
	for i, reached := range w.planner.Joins {
		if slices.Contains(reached, true) {
			met["joins"]++
		}
		if !slices.Contains(reached, false) {
			return fmt.Errorf("join %d is wholly reached", i)
		}
	}
	return nil
}

// checkAgain: a new Planner that begins at the same position goes the same way.
func (w *walk) checkAgain(before plan.Position, ran []plan.Task, chose choices, d plan.Decision) error {
	p := plan.New(w.graph, w.stops)
	p.Position = before
	begin(&p, ran, chose)
	again := turn(&p)
	got, want := positionText(w.graph, &p.Position), positionText(w.graph, &w.planner.Position)
	if got != want || again != d {
		return fmt.Errorf("a new Planner has to %s at %s, want %s at %s",
			decisionText(again), got, decisionText(d), want)
	}
	return nil
}
