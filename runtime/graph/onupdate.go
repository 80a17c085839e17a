package graph

import (
	"context"
)

// OnUpdate registers f. Runs of the graph call f after each attempt of a node, or of its Fallback,
// that returned an update. It serves audits, metrics of values, and checks of what nodes return. s
// is the state that the attempt got, and u is its update, which is not merged yet. t describes the
// attempt; CurrentTask of ctx has the key of the task. Several functions run in the order of their
// OnUpdate, inside the Interceptors of the task.
//
// f must not write to the memory of s and u, and must not keep them after it returns. A Strict run
// finds a write to s. If f returns an error or panics, the attempt fails with that, as if the node
// had. Then the update does not count, and Retry and Fallback apply.
//
// f gets no results that were stored before or come from a Cache. It is not called for a node of
// Subgraph, because the Builder of that graph has functions of its own. For the node of a
// MapSubgraph or a TaskSubgraph it gets the update of the call. For a node with a Queue, f runs in
// the worker. The tasks of a superstep call f concurrently. Compile reports a nil f.
func (b *Builder[S, U]) OnUpdate(f func(ctx context.Context, t TaskInfo, s S, u U) error) {
	b.declare(decls[S, U]{hooks: []hook[S, U]{f}})
}

// hook is a function of OnUpdate.
type hook[S, U any] func(ctx context.Context, t TaskInfo, s S, u U) error

// addHooks adds the functions of OnUpdate.
func (g *Graph[S, U]) addHooks(hooks []hook[S, U]) {
	if len(hooks) == 0 {
		return
	}
	g.core.onUpdate = func(ctx context.Context, state typedState, t TaskInfo, i int) error {
		a := state.(*adapter[S, U])
		s := a.live.View()
		if a.strict {
			s = a.g.schema.Clone(s)
		}
		for _, f := range hooks {
			if err := f(ctx, t, s, a.updates[i]); err != nil {
				return err
			}
		}
		if a.strict {
			return a.mutated(s)
		}
		return nil
	}
}
