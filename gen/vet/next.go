package vet

import (
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

const nextDoc = `report routes that can return the zero Next

A route and a routing node choose the next nodes. The zero Next is an error of the run. Its usual
cause is a switch without a case:

	func choose(ctx context.Context, s State) (graph.Next, error) {
		var next graph.Next
		switch s.Status { // wrong: another status chooses nothing
		case "paid":
			next = graph.To("ship")
		case "refused":
			next = graph.To(graph.End)
		}
		return next, nil
	}

Choose in each case, or return an error:

	func choose(ctx context.Context, s State) (graph.Next, error) {
		switch s.Status {
		case "paid":
			return graph.To("ship"), nil
		case "refused":
			return graph.To(graph.End), nil
		}
		return graph.Next{}, fmt.Errorf("unknown status %q", s.Status)
	}

The analyzer reports a path on which a function returns a Next that nothing has set, with a nil
error. It follows calls of functions in the same package that return a Next. It does not report a
Next that a loop fills by Add, although the loop can be empty, and a function that always returns
the zero Next, which is a placeholder. Routes are the functions that a graph gets, also from a
function that returns them. A function with the parameters and results of a route also counts,
unless the package calls it.`

// newNext returns the analyzer of zero choices.
func newNext(indexer *analysis.Analyzer) *analysis.Analyzer {
	return analyzer("graphnext", nextDoc, indexer, func(pass *analysis.Pass, x *index) {
		for _, n := range x.nodes {
			if len(n.fn.Blocks) == 1 && !callsPicker(x, n.fn) {
				continue // a placeholder without a decision
			}
			instructions(n.fn, func(i ssa.Instruction) {
				if r, ok := i.(*ssa.Return); ok {
					reportNext(pass, x, r)
				}
			})
		}
	})
}

// reportNext reports a return of the zero Next without an error.
func reportNext(pass *analysis.Pass, x *index, r *ssa.Return) {
	n := len(r.Results)
	if n < 2 || !isNext(r.Results[n-2].Type()) || !isError(r.Results[n-1].Type()) {
		return
	}
	v, err := r.Results[n-2], r.Results[n-1]
	const remedy = "; return graph.To(graph.End) to end the branch, or an error"
	z := unset{x: x, seen: make(map[ssa.Value]bool)}
	switch {
	case isNil(v) && isNil(err):
		pass.Report(analysis.Diagnostic{Pos: r.Pos(), Message: "this returns the zero Next, which is an error of the run" + remedy})
	case z.onPath(v, err):
		d := analysis.Diagnostic{Pos: r.Pos(), Message: x.describe(v) +
			" is the zero Next on a path to this return, such as a switch without a case for it" + remedy}
		if z.in != nil {
			d.Related = []analysis.RelatedInformation{{Pos: z.in.Pos(), Message: "the return of the zero Next"}}
		}
		pass.Report(d)
	}
}

// isNext reports whether t is graph.Next.
func isNext(t types.Type) bool { return namedIs(t, graphPath, "Next") }

// unset finds values that are the zero Next.
type unset struct {
	x     *index
	seen  map[ssa.Value]bool
	in    *ssa.Return // of the function that a call leads to
	depth int
}

// onPath reports whether v is zero on a path on which err is nil.
func (z *unset) onPath(v, err ssa.Value) bool {
	if z.seen[v] {
		return false
	}
	z.seen[v] = true
	switch v := v.(type) {
	case *ssa.Const:
		return isNil(v) && isNil(err)
	case *ssa.Phi:
		for i, e := range v.Edges {
			edgeErr := err
			if p, ok := err.(*ssa.Phi); ok && p.Block() == v.Block() {
				edgeErr = p.Edges[i]
			}
			if z.onPath(e, edgeErr) {
				return true
			}
		}
	case *ssa.UnOp:
		return neverSet(v) && isNil(err)
	case *ssa.Call:
		return isNil(err) && z.ofCall(v)
	case *ssa.Extract:
		c, ok := v.Tuple.(*ssa.Call)
		e, sameCall := err.(*ssa.Extract)
		passedOn := sameCall && e.Tuple == v.Tuple && len(*e.Referrers()) == 1 // nothing examines the error
		return ok && (isNil(err) || passedOn) && z.ofCall(c)
	}
	return false
}

// ofCall reports whether a function of this package that c calls can return the zero Next without
// an error. A node reports for itself.
func (z *unset) ofCall(c *ssa.Call) bool {
	fn := picker(z.x, c)
	if fn == nil || z.depth >= deepest || z.x.isNode(fn) {
		return false
	}
	inner := &unset{x: z.x, seen: make(map[ssa.Value]bool), depth: z.depth + 1}
	found := false
	instructions(fn, func(i ssa.Instruction) {
		r, ok := i.(*ssa.Return)
		if !ok || found {
			return
		}
		var err ssa.Value = ssa.NewConst(nil, types.Universe.Lookup("error").Type())
		if len(r.Results) == 2 {
			err = r.Results[1]
		}
		if inner.onPath(r.Results[0], err) {
			found, z.in = true, r
		}
	})
	return found
}

// picker returns the function of this package that a call gets a Next from, and perhaps an error.
// It returns nil for others, and for a function that always returns the zero Next.
func picker(x *index, c *ssa.Call) *ssa.Function {
	fn := x.source(c.Call.StaticCallee())
	if fn == nil || len(fn.Blocks) == 1 && !callsPicker(x, fn) {
		return nil
	}
	out := fn.Signature.Results()
	if out.Len() == 0 || out.Len() > 2 || !isNext(out.At(0).Type()) || out.Len() == 2 && !isError(out.At(1).Type()) {
		return nil
	}
	return fn
}

// callsPicker reports whether a function calls a function of this package that returns a Next.
func callsPicker(x *index, fn *ssa.Function) bool {
	found := false
	instructions(fn, func(i ssa.Instruction) {
		c, ok := i.(*ssa.Call)
		if !ok || x.source(c.Call.StaticCallee()) == nil {
			return
		}
		for v := range c.Call.Signature().Results().Variables() {
			found = found || isNext(v.Type())
		}
	})
	return found
}

// neverSet reports whether a load reads a variable that nothing has set on some path.
func neverSet(load *ssa.UnOp) bool {
	v := placeOf(load.X).variable()
	if v == nil || v.Parent() != load.Parent() {
		return false
	}
	sets := make(map[ssa.Instruction]bool)
	for _, a := range accesses(v) {
		switch {
		case a.kind == reads:
		case a.at.Parent() != v.Parent():
			return false
		case inLoop(a.at):
			return false
		default:
			sets[a.at] = true
		}
	}
	return reaches(v, load, func(i ssa.Instruction) bool { return sets[i] })
}

// inLoop reports whether an instruction can run twice.
func inLoop(i ssa.Instruction) bool { return reaches(i, i, nil) }
