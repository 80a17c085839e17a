package plan_test

import (
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// ofOneRun returns the graph without its stops, and those as the stops of one run.
func ofOneRun(g *plan.Graph) (*plan.Graph, *plan.Stops) {
	bare, own := *g, &plan.Stops{BeforeRoute: g.BeforeRoute}
	bare.Nodes, bare.BeforeRoute = slices.Clone(g.Nodes), false
	for i := range bare.Nodes {
		n := &bare.Nodes[i]
		if n.Before {
			own.Before = append(own.Before, i)
		}
		if n.After {
			own.After = append(own.After, i)
		}
		n.Before, n.After = false, false
	}
	return &bare, own
}

// TestStopsOfOneRun: rule 13.12. Stops of a run hold as those of the graph do.
func TestStopsOfOneRun(t *testing.T) {
	for _, row := range append(slices.Clone(stops), pending...) {
		t.Run(row.rule, func(t *testing.T) {
			g, own := ofOneRun(graphOf(row.graph))
			p := plannerAt(g, positionOf(g, row.at))
			p.StopAt(own)
			d := plan.Stop
			if ran := positionOf(g, "0: "+row.ran).Due; len(ran) > 0 || len(p.Pending) > 0 || !p.Stops() {
				begin(&p, ran, choicesOf(row.chose))
				d = turn(&p)
			}
			if got := positionText(g, &p.Position); got != row.to || decisionText(d) != row.decision {
				t.Errorf("rule 13.12: %s at %s led to %s, and the run has to %s; want %s and %s",
					row.graph, row.at, got, decisionText(d), row.to, row.decision)
			}
		})
	}
}

// TestStopsOfOneRunAddToThoseOfTheGraph: rule 13.12.
func TestStopsOfOneRunAddToThoseOfTheGraph(t *testing.T) {
	g := graphOf("before b; after a; route a")
	for _, row := range []struct {
		own plan.Stops
		at  string
	}{
		{plan.Stops{Before: []int{number("c")}}, "1: b"},
		{plan.Stops{Before: []int{number("c")}}, "1: c"},
	} {
		p := plannerAt(g, positionOf(g, row.at))
		p.StopAt(&row.own)
		if !p.Stops() {
			t.Errorf("rule 13.12: before b and c at %s: no stop, want one", row.at)
		}
		if p.Clear(false); p.Stops() {
			t.Errorf("rule 13.3: before b and c at %s: the stop holds after it was cleared", row.at)
		}
	}
	p := plannerAt(g, positionOf(g, "1: a"))
	p.StopAt(&plan.Stops{BeforeRoute: true})
	begin(&p, p.Now(), nil)
	if d := turn(&p); d != plan.Stop || positionText(g, &p.Position) != "2: pending a" {
		t.Errorf("rule 13.12: the run has to %s at %s, want a stop before the route", decisionText(d), positionText(g, &p.Position))
	}
}
