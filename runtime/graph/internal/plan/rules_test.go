package plan_test

import (
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// transition is a row: the graph, the position, the due tasks whose results count, and the
// choices. The position and the decision that follow come last. The file notation_test.go
// explains the notation.
type transition struct{ rule, graph, at, ran, chose, to, decision string }

func TestTransitions(t *testing.T) {
	for _, rows := range [][]transition{supersteps, order, joins, races, deferred, choosing, inputs, stops, pending} {
		for _, row := range rows {
			t.Run(row.rule, func(t *testing.T) {
				g, at := graphOf(row.graph), positionOf(graphOf(row.graph), row.at)
				p := plannerAt(g, at)
				ran := positionOf(g, "0: "+row.ran).Due
				if (len(at.Pending) > 0 || p.Stops()) && len(ran) > 0 {
					t.Fatalf("the row is wrong: nothing runs at %s", row.at)
				}
				if len(at.Pending) == 0 && !p.Stops() {
					checkRan(t, g, p.Now(), ran)
				}
				to, decision := advance(g, at, ran, choicesOf(row.chose))
				if got := positionText(g, &to); got != row.to {
					t.Errorf("%s at %s led to\n%s, want\n%s", row.graph, row.at, got, row.to)
				}
				if got := decisionText(decision); got != row.decision {
					t.Errorf("%s at %s: the run has to %s, want %s", row.graph, row.at, got, row.decision)
				}
			})
		}
	}
}

// checkRan checks that of the tasks that run now all did, but for those that lost a race.
func checkRan(t *testing.T, g *plan.Graph, now, ran []plan.Task) {
	t.Helper()
	var counts []plan.Task
	for _, n := range now {
		won := slices.ContainsFunc(ran, func(r plan.Task) bool { return r.Node == n.Node && r.Index == n.Index })
		if won || g.Nodes[n.Node].Race == 0 {
			counts = append(counts, n)
		}
	}
	if got, want := tasksText(counts), tasksText(ran); got != want {
		t.Errorf("the superstep runs %s, want %s", got, want)
	}
}

var supersteps = []transition{
	{"rule 1.1: all that is due runs", "a→c; b→d", "1: a b", "a b", "", "2: c d", "go"},
	{"rule 1.6: the step is one more", "a→b", "7: a", "a", "", "8: b", "go"},
	{"rule 1.7: done when nothing is due", "a→End", "1: a", "a", "", "2:", "done"},
	{"rule 1.7: done also if a join is half reached", "join a b→c", "1: a", "a", "", "2: c←a", "done"},
}

var order = []transition{
	{"rule 2.1: nodes as declared", "a→d; b→c", "1: a b", "a b", "", "2: c d", "go"},
	{
		"rule 2.1: then the sends, in their order",
		"b→e; route a b", "1: a b", "a b", "a: d(x) c(y); b: d(z)", "2: e d0(x) c1(y) d2(z)", "go",
	},
	{"rule 2.2: a stored order is kept", "a→d; b→c", "1: b a", "b a", "", "2: c d", "go"},
	{
		"rule 2.4: a node is left once, whatever tasks it had",
		"a→b; route a", "1: a0(x) a1(y)", "a0(x) a1(y)", "a: c(z)", "2: b c0(z)", "go",
	},
	{
		"rule 2.4: also if tasks of another node are between them",
		"a→c; route a b", "1: a0(x) b1(y) a2(z)", "a0(x) b1(y) a2(z)", "a: d(u); b: d(v)", "2: c d0(u) d1(v)", "go",
	},
	{"rule 2.4: joins are followed in task order", "join a b→c", "1: a b; c←b", "a b", "", "2: c; c←b", "go"},
	{
		"rule 2.5: due once, however many ways lead there",
		"a→c; b→c; join a b→c; route a", "1: a b", "a b", "a: c", "2: c", "go",
	},
	{
		"rule 2.6: sends are numbered as they were made",
		"route a b", "1: a b", "a b", "a: c(x) c(y); b: c(z)", "2: c0(x) c1(y) c2(z)", "go",
	},
	{
		"rule 2.6: those that wait come first",
		"defer c; route a", "1: a c0(x) b1(u) c2(y)", "a b1(u)", "a: b(v) c(z)", "2: c0(x) c1(y) b2(v) c3(z)", "go",
	},
}

var joins = []transition{
	{"rule 5.1: an edge", "a→b c", "1: a", "a", "", "2: b c", "go"},
	{"rule 5.1: an edge to End makes nothing due", "a→End; b→c", "1: a b", "a b", "", "2: c", "go"},
	{"rule 5.2: a source is remembered", "join a b→c; a→d", "1: a", "a", "", "2: d; c←a", "go"},
	{"rule 5.2: the last source fires the join", "join a b→c", "1: b; c←a", "b", "", "2: c", "go"},
	{"rule 5.2: all sources in one superstep", "join a b→c", "1: a b", "a b", "", "2: c", "go"},
	{
		"rule 5.2: what arrives after the join fired counts for the next time",
		"join a b d→c", "1: a b d; c←b d", "a b d", "", "2: c; c←b d", "go",
	},
	{"rule 5.2: each join has a set of its own", "join a b→d; join a c→e", "1: a; e←c", "a", "", "2: e; d←a", "go"},
	{"rule 5.2: a node can join itself and another", "join a b→a", "1: a; a←b", "a", "", "2: a", "go"},
	{"rule 5.3: a source that runs twice counts once", "join a b→c; a→a", "1: a; c←a", "a", "", "2: a; c←a", "go"},
	{
		"rule 5.3: several tasks of a source count once",
		"join a b→c", "1: a0(x) a1(y)", "a0(x) a1(y)", "", "2: c←a", "done",
	},
	{"rule 5.4: the set is kept across supersteps", "join a b→c; d→e", "1: d; c←a", "d", "", "2: e; c←a", "go"},
	{
		"rule 5.4: the set is kept when pending routes are asked",
		"join a b→c; route a", "1: pending a; c←a", "", "a: b", "1: b; c←a", "go",
	},
}

var races = []transition{
	{
		"rule 6.1: all sends of a task node are in its race",
		"any a→c; a→d", "1: a0(x) a1(y)", "a1(y)", "", "2: c d", "go",
	},
	{
		"rule 6.5: only what leads out of the winner is followed",
		"any a b→c; a→d; b→e; route a b", "1: a b", "b", "a: f; b: g", "2: c e g", "go",
	},
	{
		"rule 6.5: a loser does not reach its joins",
		"any a b→c; join a d→e; join b d→f", "1: a b d", "b d", "", "2: c f; e←d", "go",
	},
}

var deferred = []transition{
	{"rule 7.1: deferred nodes wait for others", "defer d; a→b; d→e", "1: a d", "a", "", "2: b d", "go"},
	{
		"rule 7.1: deferred nodes wait also if more deferred ones are due",
		"defer d e; a→e", "1: a d", "a", "", "2: d e", "go",
	},
	{"rule 7.2: deferred nodes run together", "defer d e; d→f; e→f", "1: d e", "d e", "", "2: f", "go"},
	{"rule 7.3: made due again, due once", "defer d; a→d", "1: a d", "a", "", "2: d", "go"},
	{
		"rule 7.3: sends are kept, before newer ones",
		"defer d; route a", "1: a d0(y)", "a", "a: d(x)", "2: d0(y) d1(x)", "go",
	},
}

var choosing = []transition{
	{
		"rule 8.1: a route is asked once for several tasks",
		"route a", "1: a0(x) a1(y)", "a0(x) a1(y)", "a: b(z)", "2: b0(z)", "go",
	},
	{"rule 8.1: a node without a route is not asked", "after a; a→b", "1: a", "a", "a: c", "2: b", "stop"},
	{"rule 8.3: edges and route both fire", "a→b; route a", "1: a", "a", "a: c", "2: b c", "go"},
	{"rule 8.4: End makes nothing due", "route a", "1: a", "a", "a: End", "2:", "done"},
	{"rule 8.4: End among others", "route a", "1: a", "a", "a: End b", "2: b", "go"},
	{
		"rule 8.8: each task of a routing task node chooses",
		"a→d", "1: a0(x) a1(y)", "a0(x) a1(y)", "a0: b; a1: b c(z)", "2: b d c0(z)", "go",
	},
	{
		"rule 9.1: one task for each send, all in one superstep",
		"c→d", "1: c0(x) c1(y)", "c0(x) c1(y)", "", "2: d", "go",
	},
	{"rule 9.1: equal payloads are tasks too", "route a", "1: a", "a", "a: c(x) d(y) c(x)", "2: c0(x) d1(y) c2(x)", "go"},
	{
		"rule 9.2: a waiting send keeps its payload",
		"defer c; a→b", "1: a c0(x) c1(y)", "a", "", "2: b c0(x) c1(y)", "go",
	},
}

var inputs = []transition{
	{"rule 10.1: the entry is followed after the input", "Start→a b", "0: Start", "Start", "", "1: a b", "go"},
	{"rule 10.2: a route chooses the entry", "route Start", "0: Start", "Start", "Start: b", "1: b", "go"},
}

var stops = []transition{
	{"rule 13.1: a stop before a node", "before b; a→b", "1: a", "a", "", "2: b", "stop"},
	{"rule 13.1: nothing of the superstep runs", "before b; a→c", "1: a b", "", "", "1: a b", "stop"},
	{
		"rule 13.1: no stop while the node waits for others",
		"before d; defer d; a→b", "1: a d", "a", "", "2: b d", "go",
	},
	{
		"rule 13.1: the stop comes when the deferred node would run",
		"before d; defer d", "1: a d", "a", "", "2: d", "stop",
	},
	{"rule 13.2: a stop after a node", "after a; a→b", "1: a", "a", "", "2: b", "stop"},
	{"rule 13.2: a stop after one of several nodes", "after a; a→c; b→d", "1: a b", "a b", "", "2: c d", "stop"},
	{"rule 13.2: no stop after a node that did not run", "after c; a→b", "1: a", "a", "", "2: b", "go"},
	{"rule 13.3: a cleared stop does not hold", "before b; b→c", "1: b; cleared b", "b", "", "2: c", "go"},
	{"rule 13.4: a stop is cleared for one superstep", "before b; b→b", "1: b; cleared b", "b", "", "2: b", "stop"},
	{"rule 13.5: another stop holds", "before b c", "1: b c; cleared b", "", "", "1: b c; cleared b", "stop"},
	{"rule 13.6: a stop before a node holds a fork", "before b", "1: b", "", "", "1: b", "stop"},
	{"rule 13.6: a stop after a node does not hold a fork", "after a; b→c", "1: b", "b", "", "2: c", "go"},
	{"rule 13.7: a stop after the last node", "after a; a→End", "1: a", "a", "", "2: pending End", "stop"},
	{"rule 13.7: a resume finishes the run", "after a; a→End", "2: pending End", "", "", "2:", "done"},
}

var pending = []transition{
	{"rule 1.6: the step is repeated", "route a", "7: pending a", "", "a: b", "7: b", "go"},
	{
		"rule 2.1: what is due and what is chosen is ordered",
		"route a", "1: c e; pending a", "", "a: d(x) b", "1: b c e d0(x)", "go",
	},
	{"rule 8.4: a pending route chooses End", "route a", "2: pending a", "", "a: End", "2:", "done"},
	{
		"rule 13.2: without BeforeRoute the route is asked",
		"after a; route a; a→b", "1: a", "a", "a: c", "2: b c", "stop",
	},
	{
		"rule 13.3: a stop before a node is cleared by the same resume",
		"before b; route a", "1: b; pending a; cleared b", "", "a: b", "1: b; cleared b", "go",
	},
	{
		"rule 13.5: the stop before a node that a pending route chose holds",
		"before b c; route a", "1: b; pending a; cleared b", "", "a: c", "1: b c; cleared b", "stop",
	},
	{
		"rule 13.8: the route is pending, edges are not",
		"after a; route a; BeforeRoute; a→b", "1: a", "a", "", "2: b; pending a", "stop",
	},
	{"rule 13.8: nothing is due", "after a; route a; BeforeRoute", "1: a", "a", "", "2: pending a", "stop"},
	{
		"rule 13.8: only routes of nodes with a stop are pending",
		"after a c; route a b c; BeforeRoute", "1: a b c", "a b c", "b: d", "2: d; pending a c", "stop",
	},
	{
		"rule 13.9: what was due stays due",
		"route a b", "2: c d0(x); pending a b", "", "a: c d(y); b: e", "2: c e d0(x) d1(y)", "go",
	},
	{
		"rule 13.9: no join and no edge is followed",
		"route a; a→b; join a b→c", "2: d; pending a; c←b", "", "a: e", "2: d e; c←b", "go",
	},
}

func TestResumeClearsStops(t *testing.T) {
	for _, row := range []struct{ rule, graph, at, cleared string }{
		{"rule 13.3: the stops of all nodes that would run", "before a c", "1: a b c", "1: a b c; cleared a c"},
		{"rule 13.3: once for several tasks", "before a", "1: a0(x) a1(y)", "1: a0(x) a1(y); cleared a"},
		{"rule 13.3: not of a deferred node that waits", "before a d; defer d", "1: a d", "1: a d; cleared a"},
		{
			"rule 13.3: after one node and before the next",
			"before b; route a", "1: b; pending a", "1: b; pending a; cleared b",
		},
		{"rule 13.3: nothing to clear", "before b", "1: a; cleared b", "1: a"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			g := graphOf(row.graph)
			p := plannerAt(g, positionOf(g, row.at))
			p.Clear(false)
			if got := positionText(g, &p.Position); got != row.cleared {
				t.Errorf("%s at %s: got %s, want %s", row.graph, row.at, got, row.cleared)
			}
			if p.Stops() {
				t.Errorf("%s at %s: the stop holds after it was cleared", row.graph, row.at)
			}
		})
	}
}

// TestStopsAfterNodes: a Planner that stopped is held until the stop is cleared.
func TestStopsAfterNodes(t *testing.T) {
	g := graphOf("after a; a→b")
	p := plannerAt(g, positionOf(g, "1: a"))
	begin(&p, p.Now(), nil)
	if d := turn(&p); d != plan.Stop || !p.Stops() {
		t.Errorf("rule 13.2: the run has to %s, held: %t; want a stop that holds", decisionText(d), p.Stops())
	}
	if p.Clear(false); p.Stops() {
		t.Error("rule 13.3: the stop holds after it was cleared")
	}
}

// TestStopsOfEdits: rule 13.11. What the edit as a node turned to is not a stop of the next
// superstep.
func TestStopsOfEdits(t *testing.T) {
	for _, row := range []struct{ graph, at, to string }{
		{"after a; a→b; b→c", "1: a", "3: c"},
		{"after a; a→b; route a; BeforeRoute", "1: a", "2: b"}, // the pending route is asked
	} {
		g := graphOf(row.graph)
		p := plannerAt(g, positionOf(g, row.at))
		begin(&p, p.Now(), nil)
		p.Turn()
		begin(&p, p.Now(), nil)
		d := turn(&p)
		if got := positionText(g, &p.Position); got != row.to || d != plan.Go {
			t.Errorf("%s: the run has to %s at %s, want it to go at %s", row.graph, decisionText(d), got, row.to)
		}
	}
}

// TestStopsHoldOnlyWhatIsStored: rule 13.11.
func TestStopsHoldOnlyWhatIsStored(t *testing.T) {
	g := graphOf("Start→a; a→b; before b; after a; route a; BeforeRoute")
	p := plan.New(g, false)
	p.Enter(-1)
	for _, want := range []string{"0: a", "1: b c", "2:"} {
		begin(&p, p.Now(), choicesOf("a: c"))
		d := turn(&p)
		if got := positionText(g, &p.Position); got != want || d == plan.Stop {
			t.Errorf("the run has to %s at %s, want it to pass %s", decisionText(d), got, want)
		}
	}
}

// TestPlaces: only the step of a position is kept.
func TestPlaces(t *testing.T) {
	run := func(p *plan.Planner) {
		begin(p, p.Now(), nil)
		turn(p)
	}
	g := graphOf("Start→a; join a b→c; after b; b→d; before a")
	for _, row := range []struct {
		rule  string
		place func(*plan.Planner)
		want  string
		input bool
	}{
		{"rule 5.5: an input empties the joins", func(p *plan.Planner) { p.Enter(4) }, "4: Start", true},
		{
			"rule 5.5: an edit as a node empties the joins",
			func(p *plan.Planner) { p.Place(4, number("b")) }, "4: b", false,
		},
		{
			"rule 16.5: only the node of an edit ran",
			func(p *plan.Planner) { p.Place(4, number("b")); run(p) }, "5: d; c←b", false,
		},
		{
			"rule 10.5: no cleared stop is left after an input",
			func(p *plan.Planner) { p.Enter(4); run(p) }, "5: a", false,
		},
	} {
		t.Run(row.rule, func(t *testing.T) {
			p := plannerAt(g, positionOf(g, "3: a e; pending b; c←a; cleared a"))
			row.place(&p)
			if got := positionText(g, &p.Position); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
			if got := p.Input(); got != row.input {
				t.Errorf("the superstep merges an input: %t, want %t", got, row.input)
			}
		})
	}
}

// TestFacts: what a run reads from a position.
func TestFacts(t *testing.T) {
	for _, row := range []struct {
		rule, graph, at, unjoined string
		done, ended               bool
	}{
		{"rule 1.7: a task is due", "", "1: a", "", false, false},
		{"rule 1.7: a route is pending", "", "1: pending a", "", false, false},
		{"rule 1.7: nothing is due or pending", "", "1:", "", true, true},
		{
			"rule 5.6: joins that are half reached",
			"join a b→d; join b c→e; join a c→f", "1: d←a; f←c", "d f", true, true,
		},
		{"rule 13.7: at a stop after the last node", "", "1: pending End", "", false, true},
	} {
		t.Run(row.rule, func(t *testing.T) {
			g := graphOf(row.graph)
			p := plannerAt(g, positionOf(g, row.at))
			if got := names(slices.Collect(p.Unjoined)); got != row.unjoined {
				t.Errorf("joins half reached at %s: got %q, want %q", row.at, got, row.unjoined)
			}
			if p.Done() != row.done || p.Ended() != row.ended {
				t.Errorf("at %s: done %t, ended %t; want %t and %t", row.at, p.Done(), p.Ended(), row.done, row.ended)
			}
		})
	}
}

// TestChosen: what a call has left to do when it chooses for its parent.
func TestChosen(t *testing.T) {
	for _, row := range []struct{ rule, graph, at, chose, chosen string }{
		{"rule 18.13: a call that is done chooses", "a→End", "1: a", "", ""},
		{"rule 18.14: an edge", "a→b c", "1: a", "", "b c"},
		{"rule 18.14: a join that fires", "join a b→c", "1: a; c←b", "", "c"},
		{"rule 18.13: a join that waits", "join a b→c", "1: a", "", ""},
		{"rule 18.14: choices and sends, each node once", "route a; a→b", "1: a", "a: d(x) b d(y) c", "b c d"},
		{"rule 18.14: a deferred node that waits", "defer d", "1: a d0(x)", "", "d"},
		{"rule 18.14: a pending route", "after a; route a; BeforeRoute; a→b", "1: a", "", "a b"},
		{"rule 18.14: what was due when pending routes are asked", "route a", "1: b; pending a", "a: c", "b c"},
		{"rule 18.13: the pending route that chooses is not left", "route a", "1: pending a", "a: End", ""},
	} {
		t.Run(row.rule, func(t *testing.T) {
			g := graphOf(row.graph)
			p := plannerAt(g, positionOf(g, row.at))
			begin(&p, p.Now(), choicesOf(row.chose))
			if got := names(p.Chosen()); got != row.chosen {
				t.Errorf("%s at %s: got %q, want %q", row.graph, row.at, got, row.chosen)
			}
		})
	}
}

// TestFailuresLeaveThePosition: a superstep or a pending route that fails is not turned.
func TestFailuresLeaveThePosition(t *testing.T) {
	for _, row := range []struct{ rule, graph, at, chose string }{
		{
			"rule 8.6: the superstep",
			"route b; a→c; after a; route a; BeforeRoute", "1: a b0(x); cleared a", "b: c(y)",
		},
		{"rule 7.1: a deferred node still waits", "defer d; a→c", "1: a d0(x)", ""},
		{"rule 13.4: a cleared stop stays cleared", "before a; a→c", "1: a; cleared a", ""},
		{"rule 13.10: a pending route stays pending", "route a b", "1: c; pending a b; cleared c", "a: d"},
	} {
		t.Run(row.rule, func(t *testing.T) {
			g := graphOf(row.graph)
			p := plannerAt(g, positionOf(g, row.at))
			begin(&p, p.Now(), choicesOf(row.chose))
			if got := positionText(g, &p.Position); got != row.at {
				t.Errorf("%s: got %s, want it where it was, %s", row.graph, got, row.at)
			}
		})
	}
}
