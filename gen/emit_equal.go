package gen

import (
	"go/types"

	"github.com/dave/jennifer/jen"
)

// equalExpr writes an expression that compares x and y. It has a higher precedence than &&. Use
// differExpr for the negation.
func (e *emitter) equalExpr(t *typ, x, y expr) *jen.Statement {
	if t.isOperator() {
		return x.code().Op("==").Add(y.code())
	}
	return e.equalCall(t, x, y)
}

// differExpr writes an expression that is true when x and y differ.
func (e *emitter) differExpr(t *typ, x, y expr) *jen.Statement {
	if t.isOperator() {
		return x.code().Op("!=").Add(y.code())
	}
	e.inHeader = true // Go requires parentheses around a composite literal here
	code := jen.Op("!").Add(e.equalCall(t, x, y))
	e.inHeader = false
	return code
}

// isOperator reports whether values are compared by ==.
func (t *typ) isOperator() bool {
	switch t.kind {
	case kindWire, kindBinary, kindText, kindJSON:
		return !t.equals && t.pointless && types.Comparable(t.typ)
	}
	return t.comparable()
}

// equalCall emits a call that reports whether x and y are equal, for a type that == does not
// compare.
func (e *emitter) equalCall(t *typ, x, y expr) *jen.Statement {
	switch t.kind {
	case kindBasic:
		return wireCall("SameFloat", x.code(), y.code())
	case kindBytes:
		return wireCall("SameSlice", x.code(), y.code())
	case kindTime:
		return x.call("Equal", y.code())
	case kindSlice:
		if t.elem.comparable() {
			return wireCall("SameSlice", x.code(), y.code())
		}
	case kindMap:
		if t.elem.comparable() {
			return wireCall("SameMap", x.code(), y.code())
		}
	case kindWire, kindBinary, kindText, kindJSON:
		if t.equals {
			return x.call("Equal", y.code())
		}
		return wireCall("SameBytes", marshalOf(t, x), marshalOf(t, y))
	}
	return e.call(t, "Equal", x.addr(), y.addr())
}

// equalBody writes the body of a codec's Equal. Nil and empty differ.
func (e *emitter) equalBody(t *typ) []jen.Code {
	x, y := expr(e.n.a), expr(e.n.b)
	px, py := x.deref(), y.deref()
	no := jen.Return(jen.False())
	var body []jen.Code
	if e.counts(t) {
		body = append(body,
			jen.If(x.code().Op("==").Add(y.code()).Op("||").Id(e.n.depth).Op(">=").Qual(wirePath, "MaxDepth")).Block(
				jen.Return(x.code().Op("==").Add(y.code()))),
			jen.Id(e.n.depth).Op("++"))
	}
	over := func(x, y expr) jen.Code {
		return jen.For(expr(e.n.i).define(jen.Range().Add(x.code()))).Block(
			jen.If(e.differExpr(t.elem, x.index(e.n.i), y.index(e.n.i))).Block(no))
	}
	shape := jen.If(jen.Parens(px.code().Op("==").Nil()).Op("!=").Parens(py.code().Op("==").Nil()).Op("||").
		Len(px.code()).Op("!=").Len(py.code())).Block(no)
	switch t.kind {
	case kindStruct:
		if t.comparable() {
			return append(body, jen.Return(px.code().Op("==").Add(py.code())))
		}
		return append(body, jen.Return(e.allEqual(t.stored())))
	case kindPointer:
		return append(body,
			jen.If(px.code().Op("==").Nil().Op("||").Add(py.code()).Op("==").Nil()).Block(jen.Return(px.code().Op("==").Add(py.code()))),
			jen.Return(e.equalExpr(t.elem, px.deref(), py.deref())))
	case kindSlice:
		if t.elem.comparable() {
			return append(body, jen.Return(e.equalCall(t, px, py)))
		}
		body = append(body, shape, over(px, py))
	case kindArray:
		body = append(body, over(x, y))
	case kindMap:
		if t.elem.comparable() {
			return append(body, jen.Return(e.equalCall(t, px, py)))
		}
		body = append(body, shape, jen.For(jen.List(jen.Id(e.n.k), jen.Id(e.n.v)).Op(":=").Range().Add(px.code())).Block(
			jen.List(jen.Id(e.n.out), jen.Id(e.n.ok)).Op(":=").Add(py.index(e.n.k).code()),
			jen.If(jen.Op("!").Id(e.n.ok).Op("||").Add(e.differExpr(t.elem, expr(e.n.v), expr(e.n.out)))).Block(no)))
	case kindUnion:
		return append(body, e.equalUnion(t)...)
	default:
		return append(body, jen.Return(e.equalExpr(t, px, py)))
	}
	return append(body, jen.Return(jen.True()))
}

// allEqual compares all fields of a struct.
func (e *emitter) allEqual(members []*member) *jen.Statement {
	if len(members) == 0 {
		return jen.True()
	}
	all := jen.Null()
	for n, m := range members {
		if n > 0 {
			all.Op("&&").Line()
		}
		all.Add(e.equalExpr(m.typ, expr(e.n.a).dot(m.name), expr(e.n.b).dot(m.name)))
	}
	return all
}

// equalUnion compares the values in two closed interfaces.
func (e *emitter) equalUnion(t *typ) []jen.Code {
	y, v, out, ok := expr(e.n.b).deref(), expr(e.n.v), expr(e.n.out), jen.Id(e.n.ok)
	var cases []jen.Code
	for _, a := range t.alts {
		typ := typeCode(e.m.pkgPath, a.typ)
		body := []jen.Code{jen.List(out.code(), ok).Op(":=").Add(jen.Id(y.operand())).Assert(typ)}
		if a.pointer {
			body = append(body,
				jen.If(jen.Op("!").Add(ok).Op("||").Add(v.code()).Op("==").Nil().Op("||").Add(out.code()).Op("==").Nil()).Block(
					jen.Return(jen.Add(ok).Op("&&").Add(v.code()).Op("==").Add(out.code()))),
				jen.Return(e.equalExpr(a.elem, v.deref(), out.deref())))
		} else {
			body = append(body, jen.Return(jen.Add(ok).Op("&&").Add(e.equalExpr(a.elem, v, out))))
		}
		cases = append(cases, jen.Case(typ).Block(body...))
	}
	return []jen.Code{
		jen.Switch(v.define(expr(e.n.a).deref().dot("(type)").code())).Block(cases...),
		jen.Return(y.code().Op("==").Nil()),
	}
}
