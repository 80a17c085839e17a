package plan_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// The tables write a graph as "a→b c; join a b→c; defer d":
//
//	a→b c         edges
//	join a b→c    a join, and "any a b→c" an any-of join
//	route a b     nodes after which a route is asked; likewise defer, before and after
//	BeforeRoute   the option
//
// Nodes are Start, End and the letters a to z, declared in this order.
//
// A position is "1: a b0(x) b1(y); pending c; c←a b; cleared d". It has the step, and the tasks
// that are due; a send has its index and payload. Then come the pending routes, the sources that
// have reached the join to c, and the cleared stops.
//
// Choices are "a: b c(x); b1: End": what the route of a chose, and what the task b1 of b chose.

// payload is what is sent in the tables.
type payload string

func (p payload) AppendWire(b []byte) ([]byte, error) { return append(b, p...), nil }

// number returns the number of a node, and name the node of a number.
func number(name string) int {
	switch name {
	case "Start":
		return plan.Start
	case "End":
		return plan.End
	}
	return int(name[0]-'a') + 1
}

func name(number int) string {
	switch number {
	case plan.Start:
		return "Start"
	case plan.End:
		return "End"
	}
	return string(rune('a' + number - 1))
}

func numbers(names string) (all []int) {
	for _, n := range strings.Fields(names) {
		all = append(all, number(n))
	}
	return all
}

func names(numbers []int) string {
	all := make([]string, len(numbers))
	for i, n := range numbers {
		all[i] = name(n)
	}
	return strings.Join(all, " ")
}

// clauses splits "a; b c" at the semicolons.
func clauses(text string) (all []string) {
	for c := range strings.SplitSeq(text, ";") {
		if c = strings.TrimSpace(c); c != "" {
			all = append(all, c)
		}
	}
	return all
}

// graphOf reads a graph.
func graphOf(text string) *plan.Graph {
	g := &plan.Graph{Nodes: make([]plan.Node, 27)}
	for _, clause := range clauses(text) {
		word, rest, _ := strings.Cut(clause, " ")
		from, to, _ := strings.Cut(clause, "→")
		switch word {
		case "join":
			addJoin(g, numbers(strings.TrimPrefix(from, word)), number(to))
		case "any":
			g.Races++
			for _, n := range numbers(strings.TrimPrefix(from, word)) {
				g.Nodes[n].Race, g.Nodes[n].Edges = g.Races, append(g.Nodes[n].Edges, number(to))
			}
		case "route", "defer", "before", "after":
			for _, n := range numbers(rest) {
				node := &g.Nodes[n]
				node.Route = node.Route || word == "route"
				node.Defers = node.Defers || word == "defer"
				node.Before = node.Before || word == "before"
				node.After = node.After || word == "after"
				g.Defers = g.Defers || node.Defers
			}
		case "BeforeRoute":
			g.BeforeRoute = true
		default:
			g.Nodes[number(from)].Edges = append(g.Nodes[number(from)].Edges, numbers(to)...)
		}
	}
	return g
}

func addJoin(g *plan.Graph, from []int, to int) {
	for i, n := range from {
		g.Nodes[n].Joins = append(g.Nodes[n].Joins, plan.Arrival{Join: len(g.Joins), Source: i})
	}
	g.Joins = append(g.Joins, plan.Join{To: to, From: from})
}

// taskOf reads a task or a choice: "a", "a(x)" or "a0(x)".
func taskOf(text string) (t plan.Task) {
	who, sent, sends := strings.Cut(text, "(")
	if sends {
		sent = strings.TrimSuffix(sent, ")")
		t.Sent, t.Raw = payload(sent), []byte(sent)
	}
	if digit := strings.IndexAny(who, "0123456789"); digit > 0 {
		t.Index = int(who[digit] - '0')
		who = who[:digit]
	}
	t.Node = number(who)
	return t
}

// taskText prints a task; with payload as a position does, else as its name among choices.
func taskText(t plan.Task, withPayload bool) string {
	switch {
	case t.Sent == nil:
		return name(t.Node)
	case !withPayload:
		return fmt.Sprint(name(t.Node), t.Index)
	case string(t.Raw) != string(t.Sent.(payload)):
		return fmt.Sprintf("%s%d(%s, but encoded %s)", name(t.Node), t.Index, t.Sent, t.Raw)
	}
	return fmt.Sprintf("%s%d(%s)", name(t.Node), t.Index, t.Sent)
}

func tasksText(tasks []plan.Task) string {
	all := make([]string, len(tasks))
	for i, t := range tasks {
		all[i] = taskText(t, true)
	}
	return strings.Join(all, " ")
}

// positionOf reads a position.
func positionOf(g *plan.Graph, text string) plan.Position {
	p := plan.Position{Joins: g.NewJoins()}
	step, rest, _ := strings.Cut(text, ":")
	if n, err := strconv.Atoi(step); err == nil {
		p.Step = n
	}
	for _, clause := range clauses(rest) {
		word, rest, _ := strings.Cut(clause, " ")
		switch to, from, reached := strings.Cut(clause, "←"); {
		case reached:
			i := slices.IndexFunc(g.Joins, func(j plan.Join) bool { return j.To == number(to) })
			for _, n := range numbers(from) {
				p.Joins[i][slices.Index(g.Joins[i].From, n)] = true
			}
		case word == "pending":
			p.Pending = numbers(rest)
		case word == "cleared":
			p.Cleared = numbers(rest)
		default:
			for t := range strings.FieldsSeq(clause) {
				p.Due = append(p.Due, taskOf(t))
			}
		}
	}
	return p
}

// positionText prints a position as positionOf reads it.
func positionText(g *plan.Graph, p *plan.Position) string {
	var parts []string
	if len(p.Due) > 0 {
		parts = append(parts, tasksText(p.Due))
	}
	if len(p.Pending) > 0 {
		parts = append(parts, "pending "+names(p.Pending))
	}
	for i, reached := range p.Joins {
		var from []int
		for k, yes := range reached {
			if yes {
				from = append(from, g.Joins[i].From[k])
			}
		}
		if len(from) > 0 {
			parts = append(parts, name(g.Joins[i].To)+"←"+names(from))
		}
	}
	if len(p.Cleared) > 0 {
		parts = append(parts, "cleared "+names(p.Cleared))
	}
	return strings.TrimSpace(fmt.Sprintf("%d: %s", p.Step, strings.Join(parts, "; ")))
}

func decisionText(d plan.Decision) string { return [...]string{"go", "stop", "done"}[d] }

// choices are what routes, nodes and tasks chose, by their names.
type choices map[string][]plan.Task

func choicesOf(text string) choices {
	all := choices{}
	for _, clause := range clauses(text) {
		who, chosen, _ := strings.Cut(clause, ":")
		for c := range strings.FieldsSeq(chosen) {
			all[who] = append(all[who], taskOf(c))
		}
	}
	return all
}

// advance is the plan as a function, in the order of calls that package graph makes. At a stop
// nothing changes. If routes are pending, they choose. Else the given tasks have run, each with a
// result that counts, and nodes and routes choose.
func advance(g *plan.Graph, at plan.Position, ran []plan.Task, chose choices) (plan.Position, plan.Decision) {
	p := plannerAt(g, at)
	if p.Stops() {
		return p.Position, plan.Stop
	}
	begin(&p, ran, chose)
	return p.Position, turn(&p)
}

func plannerAt(g *plan.Graph, at plan.Position) plan.Planner {
	p := plan.New(g, true)
	p.Position = at
	return p
}

// begin makes a transition up to Turn: the tasks of a superstep have run, or pending routes are
// asked.
func begin(p *plan.Planner, ran []plan.Task, chose choices) {
	if len(p.Pending) > 0 {
		p.Reopen()
		for _, n := range p.Pending {
			choose(p, chose[name(n)])
		}
		return
	}
	p.Begin()
	for _, t := range ran {
		if t.Sent != nil {
			choose(p, chose[taskText(t, false)])
		}
		if p.Leave(t.Node) {
			choose(p, chose[name(t.Node)])
		}
	}
}

// turn ends a transition as a run on a thread does.
func turn(p *plan.Planner) plan.Decision {
	d := p.Turn()
	if d == plan.Stop {
		p.StopHere()
	}
	return d
}

func choose(p *plan.Planner, chosen []plan.Task) {
	p.Grow(len(chosen))
	for _, c := range chosen {
		if c.Sent != nil {
			p.Send(c.Node, c.Sent, c.Raw)
		} else {
			p.Choose(c.Node)
		}
	}
}

func TestNotationOfPositions(t *testing.T) {
	g := graphOf("join a b→c; join b d→e")
	for _, want := range []string{
		"0: Start", "7:", "1: a b0(x) b1(y); pending c End; c←a; e←b d; cleared d", "3: c←b", "3: pending End",
	} {
		p := positionOf(g, want)
		if got := positionText(g, &p); got != want {
			t.Errorf("position %q is printed as %q", want, got)
		}
	}
}
