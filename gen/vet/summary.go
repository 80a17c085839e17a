package vet

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// summary is what a function does with the memory of a run that its arguments reach.
type summary struct {
	writes  []write
	results []reach
}

// write is an instruction that changes memory of the run.
type write struct {
	pos   token.Pos
	what  string        // the memory, as in the source if possible
	how   string        // the act: "assigns to", "deletes from"
	in    *ssa.Function // the function that writes
	apply ssa.CallInstruction
}

// deepest is how many calls a summary follows.
const deepest = 6

// summary returns the summary of a function of this package that c calls; nil for others.
func (f *flow) summary(c *ssa.CallCommon) *summary {
	fn := f.x.source(c.StaticCallee())
	if fn == nil || f.depth >= deepest || len(c.Args) != len(fn.Params) {
		return nil
	}
	args := make([]reach, len(c.Args))
	for i, a := range c.Args {
		args[i] = f.of(a)
	}
	if !slices.ContainsFunc(args, func(r reach) bool { return r != none }) {
		return nil
	}
	return f.x.summarise(fn, args, f.depth+1)
}

// summarise analyses a function that gets args, or returns what it found for equal args before.
func (x *index) summarise(fn *ssa.Function, args []reach, depth int) *summary {
	key := fmt.Sprintf("%p %v", fn, args)
	if s := x.sums[key]; s != nil {
		return s
	}
	s := new(summary) // of a recursive call
	x.sums[key] = s
	f := newFlow(x, fn, args, depth)
	s.writes = f.writes()
	s.results = make([]reach, fn.Signature.Results().Len())
	some := false
	instructions(fn, func(i ssa.Instruction) {
		r, ok := i.(*ssa.Return)
		if !ok {
			return
		}
		for n, v := range r.Results {
			if got := f.of(v); !some || got < s.results[n] {
				s.results[n] = got
			}
		}
		some = true
	})
	return s
}

// writes returns the instructions of the function and its closures that change memory of the run.
func (f *flow) writes() []write {
	var list []write
	instructions(f.fn, func(i ssa.Instruction) {
		list = append(list, f.written(i)...)
	})
	for _, fn := range f.fn.AnonFuncs {
		if !isNodeSignature(fn.Signature) { // a node that is declared here is examined by itself
			list = append(list, f.closure(fn).writes()...)
		}
	}
	return list
}

// written returns how an instruction changes memory of the run.
func (f *flow) written(i ssa.Instruction) []write {
	switch i := i.(type) {
	case *ssa.Store:
		p := placeOf(i.Addr)
		if p.variable() == nil && !isGlobal(p.root) && f.rootOf(p.root).changes(p.root, i) {
			return []write{{pos: i.Pos(), what: f.x.describe(i.Addr), how: "assigns to", in: f.fn}}
		}
	case *ssa.MapUpdate:
		if f.changes(i.Map, i) {
			return []write{{pos: i.Pos(), what: f.x.describe(i.Map) + "[...]", how: "assigns to", in: f.fn}}
		}
	case ssa.CallInstruction:
		return f.calls(i)
	}
	return nil
}

// calls returns how a call changes memory of the run.
func (f *flow) calls(i ssa.CallInstruction) []write {
	c := i.Common()
	arg, how := mutated(c)
	if arg != nil {
		into := unwrap(arg)
		if f.changes(into, i) && !(grows(c, how) && f.clipped(into)) || how == decodes && f.decoded(arg) {
			return []write{{pos: i.Pos(), what: f.x.describe(into), how: how, in: f.fn, apply: i}}
		}
		return nil
	}
	s := f.summary(c)
	if s == nil || len(s.writes) == 0 {
		return nil
	}
	w := s.writes[0]
	w.pos, w.apply = i.Pos(), i
	return []write{w}
}

// clipped reports whether an append to v copies v, because v has no spare capacity: v is a field
// of the state, or was clipped.
func (f *flow) clipped(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Slice:
		return v.Max != nil || v.High == nil && f.clipped(v.X)
	case *ssa.Call:
		return calls(callee(&v.Call), "slices", "Clip")
	case *ssa.UnOp:
		return ofState(v.X)
	case *ssa.Field:
		return isState(v.X.Type()) || embedded(v.X.Type(), v.Field)
	case *ssa.Phi:
		return !slices.ContainsFunc(v.Edges, func(e ssa.Value) bool {
			_, loop := e.(*ssa.Phi)
			return !loop && !isNil(e) && !f.clipped(e)
		})
	}
	return isNil(v)
}

// ofState reports whether an address is that of a field of a state, or of a part of a state.
func ofState(addr ssa.Value) bool {
	a, ok := addr.(*ssa.FieldAddr)
	if !ok {
		return false
	}
	for {
		t := a.X.Type().Underlying().(*types.Pointer).Elem()
		if isState(t) {
			return true
		}
		outer, ok := a.X.(*ssa.FieldAddr)
		if !ok || !embedded(outer.X.Type().Underlying().(*types.Pointer).Elem(), outer.Field) {
			return false
		}
		a = outer
	}
}

// embedded reports whether a field of a struct is embedded.
func embedded(t types.Type, field int) bool {
	s, ok := t.Underlying().(*types.Struct)
	return ok && s.Field(field).Embedded()
}

// isSlice reports whether t is a slice.
func isSlice(t types.Type) bool {
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

// isGlobal reports whether v is a variable of a package.
func isGlobal(v ssa.Value) bool {
	_, ok := v.(*ssa.Global)
	return ok
}
