package rep

import "slices"

// Runs is an operation set with several operations, in the order of the calls. Consecutive calls
// of one operation form one run. Runs holds the first run in itself, because there is rarely
// another. Arg is the type of a run's operand.
type Runs[Arg any] struct {
	first Run[Arg]
	more  []Run[Arg]
}

// Run combines consecutive calls of one operation.
type Run[Arg any] struct {
	Op  Op
	Arg Arg
}

// Elems is the operand of a run on a list whose elements have keys.
type Elems[K comparable, T any] struct {
	Vals []T
	Keys []K // the operand of Delete
}

// Entries is the operand of a run on a map.
type Entries[K comparable, V any] struct {
	Pairs []Pair[K, V]
	Keys  []K // the operand of Delete
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

// Putting returns the operand of the last run. If the last run neither puts nor replaces, Putting
// first adds a run that puts.
func Putting[K comparable, V any](r *Runs[Entries[K, V]]) *Entries[K, V] {
	if r.Newest() == Replace {
		return r.Call(Replace)
	}
	return r.Call(Put)
}

// IsZero reports whether r has no operations.
func (r *Runs[Arg]) IsZero() bool { return r.first.Op == None }

// Rewrites reports whether r discards the old value of the list or map.
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

// Call returns the operand of the last run. If the last run has another operation than op, Call
// first adds a run of op.
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

// Restart makes op the only run and returns its operand, the zero Arg.
func (r *Runs[Arg]) Restart(op Op) *Arg {
	*r = Runs[Arg]{first: Run[Arg]{Op: op}}
	return &r.first.Arg
}
