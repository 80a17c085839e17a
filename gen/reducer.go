package gen

import (
	"fmt"
	"go/token"
	"go/types"
)

// checkOptions reports options of a tag that its reducer does not have.
func (r *resolver) checkOptions(f *field, t tag, at place, typ types.Type) {
	if t.hasKey && f.reducer != "upsert" {
		r.fault(at, typ, `key=%s belongs to "upsert", but the reducer is %q; use upsert, or remove the option`, t.key, f.reducer)
	}
	if f.reducer == "upsert" && !t.hasKey {
		r.fault(at, typ, `reducer "upsert" needs the key of an element; add key= with a field or method of the element, as in upsert,key=ID`)
	}
	if t.run && (f.reducer == "untracked" || f.reducer == "ephemeral") {
		r.fault(at, typ, `run: a field with %q does not last until the next input; remove one of the two`, f.reducer)
	}
	if f.reducer == "untracked" && t.form != kindInvalid {
		r.fault(at, typ, "an untracked field is not stored, so it has no form there; remove json or text")
	}
	if f.reducer == "untracked" && (t.name != "" || len(t.was) > 0) {
		r.fault(at, typ, "an untracked field is not stored, so it has no name there; remove name= and was=")
	}
}

// checkReducer checks that a reducer fits its field, and fills in the properties that merging
// needs.
func (r *resolver) checkReducer(f *field, t tag, typ types.Type, at place) {
	switch f.reducer {
	case "append", "union":
		r.checkList(f, typ, at)
	case "upsert":
		if r.checkList(f, typ, at) && t.hasKey {
			f.key = r.keyPath(f, t.key, typ, at)
		}
	case "merge":
		if f.typ.kind != kindMap {
			r.misfit(f, typ, at, "a map", `; use "append" for a slice, or no reducer to replace the value`)
		}
	case "sum":
		if !isBasic(f.typ, types.IsNumeric) {
			r.misfit(f, typ, at, "a number", "; use reduce= with a function of your own to add up other types")
		}
	case "min", "max":
		if !isBasic(f.typ, types.IsOrdered) {
			r.misfit(f, typ, at, "a number or a string", "; use reduce= with a function of your own to compare other types")
		}
	case "and", "or":
		if !isBasic(f.typ, types.IsBoolean) {
			r.misfit(f, typ, at, "a bool", "")
		}
	case "reduce":
		r.checkFunc(f, typ, at)
	}
}

// misfit reports that a reducer needs another type.
func (r *resolver) misfit(f *field, t types.Type, at place, want, fix string) {
	if fix == "" {
		fix = "; change the field's type, or the reducer"
	}
	r.fault(at, t, "reducer %q needs %s, got %%T%s", f.reducer, want, fix)
}

// isBasic reports whether t is a basic type with one of the properties info.
func isBasic(t *typ, info types.BasicInfo) bool {
	return t.kind == kindBasic && t.basic.Info()&info != 0
}

// checkList reports whether the field is a slice that a list reducer can work on.
func (r *resolver) checkList(f *field, t types.Type, at place) bool {
	switch f.typ.kind {
	case kindSlice:
		f.elem = f.typ.elem
		return f.elem.kind != kindInvalid
	case kindBytes:
		r.fault(at, t, "reducer %q needs a slice of values, got %%T, which is stored as one value; use no reducer to replace it, or make it a [][]byte", f.reducer)
	case kindMap:
		r.misfit(f, t, at, "a slice", `; use "merge" for a map`)
	default:
		r.misfit(f, t, at, "a slice", "; use no reducer to replace the value")
	}
	return false
}

// keyPath resolves key= in the elements of an upserted slice.
func (r *resolver) keyPath(f *field, name string, t types.Type, at place) *keyPath {
	elem := f.elem.typ
	obj, _, indirect := types.LookupFieldOrMethod(elem, true, r.src.pkg.Types, name)
	if obj == nil {
		r.fault(at, t, "key=%s: %s has no field or method %s that package %s can use; name a field or method that returns the key of an element", name, r.show(elem), name, r.src.pkg.Name)
		return nil
	}
	key := &keyPath{selector: name, nilable: f.elem.kind == kindPointer || f.elem.kind == kindUnion}
	var of types.Type
	switch obj := obj.(type) {
	case *types.Var:
		of = obj.Type()
		if indirect && f.elem.kind != kindPointer {
			r.fault(at, t, "key=%s: the field is reached through a pointer that %s embeds, which may be nil; give %s a method that returns the key", name, r.show(elem), r.show(elem))
			return nil
		}
	case *types.Func:
		sig := obj.Signature()
		if sig.Params().Len() != 0 || sig.Results().Len() != 1 {
			r.fault(at, t, "key=%s: the method has the signature %s; want no parameters and one result", name, r.show(sig))
			return nil
		}
		of, key.selector = sig.Results().At(0).Type(), name+"()"
	}
	if fault := keyFault(of); fault != "" {
		r.fault(at, t, "key=%s: type %s %s", name, r.show(of), fault)
		return nil
	}
	key.typ = r.resolveKey(of, at)
	return key
}

// checkFunc checks a custom reducer, which the package of the field declares.
func (r *resolver) checkFunc(f *field, t types.Type, at place) {
	subject := "reduce=" + f.fn
	foreign := f.fnPkg != r.src.pkg.Types
	obj := f.fnPkg.Scope().Lookup(f.fn)
	fn, ok := obj.(*types.Func)
	want := fmt.Sprintf("func %s(old %s, in In) %s", f.fn, r.show(t), r.show(t))
	switch {
	case foreign && !token.IsExported(f.fn):
		r.fault(at, t, "%s: code of package %s cannot call an unexported function of package %s; export the function, or declare the struct in package %s "+
			"with a function of your own", subject, r.src.pkg.Name, f.fnPkg.Name(), r.src.pkg.Name)
		return
	case obj == nil:
		r.fault(at, t, "%s: package %s declares no such function; write %s, where In is any type that can be stored", subject, f.fnPkg.Name(), want)
		return
	case !ok:
		r.fault(at, t, "%s is a %s, not a function; want %s", subject, objectKind(obj), want)
		return
	}
	sig := fn.Signature()
	pos := r.declaredAt(fn.Pos(), foreign)
	switch {
	case sig.TypeParams().Len() > 0:
		r.fault(at, t, "%s (%s) has type parameters; call it in a function that has none: %s", subject, pos, want)
	case sig.Variadic() || sig.Params().Len() != 2 || sig.Results().Len() != 1:
		r.fault(at, t, "%s (%s) is %s; want %s, where In is the type of the argument of Reduce", subject, pos, r.show(sig), want)
	case !types.Identical(sig.Params().At(0).Type(), t):
		r.fault(at, t, "%s (%s) takes the old value as %s, but the field is %%T; want %s", subject, pos, r.show(sig.Params().At(0).Type()), want)
	case !types.Identical(sig.Results().At(0).Type(), t):
		r.fault(at, t, "%s (%s) returns %s, but the field is %%T; want %s", subject, pos, r.show(sig.Results().At(0).Type()), want)
	default:
		param := sig.Params().At(1)
		in := place{pos: r.src.pkg.Fset.Position(param.Pos()), subject: f.fn}
		if foreign {
			in = at.into("." + f.fn)
		}
		if !foreign || r.canSpell(param.Type(), in) {
			f.in = r.resolve(param.Type(), in)
		}
	}
}

// checkSettled performs the checks that need all types to be resolved.
func (r *resolver) checkSettled(t *target) {
	for _, f := range t.fields {
		if f.reducer != "union" || f.elem == nil || f.elem.byValue && types.Comparable(f.elem.typ) {
			continue
		}
		r.fault(f.at, f.typ.typ, `reducer "union" needs elements that == compares by value, got %s; use upsert with a key=, or append`, r.show(f.elem.typ))
	}
}
