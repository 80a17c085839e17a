package state

import (
	"fmt"
	"slices"
	"strings"
)

// List is the update of a list that is appended to. The zero List leaves it as it is. Operations apply in the order
// in which they were called. What they are given is copied, one level deep. A List is a value to be handed on: of
// two copies only one may be called again.
type List[T any] struct {
	first run[T]
	more  []run[T]
}

// run is what several calls of one operation came to.
type run[T any] struct {
	op   op
	vals []T
}

// op is an operation of an update, as it is written in pending writes.
type op int

const (
	opNone op = iota
	opSet
	opAppend
	opRemove
	opReplace
	opClear
	opPut
	opDelete
	opUpsert
	opAdd
	opOffer
	opOr
	opAnd
	opReduce
)

func (o op) String() string {
	return [...]string{"", "set", "append", "remove", "replace", "clear", "put", "delete", "upsert", "add", "offer", "or", "and", "reduce"}[o]
}

// Append returns the update that appends vals to a list, which are copied.
func Append[T any](vals ...T) List[T] {
	var u List[T]
	u.Append(vals...)
	return u
}

// Append appends vals.
func (u *List[T]) Append(vals ...T) {
	if len(vals) > 0 {
		u.add(opAppend, vals)
	}
}

// Remove removes the elements that are equal to one of vals, if there are any.
func (u *List[T]) Remove(vals ...T) {
	if len(vals) > 0 {
		u.add(opRemove, vals)
	}
}

// Replace makes the list vals. Without any it makes the list empty, but not nil.
func (u *List[T]) Replace(vals ...T) {
	*u = List[T]{first: run[T]{op: opReplace, vals: append(make([]T, 0, len(vals)), vals...)}}
}

// Clear makes the list one that was never written.
func (u *List[T]) Clear() { *u = List[T]{first: run[T]{op: opClear}} }

// IsZero reports whether u leaves the list as it is.
func (u *List[T]) IsZero() bool { return u.first.op == opNone }

// String says what u does.
func (u List[T]) String() string { return formatRuns(u.first, u.more) }

// add adds an operation, to the newest run if that is of the same one.
func (u *List[T]) add(o op, vals []T) {
	last := &u.first
	if len(u.more) > 0 {
		last = &u.more[len(u.more)-1]
	}
	switch last.op {
	case o:
		last.vals = append(last.vals, vals...)
	case opNone:
		*last = run[T]{o, slices.Clone(vals)}
	default:
		u.more = append(u.more, run[T]{o, slices.Clone(vals)})
	}
}

// rewrites reports whether nothing stays of what the list was.
func (u *List[T]) rewrites() bool { return u.first.op == opReplace || u.first.op == opClear }

// Unique is the update of a list in which nothing stands twice. The zero Unique leaves it as it is. Operations apply in
// the order in which they were called. What they are given is copied.
type Unique[T comparable] struct {
	first run[T]
	more  []run[T]
}

// Add appends those of vals that are not in the list yet.
func (u *Unique[T]) Add(vals ...T) {
	if len(vals) > 0 {
		(*List[T])(u).add(opAdd, vals)
	}
}

// Remove removes vals, if they are there.
func (u *Unique[T]) Remove(vals ...T) {
	if len(vals) > 0 {
		(*List[T])(u).add(opRemove, vals)
	}
}

// IsZero reports whether u leaves the list as it is.
func (u *Unique[T]) IsZero() bool { return u.first.op == opNone }

// String says what u does.
func (u Unique[T]) String() string { return formatRuns(u.first, u.more) }

func formatRuns[T any](first run[T], more []run[T]) string {
	if first.op == opNone {
		return ""
	}
	var b strings.Builder
	writeRun(&b, first.op, first.vals)
	for _, run := range more {
		b.WriteString("; ")
		writeRun(&b, run.op, run.vals)
	}
	return b.String()
}

func writeRun[T any](b *strings.Builder, o op, vals []T) {
	b.WriteString(o.String())
	if o != opClear {
		fmt.Fprintf(b, " %+v", vals)
	}
}
