package state

import "github.com/graphgen-go/graphgen/runtime/state/internal/rep"

// Map is the update of a map with the reducer merge. The zero Map leaves the map unchanged.
// Operations apply in the order of the calls. Methods copy their arguments, one level deep. After
// a Map is copied, only one of the copies may be changed.
type Map[K comparable, V any] rep.Runs[rep.Entries[K, V]]

// Put returns an update that puts one entry into a map.
func Put[K comparable, V any](key K, value V) Map[K, V] {
	var u Map[K, V]
	u.Put(key, value)
	return u
}

// Merge returns an update that puts all entries of m into a map.
func Merge[K comparable, V any](m map[K]V) Map[K, V] {
	var u Map[K, V]
	u.Merge(m)
	return u
}

func (u *Map[K, V]) rep() *rep.Runs[rep.Entries[K, V]] { return (*rep.Runs[rep.Entries[K, V]])(u) }

// Put puts one entry and replaces an entry with the same key.
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

// Delete deletes the entries with these keys. It ignores keys that the map lacks.
func (u *Map[K, V]) Delete(keys ...K) {
	if len(keys) > 0 {
		operand := u.rep().Call(rep.Delete)
		operand.Keys = append(operand.Keys, keys...)
	}
}

// Replace sets the map to a copy of m. If m is nil, the map becomes empty, but not nil. Replace
// discards earlier calls.
func (u *Map[K, V]) Replace(m map[K]V) { u.rep().Restart(rep.Replace).Put(m) }

// Clear makes the map nil and unset, as before its first write. Clear discards earlier calls.
func (u *Map[K, V]) Clear() { u.rep().Restart(rep.Clear) }

// IsZero reports whether u leaves the map unchanged.
func (u *Map[K, V]) IsZero() bool { return u.rep().IsZero() }

// String describes the operations of u.
func (u Map[K, V]) String() string {
	return formatRuns(u.rep(), func(run *rep.Run[rep.Entries[K, V]]) string {
		if run.Op == rep.Delete {
			return say(run.Op, run.Arg.Keys)
		}
		return say(run.Op, run.Arg.Table())
	})
}
