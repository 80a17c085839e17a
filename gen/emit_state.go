package gen

import (
	"fmt"
	"go/types"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/graphgen-go/graphgen/shape"
)

// emitState writes all code for a state.
func (e *emitter) emitState(t *target) {
	e.emitUpdate(t)
	e.emitDiff(t)
	e.emitSchema(t)
	for _, part := range t.parts {
		if part.name != "" {
			e.emitPart(t, part)
		}
	}
	e.emitGuard(t.named)
	for _, part := range t.parts {
		e.emitGuard(part.named)
	}
	e.emitFields(t)
	if len(t.shape.Types) > 0 {
		e.emitTypes(typesVar(t), t.name, t.shape.Types)
	}
	e.emitLive(t)
	e.emitFuncs(t)
}

// typesVar returns the name of the variable with the types within a state or payload.
func typesVar(t *target) string { return t.helper + "Types" }

// fieldsVar returns the name of the variable that describes the fields of a state.
func fieldsVar(t *target) string { return t.helper + "Fields" }

// stateType writes a type of runtime/state.
func stateType(name string, args ...jen.Code) *jen.Statement { return typeOf(statePath, name, args) }

// cellType writes a type or a function of runtime/state/cell.
func cellType(name string, args ...jen.Code) *jen.Statement { return typeOf(cellPath, name, args) }

// typeOf returns the type name of the package path, with type arguments if there are any.
func typeOf(path, name string, args []jen.Code) *jen.Statement {
	code := jen.Qual(path, name)
	if len(args) > 0 {
		code.Types(args...)
	}
	return code
}

// fieldKind returns the name of a field's kind in the runtime: the kind List has cell.ListField,
// cell.ListCell and state.List.
func (f *field) fieldKind() string {
	switch f.reducer {
	case "append":
		return "List"
	case "upsert":
		return "Keyed"
	case "union":
		return "Unique"
	case "merge":
		return "Map"
	case "sum", "min", "max", "or", "and", "reduce":
		return upperFirst(f.reducer)
	}
	return "Value"
}

// typeArgs returns the type arguments of a field's update, and those of its description and cell.
func (e *emitter) typeArgs(f *field) (update, cell []jen.Code) {
	list := func(types ...*typ) []jen.Code {
		var codes []jen.Code
		for _, t := range types {
			codes = append(codes, e.typ(t))
		}
		return codes
	}
	switch f.reducer {
	case "append", "union":
		update = list(f.elem)
	case "upsert":
		update = list(f.key.typ, f.elem)
	case "merge":
		update = list(f.typ.key, f.typ.elem)
	case "reduce":
		return list(f.in), list(f.typ, f.in)
	default:
		update = list(f.typ)
	}
	return update, update
}

// has reports whether a state has a field with that name, or its update a method by the user, so
// that graphgen cannot declare one.
func (t *target) has(name string) bool {
	return t.methods[name] || slices.ContainsFunc(t.fields, func(f *field) bool { return f.name == name })
}

// emitPart writes the variable that connects a state with a part that is a state of its own.
func (e *emitter) emitPart(t *target, p part) {
	name := func(suffix string) *jen.Statement {
		return jen.Qual(p.named.Obj().Pkg().Path(), p.named.Obj().Name()+suffix)
	}
	whole := jen.Id(t.name + "Update")
	s, u, v := expr(e.n.s), expr(e.n.u), expr(e.n.v)
	widen, narrow := []jen.Code{}, []jen.Code{}
	for _, f := range p.fields {
		widen = append(widen, u.dot(f.name).set(v.dot(f.name).code()))
		narrow = append(narrow, v.dot(f.name).set(u.dot(f.name).code()))
	}
	e.f.Line()
	e.f.Commentf("%s connects %s with its part %s, so that graph.Part takes nodes over the part.", p.name, t.name, e.showType(p.named))
	e.f.Var().Id(p.name).Op("=").Add(stateType("Part", jen.Id(t.name), whole, name(""), name("Update"))).Values(
		jen.Line().Id("Schema").Op(":").Add(name("Schema")),
		jen.Line().Id("Of").Op(":").Func().Params(s.code().Id(t.name)).Add(name("")).Block(jen.Return(s.dot(p.path).code())),
		jen.Line().Id("Widen").Op(":").Func().Params(v.code().Add(name("Update"))).Params(u.code().Add(whole)).Block(append(widen, jen.Return(u.code()))...),
		jen.Line().Id("Narrow").Op(":").Func().Params(u.code().Add(whole)).Params(v.code().Add(name("Update"))).Block(append(narrow, jen.Return(v.code()))...),
		jen.Line())
}

// emitSchema writes the variable for building graphs.
func (e *emitter) emitSchema(t *target) {
	var descriptions, functions []jen.Code
	for _, f := range t.fields {
		descriptions = append(descriptions, jen.Line().Id(fieldsVar(t)).Dot(f.name).Dot("Field"))
	}
	if len(descriptions) > 0 {
		descriptions = append(descriptions, jen.Line())
	}
	for _, part := range schemaFuncs {
		functions = append(functions, jen.Line().Id(part).Op(":").Id(t.helper+part))
	}
	parts := []jen.Code{
		jen.Line().Id("Name").Op(":").Lit(t.name),
		jen.Line().Id("Fingerprint").Op(":").Id(fmt.Sprintf("%#016x", t.shape.Fingerprint())),
		jen.Line().Id("Fields").Op(":").Index().Add(shapeType("Field")).Values(descriptions...),
	}
	if len(t.shape.Types) > 0 {
		parts = append(parts, jen.Line().Id("Types").Op(":").Id(typesVar(t)))
	}
	e.f.Line()
	e.f.Commentf("%sSchema describes %s to a graph: graph.New(name, %sSchema).", t.name, t.name, t.name)
	e.f.Comment("It must not be modified.")
	e.f.Var().Id(t.name + "Schema").Op("=").Op("&").Add(stateType("Schema", jen.Id(t.name), jen.Id(t.name+"Update"))).
		Values(append(append(parts, functions...), jen.Line())...)
}

// schemaFuncs are the fields of state.Schema that are functions.
var schemaFuncs = []string{"New", "Clone", "Diff", "Writes", "AppendUpdate", "DecodeUpdate"}

// emitFuncs writes the functions of the schema except New.
func (e *emitter) emitFuncs(t *target) {
	e.emitClone(t)
	e.emitDiffFunc(t)
	e.emitWrites(t)
	e.emitAppendUpdate(t)
	e.emitDecodeUpdate(t)
}

// emitClone writes the function that copies a state.
func (e *emitter) emitClone(t *target) {
	e.f.Line()
	e.f.Commentf("%sClone returns a deep copy of %s.", t.helper, e.n.s)
	e.f.Func().Id(t.helper + "Clone").Params(jen.Id(e.n.s).Id(t.name)).Id(t.name).Block(e.stateClone(t)...)
}

// emitDiffFunc writes the function that compares two states by field.
func (e *emitter) emitDiffFunc(t *target) {
	d, before, after := expr(e.n.d), jen.Id(e.n.before), jen.Id(e.n.after)
	e.f.Line()
	e.f.Commentf("%sDiff returns the fields that differ between %s and %s.", t.helper, e.n.before, e.n.after)
	e.f.Func().Id(t.helper+"Diff").Params(jen.List(before, after).Id(t.name)).Add(fieldChanges()).Block(
		d.define(jen.Id(t.name+"DiffOf").Call(before, after)),
		jen.Return(jen.Id(t.helper+"Changes").Call(d.addr())))
}

// emitWrites writes the function that lists the operations of an update by field.
func (e *emitter) emitWrites(t *target) {
	e.f.Line()
	e.f.Commentf("%sWrites returns the fields that %s changes.", t.helper, e.n.u)
	e.f.Func().Id(t.helper + "Writes").Params(jen.Id(e.n.u).Op("*").Id(t.name + "Update")).Add(fieldChanges()).
		Block(e.changesBody(expr(e.n.u), t.fields))
}

// fieldChanges returns the type []state.FieldChange.
func fieldChanges() jen.Code { return jen.Index().Add(stateType("FieldChange")) }

// stored returns the fields of a state that are stored, as members of a struct.
func (t *target) stored() []*member {
	var list []*member
	for _, f := range t.fields {
		if f.stored() {
			list = append(list, &member{name: f.name, wire: f.wire, was: f.was, typ: f.typ})
		}
	}
	return list
}

// stateClone emits the body of the function that clones a state.
func (e *emitter) stateClone(t *target) []jen.Code {
	var body []jen.Code
	for _, f := range t.fields {
		if f.stored() {
			body = append(body, e.cloneInto(f.typ, expr(e.n.s).dot(f.path))...)
		}
	}
	return append(body, jen.Return(jen.Id(e.n.s)))
}

// wireNames writes the names under which a field is read.
func wireNames(name string, was []string) []jen.Code {
	list := []jen.Code{jen.Lit(name)}
	for _, old := range was {
		list = append(list, jen.Lit(old))
	}
	return list
}

// emitFields writes the variable that describes the fields.
func (e *emitter) emitFields(t *target) {
	var types, values []jen.Code
	for i, f := range t.fields {
		_, args := e.typeArgs(f)
		description := cellType(f.fieldKind()+"Field", args...)
		types = append(types, jen.Id(f.name).Add(description))
		values = append(values, jen.Line().Id(f.name).Op(":").Add(description).Values(e.description(f, t.shape.Fields[i])...))
	}
	if len(values) > 0 {
		values = append(values, jen.Line())
	}
	e.f.Line()
	e.f.Commentf("%s describes how each field of %s is merged and stored.", fieldsVar(t), t.name)
	e.f.Comment("It must not be modified.")
	e.f.Var().Id(fieldsVar(t)).Op("=").Struct(types...).Values(values...)
}

// tag returns the reducer as in the tag.
func (f *field) tag() string {
	if f.reducer == "reduce" {
		return "reduce=" + f.fn
	}
	return f.reducer
}

// description writes the parts of a field's description.
func (e *emitter) description(f *field, described shape.Field) []jen.Code {
	list := []jen.Code{jen.Line().Id("Field").Op(":").Add(shapeType("Field").Values(fieldShape(described)...))}
	part := func(name string, value jen.Code) { list = append(list, jen.Line().Id(name).Op(":").Add(value)) }
	codec := func(name string, t *typ) { part(name, e.codec(t).Values()) }
	switch f.fieldKind() {
	case "List", "Unique":
		codec("Elem", f.elem)
	case "Keyed":
		codec("Elem", f.elem)
		codec("Keys", f.key.typ)
		part("Key", e.keyFunc(f))
	case "Map":
		codec("Keys", f.typ.key)
		codec("Values", f.typ.elem)
		switch key := f.typ.key; {
		case key.kind != kindBasic:
		case key.basic.Info()&types.IsBoolean != 0:
			part("Compare", cellType("CompareBools", e.typ(key)))
		default:
			part("Compare", jen.Qual("cmp", "Compare").Types(e.typ(key)))
		}
	case "Or", "And":
	case "Reduce":
		codec("Codec", f.typ)
		codec("Input", f.in)
		reduce := jen.Id(f.fn)
		if f.fnPkg != e.m.pkg {
			reduce = jen.Qual(f.fnPkg.Path(), f.fn)
		}
		part("Reduce", reduce)
	default:
		if f.stored() {
			codec("Codec", f.typ)
			e.copyFunc(f, part)
		}
	}
	return append(list, jen.Line())
}

// copyFunc adds the function that copies a slice or map one level deep to the description of a
// Value field.
func (e *emitter) copyFunc(f *field, part func(name string, value jen.Code)) {
	if f.fieldKind() != "Value" {
		return
	}
	switch f.typ.typ.Underlying().(type) {
	case *types.Slice:
		part("Copy", jen.Qual("slices", "Clone").Types(e.typ(f.typ)))
	case *types.Map:
		part("Copy", jen.Qual("maps", "Clone").Types(e.typ(f.typ)))
	}
}

// keyFunc writes the function that returns the key of an element.
func (e *emitter) keyFunc(f *field) jen.Code {
	elem := expr(e.n.v).deref()
	var body []jen.Code
	if f.key.nilable {
		body = append(body, jen.If(elem.code().Op("==").Nil()).Block(jen.Return(e.zero(f.key.typ))))
	}
	selector := expr(e.n.v)
	if f.key.nilable || f.elem.kind == kindSlice || f.elem.kind == kindMap {
		selector = elem
	}
	return jen.Func().Params(jen.Id(e.n.v).Op("*").Add(e.typ(f.elem))).Add(e.typ(f.key.typ)).
		Add(block(append(body, jen.Return(selector.dot(f.key.selector).code()))...))
}

// block writes the body of a function. A single statement is on one line.
func block(body ...jen.Code) *jen.Statement {
	if len(body) == 1 {
		return jen.Custom(jen.Options{Open: "{ ", Close: " }"}, body...)
	}
	return jen.Block(body...)
}
