package vet

import (
	"go/constant"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// reach says which memory behind a value belongs to the run.
type reach int8

const (
	none   reach = iota // no memory, as far as is known
	deep                // the memory that the value's own memory refers to
	shared              // all memory behind the value
)

// flow computes the reach of the values of one function, and of its closures by flows of their
// own. It prefers none: a value that may have been copied reaches nothing.
type flow struct {
	x      *index
	fn     *ssa.Function
	outer  *flow // of the function around a closure; nil for others
	params map[ssa.Value]reach
	given  map[ssa.Value]bool // the state and the payload of a node
	// contexts are the parameters that are the context of the node. old are those that lead
	// to memory that exists after the node has returned, such as the receiver.
	contexts, old map[ssa.Value]bool
	known         map[ssa.Value]reach
	order         []ssa.Value // of known, in which they were computed
	depth         int         // of calls

	copying map[*ssa.Alloc]bool // variables that fromState examines
}

// newFlow returns the flow of fn with the reach of its parameters.
func newFlow(x *index, fn *ssa.Function, args []reach, depth int) *flow {
	f := &flow{
		x: x, fn: fn, params: make(map[ssa.Value]reach), known: make(map[ssa.Value]reach), depth: depth,
		copying: make(map[*ssa.Alloc]bool), contexts: make(map[ssa.Value]bool), old: make(map[ssa.Value]bool),
	}
	for i, p := range fn.Params {
		if i < len(args) {
			f.params[p] = args[i]
		}
	}
	return f
}

// nodeFlow returns the flow of a node, whose state and payload belong to the run.
func (x *index) nodeFlow(n node) *flow {
	var args []reach
	for i, p := range n.fn.Params {
		if i == 0 && n.fn.Signature.Recv() != nil || isContext(p.Type()) || isError(p.Type()) {
			args = append(args, none)
			continue
		}
		args = append(args, shared)
	}
	f := newFlow(x, n.fn, args, 0)
	f.given = make(map[ssa.Value]bool)
	for i, p := range n.fn.Params {
		f.given[p] = args[i] == shared
		f.contexts[p] = isContext(p.Type())
		f.old[p] = i == 0 && n.fn.Signature.Recv() != nil
	}
	return f
}

// closure returns the flow of a closure of the function.
func (f *flow) closure(fn *ssa.Function) *flow {
	c := newFlow(f.x, fn, nil, f.depth)
	c.outer, c.copying = f, f.copying
	return c
}

// of returns the reach of v. In a cycle it assumes shared for the value that it computes. It drops
// all results that follow from a wrong assumption.
func (f *flow) of(v ssa.Value) reach {
	if r, ok := f.known[v]; ok {
		return r
	}
	if !references(v.Type()) {
		return none
	}
	f.known[v] = shared
	before := len(f.order)
	r := f.compute(v)
	if r != shared {
		for _, w := range f.order[before:] {
			delete(f.known, w)
		}
		f.order = f.order[:before]
	}
	f.known[v] = r
	f.order = append(f.order, v)
	return r
}

// compute returns what memory v reaches; of returns the same, from its notes.
func (f *flow) compute(v ssa.Value) reach {
	switch v := v.(type) {
	case *ssa.Parameter:
		return f.params[v]
	case *ssa.FreeVar:
		if f.outer != nil {
			if b := binding(v); b != nil {
				return f.outer.of(b)
			}
		}
	case *ssa.Alloc, *ssa.FieldAddr, *ssa.IndexAddr:
		return f.address(v)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return f.load(v.X, v)
		}
	case *ssa.Field:
		if untracked(v.X.Type(), v.Field) {
			return none
		}
		return f.of(v.X)
	case *ssa.Index:
		return f.of(v.X)
	case *ssa.Lookup:
		return f.inside(v.X)
	case *ssa.Extract:
		return f.extract(v)
	case *ssa.Slice:
		return f.of(v.X)
	case *ssa.ChangeType:
		return f.of(v.X)
	case *ssa.ChangeInterface:
		return f.of(v.X)
	case *ssa.MakeInterface:
		return f.of(v.X)
	case *ssa.TypeAssert:
		return f.of(v.X)
	case *ssa.Phi:
		return f.phi(v)
	case *ssa.Call:
		return f.call(v, 0)
	}
	return none
}

// inside returns the reach of an element of the memory of v.
func (f *flow) inside(v ssa.Value) reach {
	switch f.of(v) {
	case shared:
		return shared
	case deep:
		if !f.refilled(v, make(map[ssa.Value]bool)) {
			return shared
		}
	}
	return none
}

// extract is compute for one value of a tuple.
func (f *flow) extract(v *ssa.Extract) reach {
	switch t := v.Tuple.(type) {
	case *ssa.Next:
		if r, ok := t.Iter.(*ssa.Range); ok {
			return f.inside(r.X)
		}
	case *ssa.Lookup:
		return f.inside(t.X)
	case *ssa.TypeAssert:
		return f.of(t.X)
	case *ssa.Call:
		return f.call(t, v.Index)
	}
	return none
}

// phi returns the reach that all edges have, without those that replace a nil.
func (f *flow) phi(v *ssa.Phi) reach {
	r, some := none, false
	for _, e := range v.Edges {
		if e == ssa.Value(v) || isNil(e) || replacesNil(e) {
			continue
		}
		er := f.of(e)
		if some {
			er = min(er, r)
		}
		r, some = er, true
	}
	return r
}

// isNil reports whether v is a nil constant.
func isNil(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value == nil
}

// replacesNil reports whether v is a new map or slice that is made in a block that runs only if
// something was nil or empty.
func replacesNil(v ssa.Value) bool {
	var b *ssa.BasicBlock
	switch v := v.(type) {
	case *ssa.MakeMap:
		b = v.Block()
	case *ssa.MakeSlice:
		b = v.Block()
	default:
		return false
	}
	if len(b.Preds) != 1 {
		return false
	}
	last, ok := b.Preds[0].Instrs[len(b.Preds[0].Instrs)-1].(*ssa.If)
	if !ok {
		return false
	}
	cond, ok := last.Cond.(*ssa.BinOp)
	return ok && (isNil(cond.Y) || isNil(cond.X) || isZero(cond.Y)) && (cond.Op == token.EQL || cond.Op == token.NEQ)
}

// isZero reports whether v is the constant 0.
func isZero(v ssa.Value) bool {
	c, ok := v.(*ssa.Const)
	return ok && c.Value != nil && c.Value.Kind() == constant.Int && constant.Sign(c.Value) == 0
}

// call returns the reach of a result of a call.
func (f *flow) call(c *ssa.Call, result int) reach {
	args := c.Call.Args
	if b, ok := c.Call.Value.(*ssa.Builtin); ok {
		if b.Name() != "append" {
			return none
		}
		switch {
		case f.of(args[0]) != none:
			return deepIf(c.Type())
		case isFresh(args[0]) && len(args) > 1 && f.of(args[1]) != none:
			return deepIf(c.Type())
		}
		return none
	}
	fn := callee(&c.Call)
	switch {
	case calls(fn, "slices", "Clone"), calls(fn, "maps", "Clone"):
		if f.of(args[0]) != none {
			return deepIf(c.Type())
		}
		return none
	case calls(fn, "slices", "Clip"):
		return f.of(args[0])
	case calls(fn, "slices", "Grow"):
		if f.of(args[0]) == shared && !f.clipped(args[0]) {
			return shared
		}
		return min(f.of(args[0]), deepIf(c.Type()))
	}
	if s := f.summary(&c.Call); s != nil && result < len(s.results) {
		return s.results[result]
	}
	return none
}

// isFresh reports whether v is an empty list.
func isFresh(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Slice:
		_, ok := v.X.(*ssa.Alloc)
		return ok
	case *ssa.MakeSlice:
		return true
	case *ssa.ChangeType:
		return isFresh(v.X)
	}
	return isNil(v)
}

// deepIf returns the reach of a shallow copy of a slice or map: deep if its elements refer to more
// memory.
func deepIf(t types.Type) reach {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		if references(u.Elem()) {
			return deep
		}
	case *types.Map:
		if references(u.Elem()) || references(u.Key()) {
			return deep
		}
	}
	return none
}

// refilled reports whether the function stores values of its own into the memory of v, which is a
// shallow copy. Then the elements of v may be copies too.
func (f *flow) refilled(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] || v.Referrers() == nil {
		return false
	}
	seen[v] = true
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.MapUpdate:
			if i.Map == v && references(i.Value.Type()) && f.of(i.Value) == none {
				return true
			}
		case *ssa.Store:
			if i.Addr == v && references(i.Val.Type()) && !isNil(i.Val) && f.of(i.Val) == none {
				return true
			}
		case *ssa.IndexAddr, *ssa.FieldAddr, *ssa.Phi, *ssa.Slice, *ssa.ChangeType:
			if f.refilled(i.(ssa.Value), seen) {
				return true
			}
		}
	}
	return false
}

// binding returns what a closure captures as v; nil if there are several closures or none.
func binding(v *ssa.FreeVar) ssa.Value {
	fn := v.Parent()
	var found ssa.Value
	for n, free := range fn.FreeVars {
		if free != v || fn.Parent() == nil {
			continue
		}
		instructions(fn.Parent(), func(i ssa.Instruction) {
			if c, ok := i.(*ssa.MakeClosure); ok && c.Fn == ssa.Value(fn) {
				found = c.Bindings[n]
			}
		})
	}
	return found
}
