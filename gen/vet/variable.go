package vet

import (
	"slices"

	"golang.org/x/tools/go/ssa"
)

// element is the part of a path that stands for any element of an array.
const element = -1

// place is an address as a path of fields from a root: a variable, or a pointer, slice or map.
type place struct {
	root ssa.Value
	path []int
}

// placeOf returns the place that an address names. The root of an address of a variable is its
// Alloc, also in a closure that captures the variable.
func placeOf(addr ssa.Value) place {
	var p place
	for {
		switch a := addr.(type) {
		case *ssa.FieldAddr:
			p.path = append(p.path, a.Field)
			addr = a.X
			continue
		case *ssa.IndexAddr:
			p.path = append(p.path, element)
			addr = a.X
			if isSlice(a.X.Type()) {
				p.root = a.X
				slices.Reverse(p.path)
				return p
			}
			continue
		case *ssa.FreeVar:
			if b := binding(a); b != nil {
				addr = b
				continue
			}
		}
		p.root = addr
		slices.Reverse(p.path)
		return p
	}
}

// variable returns the Alloc of the place, and nil if it is not part of a variable.
func (p place) variable() *ssa.Alloc {
	a, _ := p.root.(*ssa.Alloc)
	return a
}

// overlaps reports whether one of two paths leads into the other.
func overlaps(a, b []int) bool {
	n := min(len(a), len(b))
	return slices.Equal(a[:n], b[:n])
}

// accessKind is what an instruction does with a variable.
type accessKind int

const (
	reads accessKind = iota
	writes
	escapes // its address leaves the function
)

// access is one use of a variable, or of a part of it.
type access struct {
	at   ssa.Instruction
	path []int
	kind accessKind
	val  ssa.Value // writes: the value
	call *ssa.CallCommon
	recv bool // the address is the receiver, or the first argument, of the call
}

// accesses returns all uses of a variable, also those by closures.
func accesses(a *ssa.Alloc) []access { return usesOf(a, nil, nil) }

// usesOf appends the uses of an address to list.
func usesOf(addr ssa.Value, path []int, list []access) []access {
	for _, i := range *addr.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.UnOp:
			list = append(list, access{at: i, path: path, kind: reads})
		case *ssa.Store:
			if i.Addr == addr {
				list = append(list, access{at: i, path: path, kind: writes, val: i.Val})
			} else {
				list = append(list, access{at: i, path: path, kind: escapes})
			}
		case *ssa.FieldAddr:
			list = usesOf(i, append(slices.Clip(path), i.Field), list)
		case *ssa.IndexAddr:
			list = usesOf(i, append(slices.Clip(path), element), list)
		case *ssa.MakeClosure:
			list = captured(i, addr, path, list)
		case ssa.CallInstruction:
			args := i.Common().Args
			list = append(list, access{at: i, path: path, kind: escapes, call: i.Common(), recv: len(args) > 0 && args[0] == addr})
		default:
			list = append(list, access{at: i, path: path, kind: escapes})
		}
	}
	return list
}

// captured appends the uses of an address by a closure.
func captured(c *ssa.MakeClosure, addr ssa.Value, path []int, list []access) []access {
	fn, _ := c.Fn.(*ssa.Function)
	for i, b := range c.Bindings {
		if b == addr && fn != nil {
			list = usesOf(fn.FreeVars[i], path, list)
		}
	}
	return list
}

// reaches reports whether b can run after a, in one function, without a stop between them. In two
// functions the order is unknown: it reports true.
func reaches(a, b ssa.Instruction, stop func(ssa.Instruction) bool) bool {
	if a.Parent() != b.Parent() {
		return true
	}
	seen := make(map[*ssa.BasicBlock]bool)
	var walk func(instrs []ssa.Instruction, block *ssa.BasicBlock) bool
	walk = func(instrs []ssa.Instruction, block *ssa.BasicBlock) bool {
		for _, i := range instrs {
			if i == b {
				return true
			}
			if stop != nil && stop(i) {
				return false
			}
		}
		for _, next := range block.Succs {
			if !seen[next] {
				seen[next] = true
				if walk(next.Instrs, next) {
					return true
				}
			}
		}
		return false
	}
	at := slices.Index(a.Block().Instrs, a)
	return walk(a.Block().Instrs[at+1:], a.Block())
}

// load returns the reach of the value at an address when the instruction at reads it.
func (f *flow) load(addr ssa.Value, at ssa.Instruction) reach {
	if a, ok := addr.(*ssa.FieldAddr); ok && untracked(elem(a.X.Type()), a.Field) {
		return none
	}
	p := placeOf(addr)
	if v := p.variable(); v != nil {
		return f.contents(v, p.path, at)
	}
	if isGlobal(p.root) {
		return none
	}
	switch f.rootOf(p.root).of(p.root) {
	case shared:
		return shared
	case deep:
		if !f.rootOf(p.root).refilled(p.root, make(map[ssa.Value]bool)) {
			return shared
		}
	}
	return none
}

// rootOf returns the flow of the function that has the value.
func (f *flow) rootOf(v ssa.Value) *flow {
	for g := f; g != nil; g = g.outer {
		if v.Parent() == g.fn {
			return g
		}
	}
	return f
}

// contents returns the reach of a part of a variable when the instruction at reads it. It is
// shared if all writes that can come before it wrote shared values.
func (f *flow) contents(v *ssa.Alloc, path []int, at ssa.Instruction) reach {
	r := none
	for _, a := range accesses(v) {
		if a.kind == reads || !overlaps(a.path, path) || !reaches(a.at, at, nil) {
			continue
		}
		if a.kind == escapes {
			if a.at == at || f.keeps(a) {
				continue
			}
			return none
		}
		if isNil(a.val) || replacesNil(a.val) || !references(a.val.Type()) {
			continue
		}
		switch f.rootOf(a.val).of(a.val) {
		case shared:
			r = shared
		default:
			return none
		}
	}
	return r
}

// keeps reports whether a call with the address of a variable calls a function of this package
// that stores no references through the address.
func (f *flow) keeps(a access) bool {
	if a.call == nil {
		return false
	}
	fn := f.x.source(a.call.StaticCallee())
	if fn == nil {
		return false
	}
	for i, arg := range a.call.Args {
		if placeOf(arg).variable() == nil || i >= len(fn.Params) {
			continue
		}
		for _, use := range usesOf(fn.Params[i], nil, nil) {
			if use.kind == escapes || use.kind == writes && references(use.val.Type()) {
				return false
			}
		}
	}
	return true
}

// address returns the reach of an address as a value.
func (f *flow) address(v ssa.Value) reach {
	p := placeOf(v)
	if a := p.variable(); a != nil {
		if i, ok := v.(ssa.Instruction); ok && f.contents(a, p.path, lastUse(v, i)) == shared {
			return deep
		}
		return none
	}
	return f.rootOf(p.root).of(p.root)
}

// lastUse returns the instruction at which an address counts: the first that passes it on.
func lastUse(v ssa.Value, def ssa.Instruction) ssa.Instruction {
	for _, i := range *v.Referrers() {
		if _, ok := i.(ssa.CallInstruction); ok {
			return i
		}
	}
	return def
}
