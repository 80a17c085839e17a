package gen

import (
	"go/types"
	"path/filepath"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/go/types/typeutil"

	"github.com/graphgen-go/graphgen/shape"
)

// model describes one file to emit. Its types are checked, so the emitters do not use the type
// checker.
type model struct {
	pkg     *types.Package
	pkgPath string
	build   string   // the build condition of the file; empty for none
	sources []string // the names of the files that declare the targets, sorted
	targets []*target
	types   []*typ          // all types that may need helpers, parts before wholes
	codecs  map[*typ]string // the names of the types that implement cell.Codec
	absent  []absence       // the methods whose absence decides how values are stored
	within  []types.Type    // types of this package within types that store themselves
}

// target is one type of the file.
type target struct {
	name        string
	role        role
	helper      string // states: the prefix of the names generated for it
	typ         *typ   // payloads and unions
	named       *types.Named
	fields      []*field        // states: in order, those of parts included, without blank ones
	parts       []part          // states: the embedded structs whose fields are fields of the state
	migrations  []migration     // states: the methods Migrate of parts and of the state, in order of their calls
	methods     map[string]bool // states: the methods that the package declares on the update
	diffMethods map[string]bool // states: and on the diff
	shape       shape.State     // states
	payload     shape.Payload   // payloads
}

// part is an embedded struct whose fields are fields of the state.
type part struct {
	named  *types.Named
	path   string   // the selector from the state
	name   string   // of the variable that connects the two; empty unless the struct is a state of its own
	fields []*field // of the state
}

// migration is a method Migrate of a state or of one of its parts.
type migration struct {
	path  string   // the selector from the state to the part; empty for the state itself
	wires []string // the wire names of the fields that it migrates; nil for all
}

// field is one field of a state.
type field struct {
	name    string // the Go name
	path    string // the selector from the state; equal to name unless a part declares the field
	comment string // the user's comment, without comment marks
	wire    string
	was     []string
	reducer string
	typ     *typ
	key     *keyPath // upsert
	fn      string   // reduce: the function
	fnPkg   *types.Package
	in      *typ  // reduce: its second parameter
	elem    *typ  // append, upsert, union: the element type
	at      place // the tag
	run     bool  // the next input clears it
}

// keyPath is the expression for the key of an upserted element.
type keyPath struct {
	selector string // ID, or ID() for a method
	typ      *typ
	nilable  bool // the element is a pointer or an interface
}

// stored reports whether the field is stored.
func (f *field) stored() bool { return f.reducer != "untracked" }

// buildModel checks the types of a unit and returns the model to emit. If it adds faults to diags,
// the model may be incomplete.
func buildModel(src *source, u *unit, units []*unit, marked marks, diags *diagnostics) *model {
	r := newResolver(src, marked, diags)
	r.states = src.stateNames(units)
	r.payloads = src.namesOf(rolePayload, units)
	m := &model{pkg: src.pkg.Types, pkgPath: src.pkg.PkgPath, build: u.origin.build, sources: u.sources()}
	r.checkNames(u, units)
	for _, t := range u.types {
		if tgt := r.target(t); tgt != nil {
			m.targets = append(m.targets, tgt)
		}
	}
	m.types = r.all
	settle(m.types)
	m.absent = r.findAbsent(m)
	m.nameCodecs(src.codecPrefix(u), src.declaredLater(units))
	for _, t := range m.targets {
		switch t.role {
		case roleState:
			r.checkSettled(t)
			t.shape = describe(src.pkg.Types, t)
		case rolePayload:
			t.payload = describePayload(src.pkg.Types, t)
		}
	}
	return m
}

// newResolver returns a resolver for the types of a package.
func newResolver(src *source, marked marks, diags *diagnostics) *resolver {
	r := &resolver{src: src, diags: diags, marked: marked, syntax: fieldSyntax(src.pkg.Syntax), bad: make(map[*typ]bool), known: make(map[kind]*typeutil.Map)}
	r.readUnions()
	return r
}

// stateNames returns the names of all states in the package: those of units, and those for which
// other runs generate.
func (src *source) stateNames(units []*unit) map[string]bool {
	names := make(map[string]bool)
	for _, u := range units {
		for _, t := range u.types {
			names[t.name] = names[t.name] || t.role == roleState
		}
	}
	for _, d := range src.directives {
		if d.verb == "state" {
			names[d.name] = true
		}
		for i, name := range d.types {
			obj, ok := src.pkg.Types.Scope().Lookup(name).(*types.TypeName)
			names[name] = names[name] || ok && src.role(obj, i == 0) == roleState
		}
	}
	return names
}

// namesOf returns the names of the types of units that have a role.
func (src *source) namesOf(role role, units []*unit) map[string]bool {
	names := make(map[string]bool)
	for _, u := range units {
		for _, name := range u.named(role) {
			names[name] = true
		}
	}
	return names
}

// target checks one type of the unit. It returns nil if the type does not allow further checks.
func (r *resolver) target(t unitType) *target {
	named, ok := t.obj.Type().(*types.Named)
	switch {
	case t.obj.IsAlias():
		r.diags.add(t.pos, t.name, "is an alias of %s, which graphgen cannot add to; name the type itself, or declare type %s %s",
			r.show(types.Unalias(t.obj.Type())), t.name, r.show(types.Unalias(t.obj.Type())))
		return nil
	case !ok:
		return nil // the type error is already reported
	case named.TypeParams().Len() > 0:
		r.diags.add(t.pos, t.name, "has type parameters; declare the type that the graph uses, as in type %sOfInt %s[int]", t.name, t.name)
		return nil
	}
	tgt := &target{name: t.name, role: t.role, named: named, helper: r.src.helperName(t.name, r.states)}
	switch t.role {
	case rolePayload:
		r.payload(tgt, t)
		return tgt
	case roleUnion:
		if r.exportsUnion(t) {
			tgt.typ = r.resolve(named, place{pos: t.pos, subject: t.name})
		}
		return tgt
	}
	st, ok := named.Underlying().(*types.Struct)
	if !ok {
		r.diags.add(t.pos, t.name, "is %s, not a struct; a state is a struct whose fields have reducers", article(named.Underlying()))
		return nil
	}
	names := &claims{fields: make(map[string]string), wires: make(map[string]string)}
	r.stateFields(tgt, scope{owner: t.name, pkg: r.src.pkg.Types}, st, names)
	if r.checkMigrate(named, place{}, false) {
		tgt.migrations = append(tgt.migrations, migration{})
	}
	tgt.methods = r.src.methodsOn(t.name + "Update")
	tgt.diffMethods = r.src.methodsOn(t.name + "Diff")
	return tgt
}

// payload checks a payload type.
func (r *resolver) payload(tgt *target, t unitType) {
	at := place{pos: t.pos, subject: t.name}
	if _, ok := tgt.named.Underlying().(*types.Pointer); ok {
		r.diags.add(t.pos, t.name, "is a pointer, which cannot have methods; name a struct that holds it")
		return
	}
	for _, name := range []string{"AppendWire", "DecodeWire", "WireShape"} {
		obj, index, _ := types.LookupFieldOrMethod(tgt.named, true, r.src.pkg.Types, name)
		if obj != nil && len(index) == 1 {
			r.diags.add(r.src.pkg.Fset.Position(obj.Pos()), t.name+"."+name, "graphgen declares a method of this name for %s (%s); rename it, or take %s out of -type",
				t.name, shortPos(r.diags.dir, t.pos), t.name)
			return
		}
	}
	tgt.typ = r.resolve(tgt.named, at)
}

// stateField checks one field of a state. It returns nil if the emitters cannot use the field.
func (r *resolver) stateField(in scope, f *types.Var, raw string, names *claims) *field {
	at := r.placeIn(in, f)
	tagAt := r.tagPlace(f, at)
	t, faults := parseTag(raw)
	for _, fault := range faults {
		r.fault(tagAt, f.Type(), "%s", fault)
	}
	r.checkKey(f, raw, tagAt)
	if t.skip {
		r.fault(tagAt, f.Type(), `"-" leaves the field out of the update, so that nothing could ever set it; tag the field untracked, or keep it outside the state`)
		return nil
	}
	if !r.reaches(in, f, at) || in.foreign && !r.canSpell(f.Type(), at) {
		return nil
	}
	res := &field{
		name: f.Name(), path: in.path + f.Name(), comment: comment(r.syntax[f.Pos()]), wire: t.name, was: t.was,
		reducer: t.reducer, run: t.run, fn: t.fn, fnPkg: in.pkg, at: tagAt,
	}
	if res.wire == "" {
		res.wire = f.Name()
	}
	if res.reducer == "" {
		res.reducer = "replace"
	}
	r.claimField(names, in, f, res, tagAt)
	if len(faults) > 0 {
		return nil
	}
	r.checkOptions(res, t, tagAt, f.Type())
	if res.reducer == "untracked" {
		res.typ = r.untracked(f.Type(), at)
		return res
	}
	before := len(r.diags.list)
	res.typ = r.resolveField(f.Type(), t, at, tagAt)
	if len(r.diags.list) == before && res.typ.kind != kindInvalid {
		r.checkReducer(res, t, f.Type(), tagAt)
	}
	return res
}

// untracked returns the typ of a field that is never stored.
func (r *resolver) untracked(t types.Type, at place) *typ {
	if r.endless(t, at) {
		return new(typ)
	}
	if lock := lockIn(t, nil); lock != nil {
		what := "is"
		if !types.Identical(lock, t) {
			what = "holds"
		}
		r.fault(at, t, "type %%T %s the lock %s, which must not be copied, but states are copied; use a pointer to %%T", what, r.show(lock))
	}
	if basic, ok := types.Unalias(t).(*types.Basic); ok && basic.Kind() == types.Invalid {
		r.fillBasic(new(typ), basic, t, at)
	}
	return &typ{kind: kindOpaque, typ: t, ident: identOf(t)}
}

// checkMigrate reports whether a state, or a part of one, has the method Migrate, which converts
// stored states of an older type. It reports a foreign method of another signature at the place
// at.
func (r *resolver) checkMigrate(named *types.Named, at place, foreign bool) bool {
	obj, index, _ := types.LookupFieldOrMethod(named, true, r.src.pkg.Types, "Migrate")
	method, ok := obj.(*types.Func)
	if !ok || len(index) != 1 {
		return false
	}
	sig := method.Signature()
	_, pointer := sig.Recv().Type().(*types.Pointer)
	if pointer && !sig.Variadic() && sig.Params().Len() == 1 && isOldFields(sig.Params().At(0).Type()) &&
		sig.Results().Len() == 1 && types.Identical(sig.Results().At(0).Type(), errorType) {
		return true
	}
	name := r.show(named)
	if !foreign {
		at = place{pos: r.src.pkg.Fset.Position(method.Pos()), subject: name + ".Migrate"}
	} else {
		at = at.into("." + name + ".Migrate")
	}
	r.fault(at, named, "has the signature %s, but graphgen calls func (s *%%T) Migrate(from *state.OldFields) error with stored states of another shape; "+
		"change it, or rename it", r.show(sig))
	return false
}

// isOldFields reports whether t is *state.OldFields.
func isOldFields(t types.Type) bool {
	p, ok := types.Unalias(t).(*types.Pointer)
	if !ok {
		return false
	}
	named, ok := types.Unalias(p.Elem()).(*types.Named)
	return ok && named.Obj().Name() == "OldFields" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == statePath
}

// checkNames reports declarations of the package with names that graphgen needs.
func (r *resolver) checkNames(u *unit, units []*unit) {
	scope := r.src.pkg.Types.Scope()
	for _, t := range u.types {
		var names []string
		switch t.role {
		case roleState:
			names = r.src.generatedNames(t.name, r.states)
		case roleUnion:
			names = []string{t.name + codecSuffix}
		}
		for _, name := range names {
			if obj := scope.Lookup(name); obj != nil {
				r.diags.add(r.src.pkg.Fset.Position(obj.Pos()), name, "graphgen declares this name for %s (%s); rename it", t.name, shortPos(r.diags.dir, t.pos))
			}
		}
		if other := sharedType(u, units, t.name); other != "" {
			r.diags.add(t.pos, t.name, "is generated into two files, %s and %s; name the type on only one go:generate line", filepath.Base(other), filepath.Base(u.output))
		}
	}
	for _, name := range predeclared {
		if obj := scope.Lookup(name); obj != nil {
			r.diags.add(r.src.pkg.Fset.Position(obj.Pos()), name, "hides the predeclared identifier of this name, which generated code uses; rename the declaration")
		}
	}
}

// sharedType returns the output of an earlier unit with the same type name, or "".
func sharedType(u *unit, units []*unit, name string) string {
	for _, other := range units {
		if other == u {
			return ""
		}
		if slices.ContainsFunc(other.types, func(t unitType) bool { return t.name == name }) {
			return other.output
		}
	}
	return ""
}

// The packages of the runtime that generated code imports.
const (
	statePath = "github.com/graphgen-go/graphgen/runtime/state"
	cellPath  = "github.com/graphgen-go/graphgen/runtime/state/cell"
	shapePath = "github.com/graphgen-go/graphgen/shape"
	wirePath  = "github.com/graphgen-go/graphgen/runtime/wire"
)

// predeclared lists the predeclared identifiers that generated code uses.
var predeclared = []string{
	"append", "bool", "byte", "cap", "clear", "complex128", "complex64", "copy", "error", "false", "float32", "float64", "int", "int16", "int32",
	"int64", "int8", "len", "make", "new", "nil", "rune", "string", "true", "uint", "uint16", "uint32", "uint64", "uint8",
}

// article returns an underlying type with its article.
func article(t types.Type) string {
	switch t.(type) {
	case *types.Interface:
		return "an interface"
	case *types.Pointer:
		return "a pointer"
	case *types.Slice:
		return "a slice"
	case *types.Map:
		return "a map"
	case *types.Array:
		return "an array"
	case *types.Signature:
		return "a func"
	case *types.Chan:
		return "a channel"
	}
	return "of type " + t.String()
}

// upperFirst returns s with its first letter in upper case.
func upperFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}
