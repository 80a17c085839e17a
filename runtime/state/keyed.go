package state

import "github.com/graphgen-go/graphgen/runtime/state/internal/rep"

// Keyed is the update of a list whose elements have keys. The zero Keyed leaves it as it is. Operations apply in the
// order in which they were called. What they are given is copied, one level deep. A Keyed is a value to be handed
// on: of two copies only one may be called again.
type Keyed[K comparable, T any] rep.Runs[rep.Elems[K, T]]

func (u *Keyed[K, T]) rep() *rep.Runs[rep.Elems[K, T]] { return (*rep.Runs[rep.Elems[K, T]])(u) }

// Upsert puts each of vals in the place of the element that has its key, or appends it if there is none.
func (u *Keyed[K, T]) Upsert(vals ...T) {
	if len(vals) > 0 {
		operand := u.rep().Call(rep.Upsert)
		operand.Vals = append(operand.Vals, vals...)
	}
}

// Remove removes the elements that have these keys, if there are any.
func (u *Keyed[K, T]) Remove(keys ...K) {
	if len(keys) > 0 {
		operand := u.rep().Call(rep.Delete)
		operand.Keys = append(operand.Keys, keys...)
	}
}

// Replace makes the list vals; of those with one key the last stays, at the place of the first. Without any it makes the
// list empty, but not nil.
func (u *Keyed[K, T]) Replace(vals ...T) { u.rep().Restart(rep.Replace).Vals = copied(vals) }

// Clear makes the list one that was never written.
func (u *Keyed[K, T]) Clear() { u.rep().Restart(rep.Clear) }

// IsZero reports whether u leaves the list as it is.
func (u *Keyed[K, T]) IsZero() bool { return u.rep().IsZero() }

// String says what u does.
func (u Keyed[K, T]) String() string {
	return formatRuns(u.rep(), func(run *rep.Run[rep.Elems[K, T]]) string {
		if run.Op == rep.Delete {
			return say(rep.Remove, run.Arg.Keys)
		}
		return say(run.Op, run.Arg.Vals)
	})
}
