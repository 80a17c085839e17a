package vet

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

const keepDoc = `report nodes that keep their context or their state

The context of a node, and the memory behind its state, belong to the run. They must not be used
after the node has returned:

	func (d *desk) pay(ctx context.Context, s State) (StateUpdate, error) {
		go d.notify(ctx, s.Log) // wrong: nobody waits for it
		d.last = s              // wrong
		return StateUpdate{}, nil
	}

Wait for goroutines, and keep copies:

	func (d *desk) pay(ctx context.Context, s State) (StateUpdate, error) {
		var wg sync.WaitGroup
		wg.Go(func() { d.notify(ctx, s.Log) })
		wg.Wait()
		d.last = slices.Clone(s.Log)
		return StateUpdate{}, nil
	}

The analyzer reports a goroutine, or a function for time.AfterFunc or context.AfterFunc, that uses
the context or memory of the state, if the node contains nothing that can wait: no call of a method
Wait or Stop, no receive from a channel, no select. It also reports stores into the receiver, into
variables of the package, and into variables around a closure. It does not follow calls.`

// newKeep returns the analyzer of kept contexts and states.
func newKeep(indexer *analysis.Analyzer) *analysis.Analyzer {
	return analyzer("graphkeep", keepDoc, indexer, func(pass *analysis.Pass, x *index) {
		for _, n := range x.nodes {
			k := keeper{pass: pass, waits: canWait(n.fn)}
			k.examine(x.nodeFlow(n))
		}
	})
}

type keeper struct {
	pass  *analysis.Pass
	waits bool
}

// examine reports what a node and its closures keep.
func (k keeper) examine(f *flow) {
	instructions(f.fn, func(i ssa.Instruction) {
		switch i := i.(type) {
		case *ssa.Go:
			k.later(f, &i.Call, i.Pos(), "this goroutine")
		case *ssa.Call:
			if calls(callee(&i.Call), "time", "AfterFunc") || calls(callee(&i.Call), "context", "AfterFunc") {
				k.later(f, &i.Call, i.Pos(), "this function")
			}
		case *ssa.Store:
			if what := f.kept(i.Val); what != "" && f.outlives(i.Addr) {
				k.pass.Report(analysis.Diagnostic{Pos: i.Pos(), Message: describe(i.Addr) + " keeps " + what +
					" after the node has returned; keep a copy of what you need"})
			}
		case *ssa.MapUpdate:
			if what := f.kept(i.Value); what != "" && f.outlivesValue(i.Map) {
				k.pass.Report(analysis.Diagnostic{Pos: i.Pos(), Message: describe(i.Map) + " keeps " + what +
					" after the node has returned; keep a copy of what you need"})
			}
		}
	})
	for _, fn := range f.fn.AnonFuncs {
		if !isNodeSignature(fn.Signature) {
			k.examine(f.closure(fn))
		}
	}
}

// later reports a call that can run after the node has returned, if it uses what the node must not
// keep.
func (k keeper) later(f *flow, c *ssa.CallCommon, pos token.Pos, subject string) {
	if k.waits {
		return
	}
	values := append([]ssa.Value{c.Value}, c.Args...)
	if subject == "this function" {
		values = c.Args[len(c.Args)-1:]
	}
	for _, v := range values {
		what := f.kept(v)
		if what == "" {
			what = f.captured(v)
		}
		if what != "" {
			k.pass.Report(analysis.Diagnostic{Pos: pos, Message: subject + " uses " + what +
				", and can outlive the node; wait for it, or give it a copy"})
			return
		}
	}
}

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
				what = inner.kept(u)
			}
		}
	})
	for i, free := range fn.FreeVars {
		if _, pointer := free.Type().Underlying().(*types.Pointer); what == "" && !pointer {
			what = f.kept(c.Bindings[i])
		}
	}
	return what
}

// kept returns a description of v if a node must not keep it; "" otherwise.
func (f *flow) kept(v ssa.Value) string {
	if isContext(v.Type()) {
		if f.isNodeContext(v, make(map[ssa.Value]bool)) {
			return "the context of the node"
		}
		return ""
	}
	if m, ok := v.(*ssa.MakeInterface); ok {
		return f.kept(m.X)
	}
	if f.of(v) == shared {
		return describe(v) + ", which belongs to the run"
	}
	return ""
}

// isNodeContext reports whether a context is the parameter of the node, or derived from it with
// its cancellation.
func (f *flow) isNodeContext(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.Parameter:
		return f.given != nil && v.Parent() == f.fn && isContext(v.Type())
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
		return calls(fn, "context", "WithCancel", "WithTimeout", "WithDeadline", "WithValue", "WithCancelCause") &&
			f.isNodeContext(v.Call.Args[0], seen)
	}
	return false
}

// outlives reports whether an address is that of memory that exists after the node has returned.
// That is a variable of the package, the receiver, or a variable around a closure.
func (f *flow) outlives(addr ssa.Value) bool { return f.outlivesValue(placeOf(addr).root) }

func (f *flow) outlivesValue(v ssa.Value) bool {
	switch v := v.(type) {
	case *ssa.Global:
		return true
	case *ssa.Parameter:
		_, pointer := v.Type().Underlying().(*types.Pointer)
		return pointer && v.Parent().Signature.Recv() != nil && v == v.Parent().Params[0]
	case *ssa.FieldAddr:
		return f.outlives(v)
	case *ssa.UnOp:
		return v.Op == token.MUL && f.outlives(v.X)
	case *ssa.Alloc:
		return f.rootOf(v).fn != v.Parent()
	case *ssa.FreeVar:
		return f.outer == nil
	}
	return false
}

// canWait reports whether a function or a closure in it contains something that waits.
func canWait(fn *ssa.Function) bool {
	found := false
	instructions(fn, func(i ssa.Instruction) {
		switch i := i.(type) {
		case *ssa.Select:
			found = true
		case *ssa.UnOp:
			found = found || i.Op == token.ARROW
		case *ssa.Range:
			_, channel := i.X.Type().Underlying().(*types.Chan)
			found = found || channel
		case ssa.CallInstruction:
			found = found || waitsFor(i.Common())
		}
	})
	for _, anon := range fn.AnonFuncs {
		found = found || canWait(anon)
	}
	return found
}

// waitsFor reports whether a call can wait for a goroutine: a method Wait or Stop, or a function
// that gets a channel.
func waitsFor(c *ssa.CallCommon) bool {
	name := ""
	if c.IsInvoke() {
		name = c.Method.Name()
	} else if f := callee(c); f != nil {
		name = f.Name()
	}
	if name == "Wait" || name == "Stop" {
		return true
	}
	if _, builtin := c.Value.(*ssa.Builtin); builtin {
		return false
	}
	for _, a := range c.Args {
		if _, ok := a.Type().Underlying().(*types.Chan); ok {
			return true
		}
	}
	return false
}
