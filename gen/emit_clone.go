package gen

import "github.com/dave/jennifer/jen"

// cloneExpr writes an expression for a deep copy of x. The expression is x if there is nothing to
// copy.
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
	case kindWire, kindBinary, kindText, kindJSON:
		if t.clones {
			return x.call("Clone")
		}
	}
	return e.call(t, "Clone", x.code())
}

// cloneInto writes the statements that make x a deep copy of itself. There are none if assignment
// already copies it.
func (e *emitter) cloneInto(t *typ, x expr) []jen.Code {
	switch {
	case t.pointless:
		return nil
	case !e.counting || !t.recursive:
		return []jen.Code{x.set(e.cloneExpr(t, x))}
	}
	e.oks = true
	return []jen.Code{
		jen.List(x.code(), jen.Id(e.n.ok)).Op("=").Add(e.cloneExpr(t, x)),
		jen.If(jen.Op("!").Id(e.n.ok)).Block(e.returnClone(jen.Id(e.n.v), false)),
	}
}

// cloneInPlace is cloneInto for elements, because there may be many. It copies only the fields of
// a struct that contain references.
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

// returnClone writes the return statement of a Clone. For recursive types it also returns whether
// the copy is complete. Nothing beyond wire.MaxDepth is copied, because copying a cycle with
// branches would not end.
func (e *emitter) returnClone(value jen.Code, whole bool) jen.Code {
	if e.counting {
		return jen.Return(value, jen.Lit(whole))
	}
	return jen.Return(value)
}

// returnAddress writes the statements that copy x and return the address of the copy.
func (e *emitter) returnAddress(t *typ, x expr) []jen.Code {
	y := expr(e.n.y)
	if e.counting && t.recursive {
		return []jen.Code{
			jen.List(y.code(), jen.Id(e.n.ok)).Op(":=").Add(e.cloneExpr(t, x)),
			jen.Return(y.addr(), jen.Id(e.n.ok)),
		}
	}
	return []jen.Code{y.define(e.cloneExpr(t, x)), e.returnClone(y.addr(), true)}
}

// cloneBody writes the body of a codec's Clone.
func (e *emitter) cloneBody(t *typ) []jen.Code {
	e.oks = false
	body := e.cloneParts(t)
	var head []jen.Code
	if e.counts(t) {
		head = append(head,
			jen.If(jen.Id(e.n.depth).Op(">=").Qual(wirePath, "MaxDepth")).Block(e.returnClone(jen.Id(e.n.v), false)),
			jen.Id(e.n.depth).Op("++"))
	}
	if e.oks {
		head = append(head, jen.Var().Id(e.n.ok).Bool())
	}
	return append(head, body...)
}

// cloneParts copies the references in v, which is already a copy.
func (e *emitter) cloneParts(t *typ) []jen.Code {
	v := expr(e.n.v)
	var body []jen.Code
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
		x := expr(e.n.x)
		loop := append(e.cloneInto(t.elem, x), v.index(e.n.k).set(x.code()))
		body = append(body, v.set(jen.Qual("maps", "Clone").Call(v.code())),
			jen.For(jen.List(jen.Id(e.n.k), x.code()).Op(":=").Range().Add(v.code())).Block(loop...))
	case kindPointer:
		return append([]jen.Code{jen.If(v.code().Op("==").Nil()).Block(e.returnClone(jen.Nil(), true))}, e.returnAddress(t.elem, v.deref())...)
	case kindUnion:
		body = append(body, e.cloneUnion(t)...)
	case kindWire, kindBinary, kindText, kindJSON:
		return e.cloneByCodec(t)
	}
	return append(body, e.returnClone(v.code(), true))
}

// cloneWhole returns the result of a counting clone, or the value itself if it is nested too
// deeply.
func (e *emitter) cloneWhole(call jen.Code) []jen.Code {
	out := expr(e.n.out)
	return []jen.Code{
		jen.If(jen.List(out.code(), jen.Id(e.n.ok)).Op(":=").Add(call), jen.Id(e.n.ok)).Block(jen.Return(out.code())),
		jen.Return(jen.Id(e.n.v)).Comment("too deep, or a cycle: it cannot be stored either"),
	}
}

// cloneUnion writes a switch that copies the value in a closed interface.
func (e *emitter) cloneUnion(t *typ) []jen.Code {
	x := expr(e.n.x)
	var cases []jen.Code
	for _, a := range t.alts {
		head := jen.Case(typeCode(e.m.pkgPath, a.typ))
		switch {
		case a.pointer:
			cases = append(cases, head.Block(jen.If(x.code().Op("!=").Nil()).Block(e.returnAddress(a.elem, x.deref())...)))
		case e.counting && a.elem.recursive:
			cases = append(cases, head.Block(jen.Return(e.cloneExpr(a.elem, x))))
		case !a.elem.pointless:
			cases = append(cases, head.Block(e.returnClone(e.cloneExpr(a.elem, x), true)))
		}
	}
	if len(cases) == 0 {
		return nil
	}
	return []jen.Code{jen.Switch(x.define(expr(e.n.v).dot("(type)").code())).Block(cases...)}
}

// cloneByCodec copies a value by encoding and decoding it.
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

// marshalOf returns the function that encodes x by its own methods.
func marshalOf(t *typ, x expr) jen.Code {
	switch t.kind {
	case kindBinary:
		return x.dot("MarshalBinary").code()
	case kindText:
		return x.dot("MarshalText").code()
	case kindJSON:
		return x.dot("MarshalJSON").code()
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
	case kindJSON:
		return x.dot("UnmarshalJSON").code()
	}
	return x.dot("DecodeWire").code()
}
