package graph

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Emits declares that the node passes values of type T to Emit. It matters only for nodes with a
// Queue. If a worker runs the node, and the TaskQueue is a Relay, these values reach the stream of
// the run. A LocalQueue is a Relay. Values of other types are dropped.
//
// The stream yields values of type T, also if the node emitted a *T. The worker and the process of
// the thread must declare the type under the same name. T needs a codec: pass it to graphgen with
// -type, or use wire.String, wire.Bool or wire.Int. A node can have several Emits.
func Emits[T any, P wire.Generated[T]]() NodeOption {
	c := codecOf[T, P]()
	return nodeOption(func(o *nodeOptions) {
		o.emits = append(o.emits, emitted{
			name: fmt.Sprintf("%T", *new(T)),
			encode: func(v any) ([]byte, bool) {
				at, ok := v.(*T)
				if one, is := v.(T); is {
					at, ok = &one, true
				}
				if !ok || at == nil {
					return nil, false
				}
				b, err := c.append(nil, at)
				return b, err == nil
			},
			decode: func(b []byte) (any, error) {
				var v T
				err := c.decode(b, &v)
				return v, err
			},
		})
	})
}

// emitted is a type of values that a node emits.
type emitted struct {
	name   string
	encode func(v any) ([]byte, bool)
	decode func(b []byte) (any, error)
}

// Relay is an optional interface of a TaskQueue. It carries the values that nodes emit, from the
// workers to the streams of runs. It may lose values. It keeps the order of the values of one
// task, and it never makes a worker wait for a slow stream: it drops values instead.
type Relay interface {
	TaskQueue
	// Emit sends a value of a task to the call of DoEmitting with that task. The caller runs the
	// task. Emit does not wait. The caller must not modify value after the call.
	Emit(t QueuedTask, value []byte)
	// DoEmitting is Do. It also calls take with the values of the task, one after another, in
	// their order, until it returns.
	DoEmitting(ctx context.Context, t QueuedTask, take func(value []byte)) error
}

// relayedBuffer is the number of values of a task that wait for their stream.
const relayedBuffer = 256

// relay hands a task out, and passes what it emits to the stream of the run.
func (h *handOuts) relay(ctx context.Context, q QueuedTask, types []emitted) error {
	return h.g.opt.queues.(Relay).DoEmitting(ctx, q, func(value []byte) {
		if v, ok := readEmitted(types, value); ok {
			task.Emit(ctx, v)
		}
	})
}

// relays reports whether the values that the node of a task emits reach a stream.
func (r *run) relays(n *node) bool {
	_, relay := r.opt.handOuts.g.opt.queues.(Relay)
	return relay && len(n.emits) > 0 && r.sink != nil && r.sink.wants(EventCustom)
}

// emitter returns the function that gets what the task of the run emits; nil if nobody takes it.
func (r pooled) emitter(q *QueuedTask, n *node) task.Emitter {
	relay, ok := r.root.opt.queues.(Relay)
	if !ok || !q.Emits {
		return nil
	}
	return func(_ int, _ string, v any) {
		defer rescue(new(error))
		if b, ok := appendEmitted(n.emits, v); ok {
			relay.Emit(*q, b)
		}
	}
}

// appendEmitted encodes a value that a node emitted, with the name of its type. It reports false
// if the node does not declare the type.
func appendEmitted(types []emitted, v any) ([]byte, bool) {
	for _, e := range types {
		if b, ok := e.encode(v); ok {
			return wire.AppendBytes(wire.AppendString(wire.AppendArrayLen(nil, 2), e.name), b), true
		}
	}
	return nil, false
}

// readEmitted reads what appendEmitted wrote.
func readEmitted(types []emitted, b []byte) (any, bool) {
	r := wire.NewReader("emitted value", b)
	if r.ArrayLen() != 2 {
		return nil, false
	}
	name, value := r.Str(), r.Bytes()
	if r.End() != nil {
		return nil, false
	}
	for _, e := range types {
		if e.name == name {
			v, err := e.decode(value)
			return v, err == nil
		}
	}
	return nil, false
}
