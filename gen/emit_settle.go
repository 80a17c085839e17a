package gen

import (
	"github.com/dave/jennifer/jen"
)

// settleCall writes the call that makes x, a value of a type that shifts, its decoded form. The
// call reports whether x changed.
func (e *emitter) settleCall(t *typ, x expr) *jen.Statement {
	if t.kind == kindTime {
		return expr(e.n.s).call("Time", x.addr())
	}
	return e.call(t, "Settle", jen.Id(e.n.s), x.addr())
}

// settleIf writes an if statement whose condition is settleCall.
func (e *emitter) settleIf(t *typ, x expr, then ...jen.Code) jen.Code {
	e.inHeader = true // Go requires parentheses around a composite literal here
	call := e.settleCall(t, x)
	e.inHeader = false
	return jen.If(call).Block(then...)
}

// settleBody writes the body of a codec's Settle. It writes to *v, and copies what *v refers to
// before it changes that.
func (e *emitter) settleBody(t *typ) []jen.Code {
	s, v, x, changed := expr(e.n.s), expr(e.n.v), expr(e.n.x), expr(e.n.changed)
	var body []jen.Code
	if e.counts(t) {
		body = append(body,
			jen.If(jen.Op("!").Add(s.call("Enter"))).Block(jen.Return(jen.False())),
			jen.Defer().Add(s.call("Leave")))
	}
	ret := func(value jen.Code) jen.Code { return jen.Return(value) }
	switch t.kind {
	case kindTime:
		return append(body, ret(s.call("Time", v.code())))
	case kindWire, kindBinary, kindText, kindJSON:
		return append(body, ret(jen.Qual(cellPath, "SettleOwn").Call(
			s.code(), e.codec(t).Values(), v.code(), jen.Lit(e.methods(t)))))
	case kindPointer:
		return append(append(body, jen.If(v.deref().code().Op("==").Nil()).Block(ret(jen.False()))),
			e.settlePointer(t.elem, v.deref(), v.deref().deref())...)
	case kindUnion:
		return append(append(body, e.settleUnion(t)), ret(jen.False()))
	}
	body = append(body, changed.define(jen.False()))
	set := changed.set(jen.True())
	switch t.kind {
	case kindStruct:
		for _, m := range t.stored() {
			if m.typ.shifts {
				body = append(body, e.settleIf(m.typ, v.dot(m.name), set))
			}
		}
	case kindArray:
		body = append(body, jen.For(expr(e.n.i).define(jen.Range().Add(v.code()))).Block(
			e.settleIf(t.elem, v.index(e.n.i), set)))
	case kindSlice:
		body = append(body, jen.For(jen.List(jen.Id(e.n.i), x.code()).Op(":=").Range().Add(v.deref().code())).Block(
			e.settleIf(t.elem, x,
				jen.If(jen.Op("!").Add(changed.code())).Block(
					jen.List(v.deref().code(), changed.code()).Op("=").List(jen.Qual("slices", "Clone").Call(v.deref().code()), jen.True())),
				v.deref().index(e.n.i).set(x.code()))))
	case kindMap:
		body = append(body, e.settleMap(t))
	}
	return append(body, ret(changed.code()))
}

// settlePointer writes the statements that make the target of a pointer its decoded form, in a
// copy, and set the pointer.
func (e *emitter) settlePointer(elem *typ, pointer, target expr) []jen.Code {
	x, y := expr(e.n.y), expr(e.n.out)
	return []jen.Code{
		x.define(target.code()),
		e.settleIf(elem, x, y.define(x.code()), pointer.set(y.addr()), jen.Return(jen.True())),
		jen.Return(jen.False()),
	}
}

// settleMap emits a loop that settles the keys and elements of a map.
func (e *emitter) settleMap(t *typ) jen.Code {
	v, k, x, changed := expr(e.n.v), expr(e.n.k), expr(e.n.x), expr(e.n.changed)
	var loop []jen.Code
	vars := []jen.Code{k.code()}
	if t.key.shifts {
		loop = append(loop, e.settleCall(t.key, k))
	}
	if t.elem.shifts {
		vars = append(vars, x.code())
		loop = append(loop, e.settleIf(t.elem, x,
			jen.If(jen.Op("!").Add(changed.code())).Block(
				jen.List(v.deref().code(), changed.code()).Op("=").List(jen.Qual("maps", "Clone").Call(v.deref().code()), jen.True())),
			v.deref().index(e.n.k).set(x.code())))
	}
	return jen.For(jen.List(vars...).Op(":=").Range().Add(v.deref().code())).Block(loop...)
}

// settleUnion emits a switch that settles the member of a union.
func (e *emitter) settleUnion(t *typ) jen.Code {
	s, v, x := expr(e.n.s), expr(e.n.v), expr(e.n.x)
	var cases []jen.Code
	for _, a := range t.alts {
		var body []jen.Code
		if a.pointer {
			body = append(body, jen.If(x.code().Op("==").Nil()).Block(
				s.call("NilMember", jen.Lit(e.show(t)), jen.Lit(e.showType(a.typ))), jen.Return(jen.False())))
			if a.elem.shifts {
				body = append(body, e.settlePointer(a.elem, v.deref(), x.deref())...)
			}
		} else if a.elem.shifts {
			body = append(body, e.settleIf(a.elem, x, v.deref().set(x.code()), jen.Return(jen.True())))
		}
		if len(body) > 0 {
			cases = append(cases, jen.Case(typeCode(e.m.pkgPath, a.typ)).Block(body...))
		}
	}
	if len(cases) == 0 {
		return jen.Null()
	}
	return jen.Switch(x.define(v.deref().dot("(type)").code())).Block(cases...)
}

// methods names the methods that store values of t.
func (e *emitter) methods(t *typ) string {
	names := map[kind]string{
		kindWire: "AppendWire and DecodeWire", kindBinary: "MarshalBinary and UnmarshalBinary",
		kindText: "MarshalText and UnmarshalText", kindJSON: "MarshalJSON and UnmarshalJSON",
	}
	return names[t.kind] + " of " + e.show(t)
}
