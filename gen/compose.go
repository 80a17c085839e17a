package gen

import (
	"go/token"
	"go/types"
	"slices"
)

// A state is composed if it embeds structs whose tags name reducers. The fields of such a struct,
// which is called a part, are fields of the state.

// scope is the struct that declares fields of a state: the state itself or one of its parts.
type scope struct {
	owner string // the type as the state's package writes it
	pkg   *types.Package
	path  string // the selector from the state to the struct, with a dot at its end; empty for the state

	// at is the embedded field of this package through which the fields belong to the state.
	// Faults of fields that another package declares are reported there.
	at      place
	foreign bool
}

// partOf returns the type of an embedded field whose fields are fields of the state, or nil. A tag
// with a reducer keeps an embedded struct one field.
func partOf(f *types.Var, raw string) *types.Named {
	if t, _ := parseTag(raw); !f.Embedded() || t.reducer != "" || t.skip {
		return nil
	}
	named, ok := types.Unalias(f.Type()).(*types.Named)
	if !ok || !hasReducer(named) {
		return nil
	}
	return named
}

// hasReducer reports whether a field of the struct t names a reducer in its tag, or a field of a
// part of t does.
func hasReducer(t types.Type) bool { return reducerIn(t, nil) }

// reducerIn is hasReducer. seen are the structs around t.
func reducerIn(t types.Type, seen []types.Type) bool {
	st, ok := t.Underlying().(*types.Struct)
	if !ok || slices.Contains(seen, t) {
		return false
	}
	for i := range st.NumFields() {
		tag, _ := parseTag(st.Tag(i))
		if tag.merges() {
			return true
		}
		part, ok := types.Unalias(st.Field(i).Type()).(*types.Named)
		if ok && st.Field(i).Embedded() && reducerIn(part, append(seen, t)) {
			return true
		}
	}
	return false
}

// isPart reports whether t is a part of a state of this package. The reducers in it then have an
// effect.
func (r *resolver) isPart(t *types.Named) bool {
	for name, ok := range r.states {
		obj, isType := r.src.pkg.Types.Scope().Lookup(name).(*types.TypeName)
		if ok && isType && contains(obj.Type(), t, nil) {
			return true
		}
	}
	return false
}

// contains reports whether part is a part of the struct t.
func contains(t types.Type, part *types.Named, seen []types.Type) bool {
	st, ok := t.Underlying().(*types.Struct)
	if !ok || slices.Contains(seen, t) {
		return false
	}
	for i := range st.NumFields() {
		named := partOf(st.Field(i), st.Tag(i))
		if named != nil && (types.Identical(named, part) || contains(named, part, append(seen, t))) {
			return true
		}
	}
	return false
}

// stateFields checks the fields of a state or of one of its parts, and adds them to the target.
func (r *resolver) stateFields(tgt *target, in scope, st *types.Struct, names *claims) {
	for i := range st.NumFields() {
		f, raw := st.Field(i), st.Tag(i)
		switch part := partOf(f, raw); {
		case f.Name() == "_":
		case part != nil:
			r.addPart(tgt, in, f, raw, part, names)
		case r.embedsPointer(in, f, raw):
		default:
			if res := r.stateField(in, f, raw, names); res != nil {
				tgt.fields = append(tgt.fields, res)
			}
		}
	}
}

// addPart checks an embedded struct whose fields are fields of the state.
func (r *resolver) addPart(tgt *target, in scope, f *types.Var, raw string, named *types.Named, names *claims) {
	at := r.placeIn(in, f)
	tagAt := r.tagPlace(f, at)
	tag, faults := parseTag(raw)
	for _, fault := range faults {
		r.fault(tagAt, f.Type(), "%s", fault)
	}
	if tag.present && len(faults) == 0 {
		r.fault(tagAt, f.Type(), "an option is for one field, but the fields of the embedded %%T are fields of the state, since their tags "+
			`name reducers; remove the tag, or add "replace" to store %%T as one field`)
	}
	if !r.reaches(in, f, at) {
		return
	}
	pkg := named.Obj().Pkg()
	inner := scope{owner: r.show(named), pkg: pkg, path: in.path + f.Name() + ".", at: at, foreign: pkg != r.src.pkg.Types}
	if in.foreign {
		inner.at = in.at
	}
	n, from := len(tgt.parts), len(tgt.fields)
	tgt.parts = append(tgt.parts, part{named: named, path: in.path + f.Name()})
	r.stateFields(tgt, inner, named.Underlying().(*types.Struct), names)
	tgt.parts[n].fields = tgt.fields[from:len(tgt.fields):len(tgt.fields)]
	if r.isState(named, tgt) {
		tgt.parts[n].name = tgt.name + upperFirst(f.Name())
		r.claimPart(tgt, tgt.parts[n].name, inner.at)
	}
	if r.checkMigrate(named, inner.at, inner.foreign) {
		m := migration{path: in.path + f.Name()}
		for _, field := range tgt.fields[from:] {
			if field.stored() {
				m.wires = append(m.wires, field.wire)
			}
		}
		if len(m.wires) > 0 {
			tgt.migrations = append(tgt.migrations, m)
		}
	}
}

// isState reports whether a part is also a state, which has an update and a schema in all builds
// of the state around it.
func (r *resolver) isState(named *types.Named, around *target) bool {
	obj := named.Obj()
	if named.TypeArgs().Len() > 0 {
		return false
	}
	if obj.Pkg() == r.src.pkg.Types {
		of := r.src.originOf(obj.Pos())
		return r.states[obj.Name()] && (of.sameBuilds(origin{}) || of.sameBuilds(r.src.originOf(around.named.Obj().Pos())))
	}
	_, update := obj.Pkg().Scope().Lookup(obj.Name() + "Update").(*types.TypeName)
	_, schema := obj.Pkg().Scope().Lookup(obj.Name() + "Schema").(*types.Var)
	return update && schema || r.marked.has(obj, roleState)
}

// claimPart reports a declaration with the name of the variable for a part.
func (r *resolver) claimPart(tgt *target, name string, at place) {
	obj := r.src.pkg.Types.Scope().Lookup(name)
	switch {
	case obj != nil:
		r.diags.add(r.src.pkg.Fset.Position(obj.Pos()), name, "graphgen declares this name for the part that %s embeds (%s); rename it", tgt.name, shortPos(r.diags.dir, at.pos))
	case r.src.declaredLater(nil)[name]:
		r.diags.add(at.pos, at.subject, "graphgen declares %s for this part and for a state; give the embedded struct another name, as in type Inner = Outer", name)
	}
}

// embedsPointer reports a part that is embedded by pointer.
func (r *resolver) embedsPointer(in scope, f *types.Var, raw string) bool {
	pointer, ok := types.Unalias(f.Type()).(*types.Pointer)
	if tag, _ := parseTag(raw); !ok || !f.Embedded() || tag.reducer != "" || !hasReducer(pointer.Elem()) {
		return false
	}
	r.fault(r.placeIn(in, f), pointer.Elem(), "embeds %%T by pointer, but its tags name reducers, and a nil pointer has no fields to merge; embed %%T itself")
	return true
}

// reaches reports whether code of this package can reach a field.
func (r *resolver) reaches(in scope, f *types.Var, at place) bool {
	if f.Exported() || f.Pkg() == r.src.pkg.Types {
		return true
	}
	fix := "declare the struct in package " + r.src.pkg.Name
	if in.path != "" {
		fix += `, or tag the embedded struct graph:"replace" to store it as one field`
	}
	r.fault(at, f.Type(), "is an unexported field of package %s, which code of package %s cannot reach; %s", f.Pkg().Name(), r.src.pkg.Name, fix)
	return false
}

// placeIn returns the place of a field of a state or part.
func (r *resolver) placeIn(in scope, f *types.Var) place {
	if in.foreign {
		return in.at.into("." + in.owner + "." + f.Name())
	}
	return r.placeOf(f, in.owner)
}

// claims are the names of the fields of a state, with the field that has each.
type claims struct {
	fields map[string]string // by name in Go
	wires  map[string]string // by wire name, and by former ones
}

// claimField records the names of a field of a state. It reports names that an earlier field has.
func (r *resolver) claimField(names *claims, in scope, f *types.Var, res *field, at place) {
	label := in.owner + "." + f.Name() + " (" + r.declaredAt(f.Pos(), in.foreign) + ")"
	if other, taken := names.fields[res.name]; taken {
		r.fault(at, f.Type(), "has the name of field %s, and both are fields of the state; rename one of them", other)
		return
	}
	names.fields[res.name] = label
	r.claim(names.wires, label, res.wire, res.was, at, f.Type())
}

// declaredAt returns a position for messages. Positions in other packages have no column, because
// the compiler does not export it.
func (r *resolver) declaredAt(at token.Pos, foreign bool) string {
	pos := r.src.pkg.Fset.Position(at)
	if foreign {
		pos.Column = 0
	}
	return shortPos(r.diags.dir, pos)
}

// canSpell reports whether code of this package can write the type t of a field that another
// package declares. If not, it reports a fault.
func (r *resolver) canSpell(t types.Type, at place) bool {
	if alias, ok := r.spell(t).(*types.Alias); ok && r.canName(alias.Obj()) {
		return true
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		for i := range t.TypeArgs().Len() {
			if !r.canSpell(t.TypeArgs().At(i), at) {
				return false
			}
		}
		return r.nameable(t, at)
	case *types.Map:
		return r.canSpell(t.Key(), at) && r.canSpell(t.Elem(), at)
	case interface{ Elem() types.Type }:
		return r.canSpell(t.Elem(), at)
	}
	return true
}
