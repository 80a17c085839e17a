package gen

import (
	"slices"

	"github.com/dave/jennifer/jen"
)

// emitDiff writes the type for the difference between two states, its constructor and its methods.
func (e *emitter) emitDiff(t *target) {
	name := t.name + "Diff"
	state, diff := jen.Id(t.name), jen.Id(name)
	var fields []jen.Code
	for _, f := range t.fields {
		if f.stored() {
			fields = append(fields, jen.Id(f.name).Add(e.changeType(f)))
		}
	}
	e.f.Line()
	e.f.Commentf("%s is the difference between two values of %s, by field.", name, t.name)
	e.f.Commentf("The zero %s means that they are equal.", name)
	if len(fields) < len(t.fields) {
		e.f.Comment("It has no untracked fields.")
	}
	e.f.Type().Id(name).Struct(fields...)
	e.f.Line()
	e.f.Commentf("%sOf returns the difference between %s and %s. It shares memory with both.", name, e.n.before, e.n.after)
	e.f.Func().Id(name + "Of").Params(jen.List(jen.Id(e.n.before), jen.Id(e.n.after)).Add(state)).Add(diff).Block(e.diffBody(t)...)
	changes := jen.Id(t.helper + "Changes").Call(expr(e.n.d).addr())
	method := func(method, comment string, result, body *jen.Statement) {
		if t.diffHas(method) {
			return
		}
		e.f.Line()
		e.f.Comment(comment)
		e.f.Func().Params(jen.Id(e.n.d).Add(diff)).Id(method).Params().Add(result).Block(jen.Return(body))
	}
	list := jen.Index().Add(stateType("FieldChange"))
	method("IsZero", "IsZero reports whether no field differs.", jen.Bool(), jen.Add(changes).Op("==").Nil())
	method("Changes", "Changes returns the fields that differ, in order of declaration; nil if none does.", list, changes)
	method("String", "String returns the fields that differ as text, one per line.", jen.String(), jen.Qual(cellPath, "FormatDiff").Call(changes))
	e.f.Line()
	e.f.Commentf("%sChanges returns the fields of %s that differ.", t.helper, e.n.d)
	e.f.Func().Id(t.helper + "Changes").Params(jen.Id(e.n.d).Op("*").Add(diff)).Add(list).Block(
		e.changesBody(expr(e.n.d), slices.DeleteFunc(slices.Clone(t.fields), func(f *field) bool { return !f.stored() })))
}

// diffHas reports whether a diff has a field with that name or a method by the user, so that
// graphgen cannot declare one.
func (t *target) diffHas(name string) bool {
	return t.diffMethods[name] || slices.ContainsFunc(t.fields, func(f *field) bool { return f.name == name && f.stored() })
}

// changeType writes the type of a field of a diff.
func (e *emitter) changeType(f *field) *jen.Statement {
	switch f.fieldKind() {
	case "List", "Unique":
		return stateType("ListChange", e.typ(f.elem))
	case "Keyed":
		return stateType("KeyedChange", e.typ(f.elem))
	case "Map":
		return stateType("MapChange", e.typ(f.typ.key), e.typ(f.typ.elem))
	}
	return stateType("Change", e.typ(f.typ))
}

// diffBody compares the fields and records the differences.
func (e *emitter) diffBody(t *target) []jen.Code {
	d := expr(e.n.d)
	body := []jen.Code{jen.Var().Id(e.n.d).Id(t.name + "Diff")}
	for _, f := range t.fields {
		if !f.stored() {
			continue
		}
		before, after := expr(e.n.before).dot(f.path), expr(e.n.after).dot(f.path)
		change := jen.Qual(cellPath, "Changed").Call(before.code(), after.code())
		switch f.fieldKind() {
		case "List", "Unique", "Keyed", "Map":
			change = expr(fieldsVar(t)).dot(f.name).call("Diff", before.code(), after.code())
		}
		body = append(body, jen.If(e.differExpr(f.typ, before, after)).Block(d.dot(f.name).set(change)))
	}
	return append(body, jen.Return(d.code()))
}

// changesBody writes the return statement with the changes of fields in x.
func (e *emitter) changesBody(x expr, fields []*field) *jen.Statement {
	var changes []jen.Code
	for _, f := range fields {
		changes = append(changes, jen.Line().Add(stateType("FieldChange").Values(
			jen.Id("Field").Op(":").Lit(f.name),
			jen.Id("Change").Op(":").Add(x.dot(f.name).addr()))))
	}
	if len(changes) > 0 {
		changes = append(changes, jen.Line())
	}
	return jen.Return(jen.Qual(cellPath, "Changes").Call(changes...))
}
