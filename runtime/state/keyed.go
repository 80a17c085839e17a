package state

import "github.com/graphgen-go/graphgen/runtime/state/internal/rep"

// Keyed is the update of a list whose elements have keys. The zero Keyed leaves the list
// unchanged. Operations apply in the order of the calls. Methods copy their arguments, one level
// deep. After a Keyed is copied, only one of the copies may be changed.
type Keyed[K comparable, T any] rep.Runs[rep.Elems[K, T]]

// Upsert returns an update that upserts a copy of vals. Go cannot infer K, the type of the key, so
// write it out: state.Upsert[string](message).
func Upsert[K comparable, T any](vals ...T) Keyed[K, T] {
	var u Keyed[K, T]
	u.Upsert(vals...)
	return u
}

func (u *Keyed[K, T]) rep() *rep.Runs[rep.Elems[K, T]] { return (*rep.Runs[rep.Elems[K, T]])(u) }

// Upsert replaces the elements that have the keys of vals, and appends those of vals whose keys
// the list lacks.
func (u *Keyed[K, T]) Upsert(vals ...T) {
	if len(vals) > 0 {
		operand := u.rep().Call(rep.Upsert)
		operand.Vals = append(operand.Vals, vals...)
	}
}

// Remove removes the elements with these keys. It ignores keys that the list lacks.
func (u *Keyed[K, T]) Remove(keys ...K) {
	if len(keys) > 0 {
		operand := u.rep().Call(rep.Delete)
		operand.Keys = append(operand.Keys, keys...)
	}
}

// Replace sets the list to vals. If several of vals have one key, the last one is kept, at the
// place of the first. Without arguments the list becomes empty, but not nil. Replace discards
// earlier calls.
func (u *Keyed[K, T]) Replace(vals ...T) { u.rep().Restart(rep.Replace).Vals = copied(vals) }

// Clear makes the list nil and unset, as before its first write. Clear discards earlier calls.
func (u *Keyed[K, T]) Clear() { u.rep().Restart(rep.Clear) }

// IsZero reports whether u leaves the list unchanged.
func (u *Keyed[K, T]) IsZero() bool { return u.rep().IsZero() }

// String describes the operations of u.
func (u Keyed[K, T]) String() string {
	return formatRuns(u.rep(), func(run *rep.Run[rep.Elems[K, T]]) string {
		if run.Op == rep.Delete {
			return say(rep.Remove, run.Arg.Keys)
		}
		return say(run.Op, run.Arg.Vals)
	})
}
