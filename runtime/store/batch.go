package store

import (
	"context"
	"errors"
	"fmt"
)

// Batch is a list of operations, maybe on several collections of one backend, which run in order
// in one atomic call. Add operations with [Collection.QueueGet], [Collection.QueuePut] and
// [Collection.QueueDelete], then call Do. The zero Batch is empty and ready to use. It must not be
// used concurrently.
type Batch struct {
	backend Backend
	ops     []Op
	results []Result
	err     error
	ran     bool
}

// ErrNotRun is the error of a result in a batch that has not run, or that failed.
var ErrNotRun = errors.New("store: the batch has not run, or failed")

// ErrRan is the error of a batch that runs a second time.
var ErrRan = errors.New("store: the batch has run already; make a new one")

// add adds an operation on a backend, and returns its place.
func (b *Batch) add(backend Backend, op Op, err error) int {
	if b.backend == nil {
		b.backend = backend
	}
	if err == nil && b.backend != backend {
		err = &InvalidError{"batch", "collections of two backends", "one backend for each batch"}
	}
	if err == nil && b.ran {
		err = ErrRan
	}
	b.err = errors.Join(b.err, err)
	b.ops = append(b.ops, op)
	return len(b.ops) - 1
}

// Do runs the operations in order. All of them take effect at one moment, or none does. Each sees
// the effects of those before it. Before that, Do embeds the texts of all operations together.
//
// Do returns the error of the first operation that fails, such as a [*ConflictError], and all
// errors of the Queue methods together. Then nothing is stored, unless the error is an
// [ErrUnavailable]: it is unknown whether the batch was stored. A second Do returns [ErrRan].
// More than [MaxOps] operations are an [*InvalidError]. A missing item or a value that cannot be
// read is no error of Do, but of [BatchGet.Item].
func (b *Batch) Do(ctx context.Context) error {
	switch {
	case b.ran:
		return ErrRan
	case b.err != nil:
		return b.err
	}
	b.ran = true
	if len(b.ops) == 0 {
		return nil
	}
	if err := embed(ctx, b.backend, b.ops, nil); err != nil {
		return err
	}
	results, err := b.backend.Do(ctx, b.ops)
	if err != nil {
		return err
	}
	if len(results) != len(b.ops) {
		return fmt.Errorf("store: the backend returned %d results for %d operations", len(results), len(b.ops))
	}
	b.results = results
	return nil
}

// BatchGet is the result of a read in a batch.
type BatchGet[T any] struct {
	b    *Batch
	at   int
	core *core[T]
}

// Item returns what [Collection.Get] would return. Before the batch has run it returns
// [ErrNotRun].
func (g *BatchGet[T]) Item() (Item[T], error) {
	if g.b.results == nil {
		return Item[T]{}, ErrNotRun
	}
	return g.core.result(&g.b.ops[g.at], &g.b.results[g.at])
}

// BatchPut is the result of a put in a batch.
type BatchPut struct {
	b  *Batch
	at int
}

// Version returns what [Collection.Put] would return. Before the batch has run it returns
// [ErrNotRun].
func (p *BatchPut) Version() (int64, error) {
	if p.b.results == nil {
		return 0, ErrNotRun
	}
	return p.b.results[p.at].Record.Version, nil
}

// QueueGet adds a read to a batch.
func (c *Collection[T]) QueueGet(b *Batch, key string, opts ...GetOption) *BatchGet[T] {
	return &BatchGet[T]{b, b.add(c.core.backend, c.get(key, opts), nil), c.core}
}

// QueuePut adds a put to a batch. It encodes the value immediately. [Batch.Do] returns the
// errors.
func (c *Collection[T]) QueuePut(b *Batch, key string, value T, opts ...PutOption) *BatchPut {
	op, err := c.put(key, &value, opts)
	return &BatchPut{b, b.add(c.core.backend, op, err)}
}

// QueueDelete adds a delete to a batch.
func (c *Collection[T]) QueueDelete(b *Batch, key string, opts ...DeleteOption) {
	op, err := c.delete(key, opts)
	b.add(c.core.backend, op, err)
}
