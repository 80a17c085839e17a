package gen

import (
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// maxTypeArgs bounds how deep type arguments nest. Go rejects a type that holds itself with ever
// longer arguments, but the type checker says so only for packages without other errors, and such
// a type has no end.
const maxTypeArgs = 40

// endless reports whether what t holds has no end, and reports the generic type at fault.
func (r *resolver) endless(t types.Type, at place) bool {
	generic := r.findEndless(t)
	if generic == nil {
		return false
	}
	r.finite = typeutil.Map{} // what holds the generic type was taken for finite
	obj := generic.Obj()
	if obj.Pkg() == r.src.pkg.Types {
		at = place{pos: r.src.pkg.Fset.Position(obj.Pos()), subject: obj.Name()}
	}
	if r.growing == nil {
		r.growing = make(map[*types.Named]bool)
	}
	r.growing[generic] = true
	r.fault(at, generic, "type %s holds itself with ever longer type arguments, which Go does not compile; let it hold itself with its own type parameters",
		r.show(generic))
	return true
}

// findEndless returns a generic type, held by t, whose type arguments nest too deep, or nil.
func (r *resolver) findEndless(t types.Type) *types.Named {
	t = types.Unalias(t)
	named, _ := t.(*types.Named)
	if named != nil && (r.growing[named.Origin()] || argDepth(named) > maxTypeArgs) {
		return named.Origin()
	}
	if r.finite.At(t) != nil {
		return nil
	}
	r.finite.Set(t, true)
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if found := r.findEndless(u.Field(i).Type()); found != nil {
				return found
			}
		}
	case *types.Map:
		return r.findEndless(u.Elem())
	case interface{ Elem() types.Type }:
		return r.findEndless(u.Elem())
	}
	return nil
}

// argDepth returns how deep t is as it is written: what it is called does not count, what stands
// in its brackets does.
func argDepth(t types.Type) int {
	deepest := 0
	part := func(t types.Type) { deepest = max(deepest, 1+argDepth(t)) }
	switch t := t.(type) {
	case *types.Alias:
		return argDepth(types.Unalias(t))
	case *types.Named:
		for i := range t.TypeArgs().Len() {
			part(t.TypeArgs().At(i))
		}
	case *types.Map:
		part(t.Key())
		part(t.Elem())
	case interface{ Elem() types.Type }:
		part(t.Elem())
	case *types.Struct:
		for i := range t.NumFields() {
			part(t.Field(i).Type())
		}
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for i := range tuple.Len() {
				part(tuple.At(i).Type())
			}
		}
	case *types.Interface:
		for i := range t.NumExplicitMethods() {
			part(t.ExplicitMethod(i).Type())
		}
	}
	return deepest
}
