package vet

import (
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Packages of the runtime.
const (
	graphPath = "github.com/graphgen-go/graphgen/runtime/graph"
	statePath = "github.com/graphgen-go/graphgen/runtime/state"
)

// updateSuffix is the end of the name of a generated update type.
const updateSuffix = "Update"

// objectIs reports whether obj is declared at the top of the package under one of the names.
func objectIs(obj types.Object, path string, names ...string) bool {
	return obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == path && slices.Contains(names, obj.Name())
}

// namedIs reports whether t is one of the named types of a package. It ignores type arguments.
func namedIs(t types.Type, path string, names ...string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && objectIs(n.Obj(), path, names...)
}

// isContext reports whether t is context.Context.
func isContext(t types.Type) bool { return namedIs(t, "context", "Context") }

// isError reports whether t is the type error.
func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }

// isOperations reports whether t is the set of operations of one field, such as state.Value.
func isOperations(t types.Type) bool {
	return namedIs(t, statePath, "Value", "Min", "Max", "Or", "And", "Reduce", "List", "Keyed", "Unique", "Map", "Sum")
}

// isUpdate reports whether t is a generated update type: all its fields are sets of operations.
func isUpdate(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || !strings.HasSuffix(n.Obj().Name(), updateSuffix) {
		return false
	}
	s, ok := n.Underlying().(*types.Struct)
	if !ok || s.NumFields() == 0 {
		return false
	}
	for f := range s.Fields() {
		if !isOperations(f.Type()) {
			return false
		}
	}
	return true
}

// isState reports whether t is a state: its package has an update type for it.
func isState(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	obj := n.Obj().Pkg().Scope().Lookup(n.Obj().Name() + updateSuffix)
	return obj != nil && isUpdate(obj.Type())
}

// isNodeSignature reports whether a function has the parameters and results of a node. The
// parameters are a context, a state and perhaps a payload. The results are the update of that
// state, perhaps a graph.Next, and an error.
func isNodeSignature(sig *types.Signature) bool {
	in, out := sig.Params(), sig.Results()
	if in.Len() < 2 || in.Len() > 3 || out.Len() < 2 || out.Len() > 3 {
		return false
	}
	if !isContext(in.At(0).Type()) || !isError(out.At(out.Len()-1).Type()) || !isUpdate(out.At(0).Type()) {
		return false
	}
	if out.Len() == 3 && !namedIs(out.At(1).Type(), graphPath, "Next") {
		return false
	}
	s, ok := types.Unalias(in.At(1).Type()).(*types.Named)
	u := types.Unalias(out.At(0).Type()).(*types.Named)
	return ok && s.Obj().Pkg() == u.Obj().Pkg() && s.Obj().Name()+updateSuffix == u.Obj().Name()
}

// isRouteSignature reports whether a function has the parameters and results of a route.
func isRouteSignature(sig *types.Signature) bool {
	in, out := sig.Params(), sig.Results()
	return in.Len() == 2 && out.Len() == 2 && isContext(in.At(0).Type()) && isState(in.At(1).Type()) &&
		namedIs(out.At(0).Type(), graphPath, "Next") && isError(out.At(1).Type())
}

// callee returns the function that a call names; nil for calls of interfaces and variables. For an
// instance of a generic function it returns the generic one.
func callee(c *ssa.CallCommon) *types.Func {
	fn := c.StaticCallee()
	if fn == nil {
		return nil
	}
	if o := fn.Origin(); o != nil {
		fn = o
	}
	obj, _ := fn.Object().(*types.Func)
	return obj
}

// receiver returns the name of the type that has the method, and "" for a function.
func receiver(f *types.Func) string {
	recv := f.Signature().Recv()
	if recv == nil {
		return ""
	}
	t := types.Unalias(recv.Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// calls reports whether f is one of the functions or methods of a package, which have names such
// as "Sleep" and "Question.Ask".
func calls(f *types.Func, path string, names ...string) bool {
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != path {
		return false
	}
	name := f.Name()
	if r := receiver(f); r != "" {
		name = r + "." + name
	}
	return slices.Contains(names, name)
}

// references reports whether a value of type t can lead to memory that other values share.
func references(t types.Type) bool { return refers(t, nil) }

// refers is references. seen are the structs around t.
func refers(t types.Type, seen []types.Type) bool {
	if namedIs(t, "time", "Time") {
		return false // it refers to a location, which never changes
	}
	switch u := t.Underlying().(type) {
	case *types.Basic, *types.Signature, *types.Chan:
		return false
	case *types.Array:
		return refers(u.Elem(), seen)
	case *types.Struct:
		if slices.Contains(seen, t) {
			return false
		}
		for f := range u.Fields() {
			if refers(f.Type(), append(seen, t)) {
				return true
			}
		}
		return false
	case *types.Tuple:
		return true
	}
	return true
}

// elem returns the type that a pointer type points to.
func elem(t types.Type) types.Type { return t.Underlying().(*types.Pointer).Elem() }

// isAttempt reports whether a field is Attempt of graph.Task.
func isAttempt(t types.Type, field int) bool { return isTask(t) && fieldName(t, field) == "Attempt" }

// isTask reports whether t is graph.Task.
func isTask(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Task" && n.Obj().Pkg() != nil && strings.HasPrefix(n.Obj().Pkg().Path(), graphPath)
}

// untracked reports whether a field has the reducer untracked: programs own its memory.
func untracked(t types.Type, field int) bool {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return false
	}
	reducer, _, _ := strings.Cut(reflect.StructTag(s.Tag(field)).Get("graph"), ",")
	return reducer == "untracked"
}
