package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// maxUpdates is how often Update tries.
const maxUpdates = 100

// Update reads the item with a key, calls change with its value, and stores the result. If another
// writer has changed the item meanwhile, it starts again, so change may run several times. If
// there is no item, change gets the zero value, and Update creates the item.
//
// Update keeps the stored fields that the code does not know. It keeps the lifetime of the item,
// unless an option sets it. In the returned item, Created, Updated and Expires are zero.
//
// With [Once] a repeated call stores nothing, and returns the item as it is now, whole. If the
// item does not exist any more, its Version is 0. change may run in a repeated call too. Update
// then drops its result and its error.
//
// Update stores nothing if change returns an error, and returns that error. After 100 conflicts it
// returns a [*ConflictError]. An item that cannot be read, and a value that cannot be encoded, are
// a [*ValueError]. The other errors are those of [Collection.Put].
func (c *Collection[T]) Update(
	ctx context.Context, key string, change func(value *T) error, opts ...UpdateOption,
) (Item[T], error) {
	var faults fault
	var given Op
	for _, opt := range opts {
		opt.update(&given, &faults)
	}
	if faults.err != nil {
		return Item[T]{}, faults.err
	}
	made := make(vectorsOf)
	for try := 1; ; try++ {
		it, err := c.Get(ctx, key)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return Item[T]{}, err
		}
		if err := change(&it.Value); err != nil {
			return c.unlessUsed(ctx, key, given.Once, err)
		}
		done, err := c.replace(ctx, key, &it, made, opts)
		if err == nil || !errors.Is(err, ErrConflict) || try == maxUpdates {
			return done, err
		}
		if err := pause(ctx, try); err != nil {
			return Item[T]{}, err
		}
	}
}

// replace stores an item that was read, or creates it if its version is 0. made has the vectors of
// earlier tries.
func (c *Collection[T]) replace(
	ctx context.Context, key string, it *Item[T], made vectorsOf, opts []UpdateOption,
) (Item[T], error) {
	op, err := c.put(key, &it.Value, nil)
	if err != nil {
		return Item[T]{}, err
	}
	if len(it.unknown) > 0 {
		if op.Value, err = c.core.codec.write(&it.Value, it.unknown); err != nil {
			return Item[T]{}, &ValueError{c.ns, key, err}
		}
	}
	op.IfAbsent, op.IfVersion = it.Version == 0, it.Version
	if it.Version != 0 {
		op.TTL, op.KeepExpiry = 0, true
	}
	for _, opt := range opts {
		opt.update(&op, new(fault))
	}
	if err := embed(ctx, c.core.backend, []Op{op}, made); err != nil {
		return Item[T]{}, err
	}
	result, err := c.do(ctx, &op)
	switch {
	case err != nil:
		return Item[T]{}, err
	case result.Repeated:
		return c.current(ctx, key)
	}
	return Item[T]{
		Namespace: c.Namespace(), Key: key, Value: it.Value, Version: result.Record.Version, unknown: it.unknown,
	}, nil
}

// current returns the item of a repeated update.
func (c *Collection[T]) current(ctx context.Context, key string) (Item[T], error) {
	it, err := c.Get(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return Item[T]{Namespace: c.Namespace(), Key: key}, nil
	}
	return it, err
}

// unlessUsed returns the error of a change, unless the update has run before under the key of
// Once.
func (c *Collection[T]) unlessUsed(ctx context.Context, key, once string, fault error) (Item[T], error) {
	if once == "" {
		return Item[T]{}, fault
	}
	// No item has this version. So the operation is a conflict, unless it is repeated.
	probe := Op{Kind: OpDelete, Namespace: c.ns, Key: key, IfVersion: math.MaxInt64, Once: once}
	switch _, err := c.do(ctx, &probe); {
	case err == nil:
		return c.current(ctx, key)
	case errors.Is(err, ErrConflict):
		return Item[T]{}, fault
	default:
		return Item[T]{}, errors.Join(fault, err)
	}
}

// pause waits after a conflict, for longer after more of them.
func pause(ctx context.Context, tries int) error {
	timer := time.NewTimer(rand.N(min(time.Duration(tries)*100*time.Microsecond, 10*time.Millisecond)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("store: %w", ctx.Err())
	}
}
