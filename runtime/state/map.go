package state

import "github.com/graphgen-go/graphgen/runtime/state/internal/rep"

// Map is the update of a map that is merged. The zero Map leaves it as it is. Operations apply in the order in which
// they were called. What they are given is copied, one level deep. A Map is a value to be handed on: of two copies
// only one may be called again.
type Map[K comparable, V any] rep.Runs[rep.Entries[K, V]]

// Put returns the update that puts one entry into a map.
func Put[K comparable, V any](key K, value V) Map[K, V] {
	var u Map[K, V]
	u.Put(key, value)
	return u
}

func (u *Map[K, V]) rep() *rep.Runs[rep.Entries[K, V]] { return (*rep.Runs[rep.Entries[K, V]])(u) }

// Put puts one entry, in the place of one with the same key.
func (u *Map[K, V]) Put(key K, value V) {
	operand := rep.Putting(u.rep())
	operand.Pairs = append(operand.Pairs, rep.Pair[K, V]{Key: key, Value: value})
}

// Merge puts all entries of m.
func (u *Map[K, V]) Merge(m map[K]V) {
	if len(m) > 0 {
		rep.Putting(u.rep()).Put(m)
	}
}

// Delete deletes the entries that have these keys, if there are any.
func (u *Map[K, V]) Delete(keys ...K) {
	if len(keys) > 0 {
		operand := u.rep().Call(rep.Delete)
		operand.Keys = append(operand.Keys, keys...)
	}
}

// Replace makes the map a copy of m; of a nil m, one without entries.
func (u *Map[K, V]) Replace(m map[K]V) { u.rep().Restart(rep.Replace).Put(m) }

// IsZero reports whether u leaves the map as it is.
func (u *Map[K, V]) IsZero() bool { return u.rep().IsZero() }

// String says what u does.
func (u Map[K, V]) String() string {
	return formatRuns(u.rep(), func(run *rep.Run[rep.Entries[K, V]]) string {
		if run.Op == rep.Delete {
			return say(run.Op, run.Arg.Keys)
		}
		return say(run.Op, run.Arg.Table())
	})
}
