package state

import (
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/state/internal/rep"
)

// List is the update of a list with the reducer append. The zero List leaves the list unchanged.
// Operations apply in the order of the calls. Methods copy their arguments, one level deep. After
// a List is copied, only one of the copies may be changed.
type List[T any] rep.Runs[[]T]

// Append returns an update that appends a copy of vals to a list.
func Append[T any](vals ...T) List[T] {
	var u List[T]
	u.Append(vals...)
	return u
}

func (u *List[T]) rep() *rep.Runs[[]T] { return (*rep.Runs[[]T])(u) }

// Append appends vals.
func (u *List[T]) Append(vals ...T) { call(u.rep(), rep.Append, vals) }

// Remove removes all elements that are equal to one of vals.
func (u *List[T]) Remove(vals ...T) { call(u.rep(), rep.Remove, vals) }

// Replace sets the list to vals. Without arguments the list becomes empty, but not nil. Replace
// discards earlier calls.
func (u *List[T]) Replace(vals ...T) { *u.rep().Restart(rep.Replace) = copied(vals) }

// Clear makes the list nil and unset, as before its first write. Clear discards earlier calls.
func (u *List[T]) Clear() { u.rep().Restart(rep.Clear) }

// IsZero reports whether u leaves the list unchanged.
func (u *List[T]) IsZero() bool { return u.rep().IsZero() }

// String describes the operations of u.
func (u List[T]) String() string { return formatVals(u.rep()) }

// Unique is the update of a list without duplicates, whose reducer is union. The zero Unique
// leaves the list unchanged. Operations apply in the order of the calls. Methods copy their
// arguments. After a Unique is copied, only one of the copies may be changed.
type Unique[T comparable] rep.Runs[[]T]

func (u *Unique[T]) rep() *rep.Runs[[]T] { return (*rep.Runs[[]T])(u) }

// Add appends those of vals that the list lacks.
func (u *Unique[T]) Add(vals ...T) { call(u.rep(), rep.Add, vals) }

// Remove removes vals from the list. It ignores those that the list lacks.
func (u *Unique[T]) Remove(vals ...T) { call(u.rep(), rep.Remove, vals) }

// Replace sets the list to vals without their duplicates. Without arguments the list becomes
// empty, but not nil. Replace discards earlier calls.
func (u *Unique[T]) Replace(vals ...T) { *u.rep().Restart(rep.Replace) = copied(vals) }

// Clear makes the list nil and unset, as before its first write. Clear discards earlier calls.
func (u *Unique[T]) Clear() { u.rep().Restart(rep.Clear) }

// IsZero reports whether u leaves the list unchanged.
func (u *Unique[T]) IsZero() bool { return u.rep().IsZero() }

// String describes the operations of u.
func (u Unique[T]) String() string { return formatVals(u.rep()) }

// call adds a copy of vals to the operand of op. Without vals it does nothing.
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

// formatRuns prints operations in order. operand prints an operation that has an operand.
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
