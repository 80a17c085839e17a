package graph

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// TaskSubgraph adds a task node that runs child, a graph over a state of its own, once for each
// send to it. It is a map-reduce over subgraphs: TaskNode with the work of MapSubgraph. The calls
// of a superstep run concurrently, at most Concurrency of them at a time. Only calls in progress
// keep a state in memory, so 10,000 sends do not need 10,000 states.
//
// in makes the child's input from the state and the payload of the send. out makes the update of
// the task from the state at the start of the node, the payload and the final state of the child.
// The updates merge in the order of the sends. in and out are called concurrently for the sends of
// one superstep, and must not modify the states and payloads that they get. Compile reports a nil
// child, in or out.
//
// Each send has a call of its own: checkpoints, questions, stops, attempts and a result. A crash,
// a failure or a stop in one call loses no work of the others. Resume continues the unfinished
// calls where they were. Snapshot.Calls lists the calls by the number of the send. The Path of a
// question, a stop or an event contains that number.
//
// A call remembers nothing of earlier calls, so Compile reports Stateful. In all other
// respects it works like MapSubgraph and TaskNode. TaskFallback handles the failure of a call.
func TaskSubgraph[S, U, In, CS, CU any, P wire.Generated[In]](
	b *Builder[S, U], id ID, child *Graph[CS, CU],
	in func(ctx context.Context, s S, in In) (CU, error),
	out func(ctx context.Context, s S, in In, child CS) (U, error),
	opts ...NodeOption,
) Sender[In] {
	var f funcs[S, U]
	k := kind{decode: unwrap[In, P], input: shape.Of[In, P]}
	if child != nil && in != nil && out != nil {
		k.sub = &child.core
		m := mapping[S, U, CS, CU]{child: child}
		m.in = func(ctx context.Context, s S, p payload) (u CU, err error) {
			sent, err := received[In, P](p)
			if err != nil {
				return u, err
			}
			return in(ctx, s, sent)
		}
		m.out = func(ctx context.Context, s S, p payload, child CS) (u U, err error) {
			sent, err := received[In, P](p)
			if err != nil {
				return u, err
			}
			return out(ctx, s, sent, child)
		}
		f.child = m.run
	}
	add(b, id, f, k, opts)
	return Sender[In]{ID: id, wrap: wrap[In, P], read: received[In, P]}
}
