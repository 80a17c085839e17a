package gen

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// unionDecl is one //graphgen:union directive, which lists the members of an interface.
type unionDecl struct {
	pos  token.Position
	name string
	alts []types.Type // nil for faulty members
}

// codecSuffix is the end of the name of the codec that a package exports for one of its unions.
const codecSuffix = "Codec"

// exportsUnion reports whether the unit can export the codec of an interface. If not, it reports a
// fault.
func (r *resolver) exportsUnion(t unitType) bool {
	switch {
	case !t.obj.Exported():
		r.diags.add(t.pos, t.name, "is an interface that is not exported, so no other package can use a codec of it; name a struct that holds it, or export it")
	case r.unions[t.obj] == nil:
		r.diags.add(t.pos, t.name, "is an interface, and nothing says what it holds; list that with %sunion %s = *A | *B, or name a struct", directivePrefix, t.name)
	default:
		return true
	}
	return false
}

// exported reports whether the package of a foreign interface exports its codec: a type with the
// methods that graphgen generates. The package may be loaded, so that its generated file is
// hidden.
func (r *resolver) exported(iface *types.TypeName) bool {
	pkg := iface.Pkg()
	if pkg == nil || pkg == r.src.pkg.Types || !r.canName(iface) {
		return false
	}
	if r.marked.has(iface, roleUnion) {
		return true
	}
	codec, ok := pkg.Scope().Lookup(iface.Name() + codecSuffix).(*types.TypeName)
	if !ok {
		return false
	}
	set := types.NewMethodSet(codec.Type())
	return !slices.ContainsFunc(codecMethods, func(name string) bool { return set.Lookup(nil, name) == nil })
}

// codecRemedy says how the package of a foreign interface can supply the codec; it is empty for
// packages that the reader cannot change.
func (r *resolver) codecRemedy(iface *types.TypeName) string {
	pkg := iface.Pkg()
	switch {
	case pkg == nil || pkg == r.src.pkg.Types:
		return ""
	case !pkg.Complete(): // its names are unknown, because no file of this package imports it
		return fmt.Sprintf("import package %s, by _ if nothing else uses it, so that graphgen sees whether it exports a codec of %%T, or ", pkg.Path())
	case r.src.inModule(pkg):
		return fmt.Sprintf("list what it holds with //graphgen:union in package %s, name %s there with -type so that the package exports a codec of it, or ",
			pkg.Name(), iface.Name())
	}
	return ""
}

// readUnions evaluates the union directives of the package.
func (r *resolver) readUnions() {
	r.unions = make(map[*types.TypeName]*unionDecl)
	for _, d := range r.src.directives {
		if d.verb == "union" && d.fault == "" {
			r.readUnion(d)
		}
	}
}

// readUnion reads a union directive, and notes its interface and members.
func (r *resolver) readUnion(d directive) {
	subject := directivePrefix[2:] + "union " + d.name
	named, ok := r.eval(d, d.name).(*types.Named)
	if !ok || !types.IsInterface(named) {
		r.diags.add(d.pos, subject, "%s is not an interface type that is declared with a name; write type %s interface { ... } first", d.name, d.name)
		return
	}
	if named.TypeParams().Len() > 0 {
		r.diags.add(d.pos, subject, "%s has type parameters; a union must be one type", d.name)
		return
	}
	decl := &unionDecl{pos: d.pos, name: d.name}
	if other := r.unions[named.Obj()]; other != nil {
		r.diags.add(d.pos, subject, "%s is listed twice, also at %s; keep one list", d.name, shortPos(r.diags.dir, other.pos))
		return
	}
	r.unions[named.Obj()] = decl
	if r.exported(named.Obj()) {
		r.diags.add(d.pos, subject, "package %s knows the types that %s holds, and exports a codec of them; remove this list", named.Obj().Pkg().Name(), d.name)
		return
	}
	tags := make(map[string]string)
	for text := range strings.SplitSeq(d.arg, "|") {
		text = strings.TrimSpace(text)
		t, fault := r.alternative(d, text, named)
		if fault == "" {
			tag := tagOf(t)
			if other, taken := tags[tag]; taken {
				fault = "is stored under the name " + tag + ", and so is " + other + "; declare a type of another name for one of them"
			}
			tags[tag] = text
		}
		if fault != "" {
			r.diags.add(d.pos, subject, "%s %s", text, fault)
			continue
		}
		decl.alts = append(decl.alts, t)
	}
}

// alternative returns the type with the name text. The second result is the reason why it cannot
// be a member of iface, or "".
func (r *resolver) alternative(d directive, text string, iface *types.Named) (types.Type, string) {
	t := r.eval(d, text)
	if t == nil {
		return nil, "is not a type of this package or of one that it imports; want *A or A, separated by |"
	}
	elem := types.Unalias(t)
	if p, ok := elem.(*types.Pointer); ok {
		elem = types.Unalias(p.Elem())
	}
	named, ok := elem.(*types.Named)
	switch {
	case !ok:
		return nil, "has no name, and a union stores the name of the type that it holds; declare a type with a name"
	case types.IsInterface(elem):
		return nil, "is an interface; list the types that it can hold"
	case types.Implements(t, iface.Underlying().(*types.Interface)):
		return t, ""
	case types.Implements(types.NewPointer(named), iface.Underlying().(*types.Interface)):
		return nil, "does not implement " + d.name + ", but a pointer to it does; write *" + text
	}
	missing, _ := types.MissingMethod(t, iface.Underlying().(*types.Interface), true)
	what := ""
	if missing != nil {
		what = " (missing method " + missing.Name() + ")"
	}
	return nil, "does not implement " + d.name + what + "; add the method, or remove the type from the list"
}

// eval returns the type with the name text at the position of the directive, or nil.
func (r *resolver) eval(d directive, text string) types.Type {
	tv, err := types.Eval(r.src.pkg.Fset, r.src.pkg.Types, d.at, text)
	if err == nil && tv.IsType() {
		return types.Unalias(tv.Type)
	}
	name, pointer := strings.CutPrefix(text, "*")
	obj := r.imported(strings.TrimSpace(name))
	if obj == nil {
		return nil
	}
	if pointer {
		return types.NewPointer(types.Unalias(obj.Type()))
	}
	return types.Unalias(obj.Type())
}

// imported returns the type pkg.Name of any imported package. An import that only a directive uses
// must be blank, and Eval ignores blank imports.
func (r *resolver) imported(text string) *types.TypeName {
	pkgName, name, ok := strings.Cut(text, ".")
	if !ok {
		return nil
	}
	for _, imp := range r.src.pkg.Types.Imports() {
		if obj, ok := imp.Scope().Lookup(name).(*types.TypeName); ok && imp.Name() == pkgName && obj.Exported() {
			return obj
		}
	}
	return nil
}

// tagOf returns the stored name of a union member: the name of its type, without the package, so
// that the type can move.
func tagOf(t types.Type) string {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named := types.Unalias(t).(*types.Named)
	tag := named.Obj().Name()
	for i := range named.TypeArgs().Len() {
		tag += "Of" + identOf(named.TypeArgs().At(i))
	}
	return tag
}

// fillUnion fills in the members of a closed interface.
func (r *resolver) fillUnion(res *typ, decl *unionDecl) {
	at := place{pos: decl.pos, subject: directivePrefix[2:] + "union " + decl.name}
	for _, t := range decl.alts {
		alt := &alternative{tag: tagOf(t), typ: t, at: at}
		elem := t
		if p, ok := types.Unalias(t).(*types.Pointer); ok {
			alt.pointer, elem = true, p.Elem()
		}
		alt.elem = r.resolve(elem, at)
		res.alts = append(res.alts, alt)
	}
}

// shortPos returns a position as text for a message.
func shortPos(dir string, pos token.Position) string {
	pos.Filename = relative(dir, pos.Filename)
	return pos.String()
}
