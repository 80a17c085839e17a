package vet

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

const copyDoc = `report changes of copies of the state that nobody reads

A node gets a copy of the state, and a struct in a variable of the node is a copy too. A change of
the copy is lost if nothing reads it:

	func price(ctx context.Context, s State) (StateUpdate, error) {
		o := s.Order
		o.Total = 3       // wrong: nobody reads o
		s.Status = "done" // wrong: nobody reads s.Status
		return StateUpdate{}, nil
	}

Set the field of the update:

	func price(ctx context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		o := s.Order
		o.Total = 3
		u.Order.Set(o)
		u.Status.Set("done")
		return u, nil
	}

The analyzer reports an assignment to a field, and a call of a method without results whose name
begins with Set. It does not report variables whose address is used in another way.`

// newCopy returns the analyzer of changed copies.
func newCopy(indexer *analysis.Analyzer) *analysis.Analyzer {
	return analyzer("graphcopy", copyDoc, indexer, func(pass *analysis.Pass, x *index) {
		for _, n := range x.nodes {
			reportCopies(pass, x.nodeFlow(n))
		}
	})
}

// reportCopies reports the changed copies of a node and of its closures.
func reportCopies(pass *analysis.Pass, f *flow) {
	instructions(f.fn, func(i ssa.Instruction) {
		a, ok := i.(*ssa.Alloc)
		if !ok || !isStruct(a) {
			return
		}
		uses := accesses(a)
		if !f.copies(uses) {
			return
		}
		for _, w := range uses {
			if changes(w) && !isRead(a, uses, w) {
				pass.Report(analysis.Diagnostic{
					Pos: w.at.Pos(),
					Message: f.x.describe(a) + " is a copy of state, and nothing reads this change of it; " +
						"set the field of the update",
				})
			}
		}
	})
	for _, fn := range f.fn.AnonFuncs {
		if !isNodeSignature(fn.Signature) {
			reportCopies(pass, f.closure(fn))
		}
	}
}

// isStruct reports whether a variable is a struct that is no update.
func isStruct(a *ssa.Alloc) bool {
	t := a.Type().Underlying().(*types.Pointer).Elem()
	_, ok := t.Underlying().(*types.Struct)
	return ok && !isUpdate(t) && !isOperations(t)
}

// copies reports whether a variable gets its value from the state only.
func (f *flow) copies(uses []access) bool {
	some := false
	for _, a := range uses {
		if a.kind == escapes && !setter(a) {
			return false
		}
		if a.kind == writes && len(a.path) == 0 {
			if !f.fromState(a.val) {
				return false
			}
			some = true
		}
	}
	return some
}

// fromState reports whether a value was read from a state, a payload or a value in one.
func (f *flow) fromState(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Parameter:
		return v.Parent() == f.fn && f.isGiven(v)
	case *ssa.UnOp:
		p := placeOf(v.X)
		if a := p.variable(); a != nil {
			if f.copying[a] { // a copies from itself
				return true
			}
			f.copying[a] = true
			defer delete(f.copying, a)
			return len(p.path) > 0 && f.rootOf(a).copies(accesses(a))
		}
		return f.fromState(p.root)
	case *ssa.Field:
		return f.fromState(v.X)
	case *ssa.Index:
		return f.fromState(v.X)
	case *ssa.Lookup:
		return f.fromState(v.X)
	case *ssa.Extract:
		switch t := v.Tuple.(type) {
		case *ssa.Lookup:
			return f.fromState(t.X)
		case *ssa.Next:
			r, ok := t.Iter.(*ssa.Range)
			return ok && f.fromState(r.X)
		}
	}
	return false
}

// isGiven reports whether a parameter of a node is its state or its payload.
func (f *flow) isGiven(p *ssa.Parameter) bool {
	_, pointer := p.Type().Underlying().(*types.Pointer)
	return f.given[p] && !pointer
}

// changes reports whether a use of a copy changes it, and does nothing else.
func changes(a access) bool {
	return a.kind == writes && len(a.path) > 0 || setter(a)
}

// setter reports whether a use is a call of a method without results that sets a field.
func setter(a access) bool {
	if a.kind != escapes || a.call == nil || !a.recv {
		return false
	}
	if _, ok := a.at.(*ssa.Call); !ok {
		return false
	}
	f := callee(a.call)
	return f != nil && receiver(f) != "" && strings.HasPrefix(f.Name(), "Set") && f.Signature().Results().Len() == 0
}

// isRead reports whether some use of a variable can read what w wrote.
func isRead(v *ssa.Alloc, uses []access, w access) bool {
	replaced := func(i ssa.Instruction) bool {
		s, ok := i.(*ssa.Store)
		return ok && s.Addr == ssa.Value(v)
	}
	for _, a := range uses {
		if a.kind == writes || a.at == w.at && !setter(w) {
			continue
		}
		if a.at == w.at && !reaches(w.at, w.at, replaced) {
			continue
		}
		if setter(a) && a.at != w.at && !overlaps(a.path, w.path) {
			continue
		}
		if a.kind == escapes && setter(a) {
			continue // it sets, and its result is read by others or by nobody
		}
		if overlaps(a.path, w.path) && reaches(w.at, a.at, replaced) {
			return true
		}
	}
	return false
}
