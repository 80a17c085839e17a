package state

import (
	"fmt"
	"slices"
	"strings"
)

// Map is the update of a map that is merged. The zero Map leaves it as it is. Operations apply in the order in which
// they were called. What they are given is copied, one level deep. A Map is a value to be handed on: of two copies
// only one may be called again.
type Map[K comparable, V any] struct {
	first mapRun[K, V]
	more  []mapRun[K, V]
}

type mapRun[K comparable, V any] struct {
	op    op
	pairs []pair[K, V]
	keys  []K // of opDelete
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

// Put returns the update that puts one entry into a map.
func Put[K comparable, V any](key K, value V) Map[K, V] {
	var u Map[K, V]
	u.Put(key, value)
	return u
}

// Put puts one entry, in the place of one with the same key.
func (u *Map[K, V]) Put(key K, value V) {
	last := u.putting()
	last.pairs = append(last.pairs, pair[K, V]{key, value})
}

// Merge puts all entries of m.
func (u *Map[K, V]) Merge(m map[K]V) {
	if len(m) == 0 {
		return
	}
	last := u.putting()
	last.pairs = slices.Grow(last.pairs, len(m))
	for k, v := range m {
		last.pairs = append(last.pairs, pair[K, V]{k, v})
	}
}

// Delete deletes the entries that have these keys, if there are any.
func (u *Map[K, V]) Delete(keys ...K) {
	switch last := u.newest(); {
	case len(keys) == 0:
	case last.op == opDelete:
		last.keys = append(last.keys, keys...)
	default:
		u.add(mapRun[K, V]{op: opDelete, keys: slices.Clone(keys)})
	}
}

// Replace makes the map a copy of m; of a nil m, one without entries.
func (u *Map[K, V]) Replace(m map[K]V) {
	*u = Map[K, V]{first: mapRun[K, V]{op: opReplace, pairs: make([]pair[K, V], 0, len(m))}}
	for k, v := range m {
		u.first.pairs = append(u.first.pairs, pair[K, V]{k, v})
	}
}

// IsZero reports whether u leaves the map as it is.
func (u *Map[K, V]) IsZero() bool { return u.first.op == opNone }

// String says what u does.
func (u Map[K, V]) String() string { return formatOps(u.IsZero(), u.first, u.more) }

func (run mapRun[K, V]) write(b *strings.Builder) {
	if run.op == opDelete {
		writeRun(b, opDelete, run.keys)
		return
	}
	fmt.Fprintf(b, "%s %+v", run.op, run.table())
}

// table returns the pairs as a map, which fmt prints in order of the keys.
func (run *mapRun[K, V]) table() map[K]V {
	m := make(map[K]V, len(run.pairs))
	for _, p := range run.pairs {
		m[p.key] = p.value
	}
	return m
}

func (u *Map[K, V]) newest() *mapRun[K, V] {
	if len(u.more) > 0 {
		return &u.more[len(u.more)-1]
	}
	return &u.first
}

// putting returns the newest run, which is one that puts.
func (u *Map[K, V]) putting() *mapRun[K, V] {
	if last := u.newest(); last.op == opPut || last.op == opReplace {
		return last
	}
	u.add(mapRun[K, V]{op: opPut})
	return u.newest()
}

func (u *Map[K, V]) add(run mapRun[K, V]) {
	if u.first.op == opNone {
		u.first = run
		return
	}
	u.more = append(u.more, run)
}

// rewrites reports whether nothing stays of what the map was.
func (u *Map[K, V]) rewrites() bool { return u.first.op == opReplace }
