package vet

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// captured returns what a closure uses that the node must not keep; "" for nothing.
func (f *flow) captured(v ssa.Value) string {
	c, ok := v.(*ssa.MakeClosure)
	if !ok {
		return ""
	}
	fn := c.Fn.(*ssa.Function)
	inner := f.closure(fn)
	what := ""
	instructions(fn, func(i ssa.Instruction) {
		if u, ok := i.(*ssa.UnOp); ok && u.Op == token.MUL && what == "" {
			if _, captured := placeOf(u.X).root.(*ssa.Alloc); captured && placeOf(u.X).root.Parent() != fn {
				what = inner.kept(u, u)
			}
		}
	})
	for i, free := range fn.FreeVars {
		if _, pointer := free.Type().Underlying().(*types.Pointer); what == "" && !pointer {
			what = f.kept(c.Bindings[i], c)
		}
	}
	return what
}

// kept returns a description of v if a node must not keep it; "" otherwise. at uses v.
func (f *flow) kept(v ssa.Value, at ssa.Instruction) string {
	if isContext(v.Type()) {
		if f.isNodeContext(v, make(map[ssa.Value]bool)) {
			return "the context of the node"
		}
		return ""
	}
	const owner = ", which belongs to the run"
	switch v := v.(type) {
	case *ssa.MakeInterface:
		return f.kept(v.X, v)
	case *ssa.Call:
		if isAppend(&v.Call) && deepIf(v.Type()) != none {
			return f.kept(v.Call.Args[1], v)
		}
	case *ssa.Slice:
		if a, ok := v.X.(*ssa.Alloc); ok {
			return f.elements(a)
		}
	case *ssa.Alloc:
		if f.rootOf(v).contents(v, nil, at) == shared {
			return f.x.describe(f.held(v)) + owner
		}
		return ""
	}
	if f.of(v) == shared {
		return f.x.describe(v) + owner
	}
	return ""
}

// isAppend reports whether a call appends elements.
func isAppend(c *ssa.CallCommon) bool {
	b, ok := c.Value.(*ssa.Builtin)
	return ok && b.Name() == "append" && len(c.Args) > 1
}

// elements returns a description of an element of an array, such as that of variadic arguments,
// if a node must not keep it; "" otherwise.
func (f *flow) elements(a *ssa.Alloc) string {
	for _, w := range accesses(a) {
		if w.kind == writes {
			if what := f.rootOf(w.val).kept(w.val, w.at); what != "" {
				return what
			}
		}
	}
	return ""
}

// held returns the first value of the run that a variable holds.
func (f *flow) held(a *ssa.Alloc) ssa.Value {
	for _, w := range accesses(a) {
		if w.kind == writes && f.rootOf(w.val).of(w.val) == shared {
			return w.val
		}
	}
	return a
}

// origin returns the parameter that v, or the struct with v, is read from. The parameter is all
// that the variable holds, which a closure captures. Otherwise origin returns v.
func (f *flow) origin(v ssa.Value) ssa.Value {
	load, ok := v.(*ssa.UnOp)
	if !ok || load.Op != token.MUL {
		return v
	}
	a := placeOf(load.X).variable()
	if a == nil {
		return v
	}
	var param ssa.Value
	for _, w := range accesses(a) {
		if w.kind == reads {
			continue
		}
		if _, ok := w.val.(*ssa.Parameter); !ok || param != nil || len(w.path) > 0 {
			return v
		}
		param = w.val
	}
	if param == nil {
		return v
	}
	return param
}

// isNodeContext reports whether a context is the parameter of the node, or derived from it with
// its cancellation.
func (f *flow) isNodeContext(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return true // a context that is derived from itself: the other contexts of the variable decide
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.Parameter:
		return f.contexts[v]
	case *ssa.UnOp:
		a := placeOf(v.X).variable()
		if a == nil {
			return false
		}
		some := false
		for _, w := range accesses(a) {
			if w.kind == writes {
				if !f.rootOf(w.val).isNodeContext(w.val, seen) {
					return false
				}
				some = true
			}
		}
		return some
	case *ssa.FreeVar:
		b := binding(v)
		return b != nil && f.outer != nil && f.outer.isNodeContext(b, seen)
	case *ssa.Extract:
		return f.isNodeContext(v.Tuple, seen)
	case *ssa.Call:
		fn := callee(&v.Call)
		return (calls(fn, "context", "WithCancel", "WithTimeout", "WithDeadline", "WithValue", "WithCancelCause") ||
			calls(fn, groupPath, "WithContext")) && f.isNodeContext(v.Call.Args[0], seen)
	}
	return false
}

// outlives reports whether an address is that of memory that exists after the node has returned.
// That is a variable of the package, the receiver, or a variable around a closure.
func (f *flow) outlives(addr ssa.Value) bool { return f.outlivesValue(placeOf(addr).root) }

// outlivesValue is outlives for the value that is the root of an address.
func (f *flow) outlivesValue(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Global:
		return true
	case *ssa.Parameter:
		return f.rootOf(v).old[v]
	case *ssa.Field:
		return f.outlivesValue(v.X)
	case *ssa.FieldAddr:
		return f.outlives(v)
	case *ssa.UnOp:
		return v.Op == token.MUL && (f.outlives(v.X) || f.origin(v) != ssa.Value(v) && f.outlivesValue(f.origin(v)))
	case *ssa.Alloc:
		return f.rootOf(v).fn != v.Parent()
	case *ssa.FreeVar:
		return f.outer == nil
	}
	return false
}
