package gen

import (
	"go/types"
	"slices"

	"github.com/dave/jennifer/jen"
	"golang.org/x/tools/go/types/typeutil"
)

// A guard is a declaration that does not compile after a change on which generated code depends.
// Without the guard, the compiler would not notice that change.

// emitGuard writes an assignment that does not compile after a struct or one of its tags has
// changed. It includes tags that graphgen does not read, but not in other packages, whose authors
// may change them. Conversions ignore tags.
func (e *emitter) emitGuard(t types.Type) {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return
	}
	st, ok := named.Underlying().(*types.Struct)
	if !ok || !e.m.writable(st) || e.guarded.At(t) != nil {
		return
	}
	e.guarded.Set(t, true)
	e.f.Line()
	e.f.Commentf("If this does not compile, %s has changed since this file was generated.", named.Obj().Name())
	e.f.Comment("Run go generate.")
	value := typeCode(e.m.pkgPath, t).Values()
	if named.Obj().Pkg() == e.m.pkg || hasGraphTag(st) {
		e.f.Var().Id("_").Add(typeCode(e.m.pkgPath, st)).Op("=").Add(value)
		return
	}
	fields := make([]*types.Var, st.NumFields())
	for i := range fields {
		fields[i] = st.Field(i)
	}
	e.f.Var().Id("_").Op("=").Add(typeCode(e.m.pkgPath, types.NewStruct(fields, nil))).Call(value)
}

// emitGuards writes the guards of everything but structs: underlying types, aliases, and the
// absence of methods that would change how values are stored.
func (e *emitter) emitGuards() {
	var lines []jen.Code
	for _, t := range e.m.underlyings() {
		if _, ok := t.Underlying().(*types.Struct); ok {
			e.emitGuard(t)
			continue
		}
		lines = append(lines, jen.Id("_").Op("=").Parens(jen.Op("*").Add(typeCode(e.m.pkgPath, t.Underlying()))).
			Call(jen.Parens(jen.Op("*").Add(typeCode(e.m.pkgPath, t))).Call(jen.Nil())))
	}
	for _, a := range e.m.aliases() {
		lines = append(lines, jen.Id("_").Op("*").Add(typeCode(e.m.pkgPath, types.Unalias(a))).Op("=").
			Parens(jen.Op("*").Add(typeCode(e.m.pkgPath, a))).Call(jen.Nil()))
	}
	for _, g := range e.m.absent {
		lines = append(lines, jen.Id("_").Op("=").Struct(
			jen.Op("*").Add(typeCode(e.m.pkgPath, g.typ)), jen.Qual(wirePath, "No"+g.method)).Values().Dot(g.method))
	}
	if len(lines) == 0 {
		return
	}
	e.f.Line()
	e.f.Comment("If one of these does not compile, a type or its methods have changed since this file was")
	e.f.Comment("generated. Run go generate.")
	e.f.Var().Defs(lines...)
}

// absence is a method that a type does not have. If it had, its values would be stored in another
// way.
type absence struct {
	typ    types.Type
	method string
}

// storing lists the methods that can store the values of a type.
var storing = []string{"AppendWire", "MarshalBinary", "MarshalText"}

// findAbsent returns the methods whose absence decides how values are stored, or whether a state
// migrates.
func (r *resolver) findAbsent(m *model) []absence {
	var list []absence
	var seen typeutil.Map
	add := func(t types.Type, methods ...string) {
		named, ok := types.Unalias(t).(*types.Named)
		if !ok || types.IsInterface(t) || !m.writable(t) {
			return
		}
		if _, pointer := t.Underlying().(*types.Pointer); pointer {
			return // has no methods
		}
		known, _ := seen.At(t).([]string)
		for _, method := range methods {
			obj, _, _ := types.LookupFieldOrMethod(named, true, r.src.pkg.Types, method)
			if obj == nil && !slices.Contains(known, method) && (method != "AppendWire" || !r.generates(named)) {
				known = append(known, method)
				list = append(list, absence{t, method})
			}
		}
		seen.Set(t, known)
	}
	for _, t := range m.types {
		switch t.kind {
		case kindTime, kindWire, kindJSON, kindInvalid, kindOpaque:
		case kindBinary, kindText:
			if t.chosen {
				continue
			}
			add(t.typ, "AppendWire", "MarshalBinary")
			// If a part of t could be stored, t would be stored field by field.
			for _, part := range r.parts(t.typ, nil) {
				add(part, storing...)
				if named, ok := types.Unalias(part).(*types.Named); ok && named.Obj().Pkg() == m.pkg && !types.IsInterface(part) && m.writable(part.Underlying()) {
					m.within = append(m.within, part)
				}
			}
		default:
			add(t.typ, "AppendWire")
		}
	}
	for _, t := range m.targets {
		if t.role == roleState {
			add(t.named, "Migrate")
			for _, part := range t.parts {
				add(part.named, "Migrate")
			}
		}
	}
	return list
}

// generates reports whether graphgen generates AppendWire for a type of this package.
func (r *resolver) generates(t *types.Named) bool {
	return t.Obj().Pkg() == r.src.pkg.Types && (r.payloads[t.Obj().Name()] || r.marked.has(t.Obj(), rolePayload))
}

// parts returns the named types within the named type t of this package. It does not look into
// types of other packages.
func (r *resolver) parts(t types.Type, seen []types.Type) []types.Type {
	if slices.ContainsFunc(seen, func(s types.Type) bool { return types.Identical(s, t) }) {
		return nil
	}
	seen = append(seen, t)
	var list []types.Type
	if named, ok := types.Unalias(t).(*types.Named); ok {
		if len(seen) > 1 {
			list = append(list, t)
		}
		if named.Obj().Pkg() != r.src.pkg.Types || len(seen) > 1 && marshalKind(named) != kindInvalid {
			return list
		}
		t = named.Underlying()
	}
	for _, part := range written(t) {
		list = append(list, r.parts(part, seen)...)
	}
	return list
}

// underlyings returns the named types of the model whose underlying types decide how they are
// stored, except those that have a guard for another reason.
func (m *model) underlyings() []types.Type {
	var list []types.Type
	var seen typeutil.Map
	add := func(t types.Type) {
		_, ok := types.Unalias(t).(*types.Named)
		if ok && seen.At(t) == nil && !types.IsInterface(t) && m.writable(t) && m.writable(t.Underlying()) {
			seen.Set(t, true)
			list = append(list, t)
		}
	}
	for _, t := range m.types {
		switch t.kind {
		case kindTime, kindWire, kindJSON, kindStruct, kindUnion, kindInvalid, kindOpaque:
		case kindText, kindBinary:
			if !t.chosen {
				add(t.typ)
			}
		default:
			add(t.typ)
		}
		if t.key != nil {
			add(t.key.typ)
		}
	}
	for _, t := range m.targets {
		for _, f := range t.fields {
			if f.key != nil {
				add(f.key.typ.typ)
			}
		}
	}
	return append(list, m.within...)
}

// aliases returns the aliases in the written forms of the model's types.
func (m *model) aliases() []*types.Alias {
	var list []*types.Alias
	visit := func(a *types.Alias) {
		if a.Obj().Pkg() != nil && !slices.ContainsFunc(list, func(other *types.Alias) bool { return other.Obj() == a.Obj() && types.Identical(other, a) }) &&
			m.writable(a) && m.writable(types.Unalias(a)) {
			list = append(list, a)
		}
	}
	for _, t := range m.types {
		aliasesIn(t.typ, visit)
		aliasesIn(t.typ.Underlying(), visit)
	}
	for _, t := range m.targets {
		aliasesIn(t.named.Underlying(), visit)
		for _, part := range t.parts {
			aliasesIn(part.named.Underlying(), visit)
		}
	}
	return list
}

// aliasesIn visits the aliases in the written form of t.
func aliasesIn(t types.Type, visit func(*types.Alias)) {
	if a, ok := t.(*types.Alias); ok {
		visit(a)
		return
	}
	for _, part := range written(t) {
		aliasesIn(part, visit)
	}
}

// writable reports whether code of the model's package can write the type t.
func (m *model) writable(t types.Type) bool {
	nameable := func(obj *types.TypeName) bool {
		return obj.Pkg() == nil || obj.Pkg() == m.pkg || obj.Exported() && mayImport(m.pkgPath, obj.Pkg().Path())
	}
	if a, ok := t.(*types.Alias); ok && nameable(a.Obj()) {
		return true
	}
	t = types.Unalias(t)
	switch t := t.(type) {
	case *types.Named:
		if !nameable(t.Obj()) {
			return false
		}
	case *types.Struct:
		for i := range t.NumFields() {
			if f := t.Field(i); !f.Exported() && f.Pkg() != m.pkg {
				return false
			}
		}
	case *types.Interface:
		for i := range t.NumMethods() {
			if f := t.Method(i); !f.Exported() && f.Pkg() != m.pkg {
				return false
			}
		}
	}
	return !slices.ContainsFunc(written(t), func(part types.Type) bool { return !m.writable(part) })
}
