package vet

import (
	"go/token"

	"golang.org/x/tools/go/ssa"
)

// changes reports whether a write through v at an instruction changes memory of the run.
func (f *flow) changes(v ssa.Value, at ssa.Instruction) bool {
	return f.of(v) == shared || f.copiedInBranch(v, at)
}

// copiedInBranch reports whether v is a copy only if the branch before at is taken:
//
//	steps := s.Plan.Steps
//	if s.Status == "new" {
//		steps = slices.Clone(steps)
//	}
//	steps[0] = "x"
//
// It knows branches that compare values and choose fields, because other conditions can say that
// the memory needs no copy.
func (f *flow) copiedInBranch(v ssa.Value, at ssa.Instruction) bool {
	switch v := v.(type) {
	case *ssa.Phi:
		if len(v.Edges) != 2 || v.Block() != at.Block() {
			return false
		}
		for n, e := range v.Edges {
			if isNewMemory(e) && f.of(v.Edges[1-n]) == shared && !isNil(v.Edges[1-n]) && e.(ssa.Instruction).Block() == v.Block().Preds[n] {
				return isBranch(e.(ssa.Instruction), at.Block())
			}
		}
	case *ssa.UnOp:
		if v.Op == token.MUL && v.Block() == at.Block() {
			return f.storedInBranch(v)
		}
	}
	return false
}

// storedInBranch is copiedInBranch for a load of a variable or of a part of it.
func (f *flow) storedInBranch(load *ssa.UnOp) bool {
	p := placeOf(load.X)
	a := p.variable()
	if a == nil || a.Parent() != load.Parent() {
		return false
	}
	var copied ssa.Instruction
	before := false
	for _, w := range accesses(a) {
		switch {
		case w.kind == reads || !overlaps(w.path, p.path):
		case w.kind == escapes || w.at.Parent() != load.Parent():
			return false
		case isNewMemory(w.val) && len(w.path) == len(p.path) && copied == nil:
			copied = w.at
		case f.of(w.val) == shared && len(w.path) <= len(p.path):
			before = true
		default:
			return false
		}
	}
	return copied != nil && before && isBranch(copied, load.Block())
}

// isNewMemory reports whether a value is a copy, or new memory.
func isNewMemory(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.MakeMap, *ssa.MakeSlice, *ssa.Alloc:
		return true
	case *ssa.Call:
		return calls(callee(&v.Call), "slices", "Clone") || calls(callee(&v.Call), "maps", "Clone") ||
			isAppend(&v.Call) && isFresh(v.Call.Args[0])
	}
	return false
}

// isBranch reports whether an instruction is in a branch without an alternative that leads to the
// block after, and that runs once.
func isBranch(i ssa.Instruction, after *ssa.BasicBlock) bool {
	b := i.Block()
	if len(b.Preds) != 1 || len(b.Succs) != 1 || b.Succs[0] != after || inLoop(i) {
		return false
	}
	before := b.Preds[0]
	cond, ok := before.Instrs[len(before.Instrs)-1].(*ssa.If)
	return ok && (before.Succs[0] == after || before.Succs[1] == after) && len(after.Preds) == 2 && compares(cond.Cond)
}

// compares reports whether a condition is a field, or a comparison of fields, parameters and
// constants. A comparison with nil and with zero does not count.
func compares(v ssa.Value) bool {
	b, ok := v.(*ssa.BinOp)
	if !ok {
		return isField(v)
	}
	for _, side := range []ssa.Value{b.X, b.Y} {
		if c, constant := side.(*ssa.Const); constant && !isNil(c) && !isZero(c) {
			continue
		}
		if !isField(side) {
			return false
		}
	}
	return true
}

// isField reports whether a value is a parameter or a field.
func isField(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Field, *ssa.Parameter:
		return true
	case *ssa.UnOp:
		_, ok := v.X.(*ssa.FieldAddr)
		return ok && v.Op == token.MUL
	}
	return false
}
