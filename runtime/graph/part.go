package graph

import (
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/state"
)

// Part returns a Builder over a part of the state of b: an embedded struct that is a state of its
// own. Its methods declare nodes, routes, task nodes, subgraphs, fallbacks, caches and functions
// of OnUpdate in b. Their functions get the part instead of the whole state. A package that ships
// a part can therefore declare nodes in the graph of any state that embeds the part.
//
// p is the variable that graphgen generated for the embedded struct, such as StateChat. Nodes of
// both Builders have one order, one set of ids and one set of options. Subgraph takes a graph that
// was compiled over the part. Its events and updates are those of the whole state. Compile only b.
//
// Part is a function because a method has no type parameters of its own.
func Part[S, U, P, V any](b *Builder[S, U], p state.Part[S, U, P, V]) *Builder[P, V] {
	l := lifter[S, U, P, V]{b.schema, p}
	return &Builder[P, V]{name: b.name, schema: p.Schema, whole: func(d decls[P, V]) { b.declare(l.decls(d)) }}
}

// clipped returns the declarations, to which later ones are not added.
func (d decls[S, U]) clipped() decls[S, U] {
	return decls[S, U]{
		d.outline.clipped(), slices.Clip(d.funcs), slices.Clip(d.choose), slices.Clip(d.fallbacks), slices.Clip(d.keys), slices.Clip(d.hooks),
	}
}

// clipped is that of decls.
func (o *outline) clipped() outline {
	return outline{
		slices.Clip(o.nodes), slices.Clip(o.edges), slices.Clip(o.routes), slices.Clip(o.joins), slices.Clip(o.races), slices.Clip(o.short),
		slices.Clip(o.fallbackDecls), slices.Clip(o.caches),
	}
}

// lifter turns declarations over the part P of a state S into declarations over S.
type lifter[S, U, P, V any] struct {
	schema *state.Schema[S, U]
	part   state.Part[S, U, P, V]
}

// decls returns the declarations over the whole state.
func (l lifter[S, U, P, V]) decls(d decls[P, V]) decls[S, U] {
	of, widen := l.part.Of, l.part.Widen
	whole := decls[S, U]{outline: d.outline}
	nodes := slices.Clone(d.outline.nodes)
	whole.outline.nodes = nodes
	for i := range d.funcs {
		whole.funcs = append(whole.funcs, l.node(&nodes[i], &d.funcs[i]))
	}
	for _, choose := range d.choose {
		var lifted chooseFunc[S]
		if choose != nil {
			lifted = func(ctx context.Context, s S) (Next, error) { return choose(ctx, of(s)) }
		}
		whole.choose = append(whole.choose, lifted)
	}
	for _, f := range d.fallbacks {
		var lifted fallbackFunc[S, U]
		if f != nil {
			lifted = func(ctx context.Context, s S, p payload, err error) (U, Next, error) {
				v, next, err := f(ctx, of(s), p, err)
				return widen(v), next, err
			}
		}
		whole.fallbacks = append(whole.fallbacks, lifted)
	}
	for _, key := range d.keys {
		var lifted cacheKeyFunc[S]
		if key != nil {
			lifted = func(s S, p payload) (string, error) { return key(of(s), p) }
		}
		whole.keys = append(whole.keys, lifted)
	}
	for _, h := range d.hooks {
		var lifted hook[S, U]
		if h != nil {
			lifted = func(ctx context.Context, t TaskInfo, s S, u U) error { return h(ctx, t, of(s), l.part.Narrow(u)) }
		}
		whole.hooks = append(whole.hooks, lifted)
	}
	return whole
}

// node returns the functions of a node over the whole state, and makes its subgraph one.
func (l lifter[S, U, P, V]) node(n *nodeDecl, f *funcs[P, V]) (to funcs[S, U]) {
	of, widen := l.part.Of, l.part.Widen
	switch {
	case f.plain != nil:
		to.plain = func(ctx context.Context, s S) (U, error) {
			v, err := f.plain(ctx, of(s))
			return widen(v), err
		}
	case f.routing != nil:
		to.routing = func(ctx context.Context, s S) (U, Next, error) {
			v, next, err := f.routing(ctx, of(s))
			return widen(v), next, err
		}
	case f.task != nil:
		to.task = func(ctx context.Context, s S, p payload) (U, Next, error) {
			v, next, err := f.task(ctx, of(s), p)
			return widen(v), next, err
		}
	case f.child != nil:
		to.child = func(ctx context.Context, r *run, i int, strict bool, s S) (U, bool, error) {
			v, done, err := f.child(ctx, r, i, strict, of(s))
			return widen(v), done, err
		}
	case f.same != nil:
		if to.same = l.graph(f.same); to.same != nil {
			n.kind.sub = &to.same.core
		}
		n.empty = to.same == nil
	}
	return to
}

// graph returns a compiled graph over the whole state. It returns nil without a schema, which
// Compile reports.
func (l lifter[S, U, P, V]) graph(g *Graph[P, V]) *Graph[S, U] {
	b := &Builder[S, U]{name: g.core.name, schema: l.schema, decls: l.decls(g.decls)}
	whole, err := b.compile(g.core.opt)
	if err != nil {
		return nil
	}
	return whole
}
