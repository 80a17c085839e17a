package vet

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

const errDoc = `report errors of Ask, Receive and Sleep that are not returned

These calls return graph.ErrWaiting while a question has no answer, while no signal has come, or
before the time. The node must then return, because the answer is the zero value:

	func pay(ctx context.Context, s State) (StateUpdate, error) {
		answer, _ := refund.Ask(ctx, Refund{Order: s.Order}) // wrong
		graph.Sleep(ctx, time.Hour)                          // wrong
		...
	}

Return the error:

	func pay(ctx context.Context, s State) (StateUpdate, error) {
		answer, err := refund.Ask(ctx, Refund{Order: s.Order})
		if err != nil {
			return StateUpdate{}, err
		}
		...
	}

A node can return another error instead, or handle graph.ErrExpired. The analyzer reports an error
that is dropped, and one that no path returns, panics with or passes to a function other than
errors.Is, errors.As and those that print. It examines calls of functions in the same package that
return such an error. It does not see that only one of several paths forgets the error.`

// newErr returns the analyzer of dropped errors.
func newErr(indexer *analysis.Analyzer) *analysis.Analyzer {
	return analyzer("grapherr", errDoc, indexer, func(pass *analysis.Pass, x *index) {
		w := waiters{x: x, known: make(map[*ssa.Function]bool)}
		for _, fn := range x.funcs {
			instructions(fn, func(i ssa.Instruction) {
				if c, ok := i.(ssa.CallInstruction); ok && (waits(c.Common()) || w.calls(pass, c)) {
					reportErr(pass, c)
				}
			})
		}
	})
}

// waiters are the functions of the package that return ErrWaiting.
type waiters struct {
	x     *index
	known map[*ssa.Function]bool
}

// calls reports whether a call in the code of a node gets ErrWaiting from a function of this
// package. A test can call a node and drop its error.
func (w waiters) calls(pass *analysis.Pass, c ssa.CallInstruction) bool {
	fn := w.x.source(c.Common().StaticCallee())
	if fn == nil || callee(c.Common()) == nil || w.x.isNode(fn) || !w.returns(fn) {
		return false
	}
	if !strings.HasSuffix(pass.Fset.Position(c.Pos()).Filename, "_test.go") {
		return true
	}
	for caller := c.Parent(); caller != nil; caller = caller.Parent() {
		if w.x.isNode(caller) || w.returns(caller) {
			return true
		}
	}
	return false
}

// returns reports whether a function returns an error of Ask, Receive or Sleep on some path.
func (w waiters) returns(fn *ssa.Function) bool {
	if known, ok := w.known[fn]; ok {
		return known
	}
	w.known[fn] = false // in a recursive call
	found := false
	instructions(fn, func(i ssa.Instruction) {
		r, ok := i.(*ssa.Return)
		if n := len(i.Operands(nil)); ok && n > 0 && isError(r.Results[n-1].Type()) {
			found = found || w.holds(r.Results[n-1], make(map[ssa.Value]bool))
		}
	})
	w.known[fn] = found
	return found
}

// holds reports whether an error can be one of Ask, Receive or Sleep, or wrap it.
func (w waiters) holds(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.Phi:
		return slices.ContainsFunc(v.Edges, func(e ssa.Value) bool { return w.holds(e, seen) })
	case *ssa.Extract:
		return w.holds(v.Tuple, seen)
	case *ssa.ChangeInterface:
		return w.holds(v.X, seen)
	case *ssa.Call:
		if calls(callee(&v.Call), "fmt", "Errorf") || calls(callee(&v.Call), "errors", "Join") {
			return w.holds(v.Call.Args[len(v.Call.Args)-1], seen)
		}
		fn := w.x.source(v.Call.StaticCallee())
		return waits(&v.Call) || fn != nil && w.returns(fn)
	case *ssa.Slice, *ssa.UnOp:
		a := placeOf(*v.(ssa.Instruction).Operands(nil)[0]).variable()
		return a != nil && slices.ContainsFunc(accesses(a), func(u access) bool { return u.kind == writes && w.holds(u.val, seen) })
	}
	return false
}

// waits reports whether a call returns ErrWaiting.
func waits(c *ssa.CallCommon) bool {
	return calls(callee(c), graphPath, "Question.Ask", "Signal.Receive", "Sleep", "SleepUntil")
}

// reportErr reports a call whose error is dropped, or is returned on no path.
func reportErr(pass *analysis.Pass, c ssa.CallInstruction) {
	name := callee(c.Common()).Name()
	err := errorOf(c)
	switch {
	case err == nil:
		pass.Report(analysis.Diagnostic{
			Pos:            c.Pos(),
			Message:        "the error of " + name + " is dropped; return it, because the node must end while it waits",
			SuggestedFixes: errFix(pass, c),
		})
	case !handled(err, make(map[ssa.Value]bool)):
		pass.Report(analysis.Diagnostic{
			Pos:     c.Pos(),
			Message: "no path returns the error of " + name + "; return it, because the node must end while it waits",
		})
	}
}

// errorOf returns the error of a call; nil if nothing uses it.
func errorOf(c ssa.CallInstruction) ssa.Value {
	call, ok := c.(*ssa.Call)
	if !ok {
		return nil
	}
	if isError(call.Type()) {
		if len(*call.Referrers()) == 0 {
			return nil
		}
		return call
	}
	for _, i := range *call.Referrers() {
		e, ok := i.(*ssa.Extract)
		if !ok {
			return call // the whole tuple is returned
		}
		if isError(e.Type()) && len(*e.Referrers()) > 0 {
			return e
		}
	}
	return nil
}

// handled reports whether an error, or a value that depends on it, leaves the function, or decides
// that another error leaves it.
func handled(v ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] || v.Referrers() == nil {
		return false
	}
	seen[v] = true
	for _, i := range *v.Referrers() {
		switch i := i.(type) {
		case *ssa.DebugRef:
		case *ssa.If:
			if stops(i) {
				return true
			}
		case *ssa.Store:
			if i.Val == v && storeHandled(i, seen) {
				return true
			}
		case *ssa.Call:
			if !harmless(&i.Call) || handled(i, seen) {
				return true
			}
		case *ssa.Phi, *ssa.MakeInterface, *ssa.ChangeInterface, *ssa.ChangeType, *ssa.BinOp, *ssa.UnOp, *ssa.Extract, *ssa.TypeAssert,
			*ssa.Slice:
			if handled(i.(ssa.Value), seen) {
				return true
			}
		case *ssa.IndexAddr, *ssa.FieldAddr:
			if handled(i.(ssa.Value), seen) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// storeHandled is handled for an error in a variable, or in the arguments of a call.
func storeHandled(s *ssa.Store, seen map[ssa.Value]bool) bool {
	a := placeOf(s.Addr).variable()
	if a == nil {
		return true
	}
	for _, use := range accesses(a) {
		switch {
		case use.kind == reads:
			if handled(use.at.(ssa.Value), seen) {
				return true
			}
		case use.kind == escapes && use.call != nil && harmless(use.call):
		case use.kind == escapes:
			if v, ok := use.at.(*ssa.Slice); !ok || handled(v, seen) {
				return true
			}
		}
	}
	return false
}

// harmless reports whether a call with an error as its argument only looks at it, or prints it.
func harmless(c *ssa.CallCommon) bool {
	f := callee(c)
	if f == nil || f.Pkg() == nil {
		return false
	}
	switch f.Pkg().Path() {
	case "errors", "fmt": // the error that Errorf returns counts
		return true
	case "log", "log/slog":
		return !strings.HasPrefix(f.Name(), "Fatal") && !strings.HasPrefix(f.Name(), "Panic")
	}
	return false
}

// stops reports whether one side of a branch ends the function with an error, or with a panic.
func stops(i *ssa.If) bool {
	for _, side := range i.Block().Succs {
		if len(side.Preds) != 1 {
			continue
		}
		for _, b := range i.Parent().Blocks {
			if !side.Dominates(b) {
				continue
			}
			switch last := b.Instrs[len(b.Instrs)-1].(type) {
			case *ssa.Panic:
				return true
			case *ssa.Return:
				if fails(last) {
					return true
				}
			}
		}
	}
	return false
}

// fails reports whether a return has an error that is not nil, or is in a function without one.
func fails(r *ssa.Return) bool {
	n := len(r.Results)
	return n == 0 || !isError(r.Results[n-1].Type()) || !isNil(r.Results[n-1])
}
