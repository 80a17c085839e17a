package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Collection holds values of one type in a namespace and those below it. It is a view: it keeps
// no data. It is safe for concurrent use, and so must be the functions of its indexes, which run
// in the goroutines of the callers.
type Collection[T any] struct {
	core *core[T]
	ns   Namespace
}

// core is what a collection shares with those below it.
type core[T any] struct {
	backend Backend
	codec   codec[T]
	indexes []index[T]
	vectors []vectorIndex[T]
	texts   []*TextIndex[T]
	names   []string // of all indexes, with their kinds
	ttl     time.Duration
}

// Item is a stored value.
type Item[T any] struct {
	Namespace Namespace
	Key       string
	Value     T
	Version   int64     // larger after each write; never used again for the key
	Created   time.Time // on the server's clock; a write keeps it
	Updated   time.Time // when the value was written last, on the server's clock; a refresh keeps it
	Expires   time.Time // zero for never

	unknown []field
}

// NewCollection returns the collection in the namespace root of a backend. root may be empty; then
// keys need [Collection.In]. The options are the indexes of the collection, and [DefaultTTL]. It
// returns an [*InvalidError] for a bad namespace or option.
//
// A namespace should hold values of one type. Values that another collection wrote are read as T,
// or are a [*ValueError].
func NewCollection[T any, P wire.Generated[T]](
	b Backend, root Namespace, opts ...CollectionOption[T],
) (*Collection[T], error) {
	if b == nil {
		return nil, &InvalidError{"backend", "nil", "a backend, such as memory.NewStore()"}
	}
	if err := root.check("namespace", true); err != nil {
		return nil, err
	}
	c := &core[T]{backend: b, codec: newCodec[T, P]()}
	for _, opt := range opts {
		if opt == nil {
			return nil, &InvalidError{"option", "nil", "an index or DefaultTTL"}
		}
		if err := opt.apply(c); err != nil {
			return nil, err
		}
	}
	return &Collection[T]{c, root.Below()}, nil
}

// In returns the collection in a namespace below c. No parts lead out of c. A bad part is an
// [*InvalidError] of the calls on the result.
func (c *Collection[T]) In(parts ...string) *Collection[T] {
	return &Collection[T]{c.core, c.ns.Below(parts...)}
}

// Namespace returns the namespace of c.
func (c *Collection[T]) Namespace() Namespace { return c.ns.Below() }

// Declare makes the vector indexes of c in the backend, unless they exist, and checks their
// models. Call it when a program starts. It returns a [*ModelError] if an index holds vectors of
// another model, or of other dimensions. Without Declare, the error is that of the first call that
// needs vectors: a write of a value with a text, a search, or Reindex.
//
// Declare stores no items. A program that reads by keys only need not call it.
func (c *Collection[T]) Declare(ctx context.Context) error {
	for _, i := range c.core.vectors {
		if err := i.of.declare(ctx, c.core.backend); err != nil {
			return err
		}
	}
	return nil
}

// do runs one operation.
func (c *Collection[T]) do(ctx context.Context, op *Op) (Result, error) {
	results, err := c.core.backend.Do(ctx, []Op{*op})
	if err != nil {
		return Result{}, err
	}
	if len(results) != 1 {
		return Result{}, fmt.Errorf("store: the backend returned %d results for 1 operation", len(results))
	}
	return results[0], nil
}

// write embeds the texts of an operation, and runs it.
func (c *Collection[T]) write(ctx context.Context, op *Op) (Result, error) {
	if err := embed(ctx, c.core.backend, []Op{*op}, nil); err != nil {
		return Result{}, err
	}
	return c.do(ctx, op)
}

// item decodes a stored item.
func (c *core[T]) item(r *Record) (Item[T], error) {
	it := Item[T]{
		Namespace: r.Namespace, Key: r.Key,
		Version: r.Version, Created: r.Created, Updated: r.Updated, Expires: r.Expires,
	}
	var err error
	if it.unknown, err = c.codec.read(&it.Value, r.Value); err != nil {
		return Item[T]{}, &ValueError{r.Namespace, r.Key, err}
	}
	return it, nil
}

// Get returns the item with a key in the namespace of c. It returns a [*NotFoundError] if there
// is none, and a [*ValueError] if the stored value cannot be read as T. A key or a namespace that
// no backend accepts is an [*InvalidError].
func (c *Collection[T]) Get(ctx context.Context, key string, opts ...GetOption) (Item[T], error) {
	op := c.get(key, opts)
	result, err := c.do(ctx, &op)
	if err != nil {
		return Item[T]{}, err
	}
	return c.core.result(&op, &result)
}

func (c *Collection[T]) get(key string, opts []GetOption) Op {
	op := Op{Kind: OpGet, Namespace: c.ns, Key: key}
	for _, opt := range opts {
		opt.get(&op)
	}
	return op
}

// result is the item of a Get.
func (c *core[T]) result(op *Op, result *Result) (Item[T], error) {
	if !result.Found {
		return Item[T]{}, &NotFoundError{op.Namespace, op.Key}
	}
	return c.item(&result.Record)
}

// GetMany returns the items with the keys in the namespace of c, as they are at one moment. Keys
// without an item are not in the result. An item that cannot be read is left out, and GetMany
// returns the others with a [*ValueError]. More than [MaxOps] keys are an [*InvalidError].
func (c *Collection[T]) GetMany(ctx context.Context, keys []string, opts ...GetOption) (map[string]Item[T], error) {
	ops := make([]Op, len(keys))
	for i, key := range keys {
		ops[i] = c.get(key, opts)
	}
	results, err := c.core.backend.Do(ctx, ops)
	if err != nil {
		return nil, err
	}
	items := make(map[string]Item[T], len(keys))
	var faults []error
	for i := range results {
		if !results[i].Found {
			continue
		}
		it, err := c.core.item(&results[i].Record)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		items[keys[i]] = it
	}
	return items, errors.Join(faults...)
}

// Put stores a value under a key in the namespace of c, and returns its version. It replaces the
// value and the lifetime of an item that exists. A zero value is a value; [Collection.Delete]
// removes an item. With [Once] a repeated call returns the version that the first call wrote.
//
// Put stores nothing if it returns one of these errors:
//   - a [*ConflictError] if the condition of [IfAbsent] or [IfVersion] does not hold
//   - a [*ValueError] if the value cannot be encoded
//   - an [*InvalidError] for an argument beyond a limit, such as [MaxValue]
//   - an [*EmbedError] if an embedder fails, and a [*ModelError] if a vector index is of another
//     model
func (c *Collection[T]) Put(ctx context.Context, key string, value T, opts ...PutOption) (int64, error) {
	op, err := c.put(key, &value, opts)
	if err != nil {
		return 0, err
	}
	result, err := c.write(ctx, &op)
	return result.Record.Version, err
}

func (c *Collection[T]) put(key string, value *T, opts []PutOption) (op Op, err error) {
	op = Op{Kind: OpPut, Namespace: c.ns, Key: key, TTL: c.core.ttl}
	if op.Value, err = c.core.codec.write(value, nil); err != nil {
		return op, &ValueError{c.ns, key, err}
	}
	op.Index, op.Vectors, op.Texts = c.core.entries(value), c.core.pending(value), c.core.spelled(value)
	var faults fault
	for _, opt := range opts {
		opt.put(&op, &faults)
	}
	return op, faults.err
}

// entries returns the index entries of a value.
func (c *core[T]) entries(value *T) (all []Entry) {
	for _, i := range c.indexes {
		all = i.entries(all, value)
	}
	return all
}

// Delete removes the item with a key in the namespace of c. It succeeds if there is none. With
// [IfVersion] it returns a [*ConflictError] if there is none, or one of another version.
func (c *Collection[T]) Delete(ctx context.Context, key string, opts ...DeleteOption) error {
	op, err := c.delete(key, opts)
	if err != nil {
		return err
	}
	_, err = c.do(ctx, &op)
	return err
}

func (c *Collection[T]) delete(key string, opts []DeleteOption) (Op, error) {
	op := Op{Kind: OpDelete, Namespace: c.ns, Key: key}
	var faults fault
	for _, opt := range opts {
		opt.delete(&op, &faults)
	}
	return op, faults.err
}
