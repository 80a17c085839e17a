package graph

import (
	"slices"
	"time"
)

// Description is a compiled graph as data, for pictures and tools. The same graph always has the
// same Description, also as JSON. The caller may modify it.
type Description struct {
	Graph string            `json:"graph"` // its name
	State string            `json:"state"` // the name of the type of its state
	Nodes []NodeDescription `json:"nodes"` // in order of declaration, without Start and End
	Edges []EdgeDescription `json:"edges"` // by source: those of Start, then in order of declaration
	Joins []JoinDescription `json:"joins,omitempty"`

	FormerNames []string `json:"formerNames,omitempty"` // as the option lists them
}

// NodeDescription describes a node. Its fields have the names of the options and functions that
// set them.
type NodeDescription struct {
	ID        ID       `json:"id"`
	Kind      NodeKind `json:"kind"`
	Input     string   `json:"input,omitempty"`  // the type of the payloads of its sends
	Routes    bool     `json:"routes,omitempty"` // the node chooses its successors itself
	FormerIDs []ID     `json:"formerIDs,omitempty"`
	CatchAll  bool     `json:"catchAll,omitempty"`

	// Subgraph describes the graph of a subgraph node. Nodes of one graph share it.
	Subgraph *Description `json:"subgraph,omitempty"`
	Stateful bool         `json:"stateful,omitempty"`
	Unstored bool         `json:"unstored,omitempty"`

	Questions []string `json:"questions,omitempty"` // the names of those that the node lists
	Signals   []string `json:"signals,omitempty"`
	Writes    []string `json:"writes,omitzero"` // the fields that Writes declares; nil without it

	Queue           string             `json:"queue,omitempty"`
	StartTimeout    time.Duration      `json:"startTimeout,omitempty"` // in nanoseconds
	Timeout         time.Duration      `json:"timeout,omitempty"`      // in nanoseconds
	IdleTimeout     time.Duration      `json:"idleTimeout,omitempty"`  // in nanoseconds
	Uncancellable   bool               `json:"uncancellable,omitempty"`
	Retry           []RetryDescription `json:"retry,omitempty"`
	Fallback        bool               `json:"fallback,omitempty"`
	Cache           bool               `json:"cache,omitempty"`
	CacheTTL        time.Duration      `json:"cacheTTL,omitempty"` // in nanoseconds; 0 is no limit
	Limits          int                `json:"limits,omitempty"`   // how many limiters the node has
	Deferred        bool               `json:"deferred,omitempty"`
	ContinueOnError bool               `json:"continueOnError,omitempty"`
	KeepUpdate      bool               `json:"keepUpdateOnError,omitempty"`
	InterruptBefore bool               `json:"interruptBefore,omitempty"`
	InterruptAfter  bool               `json:"interruptAfter,omitempty"`
	Detail          bool               `json:"detail,omitempty"`
}

// NodeKind is the kind of a node.
type NodeKind string

// The kinds of nodes.
const (
	KindNode         NodeKind = "node"         // Node or RoutingNode
	KindTask         NodeKind = "task"         // TaskNode or RoutingTaskNode
	KindSubgraph     NodeKind = "subgraph"     // Subgraph, over the same state
	KindMapSubgraph  NodeKind = "mapSubgraph"  // MapSubgraph
	KindTaskSubgraph NodeKind = "taskSubgraph" // TaskSubgraph
)

// RetryDescription describes a RetryPolicy.
type RetryDescription struct {
	Attempts    int           `json:"attempts"`
	Base        time.Duration `json:"base"` // in nanoseconds, as Max; 0 is the default
	Max         time.Duration `json:"max"`
	Conditional bool          `json:"conditional,omitempty"` // If chooses the errors
}

// EdgeDescription describes a way from a node to another. Start is a source, and End and Parent
// are destinations.
type EdgeDescription struct {
	From ID       `json:"from"`
	To   ID       `json:"to"`
	Kind EdgeKind `json:"kind"`
}

// EdgeKind is the kind of an edge.
type EdgeKind string

// The kinds of edges.
const (
	KindEdge  EdgeKind = "edge"  // Edge: always taken
	KindRoute EdgeKind = "route" // a target that a route, or the node itself, may choose
	KindSend  EdgeKind = "send"  // such a target that gets sends
)

// JoinDescription describes a Join or a JoinAny. Their edges are not among Edges.
type JoinDescription struct {
	From []ID `json:"from"`
	To   ID   `json:"to"`
	Any  bool `json:"any,omitempty"` // a JoinAny
}

// Describe returns the graph as data, with its subgraphs. Package diagram draws it.
func (g *Graph[S, U]) Describe() *Description {
	return describer{known: make(map[*core]*Description)}.describe(&g.core)
}

// describer describes graphs, each once.
type describer struct{ known map[*core]*Description }

func (c describer) describe(g *core) *Description {
	if d := c.known[g]; d != nil {
		return d
	}
	d := &Description{
		Graph: g.name, Nodes: []NodeDescription{}, Edges: []EdgeDescription{}, FormerNames: slices.Clone(g.opt.formerNames),
	}
	c.known[g] = d
	if g.shape != nil { // compiled
		d.State = g.shape().Name
	}
	for i := range g.nodes {
		if i != start {
			d.Nodes = append(d.Nodes, c.node(g, i))
		}
		d.Edges = append(d.Edges, describeEdges(g, i)...)
	}
	for _, j := range g.plan.Joins {
		d.Joins = append(d.Joins, JoinDescription{From: idsOf(g, j.From), To: g.nodes[j.To].id})
	}
	for _, j := range g.races {
		d.Joins = append(d.Joins, JoinDescription{From: slices.Clone(j.from), To: j.to, Any: true})
	}
	return d
}

func (c describer) node(g *core, i int) NodeDescription {
	n, p := &g.nodes[i], &g.plan.Nodes[i]
	d := NodeDescription{
		ID: n.id, Kind: n.kind.name(), Routes: n.routes, CatchAll: i == g.catchAll && i > start, Stateful: n.remembers, Unstored: n.unstored, Writes: slices.Clone(n.writes),
		Queue: n.queue, StartTimeout: n.start, Timeout: n.timeout, IdleTimeout: n.idle, Uncancellable: n.uncut, Fallback: g.exec[i].Fallback, Cache: n.cache.where != nil, CacheTTL: n.cache.ttl,
		Limits: len(n.limits), Deferred: p.Defers, ContinueOnError: n.continues, KeepUpdate: n.keeps,
		InterruptBefore: p.Before, InterruptAfter: p.After, Detail: n.detail,
	}
	if n.input != nil {
		d.Input = n.input().Type
	}
	if n.sub != nil {
		d.Subgraph = c.describe(n.sub)
	}
	for id, number := range g.former {
		if number == i {
			d.FormerIDs = append(d.FormerIDs, id)
		}
	}
	slices.Sort(d.FormerIDs)
	for _, q := range n.questions {
		d.Questions = append(d.Questions, q.name)
	}
	for _, s := range n.signals {
		d.Signals = append(d.Signals, s.name)
	}
	for _, r := range n.retry {
		d.Retry = append(d.Retry, RetryDescription{Attempts: r.Attempts, Base: r.Base, Max: r.Max, Conditional: r.If != nil})
	}
	return d
}

// name returns the kind of a node as a Description has it.
func (k *kind) name() NodeKind {
	switch {
	case k.sub != nil && k.same:
		return KindSubgraph
	case k.sub != nil && k.decode != nil:
		return KindTaskSubgraph
	case k.sub != nil:
		return KindMapSubgraph
	case k.decode != nil:
		return KindTask
	}
	return KindNode
}

// describeEdges returns the edges of a node, without those of joins, and then its targets.
func describeEdges(g *core, i int) (edges []EdgeDescription) {
	n, p := &g.nodes[i], &g.plan.Nodes[i]
	fixed := slices.Clone(p.Edges)
	if p.Race != 0 { // the plan has the edge of the join among the others
		if at := slices.Index(fixed, g.index[g.races[p.Race-1].to]); at >= 0 {
			fixed = slices.Delete(fixed, at, at+1)
		}
	}
	for _, to := range idsOf(g, fixed) {
		edges = append(edges, EdgeDescription{From: n.id, To: to, Kind: KindEdge})
	}
	for k, to := range n.to {
		kind := KindRoute
		if to > start && g.nodes[to].decode != nil {
			kind = KindSend
		}
		edges = append(edges, EdgeDescription{From: n.id, To: n.targets[k], Kind: kind})
	}
	return edges
}

// idsOf returns the ids of nodes.
func idsOf(g *core, numbers []int) []ID {
	ids := make([]ID, len(numbers))
	for i, n := range numbers {
		if ids[i] = End; n >= start {
			ids[i] = g.nodes[n].id
		}
	}
	return ids
}

// Detail marks a node as unimportant: package diagram leaves it out, and draws the edges through
// it, unless it is asked for details.
func Detail() NodeOption {
	return singleNodeOption("Detail", func(o *nodeOptions) { o.detail = true })
}
