package gen

import (
	"strings"

	"github.com/dave/jennifer/jen"
)

// emitUpdate writes the type of updates and its methods.
func (e *emitter) emitUpdate(t *target) {
	name := t.name + "Update"
	var fields []jen.Code
	for _, field := range t.fields {
		args, _ := e.typeArgs(field)
		fields = append(fields, commented(jen.Id(field.name).Add(stateType(field.fieldKind(), args...)), field)...)
	}
	e.f.Line()
	e.f.Commentf("%s is the update of %s that a node returns.", name, t.name)
	e.f.Comment("It has a set of operations for each field.")
	e.f.Commentf("The zero %s changes nothing.", name)
	e.f.Type().Id(name).Struct(fields...)
	if !t.has("String") {
		e.emitUpdateString(t)
	}
	if !t.has("Equal") {
		e.emitUpdateEqual(t)
	}
}

// emitUpdateString writes the method String of an update.
func (e *emitter) emitUpdateString(t *target) {
	name := t.name + "Update"
	writes := jen.Id(t.helper + "Writes").Call(expr(e.n.u).addr()).Op("...")
	e.f.Line()
	e.f.Commentf("String returns the operations in %s as text, by field.", e.n.u)
	e.f.Func().Params(jen.Id(e.n.u).Id(name)).Id("String").Params().String().Block(
		jen.Return(jen.Qual(cellPath, "FormatUpdate").Call(jen.Lit(name), writes)))
}

// emitUpdateEqual writes the method Equal of an update.
func (e *emitter) emitUpdateEqual(t *target) {
	name, u, v := t.name+"Update", expr(e.n.u), expr(e.n.v)
	same := jen.Qual(cellPath, "SameUpdate").Call(jen.Id(t.helper+"AppendUpdate"), u.addr(), v.addr())
	for _, field := range t.fields {
		if !field.stored() {
			same.Op("&&").Line().Add(u.dot(field.name).call("IsZero")).Op("==").Add(v.dot(field.name).call("IsZero"))
		}
	}
	e.f.Line()
	e.f.Commentf("Equal reports whether %s and %s have the same operations, which are stored as the same bytes.", e.n.u, e.n.v)
	if len(t.stored()) < len(t.fields) {
		e.f.Comment("It compares only whether untracked fields are set.")
	}
	e.f.Func().Params(jen.Id(e.n.u).Id(name)).Id("Equal").Params(jen.Id(e.n.v).Id(name)).Bool().Block(jen.Return(same))
}

// maxComment is the length up to which a comment is on the line of the field; a longer comment is
// above it.
const maxComment = 80

// commented returns the declaration of an update's field with a comment: the reducer and the
// user's comment on the field.
func commented(declaration *jen.Statement, f *field) []jen.Code {
	text := f.tag()
	if f.key != nil {
		text += " by " + f.key.selector
	}
	if f.run {
		text += ", run"
	}
	if f.comment != "" {
		text += ": " + f.comment
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 && len(text) <= maxComment {
		return []jen.Code{declaration.Comment("// " + text)}
	}
	var codes []jen.Code
	for _, line := range lines {
		codes = append(codes, jen.Comment(strings.TrimSpace("// "+line)))
	}
	return append(codes, declaration)
}

// emitAppendUpdate writes the function that encodes an update.
func (e *emitter) emitAppendUpdate(t *target) {
	bytes := jen.Index().Byte()
	params := []jen.Code{jen.Id(e.n.b).Add(bytes), jen.Id(e.n.u).Op("*").Id(t.name + "Update")}
	e.f.Line()
	e.f.Commentf("%sAppendUpdate appends %s to %s as MessagePack.", t.helper, e.n.u, e.n.b)
	e.f.Func().Id(t.helper+"AppendUpdate").Params(params...).Params(bytes, jen.Error()).Block(e.appendUpdateBody(t)...)
}

// emitDecodeUpdate writes the function that decodes an update.
func (e *emitter) emitDecodeUpdate(t *target) {
	params := []jen.Code{jen.Id(e.n.b).Index().Byte(), jen.Id(e.n.u).Op("*").Id(t.name + "Update")}
	e.f.Line()
	e.f.Commentf("%sDecodeUpdate decodes %s into %s.", t.helper, e.n.b, e.n.u)
	e.f.Func().Id(t.helper + "DecodeUpdate").Params(params...).Error().Block(e.decodeUpdateBody(t)...)
}

// appendUpdateBody emits the body of the function that encodes an update.
func (e *emitter) appendUpdateBody(t *target) []jen.Code {
	w, f, u := expr(e.n.w), expr(e.n.f), expr(e.n.u)
	body := []jen.Code{w.define(jen.Qual(cellPath, "NewUpdateWriter").Call(jen.Id(e.n.b)))}
	stored := t.stored()
	if len(stored) > 0 {
		body = append(body, f.define(jen.Op("&").Id(fieldsVar(t))))
	}
	for _, m := range stored {
		body = append(body, f.dot(m.name).call("AppendUpdate", w.addr(), u.dot(m.name).addr()))
	}
	return append(body, jen.Return(w.call("End")))
}

// decodeUpdateBody emits the body of the function that decodes an update.
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
		jen.Return(jen.Qual(cellPath, "UpdateError").Call(r.addr())))
}
