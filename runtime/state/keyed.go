package state

import (
	"slices"
	"strings"
)

// Keyed is the update of a list whose elements have keys. The zero Keyed leaves it as it is. Operations apply in the
// order in which they were called. What they are given is copied, one level deep. A Keyed is a value to be handed
// on: of two copies only one may be called again.
type Keyed[K comparable, T any] struct {
	first keyedRun[K, T]
	more  []keyedRun[K, T]
}

type keyedRun[K comparable, T any] struct {
	op   op
	vals []T
	keys []K // of opDelete
}

// Upsert puts each of vals in the place of the element that has its key, or appends it if there is none.
func (u *Keyed[K, T]) Upsert(vals ...T) {
	switch last := u.newest(); {
	case len(vals) == 0:
	case last.op == opUpsert:
		last.vals = append(last.vals, vals...)
	default:
		u.add(keyedRun[K, T]{op: opUpsert, vals: slices.Clone(vals)})
	}
}

// Remove removes the elements that have these keys, if there are any.
func (u *Keyed[K, T]) Remove(keys ...K) {
	switch last := u.newest(); {
	case len(keys) == 0:
	case last.op == opDelete:
		last.keys = append(last.keys, keys...)
	default:
		u.add(keyedRun[K, T]{op: opDelete, keys: slices.Clone(keys)})
	}
}

// Replace makes the list vals; of those with one key the last stays, at the place of the first. Without any it makes the
// list empty, but not nil.
func (u *Keyed[K, T]) Replace(vals ...T) {
	*u = Keyed[K, T]{first: keyedRun[K, T]{op: opReplace, vals: append(make([]T, 0, len(vals)), vals...)}}
}

// Clear makes the list one that was never written.
func (u *Keyed[K, T]) Clear() { *u = Keyed[K, T]{first: keyedRun[K, T]{op: opClear}} }

// IsZero reports whether u leaves the list as it is.
func (u *Keyed[K, T]) IsZero() bool { return u.first.op == opNone }

// String says what u does.
func (u Keyed[K, T]) String() string { return formatOps(u.IsZero(), u.first, u.more) }

// formatOps says what operations do, in order.
func formatOps[R interface{ write(b *strings.Builder) }](none bool, first R, more []R) string {
	if none {
		return ""
	}
	var b strings.Builder
	first.write(&b)
	for _, run := range more {
		b.WriteString("; ")
		run.write(&b)
	}
	return b.String()
}

func (run keyedRun[K, T]) write(b *strings.Builder) {
	if run.op == opDelete {
		writeRun(b, opRemove, run.keys)
		return
	}
	writeRun(b, run.op, run.vals)
}

func (u *Keyed[K, T]) newest() *keyedRun[K, T] {
	if len(u.more) > 0 {
		return &u.more[len(u.more)-1]
	}
	return &u.first
}

func (u *Keyed[K, T]) add(run keyedRun[K, T]) {
	if u.first.op == opNone {
		u.first = run
		return
	}
	u.more = append(u.more, run)
}

// rewrites reports whether nothing stays of what the list was.
func (u *Keyed[K, T]) rewrites() bool { return u.first.op == opReplace || u.first.op == opClear }
