package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

const updateDoc = `report updates that are built and not returned

A node changes the state by the update that it returns. An operation on another update is lost:

	func classify(ctx context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		u.Status.Set("refund") // wrong: nobody returns u
		note(u)                // wrong: note changes a copy
		return StateUpdate{}, nil
	}

	func note(u StateUpdate) { u.Log.Append("classified") }

Return the update, and give functions its address:

	func classify(ctx context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		u.Status.Set("refund")
		note(&u)
		return u, nil
	}

	func note(u *StateUpdate) { u.Log.Append("classified") }

The analyzer also reports operations on a copy of a field of an update, and calls in nodes whose
result is an update that is dropped. It reports no operation before a return of an error: a run
drops such an update unless the node has KeepUpdateOnError.`

// newUpdate returns the analyzer of lost updates.
func newUpdate(indexer *analysis.Analyzer) *analysis.Analyzer {
	return analyzer("graphupdate", updateDoc, indexer, func(pass *analysis.Pass, x *index) {
		for _, fn := range x.funcs {
			instructions(fn, func(i ssa.Instruction) {
				if a, ok := i.(*ssa.Alloc); ok {
					reportLost(pass, x, fn, a)
				}
			})
		}
		for _, n := range x.nodes {
			instructions(n.fn, func(i ssa.Instruction) {
				if c, ok := i.(*ssa.Call); ok && dropsUpdate(n.fn, c) {
					pass.Report(analysis.Diagnostic{Pos: c.Pos(), Message: "this call returns an update, and nobody uses it; return it from the node"})
				}
			})
		}
	})
}

// dropsUpdate reports whether a call in a node returns an update that nothing uses. If it also
// returns an error, for which a node may call it, the update must be one that the node can
// return.
func dropsUpdate(fn *ssa.Function, c *ssa.Call) bool {
	if isUpdate(c.Type()) {
		return len(*c.Referrers()) == 0
	}
	results, ok := c.Type().(*types.Tuple)
	if !ok {
		return false
	}
	update := -1
	for n := range results.Len() {
		if t := results.At(n).Type(); isUpdate(t) && returns(fn, t) {
			update = n
		}
	}
	for _, i := range *c.Referrers() {
		if e, ok := i.(*ssa.Extract); !ok || e.Index == update && len(*e.Referrers()) > 0 {
			return false
		}
	}
	return update >= 0
}

// reportLost reports the first operation on a variable that nothing reads afterwards.
func reportLost(pass *analysis.Pass, x *index, fn *ssa.Function, v *ssa.Alloc) {
	t := v.Type().Underlying().(*types.Pointer).Elem()
	update := isUpdate(t)
	if !update && !isOperations(t) {
		return
	}
	uses := accesses(v)
	copied := isCopy(uses)
	if !copied && !(update && returns(fn, t)) {
		return
	}
	for _, a := range uses {
		if a.kind == escapes && operation(a) == nil && !asks(a) || a.at.Parent() != fn && !neverRead(uses) {
			return
		}
	}
	for _, a := range uses {
		if !(operation(a) != nil || update && a.kind == writes && len(a.path) > 0) || used(v, uses, a) {
			continue
		}
		if returned := lostAt(v, a.at); returned != nil {
			report(pass, x.describe(v), v, a, copied, returned)
			return
		}
	}
}

// neverRead reports whether no function reads a variable.
func neverRead(uses []access) bool {
	return !slices.ContainsFunc(uses, func(a access) bool { return a.kind == reads || asks(a) })
}

// report reports the operation a on v, which the source calls name.
func report(pass *analysis.Pass, name string, v *ssa.Alloc, a access, copied bool, at *ssa.Return) {
	d := analysis.Diagnostic{Pos: a.at.Pos()}
	switch {
	case copied:
		d.Message = name + " is a copy, and nothing reads this operation on it; use a pointer to the update, or return " + name
	case !isLiteral(v):
		d.Message = "nothing returns this operation on " + name + "; return " + name + " instead of another update"
		d.SuggestedFixes = returnFix(pass, v, at)
	case name == "it":
		d.Message = "nothing returns this operation on a new update; return that update"
	default:
		d.Message = "nothing returns this operation on " + name + "; return *" + name + " instead of another update"
	}
	pass.Report(d)
}

// operation returns the method by which a use changes an update; nil if it does not.
func operation(a access) *types.Func {
	if a.kind != escapes || a.call == nil {
		return nil
	}
	f := callee(a.call)
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != statePath || receiver(f) == "" || f.Signature().Results().Len() > 0 {
		return nil
	}
	return f
}

// asks reports whether a use calls a method of an update or of a field that only reads it.
func asks(a access) bool {
	if a.call == nil {
		return false
	}
	f := callee(a.call)
	return f != nil && (f.Name() == "IsZero" || f.Name() == "String") && receiver(f) != ""
}

// isCopy reports whether a variable holds a parameter, or a field of an update.
func isCopy(uses []access) bool {
	for _, a := range uses {
		if a.kind != writes || len(a.path) > 0 {
			continue
		}
		switch v := a.val.(type) {
		case *ssa.Parameter:
			return true
		case *ssa.UnOp:
			f, ok := v.X.(*ssa.FieldAddr)
			return ok && isUpdate(f.X.Type().Underlying().(*types.Pointer).Elem())
		}
	}
	return false
}

// returns reports whether t is a result of the function.
func returns(fn *ssa.Function, t types.Type) bool {
	for v := range fn.Signature.Results().Variables() {
		if types.Identical(v.Type(), t) {
			return true
		}
	}
	return false
}

// used reports whether something can read the update after the operation a.
func used(v *ssa.Alloc, uses []access, a access) bool {
	for _, b := range uses {
		if (b.kind == reads || asks(b)) && overlaps(a.path, b.path) && reaches(a.at, b.at, replaces(v)) {
			return true
		}
	}
	return false
}

// replaces returns a function that reports whether an instruction replaces the whole variable.
func replaces(v *ssa.Alloc) func(ssa.Instruction) bool {
	return func(i ssa.Instruction) bool {
		s, ok := i.(*ssa.Store)
		return ok && s.Addr == ssa.Value(v)
	}
}

// lostAt returns a return without an error that can follow the operation at; nil if there is none.
func lostAt(v *ssa.Alloc, at ssa.Instruction) *ssa.Return {
	for _, b := range v.Parent().Blocks {
		r, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return)
		if !ok || !reaches(at, r, nil) {
			continue
		}
		n := len(r.Results)
		if n == 0 || !isError(r.Results[n-1].Type()) || isNil(r.Results[n-1]) {
			return r
		}
	}
	return nil
}

// returnFix replaces an empty update that is returned with v.
func returnFix(pass *analysis.Pass, v *ssa.Alloc, at *ssa.Return) []analysis.SuggestedFix {
	for _, n := range pathAt(pass, at.Pos()) {
		r, ok := n.(*ast.ReturnStmt)
		if !ok || len(r.Results) == 0 {
			continue
		}
		lit, ok := r.Results[0].(*ast.CompositeLit)
		if !ok || len(lit.Elts) > 0 || !visible(pass, v.Comment, v.Pos(), r.Pos()) {
			return nil
		}
		return []analysis.SuggestedFix{{
			Message:   "Return " + v.Comment,
			TextEdits: []analysis.TextEdit{{Pos: lit.Pos(), End: lit.End(), NewText: []byte(v.Comment)}},
		}}
	}
	return nil
}

// visible reports whether name means, at a position, the variable that is declared at decl.
func visible(pass *analysis.Pass, name string, decl, at token.Pos) bool {
	scope := pass.Pkg.Scope().Innermost(at)
	if scope == nil {
		return false
	}
	_, obj := scope.LookupParent(name, at)
	return obj != nil && obj.Pos() == decl
}
