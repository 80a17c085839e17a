package state

import (
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
)

// List is the update of a list that is appended to. The zero List leaves it as it is. Operations apply in the order
// in which they were called. What they are given is copied, one level deep. A List is a value to be handed on: of
// two copies only one may be called again.
type List[T any] rep.Runs[[]T]

// Append returns the update that appends vals to a list, which are copied.
func Append[T any](vals ...T) List[T] {
	var u List[T]
	u.Append(vals...)
	return u
}

func (u *List[T]) rep() *rep.Runs[[]T] { return (*rep.Runs[[]T])(u) }

// Append appends vals.
func (u *List[T]) Append(vals ...T) { call(u.rep(), rep.Append, vals) }

// Remove removes the elements that are equal to one of vals, if there are any.
func (u *List[T]) Remove(vals ...T) { call(u.rep(), rep.Remove, vals) }

// Replace makes the list vals. Without any it makes the list empty, but not nil.
func (u *List[T]) Replace(vals ...T) { *u.rep().Restart(rep.Replace) = copied(vals) }

// Clear makes the list one that was never written.
func (u *List[T]) Clear() { u.rep().Restart(rep.Clear) }

// IsZero reports whether u leaves the list as it is.
func (u *List[T]) IsZero() bool { return u.rep().IsZero() }

// String says what u does.
func (u List[T]) String() string { return formatVals(u.rep()) }

// Unique is the update of a list in which nothing stands twice. The zero Unique leaves it as it is. Operations apply in
// the order in which they were called. What they are given is copied.
type Unique[T comparable] rep.Runs[[]T]

func (u *Unique[T]) rep() *rep.Runs[[]T] { return (*rep.Runs[[]T])(u) }

// Add appends those of vals that are not in the list yet.
func (u *Unique[T]) Add(vals ...T) { call(u.rep(), rep.Add, vals) }

// Remove removes vals, if they are there.
func (u *Unique[T]) Remove(vals ...T) { call(u.rep(), rep.Remove, vals) }

// IsZero reports whether u leaves the list as it is.
func (u *Unique[T]) IsZero() bool { return u.rep().IsZero() }

// String says what u does.
func (u Unique[T]) String() string { return formatVals(u.rep()) }

// call adds vals to the operand of an operation, which copies them. Without any it is no call.
func call[T any](u *rep.Runs[[]T], op rep.Op, vals []T) {
	if len(vals) > 0 {
		operand := u.Call(op)
		*operand = append(*operand, vals...)
	}
}

// copied returns a copy of vals that is not nil.
func copied[T any](vals []T) []T { return append(make([]T, 0, len(vals)), vals...) }

func formatVals[T any](u *rep.Runs[[]T]) string {
	return formatRuns(u, func(run *rep.Run[[]T]) string { return say(run.Op, run.Arg) })
}

// formatRuns prints operations in order; operand prints one that has an operand.
func formatRuns[Arg any](u *rep.Runs[Arg], operand func(run *rep.Run[Arg]) string) string {
	return join(u.Len(), func(i int) string {
		if run := u.At(i); run.Op != rep.Clear {
			return operand(run)
		}
		return fmt.Sprint(rep.Clear)
	})
}

// join prints n parts.
func join(n int, part func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(part(i))
	}
	return b.String()
}
