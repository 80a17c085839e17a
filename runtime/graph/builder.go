package graph

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// Builder collects the nodes and edges of a graph over state S, with updates U. Its methods never
// fail: Compile reports all faults together. A Builder must not be used concurrently. The Graph
// that Compile returns is safe for concurrent use.
type Builder[S, U any] struct {
	name   string
	schema *state.Schema[S, U]
	decls  decls[S, U]
	whole  func(decls[S, U]) // of a Builder that Part returned: declares in the Builder of the whole state
}

// decls are declarations of a graph, in their order. The functions are lists next to those of
// the outline. The compiler does not call them, so it is compiled once for all types of states.
type decls[S, U any] struct {
	outline   outline
	funcs     []funcs[S, U] // by node
	choose    []chooseFunc[S]
	fallbacks []fallbackFunc[S, U]
	keys      []cacheKeyFunc[S]
	hooks     []hook[S, U] // of OnUpdate
}

// outline is what is declared, without the functions over the state.
type outline struct {
	nodes         []nodeDecl
	edges         []edgeDecl
	routes        []routeDecl
	joins         []joinDecl
	races         []joinDecl
	short         [][]ID // chains without an edge
	fallbackDecls []fallbackDecl
	caches        []cacheDecl
}

// chooseFunc is the function of a route.
type chooseFunc[S any] func(context.Context, S) (Next, error)

// declare adds declarations to the graph.
func (b *Builder[S, U]) declare(d decls[S, U]) {
	if b.whole != nil {
		b.whole(d)
		return
	}
	all := &b.decls
	all.outline.add(&d.outline)
	all.funcs, all.choose = append(all.funcs, d.funcs...), append(all.choose, d.choose...)
	all.fallbacks, all.keys, all.hooks = append(all.fallbacks, d.fallbacks...), append(all.keys, d.keys...), append(all.hooks, d.hooks...)
}

// add adds the declarations of d.
func (o *outline) add(d *outline) {
	o.nodes, o.edges, o.routes = append(o.nodes, d.nodes...), append(o.edges, d.edges...), append(o.routes, d.routes...)
	o.joins, o.races, o.short = append(o.joins, d.joins...), append(o.races, d.races...), append(o.short, d.short...)
	o.fallbackDecls, o.caches = append(o.fallbackDecls, d.fallbackDecls...), append(o.caches, d.caches...)
}

type nodeDecl struct {
	id    ID
	kind  kind
	empty bool // it has no function
	opts  nodeOptions
}

// kind holds the properties of a node that do not depend on the types of its functions.
type kind struct {
	routes bool                          // the Next that the node returns counts
	decode func([]byte) (payload, error) // the payload of a send to a task node; nil for other nodes
	input  func() shape.Payload          // the description of that
	sub    *core                         // the graph of a subgraph node; nil for other nodes
	same   bool                          // sub is over the same state
}

type edgeDecl struct{ from, to ID }

type routeDecl struct {
	from    ID
	empty   bool // it has no function
	targets []ID
}

type joinDecl struct {
	from []ID
	to   ID
}

// New returns an empty Builder. The name is stored in every checkpoint and appears in every error.
// schema is the variable that graphgen generated for the state.
func New[S, U any](name string, schema *state.Schema[S, U]) *Builder[S, U] {
	return &Builder[S, U]{name: name, schema: schema}
}

// Node adds a node that runs f, and returns id. f gets its own copy of the state. Maps, pointers
// and slices in it refer to shared memory. f must only read that memory, and must not keep it
// after f returns; Clone copies it.
//
// f runs once in each superstep in which the node is due, on any goroutine, concurrently with the
// other due nodes. The updates of a superstep merge in the order in which their nodes were
// declared.
func (b *Builder[S, U]) Node(id ID, f func(ctx context.Context, s S) (U, error), opts ...NodeOption) ID {
	add(b, id, funcs[S, U]{plain: f}, kind{}, opts)
	return id
}

// RoutingNode adds a node that returns, with its update, the nodes that run next, and returns id.
// Targets lists the nodes that it may choose. Use it if the choice depends on the node's own work;
// Route chooses by the merged state. The node's edges fire in addition. The choice is stored with
// the update, so a Resume does not repeat it.
func (b *Builder[S, U]) RoutingNode(id ID, f func(ctx context.Context, s S) (U, Next, error), opts ...NodeOption) ID {
	add(b, id, funcs[S, U]{routing: f}, kind{routes: true}, opts)
	return id
}

// TaskNode adds a node that runs once for each send to it, with the input that was sent. The sends
// of a superstep run concurrently, and their updates merge in the order of the sends. Only a Next
// leads to the node: Sender.Send in a route or a routing node. In needs a codec: mark it
// //graphgen:payload, or use a type of package wire.
//
// TaskNode is a function because a method has no type parameters of its own.
func TaskNode[S, U, In any, P wire.Generated[In]](b *Builder[S, U], id ID, f func(ctx context.Context, s S, in In) (U, error), opts ...NodeOption) Sender[In] {
	var c funcs[S, U]
	if f != nil {
		c.task = func(ctx context.Context, s S, p payload) (U, Next, error) {
			in, err := received[In, P](p)
			if err != nil {
				return *new(U), Next{}, err
			}
			u, err := f(ctx, s, in)
			return u, Next{}, err
		}
	}
	add(b, id, c, kind{decode: unwrap[In, P], input: shape.Of[In, P]}, opts)
	return Sender[In]{ID: id, wrap: wrap[In, P], read: received[In, P]}
}

// RoutingTaskNode adds a task node whose tasks return the nodes that run next, each for itself.
// Targets lists the nodes that they may choose, which may include the node itself.
func RoutingTaskNode[S, U, In any, P wire.Generated[In]](b *Builder[S, U], id ID, f func(ctx context.Context, s S, in In) (U, Next, error), opts ...NodeOption) Sender[In] {
	var c funcs[S, U]
	if f != nil {
		c.task = func(ctx context.Context, s S, p payload) (U, Next, error) {
			in, err := received[In, P](p)
			if err != nil {
				return *new(U), Next{}, err
			}
			return f(ctx, s, in)
		}
	}
	add(b, id, c, kind{decode: unwrap[In, P], input: shape.Of[In, P], routes: true}, opts)
	return Sender[In]{ID: id, wrap: wrap[In, P], read: received[In, P]}
}

// add declares a node.
func add[S, U any](b *Builder[S, U], id ID, f funcs[S, U], k kind, opts []NodeOption) {
	nodes := []nodeDecl{newNode(id, k, f.empty(), opts)}
	b.declare(decls[S, U]{outline: outline{nodes: nodes}, funcs: []funcs[S, U]{f}})
}

// newNode returns the declaration of a node.
func newNode(id ID, k kind, empty bool, opts []NodeOption) nodeDecl {
	d := nodeDecl{id: id, kind: k, empty: empty}
	for _, o := range opts {
		if o != nil {
			o.node(&d.opts)
		}
	}
	d.kind.routes = k.routes || k.sub != nil && len(d.opts.targets) > 0
	return d
}

// Edge makes dst due in the superstep after src finishes. Several edges out of one node run their
// destinations concurrently. A node with several edges into it runs once in the superstep after
// any of their sources.
func (b *Builder[S, U]) Edge(src, dst ID) {
	b.declare(decls[S, U]{outline: outline{edges: []edgeDecl{{src, dst}}}})
}

// Chain adds an edge from each node to the next one: Chain(Start, "a", "b", End) is Edge(Start,
// "a"), Edge("a", "b") and Edge("b", End). Compile reports a Chain of fewer than two nodes.
func (b *Builder[S, U]) Chain(nodes ...ID) {
	if len(nodes) < 2 {
		b.declare(decls[S, U]{outline: outline{short: [][]ID{nodes}}})
	}
	for i := 1; i < len(nodes); i++ {
		b.Edge(nodes[i-1], nodes[i])
	}
}

// Route calls f to choose the nodes after src among targets, which may include End. f gets the
// merged state of the whole superstep, and must not change it. f runs once in a superstep, however
// many tasks of src ran. The edges of src fire in addition. A route from Start chooses the first
// nodes.
//
// If a route fails, the superstep is not committed. Resume then calls all its routes again, and no
// node.
func (b *Builder[S, U]) Route(src ID, f func(ctx context.Context, s S) (Next, error), targets ...ID) {
	b.declare(decls[S, U]{outline: outline{routes: []routeDecl{{src, f == nil, targets}}}, choose: []chooseFunc[S]{f}})
}

// Join runs dst after every source has run since the join last fired. The sources can run in
// different supersteps, and before and after a restart. A new input resets the join. If a run ends
// while only some sources have run, Result.Unjoined names dst.
func (b *Builder[S, U]) Join(srcs []ID, dst ID) {
	b.declare(decls[S, U]{outline: outline{joins: []joinDecl{{append([]ID(nil), srcs...), dst}}}})
}

// JoinAny runs dst after the first source succeeds. The other sources of that superstep are
// cancelled and waited for; their results and errors are dropped. The sources fail only if none
// succeeds. The winner is stored before the others are cancelled, so a resumed run has the same
// winner.
func (b *Builder[S, U]) JoinAny(srcs []ID, dst ID) {
	b.declare(decls[S, U]{outline: outline{races: []joinDecl{{append([]ID(nil), srcs...), dst}}}})
}
