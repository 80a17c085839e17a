package graph

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
)

// Fallback calls f if the last attempt of the node failed. The update of f is the result of the
// task, as if the node had returned it. The run continues, and edges and routes of the node fire.
// err is the error of the last attempt. A panic is a *PanicError, and the error of a subgraph is
// that of its run. A Fallback can store the error in the state, where a route reads it, or return
// the result of another provider.
//
// f runs as one more attempt of the task: with the same key, the next number in CurrentTask, and
// the Timeout of the node. It can ask the questions of the node. If f fails, the task fails with
// both errors.
//
// f is not called if the run was cancelled or lost its thread, or if a subgraph could not be
// stored or read. It is not called for an error of Strict either. If the run has ended the context
// of the node, an error of the node is a cancellation, whatever its text. The node then runs again
// in the next run.
//
// The node is one of Node, Subgraph or MapSubgraph. Use RoutingFallback, TaskFallback or
// RoutingTaskFallback for the other kinds. Compile reports a nil f, an unknown id, a node of
// another kind, a second fallback of a node, and a Stateful subgraph.
//
// Runs call f concurrently, also for tasks of one superstep. f must not modify s.
func (b *Builder[S, U]) Fallback(id ID, f func(ctx context.Context, s S, err error) (U, error)) {
	var call fallbackFunc[S, U]
	if f != nil {
		call = func(ctx context.Context, s S, _ payload, err error) (u U, next Next, _ error) {
			u, err = f(ctx, s, err)
			return u, next, err
		}
	}
	b.fallback(fallbackDecl{id: id, name: "Fallback"}, call)
}

// RoutingFallback is Fallback for a RoutingNode. The choice of f is stored with its update, so f
// can choose a node that handles the failure.
func (b *Builder[S, U]) RoutingFallback(id ID, f func(ctx context.Context, s S, err error) (U, Next, error)) {
	var call fallbackFunc[S, U]
	if f != nil {
		call = func(ctx context.Context, s S, _ payload, err error) (U, Next, error) { return f(ctx, s, err) }
	}
	b.fallback(fallbackDecl{id: id, name: "RoutingFallback", routes: true}, call)
}

// TaskFallback is Builder.Fallback for a task node. f also gets the payload of the failed send. An
// f that stores the payload and the error in the state isolates the failure: the other sends
// continue, and their updates count. f is called concurrently for the sends of one superstep.
// Compile reports the same faults as for Fallback.
func TaskFallback[S, U, In any](b *Builder[S, U], node Sender[In], f func(ctx context.Context, s S, in In, err error) (U, error)) {
	var call fallbackFunc[S, U]
	if f != nil && node.read != nil {
		call = func(ctx context.Context, s S, p payload, err error) (u U, next Next, _ error) {
			in, wrong := node.read(p)
			if wrong != nil {
				return u, next, wrong
			}
			u, err = f(ctx, s, in, err)
			return u, next, err
		}
	}
	b.fallback(fallbackDecl{id: node.ID, name: "TaskFallback", takes: true}, call)
}

// RoutingTaskFallback is Builder.RoutingFallback for a RoutingTaskNode. f also gets the payload of
// the failed send.
func RoutingTaskFallback[S, U, In any](
	b *Builder[S, U], node Sender[In], f func(ctx context.Context, s S, in In, err error) (U, Next, error),
) {
	var call fallbackFunc[S, U]
	if f != nil && node.read != nil {
		call = func(ctx context.Context, s S, p payload, err error) (u U, next Next, _ error) {
			in, wrong := node.read(p)
			if wrong != nil {
				return u, next, wrong
			}
			return f(ctx, s, in, err)
		}
	}
	b.fallback(fallbackDecl{id: node.ID, name: "RoutingTaskFallback", takes: true, routes: true}, call)
}

// fallbackDecl is a declared Fallback.
type fallbackDecl struct {
	id            ID
	name          string // of the function that declared it
	takes, routes bool   // it is for such nodes
	empty         bool   // it has no function
}

// fallbackFunc is the function of a fallback. The payload is nil without a send.
type fallbackFunc[S, U any] func(context.Context, S, payload, error) (U, Next, error)

// fallback declares a fallback.
func (b *Builder[S, U]) fallback(d fallbackDecl, f fallbackFunc[S, U]) {
	d.empty = f == nil
	b.declare(decls[S, U]{outline: outline{fallbackDecls: []fallbackDecl{d}}, fallbacks: []fallbackFunc[S, U]{f}})
}

// addFallbacks gives nodes their fallbacks.
func (c *compiler) addFallbacks() {
	for i, d := range c.fallbackDecls {
		what := fmt.Sprintf("%s of %s", d.name, d.id)
		n, ok := c.lookup(what, d.id)
		if d.empty {
			c.fault("%s has no function", what)
		}
		if !ok {
			continue
		}
		if n <= start {
			c.fault("%s: %s is no node", what, d.id)
			continue
		}
		node := &c.g.nodes[n]
		routes := node.routes && node.sub == nil
		switch want := fallbackFor(node.decode != nil, routes); {
		case d.takes != (node.decode != nil), d.routes != routes:
			c.fault("%s: the node is of another kind; use %s", what, want)
		case node.remembers:
			c.fault("%s: the subgraph is Stateful, and a call that failed leaves no state for the next one", what)
		case c.from[n].fallback != undeclared:
			c.fault("%s: the node has a fallback already", what)
		case !d.empty:
			c.from[n].fallback = i
			c.g.fallsBack = c.g.fallsBack || node.sub != nil
		}
	}
}

// fallbackFor returns the name of the function that declares the fallback of a kind of node.
func fallbackFor(takes, routes bool) string {
	switch {
	case takes && routes:
		return "RoutingTaskFallback"
	case takes:
		return "TaskFallback"
	case routes:
		return "RoutingFallback"
	}
	return "Fallback"
}

// fallBack implements typedState.
func (a *adapter[S, U]) fallBack(ctx context.Context, t *exec.Task, i int) error {
	n, given := &a.g.core.nodes[t.Node], a.live.View()
	if a.strict {
		given = a.g.schema.Clone(given)
	}
	u, next, err := a.g.funcs[t.Node].fallback(ctx, given, t.Sent, t.Failure)
	a.updates[i] = u
	if n.routes {
		a.choices[i] = next
	}
	if n.same {
		a.merged[i] = []U{u} // as of a subgraph with one update
	}
	if a.strict && err == nil {
		err = a.mutated(given)
	}
	return err
}
