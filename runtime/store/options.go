package store

import (
	"fmt"
	"time"
)

// GetOption is an option of reads: [Refresh].
type GetOption interface{ get(op *Op) }

// PutOption is an option of puts: [TTL], [ExpireAt], [KeepExpiry], [IfAbsent], [IfVersion] and
// [Once].
type PutOption interface{ put(op *Op, faults *fault) }

// DeleteOption is an option of deletes: [IfVersion] and [Once].
type DeleteOption interface{ delete(op *Op, faults *fault) }

// UpdateOption is an option of updates: [TTL], [ExpireAt] and [Once].
type UpdateOption interface{ update(op *Op, faults *fault) }

// WriteOption is an option of puts and of deletes.
type WriteOption interface {
	PutOption
	DeleteOption
}

// LifetimeOption is an option of puts and of updates.
type LifetimeOption interface {
	PutOption
	UpdateOption
}

// OnceOption is an option of all writes.
type OnceOption interface {
	WriteOption
	UpdateOption
}

// fault is the first error of options.
type fault struct{ err error }

func (f *fault) add(field, found, want string) {
	if f.err == nil {
		f.err = &InvalidError{field, found, want}
	}
}

type refresh struct{}

func (refresh) get(op *Op) { op.Refresh = true }

// Refresh starts the life of an item again that was put with [TTL]: it then expires after the
// same duration from now. The version of the item stays. Refresh is a write for the server.
// Lists, searches and watches refresh nothing.
func Refresh() GetOption { return refresh{} }

// expiry is an option that limits the life of an item.
type expiry func(op *Op, faults *fault)

func (e expiry) put(op *Op, faults *fault) {
	op.TTL, op.ExpireAt, op.KeepExpiry = 0, time.Time{}, false
	e(op, faults)
}

func (e expiry) update(op *Op, faults *fault) { e.put(op, faults) }

// TTL limits the life of an item to d from now, on the server's clock. d counts in microseconds.
// Less than one is an [*InvalidError].
func TTL(d time.Duration) LifetimeOption {
	return expiry(func(op *Op, faults *fault) {
		if d < time.Microsecond {
			faults.add("ttl", d.String(), "at least a microsecond")
		}
		op.TTL = d
	})
}

// ExpireAt ends the life of an item at t, cut to microseconds, on the server's clock. An item
// whose time has passed is stored, but never returned. A zero t is no limit, also if the
// collection has a [DefaultTTL].
func ExpireAt(t time.Time) LifetimeOption { return expiry(func(op *Op, _ *fault) { op.ExpireAt = t }) }

// KeepExpiry keeps the end of the life of an item that exists. A new item then never expires,
// also if the collection has a [DefaultTTL]. By default a put without a lifetime gives the item
// that of the collection.
func KeepExpiry() PutOption { return expiry(func(op *Op, _ *fault) { op.KeepExpiry = true }) }

type ifAbsent struct{}

func (ifAbsent) put(op *Op, _ *fault) { op.IfAbsent = true }

// IfAbsent makes a put fail with a [*ConflictError] if the item exists.
func IfAbsent() PutOption { return ifAbsent{} }

type ifVersion int64

func (v ifVersion) put(op *Op, faults *fault) { v.delete(op, faults) }

func (v ifVersion) delete(op *Op, faults *fault) {
	if v <= 0 {
		faults.add("if version", fmt.Sprint(int64(v)), "the version of an item; use IfAbsent for an item that does not exist")
	}
	op.IfVersion = int64(v)
}

// IfVersion makes a write fail with a [*ConflictError] unless the item has this version, also if
// there is no item. A version below 1 is an [*InvalidError].
func IfVersion(version int64) WriteOption { return ifVersion(version) }

type once string

func (o once) put(op *Op, faults *fault) { o.delete(op, faults) }

func (o once) update(op *Op, faults *fault) { o.delete(op, faults) }

func (o once) delete(op *Op, faults *fault) {
	if o == "" {
		faults.add("once", "an empty key", "a key such as graph.CurrentTask(ctx).Key, which is empty outside of a node")
	}
	op.Once = string(o)
}

// Once makes a write idempotent. A second write of the same item with the same key changes nothing
// and succeeds, even if the item has changed since. Use the key of the task in a node:
//
//	facts.Put(ctx, "city", fact, store.Once(graph.CurrentTask(ctx).Key))
//
// A node that writes one item several times needs a key for each write. Keys are remembered for
// [OnceFor]. An empty key, as CurrentTask has it outside of a node, and one of more than
// [MaxOnce] bytes are an [*InvalidError].
func Once(key string) OnceOption { return once(key) }

// DefaultTTL is the lifetime of items that are put without [TTL], [ExpireAt] or [KeepExpiry]. By
// default they never expire. It counts in microseconds; less than one is an [*InvalidError] of
// [NewCollection]. Items that exist keep their lifetime.
func DefaultTTL[T any](d time.Duration) CollectionOption[T] { return defaultTTL[T](d) }

type defaultTTL[T any] time.Duration

func (d defaultTTL[T]) apply(c *core[T]) error {
	if time.Duration(d) < time.Microsecond {
		return &InvalidError{"default ttl", time.Duration(d).String(), "at least a microsecond"}
	}
	c.ttl = time.Duration(d)
	return nil
}
