package vet

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// canWait reports whether a function contains something that can wait for a goroutine. It looks
// also into closures and into functions of this package that the function calls.
func (x *index) canWait(fn *ssa.Function, seen map[*ssa.Function]bool) bool {
	if fn == nil || seen[fn] {
		return false
	}
	seen[fn] = true
	found := false
	instructions(fn, func(i ssa.Instruction) {
		switch i := i.(type) {
		case *ssa.Select:
			for _, s := range i.States {
				found = found || s.Dir == types.RecvOnly && !onlyEnds(s.Chan)
			}
		case *ssa.UnOp:
			found = found || i.Op == token.ARROW && !onlyEnds(i.X)
		case *ssa.Range:
			_, channel := i.X.Type().Underlying().(*types.Chan)
			found = found || channel
		case *ssa.Call:
			found = found || waitsFor(&i.Call) || x.canWait(x.source(i.Call.StaticCallee()), seen)
		case *ssa.Defer:
			found = found || waitsFor(&i.Call) || x.canWait(x.source(i.Call.StaticCallee()), seen)
		}
	})
	for _, anon := range fn.AnonFuncs {
		found = found || x.canWait(anon, seen)
	}
	return found
}

// onlyEnds reports whether a channel is that of a context or of a timer. A receive from it does
// not wait for a goroutine.
func onlyEnds(channel ssa.Value) bool {
	switch c := channel.(type) {
	case *ssa.Call:
		return c.Call.IsInvoke() && c.Call.Method.Name() == "Done" && isContext(c.Call.Value.Type()) ||
			calls(callee(&c.Call), "time", "After", "Tick")
	case *ssa.UnOp:
		f, ok := c.X.(*ssa.FieldAddr)
		return ok && namedIs(elem(f.X.Type()), "time", "Timer", "Ticker")
	}
	return false
}

// waitsFor reports whether a call can wait for a goroutine: a method Wait or Stop, or a function
// that gets a channel or a group.
func waitsFor(c *ssa.CallCommon) bool {
	f := callee(c)
	switch {
	case c.IsInvoke() && (c.Method.Name() == "Wait" || c.Method.Name() == "Stop"):
		return true
	case calls(f, "time", "Ticker.Stop"), calls(f, "sync", "WaitGroup.Add", "WaitGroup.Done", "WaitGroup.Go"),
		calls(f, groupPath, "Group.Go", "Group.TryGo", "Group.SetLimit"):
		return false
	case f != nil && (f.Name() == "Wait" || f.Name() == "Stop"):
		return true
	}
	if _, builtin := c.Value.(*ssa.Builtin); builtin {
		return false
	}
	for _, a := range c.Args {
		if _, ok := a.Type().Underlying().(*types.Chan); ok {
			return true
		}
		p, ok := a.Type().Underlying().(*types.Pointer)
		if ok && (namedIs(p.Elem(), "sync", "WaitGroup") || namedIs(p.Elem(), groupPath, "Group")) {
			return true
		}
	}
	return false
}
