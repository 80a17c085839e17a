package gen

import (
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
)

// emitState writes all that is generated for a state.
func (e *emitter) emitState(t *target) {
	e.emitUpdate(t)
	e.emitDiff(t)
	e.emitSchema(t)
	e.emitGuard(t.named)
	e.emitFields(t)
	e.emitLive(t)
	e.emitFuncs(t)
}

// fieldsVar returns the name of the variable that describes the fields of a state.
func fieldsVar(t *target) string { return t.helper + "Fields" }

// stateType writes a type of runtime/state.
func stateType(name string, args ...jen.Code) *jen.Statement {
	code := jen.Qual(statePath, name)
	if len(args) > 0 {
		code.Types(args...)
	}
	return code
}

// fieldKind returns how runtime/state calls what belongs to a field: ListField, ListCell and List are of the kind List.
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

// emitUpdate writes the type of updates and its methods.
func (e *emitter) emitUpdate(t *target) {
	name := t.name + "Update"
	var fields []jen.Code
	f, u, v := expr(e.n.f), expr(e.n.u), expr(e.n.v)
	same := jen.Null()
	for i, field := range t.fields {
		args, _ := e.typeArgs(field)
		fields = append(fields, jen.Id(field.name).Add(stateType(field.fieldKind(), args...)))
		if i > 0 {
			same.Op("&&").Line()
		}
		same.Add(f.dot(field.name).call("EqualUpdate", u.dot(field.name).addr(), v.dot(field.name).addr()))
	}
	body := []jen.Code{f.define(jen.Op("&").Id(fieldsVar(t))), jen.Return(same)}
	if len(t.fields) == 0 {
		body = []jen.Code{jen.Return(jen.True())}
	}
	e.f.Line()
	e.f.Commentf("%s is what a node changes of %s: each field says what becomes of the field of that name.", name, t.name)
	e.f.Commentf("The zero %s changes nothing.", name)
	e.f.Type().Id(name).Struct(fields...)
	if !t.has("String") {
		e.f.Line()
		e.f.Commentf("String prints what %s changes.", e.n.u)
		e.f.Func().Params(jen.Id(e.n.u).Id(name)).Id("String").Params().String().Block(
			jen.Return(jen.Qual(statePath, "FormatUpdate").Call(jen.Lit(name), jen.Id(t.helper+"Writes").Call(u.addr()).Op("..."))))
	}
	if !t.has("Equal") {
		e.f.Line()
		e.f.Commentf("Equal reports whether %s and %s change the same in the same way.", e.n.u, e.n.v)
		e.f.Func().Params(jen.Id(e.n.u).Id(name)).Id("Equal").Params(jen.Id(e.n.v).Id(name)).Bool().Block(body...)
	}
}

// has reports whether a state has a field of that name, or its update a method that the user wrote, so that graphgen cannot
// declare one.
func (t *target) has(name string) bool {
	return t.methods[name] || slices.ContainsFunc(t.fields, func(f *field) bool { return f.name == name })
}

// emitSchema writes the variable that graphs are built with.
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
		jen.Line().Id("Fingerprint").Op(":").Id(fmt.Sprintf("%#016x", t.fingerprint)),
		jen.Line().Id("Fields").Op(":").Index().Add(stateType("Field")).Values(descriptions...),
	}
	e.f.Line()
	e.f.Commentf("%sSchema is what a graph needs to know of %s: graph.New(name, %sSchema).", t.name, t.name, t.name)
	e.f.Var().Id(t.name + "Schema").Op("=").Op("&").Add(stateType("Schema", jen.Id(t.name), jen.Id(t.name+"Update"))).
		Values(append(append(parts, functions...), jen.Line())...)
}

// schemaFuncs are the fields of state.Schema that are functions.
var schemaFuncs = []string{"New", "Clone", "Equal", "Changed", "Writes", "AppendUpdate", "DecodeUpdate"}

// emitFuncs writes the functions of the schema but for New.
func (e *emitter) emitFuncs(t *target) {
	helper, name, update, d := t.helper, jen.Id(t.name), jen.Id(t.name+"Update"), expr(e.n.d)
	bytes := jen.Index().Byte()
	pair := jen.List(jen.Id(e.n.a), jen.Id(e.n.b)).Add(name)
	e.f.Line()
	e.f.Func().Id(helper + "Clone").Params(jen.Id(e.n.s).Add(name)).Add(name).Block(e.stateClone(t)...)
	e.f.Line()
	e.f.Func().Id(helper + "Equal").Params(pair).Bool().Block(jen.Return(e.allEqual(t.stored())))
	e.f.Line()
	e.f.Func().Id(helper+"Changed").Params(pair).Index().String().Block(
		d.define(jen.Id(t.name+"DiffOf").Call(jen.Id(e.n.a), jen.Id(e.n.b))),
		jen.Return(jen.Qual(statePath, "FieldNames").Call(jen.Id(helper+"Changes").Call(d.addr()))))
	e.f.Line()
	e.f.Func().Id(helper + "Writes").Params(jen.Id(e.n.u).Op("*").Add(update)).Index().Add(stateType("FieldChange")).
		Block(e.changesBody(expr(e.n.u), t.fields))
	e.f.Line()
	e.f.Func().Id(helper+"AppendUpdate").Params(jen.Id(e.n.b).Add(bytes), jen.Id(e.n.u).Op("*").Add(update)).Params(bytes, jen.Error()).
		Block(e.appendUpdateBody(t)...)
	e.f.Line()
	e.f.Func().Id(helper+"DecodeUpdate").Params(jen.Id(e.n.b).Add(bytes), jen.Id(e.n.u).Op("*").Add(update)).Error().
		Block(e.decodeUpdateBody(t)...)
}

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

func (e *emitter) stateClone(t *target) []jen.Code {
	var body []jen.Code
	for _, m := range t.stored() {
		body = append(body, e.cloneInto(m.typ, expr(e.n.s).dot(m.name))...)
	}
	return append(body, jen.Return(jen.Id(e.n.s)))
}

func (e *emitter) appendUpdateBody(t *target) []jen.Code {
	w, f, u := expr(e.n.w), expr(e.n.f), expr(e.n.u)
	body := []jen.Code{w.define(jen.Qual(statePath, "NewUpdateWriter").Call(jen.Id(e.n.b)))}
	stored := t.stored()
	if len(stored) > 0 {
		body = append(body, f.define(jen.Op("&").Id(fieldsVar(t))))
	}
	for _, m := range stored {
		body = append(body, f.dot(m.name).call("AppendUpdate", w.addr(), u.dot(m.name).addr()))
	}
	return append(body, jen.Return(w.call("End")))
}

func (e *emitter) decodeUpdateBody(t *target) []jen.Code {
	r, f, u, key := expr(e.n.r), expr(e.n.f), expr(e.n.u), expr(e.n.key)
	body := []jen.Code{
		u.deref().set(jen.Id(t.name + "Update").Values()),
		r.define(wireCall("NewReader", jen.Lit(t.name+"Update"), jen.Id(e.n.b))),
	}
	stored := t.stored()
	if len(stored) > 0 {
		body = append(body, f.define(jen.Op("&").Id(fieldsVar(t))))
	}
	var cases []jen.Code
	for _, m := range stored {
		cases = append(cases, jen.Case(wireNames(m.wire, m.was)...).Block(f.dot(m.name).call("ReadUpdate", r.addr(), u.dot(m.name).addr())))
	}
	cases = append(cases, jen.Default().Block(r.call("Unknown", key.code())))
	return append(body,
		jen.For(jen.Range().Add(r.call("MapLen"))).Block(jen.Switch(key.define(r.call("Key")), key.code()).Block(cases...)),
		jen.Return(jen.Qual(statePath, "UpdateError").Call(r.addr())))
}

// wireNames writes the names that a field is read by.
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
	for _, f := range t.fields {
		_, args := e.typeArgs(f)
		description := stateType(f.fieldKind()+"Field", args...)
		types = append(types, jen.Id(f.name).Add(description))
		values = append(values, jen.Line().Id(f.name).Op(":").Add(description).Values(e.description(f)...))
	}
	if len(values) > 0 {
		values = append(values, jen.Line())
	}
	e.f.Line()
	e.f.Commentf("%s says how each field of %s is merged and stored. It is never written to.", fieldsVar(t), t.name)
	e.f.Var().Id(fieldsVar(t)).Op("=").Struct(types...).Values(values...)
}

// tag returns the reducer as the tag has it.
func (f *field) tag() string {
	if f.reducer == "reduce" {
		return "reduce=" + f.fn
	}
	return f.reducer
}

// description writes the parts of a field's description.
func (e *emitter) description(f *field) []jen.Code {
	parts := []jen.Code{jen.Id("Name").Op(":").Lit(f.name), jen.Id("Wire").Op(":").Lit(f.wire)}
	if len(f.was) > 0 {
		var was []jen.Code
		for _, old := range f.was {
			was = append(was, jen.Lit(old))
		}
		parts = append(parts, jen.Id("Was").Op(":").Index().String().Values(was...))
	}
	parts = append(parts, jen.Id("Reducer").Op(":").Lit(f.tag()), jen.Id("Type").Op(":").Lit(e.show(f.typ)))
	list := []jen.Code{jen.Line().Id("Field").Op(":").Add(stateType("Field").Values(parts...))}
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
		compare := jen.Qual("cmp", "Compare").Types(e.typ(f.typ.key))
		if f.typ.key.basic.Info()&types.IsBoolean != 0 {
			compare = stateType("CompareBools", e.typ(f.typ.key))
		}
		part("Compare", compare)
	case "Or", "And":
	case "Reduce":
		codec("Codec", f.typ)
		codec("Input", f.in)
		part("Reduce", jen.Id(f.fn))
	default:
		if f.stored() {
			codec("Codec", f.typ)
			e.copyFunc(f, part)
		}
	}
	return append(list, jen.Line())
}

// copyFunc adds the function that copies a slice or map one level deep to the description of a Value field.
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

// block writes the body of a function, on one line when it is one statement.
func block(body ...jen.Code) *jen.Statement {
	if len(body) == 1 {
		return jen.Custom(jen.Options{Open: "{ ", Close: " }"}, body...)
	}
	return jen.Block(body...)
}

// emitLive writes the type that holds one run's state.
func (e *emitter) emitLive(t *target) {
	helper := t.helper
	var cells []jen.Code
	for _, f := range t.fields {
		_, args := e.typeArgs(f)
		cells = append(cells, jen.Id(f.name).Add(stateType(f.fieldKind()+"Cell", args...)))
	}
	e.f.Line()
	e.f.Commentf("%s is the %s of one run.", helper, t.name)
	e.f.Type().Id(helper).Struct(stateType("Core"), jen.Id("s").Id(t.name), jen.Id("f").Struct(cells...))
	e.f.Line()
	e.f.Commentf("%sNew binds the fields in order of their wire names.", helper)
	e.f.Func().Id(helper + "New").Params(jen.Id(e.n.opts).Add(stateType("Options"))).
		Add(stateType("Live", jen.Id(t.name), jen.Id(t.name+"Update"))).Block(e.newBody(t)...)
	l := expr(e.n.l)
	receiver := jen.Params(jen.Id(e.n.l).Op("*").Id(helper))
	e.f.Line()
	e.f.Comment("View returns the state with its slices clipped.")
	e.f.Func().Add(receiver).Id("View").Params().Id(t.name).Block(e.viewBody(t)...)
	e.f.Line()
	e.f.Commentf("Load replaces the state by %s.", e.n.s)
	e.f.Func().Add(receiver).Id("Load").Params(jen.Id(e.n.s).Id(t.name)).Block(l.dot("s").set(jen.Id(e.n.s)), l.call("Adopt"))
	e.f.Line()
	e.f.Commentf("Merge applies %s.", e.n.u)
	e.f.Func().Add(receiver).Id("Merge").Params(jen.Id(e.n.task).Int(), jen.Id(e.n.u).Op("*").Id(t.name+"Update")).Error().Block(e.mergeBody(t)...)
}

// newBody binds the cells in order of their wire names, as Core wants them.
func (e *emitter) newBody(t *target) []jen.Code {
	l, f := expr(e.n.l), expr(e.n.f)
	body := []jen.Code{l.define(jen.New(jen.Id(t.helper)))}
	if len(t.fields) > 0 {
		body = append(body, f.define(jen.Op("&").Id(fieldsVar(t))))
	}
	body = append(body, l.call("Init", jen.Lit(t.name), jen.Id(e.n.opts), jen.Lit(len(t.fields))))
	if t.migrate {
		body = append(body, l.call("OnMigrate", l.dot("s").dot("Migrate").code()))
	}
	fields := slices.Clone(t.fields)
	slices.SortFunc(fields, func(a, b *field) int { return strings.Compare(a.wire, b.wire) })
	for _, field := range fields {
		body = append(body, l.dot("f").dot(field.name).call("Bind", l.dot("Core").addr(), f.dot(field.name).addr(), e.slotPointer(field)))
	}
	return append(body, jen.Return(l.code()))
}

// slotPointer writes the pointer to a field's value, as the type that its cell works on.
func (e *emitter) slotPointer(f *field) jen.Code {
	pointer := expr(e.n.l).dot("s").dot(f.name).addr()
	if _, named := types.Unalias(f.typ.typ).(*types.Named); !named {
		return pointer
	}
	switch f.fieldKind() {
	case "List", "Keyed", "Unique":
		return jen.Parens(jen.Op("*").Index().Add(e.typ(f.elem))).Call(pointer)
	case "Map":
		return jen.Parens(jen.Op("*").Map(e.typ(f.typ.key)).Add(e.typ(f.typ.elem))).Call(pointer)
	}
	return pointer
}

func (e *emitter) viewBody(t *target) []jen.Code {
	s := expr(e.n.s)
	body := []jen.Code{s.define(expr(e.n.l).dot("s").code())}
	for _, f := range t.fields {
		if _, ok := f.typ.typ.Underlying().(*types.Slice); ok {
			x := s.dot(f.name)
			body = append(body, x.set(jen.Qual("slices", "Clip").Call(x.code())))
		}
	}
	return append(body, jen.Return(s.code()))
}

func (e *emitter) mergeBody(t *target) []jen.Code {
	l, u := expr(e.n.l), expr(e.n.u)
	body := []jen.Code{l.call("Begin", jen.Id(e.n.task))}
	for _, f := range t.fields {
		x := u.dot(f.name)
		body = append(body, jen.If(jen.Op("!").Add(x.call("IsZero"))).Block(l.dot("f").dot(f.name).call("Merge", x.addr())))
	}
	return append(body, jen.Return(l.call("End")))
}
