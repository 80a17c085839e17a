package vet

import (
	"fmt"

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
error. It does not report a Next that a loop fills by Add, although the loop can be empty, and a
function that always returns the zero Next, which is a placeholder.`

// newNext returns the analyzer of zero choices.
func newNext(indexer *analysis.Analyzer) *analysis.Analyzer {
	return analyzer("graphnext", nextDoc, indexer, func(pass *analysis.Pass, x *index) {
		for _, n := range x.nodes {
			if len(n.fn.Blocks) == 1 {
				continue // a placeholder without a decision
			}
			instructions(n.fn, func(i ssa.Instruction) {
				if r, ok := i.(*ssa.Return); ok {
					reportNext(pass, r)
				}
			})
		}
	})
}

// reportNext reports a return of the zero Next without an error.
func reportNext(pass *analysis.Pass, r *ssa.Return) {
	n := len(r.Results)
	if n < 2 || !namedIs(r.Results[n-2].Type(), graphPath, "Next") || !isError(r.Results[n-1].Type()) {
		return
	}
	v, err := r.Results[n-2], r.Results[n-1]
	const remedy = "; return graph.To(graph.End) to end the branch, or an error"
	switch {
	case isNil(v) && isNil(err):
		pass.Report(analysis.Diagnostic{Pos: r.Pos(), Message: "this returns the zero Next, which is an error of the run" + remedy})
	case zeroOnPath(v, err, make(map[ssa.Value]bool)):
		pass.Report(analysis.Diagnostic{Pos: r.Pos(), Message: fmt.Sprintf(
			"%s is the zero Next on a path to this return, such as a switch without a case for it%s", describe(v), remedy)})
	}
}

// zeroOnPath reports whether v is zero on a path on which err is nil.
func zeroOnPath(v, err ssa.Value, seen map[ssa.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.Const:
		return isNil(v) && isNil(err)
	case *ssa.Phi:
		for i, e := range v.Edges {
			edgeErr := err
			if p, ok := err.(*ssa.Phi); ok && p.Block() == v.Block() {
				edgeErr = p.Edges[i]
			}
			if zeroOnPath(e, edgeErr, seen) {
				return true
			}
		}
	case *ssa.UnOp:
		return neverSet(v) && isNil(err)
	}
	return false
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
