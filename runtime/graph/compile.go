package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// Graph is a compiled graph. It does not change, and any number of runs may go on at once.
type Graph[S, U any] struct {
	runs   runs
	name   string
	schema *state.Schema[S, U]
	nodes  []node[S, U] // in order of declaration, behind Start
	index  map[ID]int
	former map[ID]int // by the ids that nodes had
	joins  []join
	defers bool // some node does
	nests  bool // some node is a subgraph
	races  int  // how many any-of joins there are
	opt    options
}

// start is the place of Start among the nodes, end the number that stands for End. No node has a negative number.
const (
	start = 0
	end   = -1
	above = -2 // stands for Parent
)

// node is a declared node with all that leaves it, by number.
type node[S, U any] struct {
	calls[S, U]
	id      ID
	retry   Backoff
	timeout time.Duration
	edges   []int
	route   func(context.Context, S) (Next, error)
	targets []ID
	to      []int // targets, by number
	joins   []arrival
	defers  bool // it runs when nothing else is due

	remembers bool // it is a subgraph that goes on from its last call

	questions []askable
	race      int  // the any-of join that it leads to, from 1; 0 for none
	before    bool // a run stops when it is due
	after     bool // a run stops when it has run

	writes []string // the fields that it declares; nil when it does not say
}

// join is a node that waits for all of from.
type join struct {
	to   int
	from []int
}

// arrival says that a node is the source-th of a join.
type arrival struct{ join, source int }

// Compile checks the graph and makes it runnable. The error is a *CompileError with every fault there is:
// names that are unknown, reserved or taken, nodes that are never reached or lead nowhere, routes without
// targets, a missing start, joins that cannot fire, options that contradict each other, nodes that always run
// together and by their Writes set one field. The Builder can be
// changed and compiled again; the Graph does not change with it.
func (b *Builder[S, U]) Compile(opts ...Option) (*Graph[S, U], error) {
	c := compiler[S, U]{b: b, g: &Graph[S, U]{name: b.name, schema: b.schema, opt: defaults()}}
	for _, o := range opts {
		if o != nil {
			o.compile(&c.g.opt)
		}
	}
	c.addNodes()
	c.addFormer()
	c.addEdges()
	c.addRoutes()
	c.addJoins()
	c.addRaces()
	c.addStops()
	c.checkOptions()
	c.checkWrites()
	if len(c.faults) == 0 {
		c.checkPaths()
	}
	if len(c.faults) == 0 {
		c.checkParallel()
	}
	if len(c.faults) > 0 {
		return nil, &CompileError{Graph: b.name, Faults: c.faults}
	}
	return c.g, nil
}

// compiler turns a Builder into a Graph and collects what is wrong.
type compiler[S, U any] struct {
	b      *Builder[S, U]
	g      *Graph[S, U]
	faults []string
}

func (c *compiler[S, U]) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func (c *compiler[S, U]) addNodes() {
	c.g.index = map[ID]int{Start: start, End: end, Parent: above}
	c.g.nodes = append(c.g.nodes, node[S, U]{id: Start})
	if c.b.schema == nil {
		c.fault("the graph has no schema; pass the variable that graphgen generated, such as StateSchema")
	}
	for _, d := range c.b.nodes {
		switch _, taken := c.g.index[d.id]; {
		case d.id == "":
			c.fault("a node has an empty id")
			continue
		case strings.HasPrefix(string(d.id), "__"):
			c.fault("node %q: ids that begin with two underscores are reserved", string(d.id))
			continue
		case taken:
			c.fault("node %q is declared twice", string(d.id))
			continue
		case d.calls.none():
			c.fault("node %q has no function", string(d.id))
		}
		c.g.index[d.id] = len(c.g.nodes)
		c.g.nodes = append(c.g.nodes, node[S, U]{
			calls: d.calls, id: d.id, retry: d.opts.retry, timeout: d.opts.timeout, defers: d.opts.defers, remembers: d.opts.remembers,
			questions: d.opts.questions, writes: d.opts.writes,
		})
		c.g.defers = c.g.defers || d.opts.defers
		c.g.nests = c.g.nests || d.calls.child != nil
	}
}

// addFormer takes up the ids that nodes had, once all that they have are known.
func (c *compiler[S, U]) addFormer() {
	for _, d := range c.b.nodes {
		for _, was := range d.opts.was {
			_, taken := c.g.index[was]
			_, twice := c.g.former[was]
			switch {
			case taken:
				c.fault("node %q was %q, which is a node of the graph", string(d.id), was.String())
			case twice:
				c.fault("node %q was %q, and so was another node", string(d.id), was.String())
			}
			if c.g.former == nil {
				c.g.former = make(map[ID]int)
			}
			c.g.former[was] = c.g.index[d.id]
		}
	}
}

// find returns the number of the node that has, or had, the given id.
func (g *Graph[S, U]) find(id string) (int, bool) {
	if n, ok := g.index[ID(id)]; ok {
		return n, true
	}
	n, ok := g.former[ID(id)]
	return n, ok
}

// lookup returns the number of a node, and reports one that is not there as a fault of what.
func (c *compiler[S, U]) lookup(what string, id ID) (int, bool) {
	n, ok := c.g.index[id]
	if !ok {
		c.fault("%s: no node %q", what, string(id))
	}
	return n, ok
}

// source and target look up an end of an edge: nothing leaves End, nothing enters Start.
func (c *compiler[S, U]) source(what string, id ID) (int, bool) {
	n, ok := c.lookup(what, id)
	if ok && n < start {
		c.fault("%s: nothing leaves %s", what, id)
		return 0, false
	}
	return n, ok
}

func (c *compiler[S, U]) target(what string, id ID) (int, bool) {
	n, ok := c.lookup(what, id)
	if ok && n == start {
		c.fault("%s: nothing leads to Start; name the node that comes first", what)
		return 0, false
	}
	if ok && n == above {
		c.fault("%s: only a choice leads to Parent; return graph.ToParent from a route", what)
		return 0, false
	}
	return n, ok
}

func (c *compiler[S, U]) addEdges() {
	seen := map[edgeDecl]bool{}
	for _, e := range c.b.edges {
		what := fmt.Sprintf("edge %s -> %s", e.from, e.to)
		if seen[e] {
			c.fault("%s is declared twice", what)
			continue
		}
		seen[e] = true
		from, ok1 := c.source(what, e.from)
		to, ok2 := c.target(what, e.to)
		if ok2 && c.takesSends(what, to) {
			continue
		}
		if ok1 && ok2 {
			c.g.nodes[from].edges = append(c.g.nodes[from].edges, to)
		}
	}
}

// takesSends reports, as a fault of what, that node n takes what only a send has.
func (c *compiler[S, U]) takesSends(what string, n int) bool {
	if n < start || c.g.nodes[n].decode == nil {
		return false
	}
	c.fault("%s: %s takes an input, so only a send reaches it", what, c.g.nodes[n].id)
	return true
}

func (c *compiler[S, U]) addRoutes() {
	for _, d := range c.b.nodes {
		if n, ok := c.g.index[d.id]; ok && d.calls.routes {
			c.g.nodes[n].targets, c.g.nodes[n].to = c.targets(fmt.Sprintf("routing node %q", string(d.id)), d.targets)
		}
	}
	for _, r := range c.b.routes {
		what := fmt.Sprintf("route from %s", r.from)
		from, ok := c.source(what, r.from)
		if r.choose == nil {
			c.fault("%s has no function", what)
		}
		targets, to := c.targets(what, r.targets)
		if !ok {
			continue
		}
		switch n := &c.g.nodes[from]; {
		case n.routes:
			c.fault("%s: the node chooses what follows it itself", what)
		case n.route != nil:
			c.fault("%s is declared twice; one function chooses all that follows a node", what)
		default:
			n.route, n.targets, n.to = r.choose, targets, to
		}
	}
}

// targets looks up what a route or routing node may choose.
func (c *compiler[S, U]) targets(what string, ids []ID) (targets []ID, to []int) {
	if len(ids) == 0 {
		c.fault("%s declares no targets; list every node it may return, and End if it may end", what)
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			c.fault("%s declares %s twice", what, id)
			continue
		}
		n := above
		if id != Parent {
			n, _ = c.target(what, id)
		} else if !c.g.opt.nested {
			c.fault("%s leads to Parent, which only a subgraph has; compile it with graph.Nested", what)
		}
		targets, to = append(targets, id), append(to, n)
	}
	return targets, to
}

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
		number := len(c.g.joins)
		made := join{to: to}
		for i, id := range j.from {
			if slices.Contains(j.from[:i], id) {
				c.fault("%s names %s twice", what, id)
				continue
			}
			from, found := c.source(what, id)
			if found && from == start {
				c.fault("%s: Start has always run; leave it out", what)
			}
			if ok = ok && found; ok {
				c.g.nodes[from].joins = append(c.g.nodes[from].joins, arrival{number, i})
				made.from = append(made.from, from)
			}
		}
		c.g.joins = append(c.g.joins, made)
	}
}

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
		c.g.races++
		for i, id := range j.from {
			from, found := c.source(what, id)
			switch {
			case !found:
			case slices.Contains(j.from[:i], id):
				c.fault("%s names %s twice", what, id)
			case from == start:
				c.fault("%s: Start has always run; leave it out", what)
			case c.g.nodes[from].race != 0:
				c.fault("%s: %s leads to another any-of join already", what, id)
			case ok:
				c.g.nodes[from].race = c.g.races
				c.g.nodes[from].edges = append(c.g.nodes[from].edges, to)
			}
		}
	}
}

func (c *compiler[S, U]) addStops() {
	for _, id := range c.g.opt.before {
		if n, ok := c.lookup("InterruptBefore", id); ok && n <= start {
			c.fault("InterruptBefore: %s is not a node", id)
		} else if ok {
			c.g.nodes[n].before = true
		}
	}
	for _, id := range c.g.opt.after {
		if n, ok := c.lookup("InterruptAfter", id); ok && n <= start {
			c.fault("InterruptAfter: %s is not a node", id)
		} else if ok {
			c.g.nodes[n].after = true
		}
	}
}

func (c *compiler[S, U]) checkOptions() {
	o := &c.g.opt
	if o.beforeRoute && len(o.after) == 0 {
		c.fault("BeforeRoute without InterruptAfter has nothing to stop")
	}
	if o.saver == nil && !o.nested && len(o.before)+len(o.after) > 0 {
		c.fault("a graph that stops for people needs a Saver: without one nothing can be resumed")
	}
	c.faults = append(c.faults, o.limits.check()...)
	if o.lease < 0 {
		c.fault("Lease is %s; want more than 0, or 0 for the default", o.lease)
	}
	if o.lease == 0 {
		o.lease = checkpoint.DefaultLease
	}
	if o.saverTimeout <= 0 {
		c.fault("SaverTimeout is %s; want more than 0", o.saverTimeout)
	}
	for _, n := range c.b.nodes {
		if n.opts.timeout < 0 {
			c.fault("node %q: its Timeout is %s; want more than 0", string(n.id), n.opts.timeout)
		}
		if len(n.opts.questions) > 0 && o.saver == nil && !o.nested {
			c.fault("node %q asks questions, which needs a Saver: without one nothing can be resumed", string(n.id))
		}
		c.checkQuestions(n.id, n.opts.questions)
		c.checkSubgraph(&n)
		if n.opts.retry.Attempts < 0 {
			c.fault("node %q: its Retry has %d attempts; want at least 1", string(n.id), n.opts.retry.Attempts)
		}
	}
}

// checkSubgraph checks the options that only subgraphs have.
func (c *compiler[S, U]) checkSubgraph(n *nodeDecl[S, U]) {
	up := n.calls.sub != nil && n.calls.sub.leadsUp()
	switch {
	case n.calls.none():
	case n.calls.sub == nil && len(n.opts.targets) > 0:
		c.fault("node %q: Targets is for subgraphs; use RoutingNode, or Route", string(n.id))
	case len(n.opts.targets) > 0 && !up:
		c.fault("subgraph %q: nothing in it leads to Parent, so it never chooses among its Targets", string(n.id))
	case up && len(n.opts.targets) == 0:
		c.fault("subgraph %q leads to Parent; list what it may choose by graph.Targets", string(n.id))
	}
	if n.opts.remembers && (n.calls.sub == nil || n.calls.same) && !n.calls.none() {
		c.fault("node %q: Remember is for subgraphs over a state of their own", string(n.id))
	}
}

// leadsUp reports whether something in the graph chooses Parent.
func (g *Graph[S, U]) leadsUp() bool {
	return slices.ContainsFunc(g.nodes, func(n node[S, U]) bool { return slices.Contains(n.targets, Parent) })
}

func (c *compiler[S, U]) checkQuestions(id ID, questions []askable) {
	for i, q := range questions {
		if q.name == "" || strings.ContainsAny(q.name, ":#/") {
			c.fault("node %q: question %q: a name is not empty and has none of : # and /", string(id), q.name)
		}
		if slices.ContainsFunc(questions[:i], func(p askable) bool { return p.name == q.name }) {
			c.fault("node %q lists question %q twice", string(id), q.name)
		}
	}
}

// checkPaths finds what no run can reach, joins that can never fire, and nodes from which no run can end.
func (c *compiler[S, U]) checkPaths() {
	g := c.g
	if s := &g.nodes[start]; len(s.edges)+len(s.to) == 0 {
		c.fault("nothing leaves Start; add an edge from graph.Start to the node that comes first")
		return
	}
	reached := c.reachable()
	for i := range g.nodes[1:] {
		n := &g.nodes[i+1]
		leaves := len(n.edges)+len(n.to)+len(n.joins) > 0
		switch {
		case !reached[i+1] && !leaves:
			c.fault("node %q is never reached and leads nowhere; wire it in or take it out", string(n.id))
		case !reached[i+1]:
			c.fault("node %q is never reached; add an edge or a route target to it", string(n.id))
		case !leaves:
			c.fault("node %q leads nowhere; add an edge to graph.End", string(n.id))
		}
	}
	for _, j := range g.joins {
		for _, from := range j.from {
			if !reached[from] {
				c.fault("the join to %s can never fire: %s is never reached", g.nodes[j.to].id, g.nodes[from].id)
			}
		}
	}
	if len(c.faults) == 0 {
		c.checkEnds()
	}
}

// reachable marks the nodes that some run can get to. A join lets through only when all its sources are
// reachable, so it is asked again until nothing changes.
func (c *compiler[S, U]) reachable() []bool {
	g := c.g
	reached := make([]bool, len(g.nodes))
	var visit func(n int)
	visit = func(n int) {
		if n < start || reached[n] {
			return
		}
		reached[n] = true
		for _, to := range g.successors(n) {
			visit(to)
		}
	}
	visit(start)
	for changed := true; changed; {
		changed = false
		for _, j := range g.joins {
			all := !slices.ContainsFunc(j.from, func(from int) bool { return !reached[from] })
			if all && !reached[j.to] {
				visit(j.to)
				changed = true
			}
		}
	}
	return reached
}

// checkEnds reports nodes from which End cannot be reached: a run that gets there never finishes.
func (c *compiler[S, U]) checkEnds() {
	g := c.g
	ends := make([]bool, len(g.nodes))
	for changed := true; changed; {
		changed = false
		for i := range g.nodes {
			to := g.successors(i)
			for _, a := range g.nodes[i].joins {
				to = append(to, g.joins[a.join].to)
			}
			can := slices.ContainsFunc(to, func(n int) bool { return n < start || ends[n] })
			if can && !ends[i] {
				ends[i], changed = true, true
			}
		}
	}
	for i, can := range ends {
		if !can {
			c.fault("from %s no path leads to End, so a run that gets there never finishes", g.nodes[i].id)
		}
	}
}

// successors returns where edges and the route of node n lead, joins left out.
func (g *Graph[S, U]) successors(n int) []int {
	return slices.Concat(g.nodes[n].edges, g.nodes[n].to)
}
