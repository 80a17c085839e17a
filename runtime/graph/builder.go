package graph

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/state"
)

// Builder collects the nodes and edges of a graph over state S, whose updates are U. Its methods never
// fail: Compile reports everything that is wrong, all at once. A Builder is for one goroutine; the Graph
// that Compile makes is for any number.
type Builder[S, U any] struct {
	name   string
	schema *state.Schema[S, U]
	nodes  []nodeDecl[S, U]
	edges  []edgeDecl
	routes []routeDecl[S]
	joins  []joinDecl
}

type nodeDecl[S, U any] struct {
	id   ID
	run  func(context.Context, S) (U, error)
	opts nodeOptions
}

type edgeDecl struct{ from, to ID }

type routeDecl[S any] struct {
	from    ID
	choose  func(context.Context, S) (Next, error)
	targets []ID
}

type joinDecl struct {
	from []ID
	to   ID
}

// New returns an empty Builder. name is written into every checkpoint and error; schema is the variable that
// graphgen generated for the state.
func New[S, U any](name string, schema *state.Schema[S, U]) *Builder[S, U] {
	return &Builder[S, U]{name: name, schema: schema}
}

// Node adds a node that runs f, and returns id. f gets its own copy of the state; what maps, pointers and
// slices in it refer to is shared and must only be read, and not kept after f returns (Clone is for that).
// f runs once in each superstep that makes the node due, on any goroutine, at the same time as other nodes
// that are due. The order of declaration is the order in which the updates of one superstep merge.
func (b *Builder[S, U]) Node(id ID, f func(ctx context.Context, s S) (U, error), opts ...NodeOption) ID {
	d := nodeDecl[S, U]{id: id, run: f}
	for _, o := range opts {
		o.node(&d.opts)
	}
	b.nodes = append(b.nodes, d)
	return id
}

// Edge makes to run in the superstep after from. Several edges out of one node run their targets in
// parallel; several edges into one node run it once after any of them.
func (b *Builder[S, U]) Edge(from, to ID) {
	b.edges = append(b.edges, edgeDecl{from, to})
}

// Route lets f choose what runs after from, among targets, which may include End. f sees the merged state
// of the whole superstep and is called once in it; it must not change what it sees. It runs beside from's
// edges: both fire. A route from Start is a conditional entry. A superstep whose route fails is not
// committed: Resume calls all its routes again, and no node.
func (b *Builder[S, U]) Route(from ID, f func(ctx context.Context, s S) (Next, error), targets ...ID) {
	b.routes = append(b.routes, routeDecl[S]{from, f, targets})
}

// Join makes to run once all of from have run since it last did, in whatever supersteps and across
// restarts. A new input empties it. A run that ends with a join half reached names it in Result.Unjoined.
func (b *Builder[S, U]) Join(from []ID, to ID) {
	b.joins = append(b.joins, joinDecl{append([]ID(nil), from...), to})
}
