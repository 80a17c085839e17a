package gen

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/types/typeutil"
)

// resolver converts types of the type checker to typs, and reports types that cannot be part of a
// state.
type resolver struct {
	src      *source
	diags    *diagnostics
	unions   map[*types.TypeName]*unionDecl
	marked   marks                    // the types of all loaded packages
	syntax   map[token.Pos]*ast.Field // of struct fields, by the position of the name
	states   map[string]bool          // names of this package's states
	payloads map[string]bool          // and of its payloads, as far as they are known
	known    map[kind]*typeutil.Map   // by form: types.Type -> *typ
	all      []*typ
	bad      map[*typ]bool

	finite  typeutil.Map          // types without endless parts
	growing map[*types.Named]bool // generic types that are endless
}

// place is the use of a type, at which faults are reported.
type place struct {
	pos     token.Position
	subject string // State.Messages
	path    string // the path from the subject to the type, for types of other packages: .Transport[]
	nested  bool   // a field of a struct that is not a state
	form    kind   // kindJSON or kindText: the tag of the field asks for this form

	struc types.Type // the outermost struct with a name around the type, below the state; nil for none
	json  types.Type // the outermost one that has methods for JSON
}

// holder names the value that holds the type t at a place: the outermost struct, or t.
func (at place) holder(r *resolver, t string) string {
	if at.struc != nil {
		return r.show(at.struc)
	}
	return t
}

// into returns the place of a step inside the value at a place, such as ".Name" or "[]".
func (at place) into(step string) place {
	at.path += step
	return at
}

// fault reports that a type is not allowed at a place.
func (r *resolver) fault(at place, t types.Type, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if at.path != "" {
		message = "in " + strings.TrimPrefix(at.path, ".") + ": " + message
	}
	if at.nested {
		message = strings.ReplaceAll(message, "tag the field untracked", `tag the field graph:"-"`)
	}
	r.diags.add(at.pos, at.subject, "%s", strings.ReplaceAll(message, "%T", r.show(t)))
}

// show writes a type as the user's package would.
func (r *resolver) show(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == r.src.pkg.Types {
			return ""
		}
		return p.Name()
	})
}

// resolve returns the typ of t. If t cannot be stored, it reports the reason and returns a typ of
// kindInvalid.
func (r *resolver) resolve(t types.Type, at place) *typ {
	cache := r.known[at.form]
	if cache == nil {
		cache = new(typeutil.Map)
		r.known[at.form] = cache
	}
	if known, ok := cache.At(t).(*typ); ok {
		if r.bad[known] {
			r.again(known, t, at)
		}
		return known
	}
	res := &typ{typ: r.spell(t)}
	if basic, ok := types.Unalias(t).(*types.Basic); ok && basic.Kind() == types.Invalid {
		r.fillBasic(res, basic, t, at) // each use is a separate type, whatever its name
		return res
	}
	if r.endless(t, at) {
		return res
	}
	cache.Set(t, res) // set before the parts are resolved, because t may contain itself
	faults := len(r.diags.list)
	r.fill(res, t, at)
	if len(r.diags.list) > faults {
		r.bad[res] = true
	}
	if res.kind != kindInvalid {
		r.all = append(r.all, res)
	}
	return res
}

// again reports a faulty type at a further use. It does so only if the first fault was reported at
// the use, and not at the declaration of a field.
func (r *resolver) again(known *typ, t types.Type, at place) {
	if known.kind == kindInvalid {
		r.fill(&typ{typ: t}, t, at)
	}
}

// fill determines the kind of t. The first match wins: a wire codec of the type, a type known by
// name, the structure of the type, a marshalling method.
func (r *resolver) fill(res *typ, t types.Type, at place) {
	t = types.Unalias(t)
	res.ident = identOf(t)
	named, _ := t.(*types.Named)
	if named != nil {
		obj := named.Obj()
		res.named = true
		res.foreign = obj.Pkg() != r.src.pkg.Types
		switch {
		case at.form != kindInvalid && hasForm(named, at.form):
			res.chosen = true
			r.fillOpaque(res, at.form, named, at)
			return
		case r.fillKnown(res, named, at):
			return
		case r.hasWire(named):
			r.fillOpaque(res, kindWire, named, at)
			return
		}
		if k := marshalKind(named); k != kindInvalid && !r.reachable(named, nil) {
			r.fillOpaque(res, k, named, at)
			return
		}
		if res.foreign && !r.nameable(res.typ, at) {
			return
		}
	}
	r.fillUnderlying(res, t, at)
}

// nameable reports whether this package can name the foreign type t. If not, it reports a fault.
func (r *resolver) nameable(t types.Type, at place) bool {
	if alias, ok := t.(*types.Alias); ok && r.canName(alias.Obj()) {
		return true
	}
	obj := types.Unalias(t).(*types.Named).Obj()
	if r.canName(obj) {
		return true
	}
	why := fmt.Sprintf("is not exported, so code of package %s cannot name it", r.src.pkg.Name)
	if obj.Exported() {
		why = fmt.Sprintf("is of the internal package %s, which package %s cannot import", obj.Pkg().Path(), r.src.pkg.Name)
	}
	r.fault(at, t, "type %%T %s; import a package that declares an exported alias of %%T, copy what you need of it into a type of package %s, "+
		"or tag the field untracked", why, r.src.pkg.Name)
	return false
}

// canName reports whether code of this package can use the name of a type.
func (r *resolver) canName(obj *types.TypeName) bool {
	return obj.Pkg() == nil || obj.Pkg() == r.src.pkg.Types || obj.Exported() && mayImport(r.src.pkg.PkgPath, obj.Pkg().Path())
}

// spell returns the type t with names that this package can use: a public package can declare an
// alias of an internal type. A type without such a name stays as it is.
func (r *resolver) spell(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Alias:
		if !r.canName(t.Obj()) {
			return r.spell(types.Unalias(t))
		}
	case *types.Named:
		if !r.canName(t.Obj()) {
			return r.publicName(t)
		}
	case *types.Pointer:
		if elem := r.spell(t.Elem()); elem != t.Elem() {
			return types.NewPointer(elem)
		}
	case *types.Slice:
		if elem := r.spell(t.Elem()); elem != t.Elem() {
			return types.NewSlice(elem)
		}
	case *types.Array:
		if elem := r.spell(t.Elem()); elem != t.Elem() {
			return types.NewArray(elem, t.Len())
		}
	case *types.Map:
		key, elem := r.spell(t.Key()), r.spell(t.Elem())
		if key != t.Key() || elem != t.Elem() {
			return types.NewMap(key, elem)
		}
	}
	return t
}

// publicName returns an alias of t that an imported package declares, or t.
func (r *resolver) publicName(t *types.Named) types.Type {
	for _, imported := range r.src.pkg.Types.Imports() {
		scope := imported.Scope()
		for _, name := range scope.Names() {
			obj, ok := scope.Lookup(name).(*types.TypeName)
			if ok && obj.IsAlias() && r.canName(obj) && types.Identical(obj.Type(), t) {
				if _, ok := obj.Type().(*types.Alias); ok {
					return obj.Type()
				}
			}
		}
	}
	return t
}

// mayImport reports whether Go's rule for internal packages allows importer to import path.
func mayImport(importer, path string) bool {
	parent, _, found := cutLast("/"+path+"/", "/internal/")
	if !found {
		return true
	}
	// An external test package follows the same rule as the package that it tests.
	return strings.HasPrefix("/"+strings.TrimSuffix(importer, "_test")+"/", parent+"/")
}

// cutLast cuts s around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// fillKnown fills in a type that is known by name. It reports whether t is one.
func (r *resolver) fillKnown(res *typ, t *types.Named, at place) bool {
	obj := t.Obj()
	if obj.Pkg() == nil {
		if obj.Name() == "error" {
			r.fault(at, t, "type error cannot be stored: an error has no codec; store its text in a string, or tag the field untracked")
			return true
		}
		return false
	}
	switch obj.Pkg().Path() + "." + obj.Name() {
	case "time.Time":
		res.kind = kindTime
		return true
	case "reflect.Value", "reflect.Type":
		r.fault(at, t, "type %%T cannot be stored; tag the field untracked, or remove the field")
		return true
	}
	if isLock(t) {
		r.fault(at, t, "type %%T is a lock, which must not be copied, but states are copied; keep it outside the state")
		return true
	}
	return false
}

// fillOpaque fills in a type that its own methods store.
func (r *resolver) fillOpaque(res *typ, k kind, t *types.Named, at place) {
	if lock := lockIn(t, nil); lock != nil {
		r.fault(at, t, "type %%T holds the lock %s, which must not be copied, but states are copied; use a pointer to %%T", r.show(lock))
		return
	}
	if res.foreign && !r.nameable(res.typ, at) {
		return
	}
	res.kind = k
	res.pointless = isImmutable(t) || pointless(t, nil)
	res.clones = isMethod(t, "Clone", nil, t)
	res.equals = isMethod(t, "Equal", t, types.Typ[types.Bool])
}

// fillUnderlying fills in a type by its underlying type.
func (r *resolver) fillUnderlying(res *typ, t types.Type, at place) {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		r.fillBasic(res, u, t, at)
	case *types.Pointer:
		r.fillPointer(res, u, t, at)
	case *types.Slice:
		if isByte(u.Elem()) {
			res.kind = kindBytes
			return
		}
		res.kind = kindSlice
		res.elem = r.resolve(u.Elem(), at.into("[]"))
	case *types.Array:
		res.length = u.Len()
		if isByte(u.Elem()) {
			res.kind = kindByteArray
			return
		}
		res.kind = kindArray
		res.elem = r.resolve(u.Elem(), at.into("[]"))
	case *types.Map:
		r.fillMap(res, u, t, at)
	case *types.Struct:
		r.fillStruct(res, u, t, at)
	case *types.Interface:
		r.fillInterface(res, u, t, at)
	case *types.Signature:
		r.fault(at, t, "type %%T is a func, which cannot be stored; tag the field untracked, or keep it outside the state")
	case *types.Chan:
		r.fault(at, t, "type %%T is a channel, which cannot be stored; tag the field untracked, or keep it outside the state")
	default:
		r.fault(at, t, "type %%T cannot be stored; tag the field untracked, or remove the field")
	}
}

// fillBasic resolves a basic type.
func (r *resolver) fillBasic(res *typ, u *types.Basic, t types.Type, at place) {
	switch u.Kind() {
	case types.Invalid:
		if r.src.misspelt(at.pos) {
			return
		}
		r.fault(at, t, "uses a type that graphgen generates; a state cannot hold what is generated from it; use a type that you declare")
	case types.UnsafePointer, types.Uintptr:
		r.fault(at, t, "type %%T is an address, which means nothing in another process; store the value at the address, or tag the field untracked")
	default:
		res.kind = kindBasic
		res.basic = u
	}
}

// fillPointer resolves a pointer.
func (r *resolver) fillPointer(res *typ, u *types.Pointer, t types.Type, at place) {
	switch e := u.Elem().Underlying().(type) {
	case *types.Pointer:
		r.fault(at, t, "type %%T is a pointer to a pointer, and stored data cannot tell a nil pointer from a pointer to nil; use %s", r.show(u.Elem()))
		return
	case *types.Slice, *types.Map, *types.Interface:
		if _, isNamed := types.Unalias(u.Elem()).(*types.Named); !isNamed || marshalKind(u.Elem()) == kindInvalid {
			r.fault(at, t, "type %%T is a pointer to a type that has nil, and stored data cannot tell a nil pointer from a pointer to nil; use %s", r.show(u.Elem()))
			return
		}
	case *types.Basic:
		if e.Kind() == types.UnsafePointer {
			r.fillBasic(res, e, t, at)
			return
		}
	}
	res.kind = kindPointer
	res.elem = r.resolve(u.Elem(), at)
}

// fillMap resolves a map.
func (r *resolver) fillMap(res *typ, u *types.Map, t types.Type, at place) {
	if fault := keyFault(u.Key()); fault != "" {
		r.fault(at, t, "map key %s of %%T %s", r.show(u.Key()), fault)
		return
	}
	res.kind = kindMap
	res.key = r.resolveKey(u.Key(), at)
	res.elem = r.resolve(u.Elem(), at.into("[]"))
}

// resolveKey returns the typ of a map key. A key whose underlying type is basic is stored as that
// type, even if it has methods. Other keys are stored as text.
func (r *resolver) resolveKey(t types.Type, at place) *typ {
	_, named := types.Unalias(t).(*types.Named)
	u, ok := t.Underlying().(*types.Basic)
	if !ok {
		at.form = kindText
		return r.resolve(t, at)
	}
	return &typ{kind: kindBasic, typ: t, named: named, ident: identOf(t), basic: u, traits: traits{pointless: true, strict: true, byValue: true}}
}

// fillInterface resolves an interface, which must be a union.
func (r *resolver) fillInterface(res *typ, u *types.Interface, t types.Type, at place) {
	named, _ := t.(*types.Named)
	if named != nil {
		if decl := r.unions[named.Obj()]; decl != nil {
			res.kind = kindUnion
			r.fillUnion(res, decl)
			return
		}
		if r.exported(named.Obj()) {
			res.kind, res.home = kindUnion, named.Obj()
			return
		}
	}
	around := ""
	if at.json != nil {
		around = fmt.Sprintf(`tag the fields of type %s graph:"json" to store %s by its methods MarshalJSON and UnmarshalJSON, or `, r.show(at.json), r.show(at.json))
	}
	if named == nil && u.Empty() {
		r.fault(at, t, "type %%T is an open interface, and nothing says what to decode into; %sdeclare an interface type and list what it holds "+
			"with //graphgen:union Name = *A | *B, or use json.RawMessage, or store %s in an asjson.Value of runtime/state/asjson, "+
			"or tag the field untracked", around, at.holder(r, "%T"))
		return
	}
	name := "Name"
	if named != nil {
		name = r.show(named)
		around += r.codecRemedy(named.Obj())
	}
	r.fault(at, t, "type %%T is an open interface, and nothing says what to decode into; %slist what it holds with "+
		"//graphgen:union %s = *A | *B, or tag the field untracked", around, name)
}
