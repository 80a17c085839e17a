package gen

import (
	"go/types"

	"github.com/dave/jennifer/jen"
)

// readValue writes the statement that reads into x, which is zero.
func (e *emitter) readValue(t *typ, x expr) jen.Code {
	r := expr(e.n.r)
	if value := e.readExpr(t); value != nil {
		return x.set(value)
	}
	switch t.kind {
	case kindByteArray:
		return r.call("FixedBytes", x.index(":").code())
	case kindWire:
		return r.call("Wire", x.dot("DecodeWire").code())
	case kindBinary:
		return r.call("Binary", x.dot("UnmarshalBinary").code())
	case kindText:
		return r.call("Text", x.dot("UnmarshalText").code())
	case kindJSON:
		return r.call("JSON", x.dot("UnmarshalJSON").code())
	}
	return e.call(t, "Read", r.code(), x.addr())
}

// readExpr writes the expression that reads a value. It returns nil for types that need a
// statement.
func (e *emitter) readExpr(t *typ) jen.Code {
	r := expr(e.n.r)
	switch t.kind {
	case kindBasic:
		codec := basicCodec(t.basic)
		if isPlain(t, codec.returns) {
			return r.call(codec.reader)
		}
		return e.typ(t).Call(r.call(codec.reader))
	case kindBytes:
		return r.call("Bytes") // assignable to every type with the underlying type []byte
	case kindTime:
		return r.call("Time")
	}
	return nil
}

// readBody writes the body of a codec's Read, which sets a zero value.
func (e *emitter) readBody(t *typ) []jen.Code {
	r, v := expr(e.n.r), expr(e.n.v)
	var body []jen.Code
	if e.counts(t) {
		body = append(body, unless(r.call("Enter")), jen.Defer().Add(r.call("Leave")))
	}
	ifNil := jen.If(r.call("Nil")).Block(jen.Return())
	switch t.kind {
	case kindStruct:
		body = append(body, e.readStruct(t))
	case kindPointer:
		body = append(body, ifNil, v.deref().set(jen.Qual(wirePath, "New").Types(e.typ(t.elem)).Call(r.code())), e.readValue(t.elem, v.deref().deref()))
	case kindSlice:
		body = append(append(body, ifNil), e.readSlice(t)...)
	case kindArray:
		body = append(body, unless(r.call("FixedArray", jen.Lit(int(t.length)))),
			jen.For(expr(e.n.i).define(jen.Range().Add(v.code()))).Block(e.readValue(t.elem, v.index(e.n.i))))
	case kindMap:
		body = append(append(body, ifNil), e.readMap(t)...)
	case kindUnion:
		body = append(append(body, ifNil), e.readUnion(t)...)
	default:
		body = append(body, e.readValue(t, v.deref()))
	}
	return body
}

// unless writes a return when ok is false.
func unless(ok jen.Code) jen.Code { return jen.If(jen.Op("!").Add(ok)).Block(jen.Return()) }

// readStruct emits a loop that reads the stored fields of a struct.
func (e *emitter) readStruct(t *typ) jen.Code {
	r, key := expr(e.n.r), expr(e.n.key)
	var cases []jen.Code
	for _, m := range t.stored() {
		cases = append(cases, jen.Case(wireNames(m.wire, m.was)...).Block(e.readValue(m.typ, expr(e.n.v).dot(m.name))))
	}
	cases = append(cases, jen.Default().Block(r.call("Unknown", key.code())))
	return jen.For(jen.Range().Add(r.call("MapLen"))).Block(jen.Switch(key.define(r.call("Key")), key.code()).Block(cases...))
}

// readSlice emits code that reads a slice.
func (e *emitter) readSlice(t *typ) []jen.Code {
	r, list, n := expr(e.n.r), expr(e.n.list), expr(e.n.n)
	over := jen.Range().Add(n.code())
	var loop []jen.Code
	if value := e.readExpr(t.elem); value != nil {
		loop = append(loop, list.set(jen.Append(list.code(), value)))
	} else {
		over = expr(e.n.i).define(over)
		loop = append(loop, list.set(jen.Append(list.code(), e.zero(t.elem))), e.readValue(t.elem, list.index(e.n.i)))
	}
	return []jen.Code{
		n.define(r.call("ArrayLen")),
		list.define(jen.Qual(wirePath, "MakeSlice").Types(e.typ(t.elem)).Call(r.code(), n.code())),
		jen.For(over).Block(append(loop, unless(r.call("OK")))...),
		expr(e.n.v).deref().set(list.code()),
	}
}

// readMap emits code that reads a map.
func (e *emitter) readMap(t *typ) []jen.Code {
	r, m, n, k, x := expr(e.n.r), expr(e.n.m), expr(e.n.n), expr(e.n.k), expr(e.n.x)
	var loop []jen.Code
	if key := e.readExpr(t.key); key != nil {
		loop = append(loop, k.define(key))
	} else {
		loop = append(loop, jen.Var().Id(e.n.k).Add(e.typ(t.key)), e.readValue(t.key, k))
	}
	if value := e.readExpr(t.elem); value != nil {
		loop = append(loop, m.index(e.n.k).set(value), unless(r.call("OK")))
	} else {
		loop = append(loop, jen.Var().Id(e.n.x).Add(e.typ(t.elem)), e.readValue(t.elem, x), unless(r.call("OK")), m.index(e.n.k).set(x.code()))
	}
	return []jen.Code{
		n.define(r.call("MapLen")),
		m.define(jen.Qual(wirePath, "MakeMap").Types(e.typ(t.key), e.typ(t.elem)).Call(r.code(), n.code())),
		jen.For(jen.Range().Add(n.code())).Block(loop...),
		expr(e.n.v).deref().set(m.code()),
	}
}

// readUnion emits code that reads a member of a union by its tag.
func (e *emitter) readUnion(t *typ) []jen.Code {
	r, v, x, key, at := expr(e.n.r), expr(e.n.v), expr(e.n.x), expr(e.n.key), expr(e.n.n)
	name := jen.Lit(e.show(t))
	var cases []jen.Code
	for _, a := range t.alts {
		body := []jen.Code{x.define(jen.Qual(wirePath, "New").Types(e.typ(a.elem)).Call(r.code())), e.readValue(a.elem, x.deref()), v.deref().set(x.code())}
		if !a.pointer {
			body = []jen.Code{
				jen.Qual(wirePath, "Reserve").Types(e.typ(a.elem)).Call(r.code(), jen.Lit(1)),
				jen.Var().Id(e.n.x).Add(e.typ(a.elem)),
				e.readValue(a.elem, x),
				v.deref().set(x.code()),
			}
		}
		cases = append(cases, jen.Case(jen.Lit(a.tag)).Block(body...))
	}
	cases = append(cases, jen.Default().Block(r.call("UnknownTag", at.code(), name, key.code())))
	return []jen.Code{
		at.define(r.call("Offset")),
		jen.Switch(key.define(r.call("Tag", name)), key.code()).Block(cases...),
	}
}

// zero writes the zero value of t as an expression.
func (e *emitter) zero(t *typ) jen.Code {
	switch u := t.typ.Underlying().(type) {
	case *types.Struct, *types.Array:
		return e.typ(t).Values()
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return jen.Lit("")
		case u.Info()&types.IsBoolean != 0:
			return jen.False()
		}
		return jen.Lit(0)
	}
	return jen.Nil()
}
