package graph

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Do calls f and stores its result, on behalf of the node that runs under ctx. If the node runs
// again, Do returns the stored result and does not call f. A node runs again after a crash or a
// failure, by Retry or Rerun, and after each answer to its questions. Use Do for calls that are
// expensive or have an effect outside, such as a payment or the completion of a model.
//
// With Sync and Async the result is stored when Do returns. With OnExit it is stored when the run
// ends, so a crash of the run loses it. The result is kept until the superstep commits. A replay
// or a fork calls f again. Without a thread, the result is kept in memory for the attempts of the
// task.
//
// The error of f is returned as it is, and not stored: f is called again when the node runs again.
// A crash after f has succeeded and before its result is stored also repeats f. In the context of
// f, the Key of CurrentTask is a key for the call. It is the same each time f is called for it, so
// that a service that accepts idempotency keys repeats nothing.
//
// The node must make the same calls in the same order each time it runs. Several calls may have
// the same name: the n-th gets the n-th result. If an earlier execution of the node made other
// calls, Do returns ErrNotDurable. Concurrent calls, and calls whose order varies, need DoNamed.
// The calls of a fallback are separate from those of its node. A name has 1 to 200 bytes. It must
// not contain the number sign.
//
// Do returns the decoded result, also after f was called. So the node gets the same value each
// time it runs. If T has changed since the result was stored, Do returns ErrGraphChanged. T needs
// a codec: mark it //graphgen:payload, or use wire.String, wire.Bool or wire.Int.
//
// If the result cannot be stored, Do returns the error of the saver. The result stays in memory,
// so Retry does not call f again, and no fallback runs. The end of the run tries to store it, too.
//
// Routes and the functions of MapSubgraph cannot make durable calls. f cannot make one either.
func Do[T any, P wire.Generated[T]](ctx context.Context, name string, f func(context.Context) (T, error)) (T, error) {
	return do[T, P](ctx, name, false, f)
}

// DoNamed works like Do, for calls that run concurrently, or whose order varies. The name alone
// identifies the call. So each call of a task needs a name of its own, for example with the id of
// an order. A second call with the same name returns the result of the first.
func DoNamed[T any, P wire.Generated[T]](ctx context.Context, name string, f func(context.Context) (T, error)) (T, error) {
	return do[T, P](ctx, name, true, f)
}

func do[T any, P wire.Generated[T]](ctx context.Context, name string, named bool, f func(context.Context) (T, error)) (result T, _ error) {
	c := codecOf[T, P]()
	b, err := task.Do(ctx, name, named, func(ctx context.Context) ([]byte, error) {
		v, err := f(ctx)
		if err != nil {
			return nil, err
		}
		b, err := c.append([]byte{}, &v)
		if err != nil {
			return nil, fmt.Errorf("the result of call %q cannot be encoded: %w", name, err)
		}
		return b, nil
	})
	if err != nil {
		return result, err
	}
	if err := c.decode(b, &result); err != nil {
		return *new(T), fmt.Errorf("the stored result of call %q: %w", name, payloadError(b, err))
	}
	return result, nil
}

// Calls implements task.Host.
func (r *run) Calls(t *Task, fallback bool) *task.Calls {
	calls := new(task.Calls)
	if n, ok := r.g.find(t.Node); ok && r.g.nodes[n].sub != nil && !fallback {
		calls.Broken = fmt.Errorf("%w: a function of MapSubgraph cannot make it; make it in a node", ErrNotDurable)
		return calls
	}
	if r.log == nil {
		return calls
	}
	key := r.Key(t)
	for name, b := range r.pending.Parts(key) {
		if !task.IsCall(name) {
			continue
		}
		c, err := journal.ReadCall(b)
		if err != nil {
			calls.Broken = fmt.Errorf("the stored result of %q: %w: %w", name, checkpoint.ErrDamaged, err)
		}
		calls.Known(name, task.CallResult{Number: c.Number, Value: c.Value, Stored: true})
	}
	of := r.log.About(key)
	calls.Store = func(name string, c task.CallResult) error {
		err := r.log.Put(r.ctx, []checkpoint.Write{callWrite(of, name, c)}, journal.Change{})
		if err == nil {
			err = r.log.WaitStored()
		}
		return r.saving("put writes", err)
	}
	return calls
}
