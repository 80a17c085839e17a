package gen

import (
	"go/types"

	"github.com/dave/jennifer/jen"
)

// appendValue writes the statements that append the value x.
func (e *emitter) appendValue(t *typ, x expr) []jen.Code {
	if call := e.safeAppend(t, x); call != nil {
		return []jen.Code{expr(e.n.b).set(call)}
	}
	e.errs = true
	return []jen.Code{
		jen.List(jen.Id(e.n.b), jen.Id(e.n.err)).Op("=").Add(e.appendCall(t, x)),
		jen.If(jen.Id(e.n.err).Op("!=").Nil()).Block(jen.Return(jen.Id(e.n.b), jen.Id(e.n.err))),
	}
}

// returnAppend writes the statement that appends x and returns.
func (e *emitter) returnAppend(t *typ, x expr) jen.Code {
	if call := e.safeAppend(t, x); call != nil {
		return jen.Return(call, jen.Nil())
	}
	return jen.Return(e.appendCall(t, x))
}

// safeAppend writes the call that appends a value whose encoding cannot fail; nil for others.
func (e *emitter) safeAppend(t *typ, x expr) *jen.Statement {
	b := jen.Id(e.n.b)
	switch t.kind {
	case kindBasic:
		codec := basicCodec(t.basic)
		if isPlain(t, codec.takes) {
			return wireCall(codec.appender, b, x.code())
		}
		return wireCall(codec.appender, b, jen.Id(codec.takes).Call(x.code()))
	case kindBytes:
		return wireCall("AppendBytes", b, x.code())
	case kindByteArray:
		return wireCall("AppendBytes", b, x.index(":").code())
	case kindTime:
		return wireCall("AppendTime", b, x.code())
	}
	return nil
}

// appendCall writes the call that appends x and returns an error too.
func (e *emitter) appendCall(t *typ, x expr) *jen.Statement {
	b := jen.Id(e.n.b)
	switch t.kind {
	case kindWire:
		return x.call("AppendWire", b)
	case kindBinary:
		return wireCall("AppendBinary", b, x.dot("MarshalBinary").code())
	case kindText:
		return wireCall("AppendText", b, x.dot("MarshalText").code())
	case kindJSON:
		return wireCall("AppendJSON", b, x.dot("MarshalJSON").code())
	}
	return e.call(t, "Append", b, x.addr())
}

// appendBody writes the body of a codec's Append.
func (e *emitter) appendBody(t *typ) []jen.Code {
	e.errs = false
	body := e.appendParts(t)
	var head []jen.Code
	if e.counts(t) {
		head = append(head, jen.If(
			expr(e.n.err).define(wireCall("AppendDepth", jen.Id(e.n.depth))),
			jen.Id(e.n.err).Op("!=").Nil(),
		).Block(jen.Return(jen.Id(e.n.b), jen.Id(e.n.err))), jen.Id(e.n.depth).Op("++"))
	}
	if e.errs {
		head = append(head, jen.Var().Id(e.n.err).Error())
	}
	return append(head, body...)
}

// appendParts emits the body of the append function of a composite type.
func (e *emitter) appendParts(t *typ) []jen.Code {
	b, v := expr(e.n.b), expr(e.n.v)
	ifNil := jen.If(v.deref().code().Op("==").Nil()).Block(jen.Return(wireCall("AppendNil", b.code()), jen.Nil()))
	switch t.kind {
	case kindStruct:
		return e.appendStruct(t)
	case kindPointer:
		return []jen.Code{ifNil, e.returnAppend(t.elem, v.deref().deref())}
	case kindSlice:
		return append([]jen.Code{ifNil}, e.appendElems(t, jen.Len(v.deref().code()), v.deref())...)
	case kindArray:
		return e.appendElems(t, jen.Lit(int(t.length)), v)
	case kindMap:
		return append([]jen.Code{ifNil}, e.appendMap(t)...)
	case kindUnion:
		return e.appendUnion(t)
	}
	return []jen.Code{e.returnAppend(t, v.deref())}
}

// appendStruct writes a struct as a map. The head and the names are constants, because they are
// equal for all values.
func (e *emitter) appendStruct(t *typ) []jen.Code {
	b := expr(e.n.b)
	members := t.stored()
	head := string(appendHead(nil, len(members), 0x80, 0xde, 0xdf))
	if len(members) == 0 {
		return []jen.Code{jen.Return(jen.Append(b.code(), jen.Lit(head).Op("...")), jen.Nil()).Comment("an empty map")}
	}
	var body []jen.Code
	for i, m := range members {
		key := b.set(jen.Append(b.code(), jen.Lit(head+encodeName(m.wire)).Op("...")))
		if head != "" {
			key.Commentf("map of %d, key %q", len(members), m.wire)
		} else {
			key.Commentf("key %q", m.wire)
		}
		body, head = append(body, key), ""
		x := expr(e.n.v).dot(m.name)
		if i == len(members)-1 {
			return append(body, e.returnAppend(m.typ, x))
		}
		body = append(body, e.appendValue(m.typ, x)...)
	}
	return body
}

// encodeName returns a wire name as MessagePack.
func encodeName(name string) string {
	if n := len(name); n >= 32 && n < 256 {
		return string([]byte{0xd9, byte(n)}) + name
	}
	head := appendHead(nil, len(name), 0xa0, 0xda, 0xdb)
	return string(head) + name
}

// appendHead appends the head of a map or string of length n. The code of the short form is fix.
// The short form is for maps below a length of 16 and for strings below 32.
func appendHead(b []byte, n int, fix, code16, code32 byte) []byte {
	most := 16
	if fix == 0xa0 {
		most = 32
	}
	switch {
	case n < most:
		return append(b, fix|byte(n))
	case n < 1<<16:
		return append(b, code16, byte(n>>8), byte(n))
	}
	return append(b, code32, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

// appendElems writes the elements of the slice or array x.
func (e *emitter) appendElems(t *typ, n jen.Code, x expr) []jen.Code {
	b := expr(e.n.b)
	return []jen.Code{
		b.set(wireCall("AppendArrayLen", b.code(), n)),
		jen.For(expr(e.n.i).define(jen.Range().Add(x.code()))).Block(e.appendValue(t.elem, x.index(e.n.i))...),
		jen.Return(b.code(), jen.Nil()),
	}
}

// appendMap writes a map in the order of its keys, so that equal maps have equal bytes.
func (e *emitter) appendMap(t *typ) []jen.Code {
	b, all := expr(e.n.b), expr(e.n.v).deref()
	sorted := wireCall("SortedKeys", all.code())
	switch {
	case t.key.kind != kindBasic:
		sorted = jen.Qual(cellPath, "SortedKeys").Call(all.code(), e.codec(t.key).Values().Dot("Append"))
	case t.key.basic.Info()&types.IsBoolean != 0:
		sorted = wireCall("SortedBools", all.code())
	}
	loop := e.appendValue(t.key, expr(e.n.k))
	if e.safeAppend(t.elem, all) != nil && t.elem.kind != kindByteArray {
		loop = append(loop, e.appendValue(t.elem, all.index(e.n.k))...)
	} else {
		loop = append(loop, expr(e.n.x).define(all.index(e.n.k).code())) // an entry has no address
		loop = append(loop, e.appendValue(t.elem, expr(e.n.x))...)
	}
	return []jen.Code{
		b.set(wireCall("AppendMapLen", b.code(), jen.Len(all.code()))),
		jen.For(jen.List(jen.Id("_"), jen.Id(e.n.k)).Op(":=").Range().Add(sorted)).Block(loop...),
		jen.Return(b.code(), jen.Nil()),
	}
}

// appendUnion writes a closed interface as a map of one: the member's tag and its value.
func (e *emitter) appendUnion(t *typ) []jen.Code {
	b, x := expr(e.n.b), expr(e.n.x)
	appendNil := jen.Return(wireCall("AppendNil", b.code()), jen.Nil())
	cases := []jen.Code{jen.Case(jen.Nil()).Block(appendNil)}
	for _, a := range t.alts {
		var body []jen.Code
		value := x
		if a.pointer {
			nilMember := wireCall("NilMember", jen.Lit(e.show(t)), jen.Lit(e.showType(a.typ)))
			body = append(body, jen.If(x.code().Op("==").Nil()).Block(jen.Return(b.code(), nilMember)))
			value = x.deref()
		}
		body = append(body, b.set(wireCall("AppendTag", b.code(), jen.Lit(a.tag))), e.returnAppend(a.elem, value))
		cases = append(cases, jen.Case(typeCode(e.m.pkgPath, a.typ)).Block(body...))
	}
	return []jen.Code{
		jen.Switch(x.define(expr(e.n.v).deref().dot("(type)").code())).Block(cases...),
		jen.Return(b.code(), wireCall("NotMember", jen.Lit(e.show(t)), expr(e.n.v).deref().code())),
	}
}
