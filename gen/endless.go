package gen

import (
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// The limits of the arguments of a type: their depth and their number. Go rejects a type that
// contains itself with ever longer arguments. The type checker reports such an endless type only
// for packages without other errors.
const (
	maxArgDepth = 40
	maxArgSize  = 500
)

// endless reports whether t contains an endless type, and records the generic type as a fault.
func (r *resolver) endless(t types.Type, at place) bool {
	generic := r.findEndless(t)
	if generic == nil {
		return false
	}
	r.finite = typeutil.Map{} // types that contain the generic type counted as finite
	obj := generic.Obj()
	if obj.Pkg() == r.src.pkg.Types {
		at = place{pos: r.src.pkg.Fset.Position(obj.Pos()), subject: obj.Name()}
	}
	if r.growing == nil {
		r.growing = make(map[*types.Named]bool)
	}
	r.growing[generic] = true
	r.fault(at, generic, "type %s holds itself with ever longer type arguments, which Go does not compile; "+
		"let it hold itself with its own type parameters",
		r.show(generic))
	return true
}

// findEndless returns a generic type within t whose type arguments nest too deeply, or nil.
func (r *resolver) findEndless(t types.Type) *types.Named {
	t = types.Unalias(t)
	named, _ := t.(*types.Named)
	if named != nil && (r.growing[named.Origin()] || longArgs(named)) {
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

// longArgs reports whether the type arguments of t exceed the limits.
func longArgs(t *types.Named) bool {
	size := 0
	var within func(t types.Type, depth int) bool
	within = func(t types.Type, depth int) bool {
		size++
		if depth > maxArgDepth || size > maxArgSize {
			return false
		}
		for _, part := range written(t) {
			if !within(part, depth+1) {
				return false
			}
		}
		return true
	}
	return !within(t, 0)
}

// written returns the types in the source form of t. For a named type these are the type
// arguments.
func written(t types.Type) []types.Type {
	var parts []types.Type
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		for i := range t.TypeArgs().Len() {
			parts = append(parts, t.TypeArgs().At(i))
		}
	case *types.Map:
		parts = append(parts, t.Key(), t.Elem())
	case interface{ Elem() types.Type }:
		parts = append(parts, t.Elem())
	case *types.Struct:
		for i := range t.NumFields() {
			parts = append(parts, t.Field(i).Type())
		}
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for i := range tuple.Len() {
				parts = append(parts, tuple.At(i).Type())
			}
		}
	case *types.Interface:
		for i := range t.NumExplicitMethods() {
			parts = append(parts, t.ExplicitMethod(i).Type())
		}
	}
	return parts
}
