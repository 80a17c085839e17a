package rep

import "slices"

// Runs is an operation set with several operations, in the order in which they were called. Calls of one operation in a row
// are one run. It holds the first in itself, since there is rarely another. Arg is the type of a run's operand.
type Runs[Arg any] struct {
	first Run[Arg]
	more  []Run[Arg]
}

// Run is what calls of one operation in a row combine into.
type Run[Arg any] struct {
	Op  Op
	Arg Arg
}

// Elems is the operand of a run on a list whose elements have keys.
type Elems[K comparable, T any] struct {
	Vals []T
	Keys []K // of Delete
}

// Entries is the operand of a run on a map.
type Entries[K comparable, V any] struct {
	Pairs []Pair[K, V]
	Keys  []K // of Delete
}

// Pair is an entry of a map.
type Pair[K comparable, V any] struct {
	Key   K
	Value V
}

// Put adds all entries of m.
func (e *Entries[K, V]) Put(m map[K]V) {
	e.Pairs = slices.Grow(e.Pairs, len(m))
	for k, v := range m {
		e.Pairs = append(e.Pairs, Pair[K, V]{k, v})
	}
}

// Table returns the pairs as a map.
func (e *Entries[K, V]) Table() map[K]V {
	m := make(map[K]V, len(e.Pairs))
	for _, p := range e.Pairs {
		m[p.Key] = p.Value
	}
	return m
}

// Putting returns the operand of the last run, after adding one if the last run neither puts nor replaces.
func Putting[K comparable, V any](r *Runs[Entries[K, V]]) *Entries[K, V] {
	if r.Newest() == Replace {
		return r.Call(Replace)
	}
	return r.Call(Put)
}

// IsZero reports whether there is no operation.
func (r *Runs[Arg]) IsZero() bool { return r.first.Op == None }

// Rewrites reports whether nothing stays of what the list or map was.
func (r *Runs[Arg]) Rewrites() bool { return r.first.Op == Replace || r.first.Op == Clear }

// Len returns the number of runs.
func (r *Runs[Arg]) Len() int {
	if r.IsZero() {
		return 0
	}
	return 1 + len(r.more)
}

// At returns run i.
func (r *Runs[Arg]) At(i int) *Run[Arg] {
	if i == 0 {
		return &r.first
	}
	return &r.more[i-1]
}

// Newest returns the operation of the last run.
func (r *Runs[Arg]) Newest() Op { return r.At(max(r.Len(), 1) - 1).Op }

// Call returns the operand of the last run, after adding one if the last run is of another operation than op.
func (r *Runs[Arg]) Call(op Op) *Arg {
	switch r.Newest() {
	case op:
	case None:
		r.first.Op = op
	default:
		r.more = append(r.more, Run[Arg]{Op: op})
	}
	return &r.At(r.Len() - 1).Arg
}

// Restart makes op the only run, and returns its operand, which is the zero Arg.
func (r *Runs[Arg]) Restart(op Op) *Arg {
	*r = Runs[Arg]{first: Run[Arg]{Op: op}}
	return &r.first.Arg
}
