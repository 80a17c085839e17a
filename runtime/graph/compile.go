package graph

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/position"
	"github.com/graphgen-go/graphgen/runtime/internal/news"
	"github.com/graphgen-go/graphgen/runtime/internal/value"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/shape"
)

// Graph is a compiled graph. It does not change, and is safe for concurrent use.
type Graph[S, U any] struct {
	core   core // not embedded: each type of graph would get all its methods, in every package
	schema *state.Schema[S, U]
	decls  decls[S, U]   // from which the graph was compiled
	funcs  []funcs[S, U] // by node
}

// core is a compiled graph without the types of its state.
type core struct {
	compiled
	runs  runs
	heads heads       // of the threads whose last run this graph executed
	steps queuedSteps // that workers of queues keep
	news  *news.Room  // asks for messages of the threads that runs hold; nil without a saver
	store any         // identifies the saver: the saver itself, or the graph if savers cannot be compared
}

// compiled is the part of a core that never changes, and that several cores can share.
type compiled struct {
	name        string
	fingerprint uint64
	hash        uint64                    // of all schemas in it, see schemaHash
	schemas     func() []checkpoint.Write // the descriptions of all schemas, computed once
	shape       func() shape.State        // the description of the state
	nodes       []node                    // in order of declaration, behind Start
	index       map[ID]int
	former      map[ID]int // by former ids
	catchAll    int        // the node of CatchAll; 0 for none
	names       position.Names
	plan        plan.Graph
	races       []joinDecl      // the any-of joins, as numbered in plan
	exec        []exec.Node     // by node
	nests       bool            // some node is a subgraph
	routes      bool            // some node chooses its successors
	asks        bool            // some node lists questions or signals
	signals     map[string]bool // that nodes list, also those of subgraphs
	replies     bool            // some of the signals have a reply
	queued      bool            // some node has a queue, also in subgraphs
	remembers   bool            // some subgraph remembers
	keeps       bool            // some node keeps the updates of failed attempts
	uncut       bool            // some node, also of a subgraph, is Uncancellable
	fallsBack   bool            // some subgraph has a fallback
	leadsUp     bool            // some node or route can choose
	newState    func() typedState
	// onUpdate calls the functions of OnUpdate with the update in slot i; nil without functions.
	onUpdate func(ctx context.Context, s typedState, t TaskInfo, i int) error
	share    func(s typedState, strict bool) typedState // returns the state for another execution, which must only read it
	opt      options
}

// start is the index of Start among the nodes, and end the number for End. Node numbers are never
// negative.
const (
	start = plan.Start
	end   = plan.End
	above = plan.Parent
)

// node is a declared node. Its edges and joins are in the plan. The fields that each superstep
// reads are the first.
type node struct {
	kind
	id    ID
	queue string // whose workers run its tasks; empty for none
	keeps bool   // the updates of its failed attempts count

	retry     []RetryPolicy
	timeout   time.Duration
	idle      time.Duration
	targets   []ID       // of its route, or of its choice
	to        []int      // targets, by number
	places    map[ID]int // indexes in targets, for many targets; else nil
	cache     nodeCache
	continues bool // its failure does not cancel its siblings
	uncut     bool // a cancel takes effect after its superstep
	limits    []Limiter
	start     time.Duration // within which a worker of the queue must take a task; 0 for no limit
	remembers bool          // the subgraph continues from its last call
	unstored  bool          // the calls of the subgraph store nothing
	detail    bool          // pictures leave it out
	questions []askable
	signals   []receivable
	writes    []string // declared fields; nil if not declared
}

// Compile checks the graph and returns it in runnable form. The error is a *CompileError that
// lists every fault:
//
//   - ids that are unknown, reserved or used twice
//   - nodes that no run reaches, or that lead nowhere
//   - routes without targets, a missing start, and joins that cannot fire
//   - options that contradict each other
//   - nodes that always run together and set the same field, by their Writes
//
// The Builder can be changed and compiled again; the Graph does not change with it.
func (b *Builder[S, U]) Compile(opts ...Option) (*Graph[S, U], error) {
	opt := defaults()
	for _, o := range opts {
		if o != nil {
			o.compile(&opt)
		}
	}
	return b.compile(opt)
}

// compile is Compile with all options.
func (b *Builder[S, U]) compile(opt options) (*Graph[S, U], error) {
	g := &Graph[S, U]{core: core{compiled: compiled{name: b.name, opt: opt}}, schema: b.schema, decls: b.decls.clipped()}
	g.core.newState = func() typedState { return newAdapter(g) }
	g.core.share = g.shareState
	c := compiler{outline: &g.decls.outline, g: &g.core.compiled}
	if b.whole != nil {
		c.fault("the Builder is of a part of a state; compile the Builder of the whole state")
	}
	if b.schema != nil {
		c.state = &stateDecl{name: b.schema.Name, fields: b.schema.Fields, writes: b.schema.Writes != nil}
		g.core.fingerprint, g.core.shape = b.schema.Fingerprint, b.schema.Describe
	}
	for i, f := range b.decls.hooks {
		if f == nil {
			c.fault("OnUpdate: function %d is nil; pass a function, or leave the call out", i+1)
		}
	}
	c.compile()
	if len(c.faults) > 0 {
		return nil, &CompileError{Graph: b.name, Faults: c.faults}
	}
	for _, from := range c.from {
		g.funcs = append(g.funcs, g.decls.of(from))
	}
	g.addHooks(g.decls.hooks)
	g.core.finish()
	return g, nil
}

// finish prepares a compiled graph for its runs.
func (g *core) finish() {
	if g.opt.saver != nil {
		g.news = news.NewRoom(g.opt.saver, g.opt.saverTimeout)
		g.news.Wait = news.Every
	}
	if g.store = g.opt.saver; !value.Comparable(g.store) {
		g.store = g
	}
	g.heads.most = g.opt.hot
	g.hash, g.schemas = g.schemaHash(), sync.OnceValue(g.describeSchemas)
}

// of returns the functions of a node.
func (d *decls[S, U]) of(from declIndexes) (f funcs[S, U]) {
	if from.node != undeclared {
		f = d.funcs[from.node]
	}
	if from.route != undeclared {
		f.route = d.choose[from.route]
	}
	if from.fallback != undeclared {
		f.fallback = d.fallbacks[from.fallback]
	}
	if from.cache != undeclared {
		f.cacheKey = d.keys[from.cache]
	}
	return f
}

// compiler turns an outline into a compiled graph, and collects the faults. It does not depend on
// the types of the state, so a program has it once and not for each type.
type compiler struct {
	*outline
	g      *compiled
	state  *stateDecl    // nil without a schema
	from   []declIndexes // by node
	faults []string
}

// stateDecl is what the compiler reads of a schema.
type stateDecl struct {
	name   string
	fields []shape.Field
	writes bool // the generated code can say what an update changes
}

// declIndexes holds the indexes of the declarations whose functions a node has.
type declIndexes struct{ node, route, fallback, cache int }

// undeclared is the index of no declaration.
const undeclared = -1

// compile does all but give the nodes their functions.
func (c *compiler) compile() {
	c.addNodes()
	c.addFormer()
	c.addEdges()
	c.addRoutes()
	c.addJoins()
	c.addRaces()
	c.addFallbacks()
	c.addCaches()
	c.addStops()
	c.checkOptions()
	c.checkWrites()
	c.checkPaths()
	c.checkParallel()
	c.g.nameNodes()
	for i := range c.g.nodes {
		c.g.exec = append(c.g.exec, c.execNode(i))
	}
}

// execNode returns what the executor of tasks reads of a node.
func (c *compiler) execNode(i int) exec.Node {
	n := &c.g.nodes[i]
	return exec.Node{
		ID: string(n.id), Retry: n.policies(), Timeout: n.timeout, Idle: n.idle, Race: c.g.plan.Nodes[i].Race,
		Fallback: c.from[i].fallback != undeclared, Cached: n.cache.where != nil, Continues: n.continues, Limits: n.limiters(), Uncut: n.uncut,
		Takes: n.queue != "" || n.sub != nil && n.sub.queued,
	}
}

// fault adds a fault to those that Compile reports.
func (c *compiler) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// addNodes gives the nodes their numbers, in order of declaration.
func (c *compiler) addNodes() {
	c.g.index = map[ID]int{Start: start, End: end, Parent: above}
	c.addNode(node{id: Start}, undeclared, plan.Node{})
	if c.state == nil {
		c.fault("the graph has no schema; pass the variable that graphgen generated, such as StateSchema")
	}
	for i, d := range c.nodes {
		switch _, taken := c.g.index[d.id]; {
		case d.id == "":
			c.fault("a node has an empty id; name every node")
			continue
		case reserved(string(d.id)):
			c.fault("node %s: ids that begin with two underscores are reserved", quoted(d.id))
			continue
		case taken:
			c.fault("node %q is declared twice", string(d.id))
			continue
		case d.empty:
			c.fault("node %q has no function; pass one", string(d.id))
		}
		c.g.index[d.id] = len(c.g.nodes)
		if d.opts.catches {
			c.addCatchAll(&d)
		}
		c.addNode(node{
			kind: d.kind, id: d.id, retry: d.opts.retry, timeout: d.opts.timeout, idle: d.opts.idle, remembers: d.opts.remembers, unstored: d.opts.unstored,
			keeps: d.opts.keeps, continues: d.opts.continues, uncut: d.opts.uncut, limits: d.opts.limits, queue: d.opts.queue, start: d.opts.start, detail: d.opts.detail,
			questions: d.opts.questions, signals: d.opts.signals, writes: d.opts.writes,
		}, i, plan.Node{Defers: d.opts.defers})
		c.g.plan.Defers = c.g.plan.Defers || d.opts.defers
	}
}

// addCatchAll makes the node that is added next the catch-all.
func (c *compiler) addCatchAll(d *nodeDecl) {
	switch id := string(d.id); {
	case c.g.catchAll > 0:
		c.fault("nodes %q and %q have the option CatchAll; one node gets all sends to nodes that are gone", string(c.g.nodes[c.g.catchAll].id), id)
	case d.kind.decode == nil || d.kind.sub != nil || d.opts.queue != "":
		c.fault("node %q has the option CatchAll, which is for task nodes without a queue; leave it out", id)
	}
	c.g.catchAll = len(c.g.nodes)
}

// addNode gives a node the next number. decl is the index of its declaration.
func (c *compiler) addNode(n node, decl int, p plan.Node) {
	c.g.nodes, c.g.plan.Nodes = append(c.g.nodes, n), append(c.g.plan.Nodes, p)
	c.from = append(c.from, declIndexes{node: decl, route: undeclared, fallback: undeclared, cache: undeclared})
	c.g.nests, c.g.routes = c.g.nests || n.sub != nil, c.g.routes || n.routes
	c.g.asks, c.g.remembers = c.g.asks || len(n.questions)+len(n.signals) > 0, c.g.remembers || n.remembers
	c.g.addSignals(&n)
	c.g.keeps, c.g.uncut = c.g.keeps || n.keeps, c.g.uncut || n.uncut || n.sub != nil && n.sub.uncut
	c.g.queued = c.g.queued || n.queue != "" || n.sub != nil && n.sub.queued
}

// addFormer adds the former ids of nodes, after all present ids are known.
func (c *compiler) addFormer() {
	for _, d := range c.nodes {
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

// nameNodes makes the names by which records store nodes.
func (g *compiled) nameNodes() {
	g.names = position.Names{End: string(End), Numbers: make(map[string]int, len(g.index)+len(g.former)), Joins: g.plan.Joins, CatchAll: g.catchAll}
	for i := range g.nodes {
		g.names.IDs = append(g.names.IDs, string(g.nodes[i].id))
	}
	for _, known := range []map[ID]int{g.former, g.index} {
		for id, n := range known {
			g.names.Numbers[string(id)] = n
		}
	}
}

// find returns the number of the node that has, or had, the given id.
func (g *core) find(id string) (int, bool) {
	n, ok := g.names.Numbers[id]
	return n, ok
}

// lookup returns the number of a node. It reports an unknown node as a fault of what.
func (c *compiler) lookup(what string, id ID) (int, bool) {
	n, ok := c.g.index[id]
	if !ok {
		c.fault("%s: no node %q", what, string(id))
	}
	return n, ok
}

// source and target look up an end of an edge: nothing leaves End, nothing enters Start.
func (c *compiler) source(what string, id ID) (int, bool) {
	n, ok := c.lookup(what, id)
	if ok && n < start {
		c.fault("%s: nothing leaves %s", what, id)
		return 0, false
	}
	return n, ok
}

func (c *compiler) target(what string, id ID) (int, bool) {
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

// addEdges adds the edges to the plan.
func (c *compiler) addEdges() {
	for _, nodes := range c.short {
		c.fault("chain of %v has no edge; name at least two nodes", nodes)
	}
	seen := map[edgeDecl]bool{}
	for _, e := range c.edges {
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
			c.g.plan.Nodes[from].Edges = append(c.g.plan.Nodes[from].Edges, to)
		}
	}
}

// takesSends reports whether node n is a task node, which only a send can reach, and adds a fault
// of what if so.
func (c *compiler) takesSends(what string, n int) bool {
	if n < start || c.g.nodes[n].decode == nil {
		return false
	}
	c.fault("%s: %s takes an input, so only a send reaches it", what, c.g.nodes[n].id)
	return true
}

// addRoutes adds the targets of routing nodes, and the routes of the others.
func (c *compiler) addRoutes() {
	for _, d := range c.nodes {
		if n, ok := c.g.index[d.id]; ok && d.kind.routes {
			c.g.nodes[n].setTargets(c.targets(fmt.Sprintf("routing node %q", string(d.id)), "by graph.Targets", d.opts.targets))
		}
	}
	for i, r := range c.routes {
		what := fmt.Sprintf("route from %s", r.from)
		from, ok := c.source(what, r.from)
		if r.empty {
			c.fault("%s has no function", what)
		}
		targets, to := c.targets(what, "behind its function", r.targets)
		if !ok {
			continue
		}
		switch n := &c.g.nodes[from]; {
		case n.routes:
			c.fault("%s: the node chooses its successors itself; leave the route out", what)
		case c.g.plan.Nodes[from].Route:
			c.fault("%s is declared twice; one function chooses all that follows a node", what)
		default:
			n.setTargets(targets, to)
			c.from[from].route = i
			c.g.plan.Nodes[from].Route = true
		}
	}
}

// targets looks up the targets of a route or a node. how says in a fault where to list targets.
func (c *compiler) targets(what, how string, ids []ID) (targets []ID, to []int) {
	if len(ids) == 0 {
		c.fault("%s declares no targets; list %s every node that it may choose, and graph.End if it may end", what, how)
	}
	seen := make(map[ID]bool, len(ids))
	for _, id := range ids {
		if seen[id] {
			c.fault("%s declares %s twice", what, id)
			continue
		}
		seen[id] = true
		n := above
		if id != Parent {
			n, _ = c.target(what, id)
		} else if c.g.leadsUp = true; !c.g.opt.nested {
			c.fault("%s leads to Parent, which only a subgraph has; compile it with graph.SubgraphOnly", what)
		}
		targets, to = append(targets, id), append(to, n)
	}
	return targets, to
}

// addJoins adds the joins that wait for all their sources.
func (c *compiler) addJoins() {
	for _, j := range c.joins {
		what := fmt.Sprintf("join of %v -> %s", j.from, j.to)
		to, ok := c.target(what, j.to)
		if to == end && ok {
			c.fault("%s: a join leads to a node, not to End; leave it out, because branches end by themselves", what)
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
func (c *compiler) addRaces() {
	for _, j := range c.races {
		what := fmt.Sprintf("any-of join of %v -> %s", j.from, j.to)
		to, ok := c.target(what, j.to)
		if ok && c.takesSends(what, to) {
			ok = false
		}
		if len(j.from) == 0 {
			c.fault("%s: the join has no nodes to wait for; name at least one", what)
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
