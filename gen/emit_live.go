package gen

import (
	"go/types"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
)

// emitLive writes the type that holds the state of one run.
func (e *emitter) emitLive(t *target) {
	helper := t.helper
	var cells []jen.Code
	for _, f := range t.fields {
		_, args := e.typeArgs(f)
		cells = append(cells, jen.Id(f.name).Add(cellType(f.fieldKind()+"Cell", args...)))
	}
	e.f.Line()
	e.f.Commentf("%s is the %s of one run. Each cell merges and stores one field.", helper, t.name)
	e.f.Type().Id(helper).Struct(cellType("Core"), jen.Id("s").Id(t.name), jen.Id("f").Struct(cells...))
	l, fork, out := expr(e.n.l), expr(e.n.fork), expr(e.n.out)
	receiver := jen.Params(jen.Id(e.n.l).Op("*").Id(helper))
	opts := jen.Params(jen.Id(e.n.opts).Add(cellType("Options")))
	result := cellType("Live", jen.Id(t.name), jen.Id(t.name+"Update"))
	bound := jen.New(jen.Id(helper)).Dot("bind").Call(jen.Id(e.n.opts))
	e.f.Line()
	e.f.Commentf("%sNew returns the empty %s of a new run.", helper, t.name)
	e.f.Func().Id(helper + "New").Add(opts).Add(result).Block(jen.Return(bound))
	e.f.Line()
	e.f.Comment("bind connects the cells to the fields, in the order of their wire names.")
	e.f.Func().Add(receiver).Id("bind").Add(opts).Op("*").Id(helper).Block(e.bindBody(t)...)
	e.f.Line()
	e.f.Commentf("Fork returns the state of another run that begins with the values of %s.", e.n.l)
	e.f.Comment("Neither sees changes of the other.")
	e.f.Func().Add(receiver).Id("Fork").Add(opts).Add(result).Block(
		fork.define(bound),
		fork.call("Load", l.call("View")),
		fork.call("Follow", l.dot("Core").addr()),
		jen.Return(fork.code()))
	e.f.Line()
	e.f.Commentf("Clone returns a copy of %s. A write through one of the two does not reach the other.", e.n.l)
	e.f.Func().Add(receiver).Id("Clone").Params().Add(result).Block(
		out.define(jen.New(jen.Id(helper)).Dot("bind").Call(cellType("Options").Values())),
		out.dot("s").set(jen.Id(helper+"Clone").Call(l.dot("s").code())),
		out.call("CopyFrom", l.dot("Core").addr()),
		jen.Return(out.code()))
	e.f.Line()
	e.f.Comment("View returns the state. Its slices are clipped, so that an append to one copies it.")
	e.f.Func().Add(receiver).Id("View").Params().Id(t.name).Block(e.viewBody(t)...)
	e.f.Line()
	e.f.Commentf("Load sets the state to %s.", e.n.s)
	e.f.Func().Add(receiver).Id("Load").Params(jen.Id(e.n.s).Id(t.name)).Block(l.dot("s").set(jen.Id(e.n.s)), l.call("Adopt"))
	e.f.Line()
	e.f.Commentf("Merge applies %s, the update of a task.", e.n.u)
	e.f.Func().Add(receiver).Id("Merge").Params(jen.Id(e.n.task).Int(), jen.Id(e.n.u).Op("*").Id(t.name+"Update")).Error().Block(e.mergeBody(t)...)
}

// bindBody binds the cells in order of their wire names, as Core requires.
func (e *emitter) bindBody(t *target) []jen.Code {
	l, f := expr(e.n.l), expr(e.n.f)
	var body []jen.Code
	if len(t.fields) > 0 {
		body = append(body, f.define(jen.Op("&").Id(fieldsVar(t))))
	}
	body = append(body, l.call("Init", jen.Lit(t.name), jen.Id(e.n.opts), jen.Lit(len(t.fields))))
	for _, m := range t.migrations {
		args := []jen.Code{l.dot("s").into(m.path).dot("Migrate").code()}
		for _, wire := range m.wires {
			args = append(args, jen.Lit(wire))
		}
		body = append(body, l.call("OnMigrate", args...))
	}
	fields := slices.Clone(t.fields)
	slices.SortFunc(fields, func(a, b *field) int { return strings.Compare(a.wire, b.wire) })
	for _, field := range fields {
		body = append(body, l.dot("f").dot(field.name).call("Bind", l.dot("Core").addr(), f.dot(field.name).addr(), e.slotPointer(field)))
	}
	return append(body, jen.Return(l.code()))
}

// slotPointer writes the pointer to a field's value, with the type that its cell uses.
func (e *emitter) slotPointer(f *field) jen.Code {
	pointer := expr(e.n.l).dot("s").dot(f.path).addr()
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

// viewBody emits the body of View: the fields as they are, with slices that cannot grow in place.
func (e *emitter) viewBody(t *target) []jen.Code {
	s := expr(e.n.s)
	body := []jen.Code{s.define(expr(e.n.l).dot("s").code())}
	for _, f := range t.fields {
		if _, ok := f.typ.typ.Underlying().(*types.Slice); ok {
			x := s.dot(f.path)
			body = append(body, x.set(jen.Qual("slices", "Clip").Call(x.code())))
		}
	}
	return append(body, jen.Return(s.code()))
}

// mergeBody emits the body of Merge, which merges the changed fields of an update.
func (e *emitter) mergeBody(t *target) []jen.Code {
	l, u := expr(e.n.l), expr(e.n.u)
	body := []jen.Code{l.call("Begin", jen.Id(e.n.task))}
	for _, f := range t.fields {
		x := u.dot(f.name)
		body = append(body, jen.If(jen.Op("!").Add(x.call("IsZero"))).Block(l.dot("f").dot(f.name).call("Merge", x.addr())))
	}
	return append(body, jen.Return(l.call("End")))
}
