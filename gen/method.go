package gen

import (
	"go/types"
	"strconv"
	"strings"
)

// hasWire reports whether the methods AppendWire and DecodeWire write and read t. The methods
// exist, or graphgen will generate them in another package. It returns false for payloads of this
// package, because states use the same helpers for their parts. Methods of an embedded struct do
// not count, because they do not store the other fields.
func (r *resolver) hasWire(t *types.Named) bool {
	obj := t.Obj()
	if obj.Pkg() == nil || types.IsInterface(t) {
		return false
	}
	if obj.Pkg() != r.src.pkg.Types && r.marked.has(obj, rolePayload) {
		return true
	}
	return hasOwn(t, "AppendWire") && isMethod(t, "AppendWire", bytesType, bytesType, errorType) &&
		hasOwn(t, "DecodeWire") && isMethod(t, "DecodeWire", bytesType, errorType)
}

// marshalKind returns the pair of methods of package encoding that can store a value of type t or
// *t. It returns kindInvalid if there is none.
func marshalKind(t types.Type) kind {
	named, ok := types.Unalias(t).(*types.Named)
	switch {
	case !ok || types.IsInterface(t):
		return kindInvalid
	case isMethod(named, "MarshalBinary", nil, bytesType, errorType) && isMethod(named, "UnmarshalBinary", bytesType, errorType):
		return kindBinary
	case isMethod(named, "MarshalText", nil, bytesType, errorType) && isMethod(named, "UnmarshalText", bytesType, errorType):
		return kindText
	}
	return kindInvalid
}

// hasForm reports whether the methods of a form, kindJSON or kindText, store values of t.
func hasForm(t *types.Named, form kind) bool {
	name := "JSON"
	if form == kindText {
		name = "Text"
	}
	return !types.IsInterface(t) && isMethod(t, "Marshal"+name, nil, bytesType, errorType) &&
		isMethod(t, "Unmarshal"+name, bytesType, errorType)
}

// methodOf returns the signature of the exported method name of *t, or nil.
func methodOf(t *types.Named, name string) *types.Signature {
	sel := types.NewMethodSet(types.NewPointer(t)).Lookup(nil, name)
	if sel == nil {
		return nil
	}
	return sel.Obj().Type().(*types.Signature)
}

// hasOwn reports whether t itself declares the exported method name of *t.
func hasOwn(t *types.Named, name string) bool {
	sel := types.NewMethodSet(types.NewPointer(t)).Lookup(nil, name)
	return sel != nil && len(sel.Index()) == 1
}

// The types that methods of codecs take and return.
var (
	bytesType = types.NewSlice(types.Typ[types.Uint8])
	errorType = types.Universe.Lookup("error").Type()
)

// isMethod reports whether *t has a method with a parameter of type param and these results. A nil
// param stands for no parameters.
func isMethod(t *types.Named, name string, param types.Type, results ...types.Type) bool {
	sig := methodOf(t, name)
	if sig == nil || sig.Variadic() || sig.Results().Len() != len(results) {
		return false
	}
	for i, want := range results {
		if !types.Identical(sig.Results().At(i).Type(), want) {
			return false
		}
	}
	if param == nil {
		return sig.Params().Len() == 0
	}
	return sig.Params().Len() == 1 && types.Identical(sig.Params().At(0).Type(), param)
}

// isLock reports whether copying a value of t is an error, because t is locked or counted in
// place.
func isLock(t *types.Named) bool {
	obj := t.Obj()
	if obj.Pkg() == nil || types.IsInterface(t) {
		return false
	}
	switch obj.Pkg().Path() {
	case "sync":
		return true // no struct of sync may be copied
	case "sync/atomic":
		return true
	}
	// As in go vet: methods Lock and Unlock on the pointer, declared by the type itself and not by
	// an embedded type.
	set := types.NewMethodSet(types.NewPointer(t))
	for _, name := range []string{"Lock", "Unlock"} {
		sel := set.Lookup(obj.Pkg(), name)
		if sel == nil || len(sel.Index()) != 1 {
			return false
		}
		if sig := sel.Obj().Type().(*types.Signature); sig.Params().Len() != 0 || sig.Results().Len() != 0 {
			return false
		}
	}
	return types.NewMethodSet(t).Lookup(obj.Pkg(), "Lock") == nil
}

// lockIn returns a lock within a value of type t, or nil.
func lockIn(t types.Type, seen []types.Type) types.Type {
	for _, s := range seen {
		if types.Identical(s, t) {
			return nil
		}
	}
	seen = append(seen, t)
	if named, ok := types.Unalias(t).(*types.Named); ok && isLock(named) {
		return named
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return lockIn(u.Elem(), seen)
	case *types.Struct:
		for i := range u.NumFields() {
			if lock := lockIn(u.Field(i).Type(), seen); lock != nil {
				return lock
			}
		}
	}
	return nil
}

// isImmutable reports whether values of t may be shared although they contain pointers, because no
// method changes the values behind the pointers.
func isImmutable(t *types.Named) bool {
	if t.Obj().Pkg() == nil {
		return false
	}
	switch t.Obj().Pkg().Path() + "." + t.Obj().Name() {
	case "net/netip.Addr", "net/netip.AddrPort", "net/netip.Prefix", "time.Time":
		return true
	}
	return false
}

// isTime reports whether t is time.Time.
func isTime(t *types.Named) bool {
	return t.Obj().Pkg() != nil && t.Obj().Pkg().Path() == "time" && t.Obj().Name() == "Time"
}

// pointless reports whether a value of type t contains no reference to shared memory, so that
// assignment clones it.
func pointless(t types.Type, seen []types.Type) bool {
	for _, s := range seen {
		if types.Identical(s, t) {
			return true
		}
	}
	seen = append(seen, t)
	if named, ok := types.Unalias(t).(*types.Named); ok && isImmutable(named) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.UnsafePointer
	case *types.Array:
		return pointless(u.Elem(), seen)
	case *types.Struct:
		for i := range u.NumFields() {
			if !pointless(u.Field(i).Type(), seen) {
				return false
			}
		}
		return true
	}
	return false
}

// reachable reports whether t can be stored field by field: this package must be able to name and
// write all its parts.
func (r *resolver) reachable(t types.Type, seen []types.Type) bool {
	for _, s := range seen {
		if types.Identical(s, t) {
			return true
		}
	}
	seen = append(seen, t)
	foreign := false
	if named, ok := types.Unalias(t).(*types.Named); ok {
		obj := named.Obj()
		foreign = obj.Pkg() != nil && obj.Pkg() != r.src.pkg.Types
		switch {
		case isTime(named), r.hasWire(named), r.unions[obj] != nil, types.IsInterface(named) && r.exported(obj):
			return true
		case isLock(named) || foreign && !r.canName(obj) && r.publicName(named) == types.Type(named):
			return false
		case len(seen) > 1 && marshalKind(named) != kindInvalid:
			return true
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.UnsafePointer && u.Kind() != types.Uintptr
	case *types.Pointer:
		return r.reachable(u.Elem(), seen)
	case *types.Slice:
		return r.reachable(u.Elem(), seen)
	case *types.Array:
		return r.reachable(u.Elem(), seen)
	case *types.Map:
		return keyFault(u.Key()) == "" && r.reachable(u.Elem(), seen)
	case *types.Struct:
		return r.reachableFields(u, foreign, seen)
	}
	return false
}

// reachableFields is reachable for the fields of a struct. foreign says that another package
// declares it.
func (r *resolver) reachableFields(u *types.Struct, foreign bool, seen []types.Type) bool {
	for i := range u.NumFields() {
		f := u.Field(i)
		if t, _ := parseTag(u.Tag(i)); t.skip || f.Name() == "_" && !foreign {
			continue
		}
		if foreign && !f.Exported() || !r.reachable(f.Type(), seen) {
			return false
		}
	}
	return true
}

// keyFault returns the reason why a map with keys of type t cannot be stored, or "".
func keyFault(t types.Type) string {
	key, ok := t.Underlying().(*types.Basic)
	_, array := t.Underlying().(*types.Array)
	named, _ := types.Unalias(t).(*types.Named)
	switch {
	case !ok && named != nil && hasForm(named, kindText) && types.Comparable(t):
		switch {
		case !pointless(t, nil):
			return "holds a pointer, so keys with one text can differ; use its text as the key, a string"
		case isMethod(named, "Equal", t, types.Typ[types.Bool]):
			return "has a method Equal, so keys that are equal by it can differ for a map; use its text as the key, a string"
		}
		return ""
	case ok && key.Info()&(types.IsFloat|types.IsComplex) != 0:
		return "is a float, and NaN equals nothing, so that entries could not be found again; use a string or an integer"
	case array:
		return "is an array, and MessagePack decoders into any panic at such a key; " +
			"declare an array type with MarshalText and UnmarshalText, or use a text such as hexadecimal as the key, a string"
	case !ok || key.Info()&(types.IsString|types.IsInteger|types.IsBoolean) == 0 || key.Kind() == types.Uintptr:
		return "is not a string, an integer, a bool, or a type with MarshalText and UnmarshalText; use one of them as the key"
	}
	return ""
}

// isByte reports whether t is byte itself. Slices of byte are written as binary.
func isByte(t types.Type) bool {
	basic, ok := types.Unalias(t).(*types.Basic)
	return ok && basic.Kind() == types.Uint8
}

// marks are the roles of the types that packages mark, by path.Name.
type marks map[string]role

// has reports whether a type is marked with a role.
func (m marks) has(obj *types.TypeName, want role) bool {
	got, ok := m[obj.Pkg().Path()+"."+obj.Name()]
	return ok && got == want
}

// markedTypes returns the marked types of all loaded packages. Their generated code
// is missing in the sources, because generated files are not read.
func markedTypes(pkgs []*source) marks {
	marked := make(marks)
	for _, src := range pkgs {
		for _, d := range src.directives {
			names := d.types
			if (d.verb == "payload" || d.verb == "state") && d.name != "" {
				names = []string{d.name}
			} else if d.verb != verbGenerate {
				continue
			}
			for i, name := range names {
				obj, ok := src.pkg.Types.Scope().Lookup(name).(*types.TypeName)
				if ok {
					marked[src.pkg.PkgPath+"."+name] = src.role(obj, i == 0 && d.verb == verbGenerate)
				}
			}
		}
	}
	return marked
}

// identOf returns the identifier in the names of helpers for t: Message, SliceOfMessage,
// MapOfStringToFact. Different types may have the same identifier; see nameCodecs.
func identOf(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		var b strings.Builder
		b.WriteString(upperFirst(t.Obj().Name()))
		for i := range t.TypeArgs().Len() {
			b.WriteString("Of" + identOf(t.TypeArgs().At(i)))
		}
		return b.String()
	case *types.Basic:
		return upperFirst(t.Name())
	case *types.Pointer:
		return "PointerTo" + identOf(t.Elem())
	case *types.Slice:
		return "SliceOf" + identOf(t.Elem())
	case *types.Array:
		return "ArrayOf" + strconv.FormatInt(t.Len(), 10) + identOf(t.Elem())
	case *types.Map:
		return "MapOf" + identOf(t.Key()) + "To" + identOf(t.Elem())
	case *types.Struct:
		return "Struct"
	}
	return "Value"
}
