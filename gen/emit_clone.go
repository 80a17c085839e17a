package gen

import "github.com/dave/jennifer/jen"

// cloneExpr writes an expression for a deep copy of x, which is x itself when there is nothing to copy.
func (e *emitter) cloneExpr(t *typ, x expr) jen.Code {
	if t.pointless {
		return x.code()
	}
	switch t.kind {
	case kindBytes:
		return jen.Qual("slices", "Clone").Call(x.code())
	case kindSlice:
		if t.elem.pointless {
			return jen.Qual("slices", "Clone").Call(x.code())
		}
	case kindMap:
		if t.elem.pointless {
			return jen.Qual("maps", "Clone").Call(x.code())
		}
	case kindWire, kindBinary, kindText:
		if t.clones {
			return x.call("Clone")
		}
	}
	return e.call(t, "Clone", x.code())
}

// cloneInto writes the statement that makes x a deep copy of itself; none when it is one.
func (e *emitter) cloneInto(t *typ, x expr) []jen.Code {
	if t.pointless {
		return nil
	}
	return []jen.Code{x.set(e.cloneExpr(t, x))}
}

// cloneInPlace is cloneInto for elements, of which there may be many: those of a struct that is not copied whole, but
// only in the fields that point to something.
func (e *emitter) cloneInPlace(t *typ, x expr) []jen.Code {
	if t.kind != kindStruct || t.recursive {
		return e.cloneInto(t, x)
	}
	var body []jen.Code
	for _, m := range t.stored() {
		body = append(body, e.cloneInto(m.typ, x.dot(m.name))...)
	}
	return body
}

// cloneBody writes the body of a codec's Clone, whose v is a copy already but for what it points to.
func (e *emitter) cloneBody(t *typ) []jen.Code {
	v := expr(e.n.v)
	var body []jen.Code
	if e.counts(t) {
		body = append(body,
			jen.If(jen.Id(e.n.depth).Op(">=").Qual(wirePath, "MaxDepth")).Block(jen.Return(v.code())),
			jen.Id(e.n.depth).Op("++"))
	}
	over := func(t *typ) jen.Code {
		return jen.For(expr(e.n.i).define(jen.Range().Add(v.code()))).Block(e.cloneInPlace(t, v.index(e.n.i))...)
	}
	switch t.kind {
	case kindStruct:
		for _, m := range t.stored() {
			body = append(body, e.cloneInto(m.typ, v.dot(m.name))...)
		}
	case kindArray:
		body = append(body, over(t.elem))
	case kindSlice:
		body = append(body, v.set(jen.Qual("slices", "Clone").Call(v.code())), over(t.elem))
	case kindMap:
		body = append(body, v.set(jen.Qual("maps", "Clone").Call(v.code())),
			jen.For(jen.List(jen.Id(e.n.k), jen.Id(e.n.x)).Op(":=").Range().Add(v.code())).Block(
				v.index(e.n.k).set(e.cloneExpr(t.elem, expr(e.n.x)))))
	case kindPointer:
		x := expr(e.n.x)
		return append(body,
			jen.If(v.code().Op("==").Nil()).Block(jen.Return(jen.Nil())),
			x.define(e.cloneExpr(t.elem, v.deref())),
			jen.Return(x.addr()))
	case kindUnion:
		body = append(body, e.cloneUnion(t)...)
	case kindWire, kindBinary, kindText:
		return e.cloneByCodec(t)
	}
	return append(body, jen.Return(v.code()))
}

// cloneUnion writes a switch that copies what a closed interface holds.
func (e *emitter) cloneUnion(t *typ) []jen.Code {
	x, y := expr(e.n.x), expr(e.n.y)
	var cases []jen.Code
	for _, a := range t.alts {
		head := jen.Case(typeCode(e.m.pkgPath, a.typ))
		switch {
		case a.pointer:
			cases = append(cases, head.Block(
				jen.If(x.code().Op("!=").Nil()).Block(
					y.define(e.cloneExpr(a.elem, x.deref())),
					jen.Return(y.addr()))))
		case !a.elem.pointless:
			cases = append(cases, head.Block(jen.Return(e.cloneExpr(a.elem, x))))
		}
	}
	if len(cases) == 0 {
		return nil
	}
	return []jen.Code{jen.Switch(x.define(expr(e.n.v).dot("(type)").code())).Block(cases...)}
}

// cloneByCodec copies a value that cannot be taken apart, by writing and reading it.
func (e *emitter) cloneByCodec(t *typ) []jen.Code {
	v, out := expr(e.n.v), expr(e.n.out)
	return []jen.Code{
		jen.Var().Id(e.n.out).Add(e.typ(t)),
		jen.If(jen.Op("!").Add(wireCall("Copy", marshalOf(t, v), unmarshalOf(t, out)))).Block(
			jen.Return(v.code()).Comment("it cannot be stored either"),
		),
		jen.Return(out.code()),
	}
}

// marshalOf returns the function that encodes x, which is stored by methods of its own.
func marshalOf(t *typ, x expr) jen.Code {
	switch t.kind {
	case kindBinary:
		return x.dot("MarshalBinary").code()
	case kindText:
		return x.dot("MarshalText").code()
	}
	return wireCall("Marshal", x.dot("AppendWire").code())
}

// unmarshalOf returns the function that decodes into x.
func unmarshalOf(t *typ, x expr) jen.Code {
	switch t.kind {
	case kindBinary:
		return x.dot("UnmarshalBinary").code()
	case kindText:
		return x.dot("UnmarshalText").code()
	}
	return x.dot("DecodeWire").code()
}
