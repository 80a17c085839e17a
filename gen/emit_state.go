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
	e.emitSchema(t)
	e.emitFields(t)
	e.emitLive(t)
}

// fieldsVar returns the name of the variable that describes the fields of a state.
func fieldsVar(t *target) string { return helperName(t.name) + "Fields" }

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
	var fields, changes []jen.Code
	same := jen.Null()
	for i, f := range t.fields {
		args, _ := e.typeArgs(f)
		fields = append(fields, jen.Id(f.name).Add(stateType(f.fieldKind(), args...)))
		changes = append(changes, jen.Line().Add(stateType("FieldChange").Values(
			jen.Id("Field").Op(":").Lit(f.name),
			jen.Id("Change").Op(":").Id("&"+e.n.u+"."+f.name))))
		if i > 0 {
			same.Op("&&").Line()
		}
		same.Id(fieldsVar(t)).Dot(f.name).Dot("EqualUpdate").Call(jen.Id("&"+e.n.u+"."+f.name), jen.Id("&"+e.n.x+"."+f.name))
	}
	if len(t.fields) == 0 {
		same = jen.True()
	} else {
		changes = append(changes, jen.Line())
	}
	e.f.Line()
	e.f.Commentf("%s is what a node changes of %s: each field says what becomes of the field of that name.", name, t.name)
	e.f.Commentf("The zero %s changes nothing.", name)
	e.f.Type().Id(name).Struct(fields...)
	if !t.has("String") {
		e.f.Line()
		e.f.Commentf("String prints what %s changes.", e.n.u)
		e.f.Func().Params(jen.Id(e.n.u).Id(name)).Id("String").Params().String().Block(
			jen.Return(jen.Qual(statePath, "FormatUpdate").Call(append([]jen.Code{jen.Lit(name)}, changes...)...)))
	}
	if !t.has("Equal") {
		e.f.Line()
		e.f.Commentf("Equal reports whether %s and %s do the same, by the same operations.", e.n.u, e.n.x)
		e.f.Func().Params(jen.Id(e.n.u).Id(name)).Id("Equal").Params(jen.Id(e.n.x).Id(name)).Bool().Block(jen.Return(same))
	}
}

// has reports whether a state has a field of that name, so that its update cannot have a method of it.
func (t *target) has(name string) bool {
	return slices.ContainsFunc(t.fields, func(f *field) bool { return f.name == name })
}

// emitSchema writes the variable that graphs are built with.
func (e *emitter) emitSchema(t *target) {
	s, u := jen.Id(t.name), jen.Id(t.name+"Update")
	bytes := jen.Index().Byte()
	var descriptions []jen.Code
	for _, f := range t.fields {
		descriptions = append(descriptions, jen.Line().Id(fieldsVar(t)).Dot(f.name).Dot("Field"))
	}
	if len(descriptions) > 0 {
		descriptions = append(descriptions, jen.Line())
	}
	part := func(name string, value jen.Code) jen.Code { return jen.Line().Id(name).Op(":").Add(value) }
	e.f.Line()
	e.f.Commentf("%sSchema is all that a graph needs to know of %s.", t.name, t.name)
	e.f.Var().Id(t.name+"Schema").Op("=").Op("&").Add(stateType("Schema", s, u)).Values(
		part("Name", jen.Lit(t.name)),
		part("Fingerprint", jen.Id(fmt.Sprintf("%#016x", t.fingerprint))),
		part("Fields", jen.Index().Add(stateType("Field")).Values(descriptions...)),
		part("New", jen.Func().Params(jen.Id(e.n.opts).Add(stateType("Options"))).Add(stateType("Live", s, u)).Block(e.newBody(t)...)),
		part("Clone", jen.Func().Params(jen.Id(e.n.s).Add(s)).Add(s).Block(e.stateClone(t)...)),
		part("Equal", jen.Func().Params(jen.List(jen.Id(e.n.x), jen.Id(e.n.y)).Add(s)).Bool().Block(jen.Return(e.allEqual(t.members())))),
		part("Changed", jen.Func().Params(jen.List(jen.Id(e.n.x), jen.Id(e.n.y)).Add(s)).Index().String().Block(e.changedBody(t)...)),
		part("AppendUpdate", jen.Func().Params(jen.Id(e.n.b).Add(bytes), jen.Id(e.n.u).Op("*").Add(u)).Params(bytes, jen.Error()).
			Block(e.appendUpdateBody(t)...)),
		part("DecodeUpdate", jen.Func().Params(jen.Id(e.n.b).Add(bytes), jen.Id(e.n.u).Op("*").Add(u)).Error().
			Block(e.decodeUpdateBody(t)...)),
		jen.Line(),
	)
}

// members returns the fields of a state that are stored as those of a struct.
func (t *target) members() []*member {
	var list []*member
	for _, f := range t.fields {
		if f.stored() {
			list = append(list, &member{name: f.name, wire: f.wire, was: f.was, typ: f.typ})
		}
	}
	return list
}

func (e *emitter) newBody(t *target) []jen.Code {
	return []jen.Code{
		jen.Id(e.n.g).Op(":=").New(jen.Id(helperName(t.name))),
		jen.Id(e.n.g).Dot("init").Call(jen.Id(e.n.opts)),
		jen.Return(jen.Id(e.n.g)),
	}
}

func (e *emitter) stateClone(t *target) []jen.Code {
	var body []jen.Code
	for _, m := range t.members() {
		body = append(body, e.cloneInto(m.typ, expr(e.n.s).dot(m.name))...)
	}
	return append(body, jen.Return(jen.Id(e.n.s)))
}

func (e *emitter) changedBody(t *target) []jen.Code {
	body := []jen.Code{jen.Var().Id(e.n.list).Index().String()}
	for _, m := range t.members() {
		body = append(body, jen.If(e.differExpr(m.typ, expr(e.n.x).dot(m.name), expr(e.n.y).dot(m.name))).Block(
			expr(e.n.list).set(jen.Append(jen.Id(e.n.list), jen.Lit(m.name)))))
	}
	return append(body, jen.Return(jen.Id(e.n.list)))
}

func (e *emitter) appendUpdateBody(t *target) []jen.Code {
	w := expr(e.n.w)
	body := []jen.Code{w.define(jen.Qual(statePath, "NewUpdateWriter").Call(jen.Id(e.n.b)))}
	for _, f := range t.fields {
		if f.stored() {
			body = append(body, jen.Id(fieldsVar(t)).Dot(f.name).Dot("AppendUpdate").Call(w.addr(), jen.Id("&"+e.n.u+"."+f.name)))
		}
	}
	return append(body, jen.Return(w.call("End")))
}

func (e *emitter) decodeUpdateBody(t *target) []jen.Code {
	r, key := expr(e.n.r), expr(e.n.key)
	var cases []jen.Code
	for _, f := range t.fields {
		if !f.stored() {
			continue
		}
		names := []jen.Code{jen.Lit(f.wire)}
		for _, old := range f.was {
			names = append(names, jen.Lit(old))
		}
		cases = append(cases, jen.Case(names...).Block(
			jen.Id(fieldsVar(t)).Dot(f.name).Dot("ReadUpdate").Call(r.addr(), jen.Id("&"+e.n.u+"."+f.name))))
	}
	cases = append(cases, jen.Default().Block(r.call("Unknown", key.code())))
	return []jen.Code{
		expr(e.n.u).deref().set(jen.Id(t.name + "Update").Values()),
		r.define(wireCall("NewReader", jen.Lit(t.name+"Update"), jen.Id(e.n.b))),
		jen.For(jen.Range().Add(r.call("MapLen"))).Block(jen.Switch(key.define(r.call("Key")), key.code()).Block(cases...)),
		jen.Return(jen.Qual(statePath, "UpdateError").Call(r.addr())),
	}
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
	e.f.Commentf("%s describes the fields of %s.", fieldsVar(t), t.name)
	e.f.Var().Id(fieldsVar(t)).Op("=").Struct(types...).Values(values...)
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
	parts = append(parts, jen.Id("Reducer").Op(":").Lit(f.reducer), jen.Id("Type").Op(":").Lit(e.show(f.typ)))
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
		Block(append(body, jen.Return(selector.dot(f.key.selector).code()))...)
}

// emitLive writes the type that holds one run's state.
func (e *emitter) emitLive(t *target) {
	helper := helperName(t.name)
	var cells []jen.Code
	for _, f := range t.fields {
		_, args := e.typeArgs(f)
		cells = append(cells, jen.Id(f.name).Add(stateType(f.fieldKind()+"Cell", args...)))
	}
	e.f.Line()
	e.f.Commentf("%s is the %s of one run, with what must travel beside it.", helper, t.name)
	e.f.Type().Id(helper).Struct(
		stateType("Core"),
		jen.Id("state").Id(t.name),
		jen.Id("cells").Struct(cells...),
	)
	receiver := jen.Params(jen.Id(e.n.g).Op("*").Id(helper))
	g := expr(e.n.g)
	e.f.Line()
	e.f.Func().Add(receiver).Id("init").Params(jen.Id(e.n.opts).Add(stateType("Options"))).Block(e.initBody(t)...)
	e.f.Line()
	e.f.Comment("View implements state.Live.")
	e.f.Func().Add(receiver).Id("View").Params().Id(t.name).Block(e.viewBody(t)...)
	e.f.Line()
	e.f.Comment("Load implements state.Live.")
	e.f.Func().Add(receiver).Id("Load").Params(jen.Id(e.n.s).Id(t.name)).Block(
		g.dot("state").set(jen.Id(e.n.s)),
		g.call("Adopt"))
	e.f.Line()
	e.f.Comment("Merge implements state.Live.")
	e.f.Func().Add(receiver).Id("Merge").Params(jen.Id(e.n.task).Int(), jen.Id(e.n.u).Op("*").Id(t.name+"Update")).Error().Block(e.mergeBody(t)...)
}

// initBody binds the cells in order of their wire names, as Core wants them.
func (e *emitter) initBody(t *target) []jen.Code {
	g := expr(e.n.g)
	body := []jen.Code{g.call("Init", jen.Lit(t.name), jen.Id(e.n.opts), jen.Lit(len(t.fields)))}
	fields := slices.Clone(t.fields)
	slices.SortFunc(fields, func(a, b *field) int { return strings.Compare(a.wire, b.wire) })
	for _, f := range fields {
		body = append(body, g.dot("cells").dot(f.name).call("Bind",
			g.dot("Core").addr(), jen.Id("&"+fieldsVar(t)+"."+f.name), e.slotPointer(f)))
	}
	if t.migrate {
		body = append(body, g.call("OnMigrate", g.dot("state").dot("Migrate").code()))
	}
	return body
}

// slotPointer writes the pointer to a field's value, as the type that its cell works on.
func (e *emitter) slotPointer(f *field) jen.Code {
	pointer := expr(e.n.g).dot("state").dot(f.name).addr()
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
	body := []jen.Code{s.define(expr(e.n.g).dot("state").code())}
	for _, f := range t.fields {
		if _, ok := f.typ.typ.Underlying().(*types.Slice); ok {
			body = append(body, s.dot(f.name).set(jen.Qual("slices", "Clip").Call(s.dot(f.name).code())))
		}
	}
	return append(body, jen.Return(s.code()))
}

func (e *emitter) mergeBody(t *target) []jen.Code {
	g, u := expr(e.n.g), expr(e.n.u)
	body := []jen.Code{g.call("Begin", jen.Id(e.n.task))}
	for _, f := range t.fields {
		body = append(body, jen.If(jen.Op("!").Add(u.dot(f.name).call("IsZero"))).Block(
			g.dot("cells").dot(f.name).call("Merge", u.dot(f.name).addr())))
	}
	return append(body, jen.Return(g.call("End")))
}
