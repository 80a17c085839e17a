package gen

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/dave/jennifer/jen"
)

// expr is an expression that can be assigned to, made of names, selectors, indexes and stars.
type expr string

// code returns the expression as code.
func (x expr) code() *jen.Statement { return jen.Id(string(x)) }

// operand writes x so that a selector or an index can follow.
func (x expr) operand() string {
	if strings.HasPrefix(string(x), "*") {
		return "(" + string(x) + ")"
	}
	return string(x)
}

// dot returns a field or method of x.
func (x expr) dot(name string) expr { return expr(x.operand() + "." + name) }

// into returns the selector path of x, or x if path is empty.
func (x expr) into(path string) expr {
	if path == "" {
		return x
	}
	return x.dot(path)
}

// index returns an element of x.
func (x expr) index(name string) expr { return expr(x.operand() + "[" + name + "]") }

// deref returns what the pointer x points at.
func (x expr) deref() expr { return "*" + x }

// addr writes the address of x.
func (x expr) addr() *jen.Statement {
	if rest, ok := strings.CutPrefix(string(x), "*"); ok {
		return jen.Id(rest)
	}
	return jen.Id("&" + string(x))
}

// call writes a call of a method of x.
func (x expr) call(method string, args ...jen.Code) *jen.Statement {
	return x.dot(method).code().Call(args...)
}

// set writes an assignment to x.
func (x expr) set(value jen.Code) *jen.Statement { return x.code().Op("=").Add(value) }

// define writes a declaration of x with a value.
func (x expr) define(value jen.Code) *jen.Statement { return x.code().Op(":=").Add(value) }

// codecMethods are the methods of a codec that other packages use.
var codecMethods = []string{"Append", "Read", "Equal", "Settle", "Clone"}

// codec returns the type that implements cell.Codec for t, and requests it.
func (e *emitter) codec(t *typ) *jen.Statement {
	switch t.kind {
	case kindBasic:
		return jen.Qual(cellPath, basicCodec(t.basic).codec).Types(e.typ(t))
	case kindBytes:
		return jen.Qual(cellPath, "Bytes").Types(e.typ(t))
	case kindTime:
		return jen.Qual(cellPath, "Time")
	}
	for _, method := range []string{"Append", "Read", "Equal"} {
		e.need(t, method)
	}
	if t.shifts {
		e.need(t, "Settle")
	}
	return e.codecName(t)
}

// codecName writes the name of the codec of t.
func (e *emitter) codecName(t *typ) *jen.Statement {
	if t.home != nil {
		return jen.Qual(t.home.Pkg().Path(), t.home.Name()+codecSuffix)
	}
	return jen.Id(e.m.codecs[t])
}

// need requests the codec of t with a method. Another package emits a codec that it exports.
func (e *emitter) need(t *typ, method string) {
	if t.home != nil {
		return
	}
	if e.needed[t] == nil {
		e.needed[t] = make(map[string]bool)
	}
	if !e.needed[t][method] {
		e.needed[t][method] = true
		e.needs++
	}
}

// call writes a call of a method of t's codec. Recursive types use methods with lower-case names,
// which take the depth.
func (e *emitter) call(t *typ, method string, args ...jen.Code) *jen.Statement {
	if t.recursive && method != "Read" && method != "Settle" && e.counting {
		method = strings.ToLower(method)
		args = append(args, jen.Id(e.n.depth))
	}
	e.need(t, method)
	codec := e.codecName(t).Values()
	if e.inHeader {
		codec = jen.Parens(codec)
	}
	return codec.Dot(method).Call(args...)
}

// emitCodec writes the codec of a type.
func (e *emitter) emitCodec(t *typ) {
	name := e.m.codecs[t]
	e.f.Line()
	e.f.Commentf("%s encodes, decodes and compares values of type %s.", name, e.show(t))
	if name == t.ident+codecSuffix {
		e.f.Comment("Generated code of other packages uses it for their states and payloads.")
	}
	if t.recursive {
		e.f.Comment("It counts the depth, because such values can contain others of their type.")
	}
	e.f.Type().Id(name).Struct()
	pointer := jen.Op("*").Add(e.typ(t))
	bytes := jen.Index().Byte()
	e.method(t, "Append", []jen.Code{jen.Id(e.n.b).Add(bytes), jen.Id(e.n.v).Add(pointer)}, jen.Params(bytes, jen.Error()), e.appendBody)
	e.method(t, "Read", []jen.Code{jen.Id(e.n.r).Op("*").Qual(wirePath, "Reader"), jen.Id(e.n.v).Add(pointer)}, jen.Null(), e.readBody)
	e.method(t, "Equal", []jen.Code{jen.List(jen.Id(e.n.a), jen.Id(e.n.b)).Add(pointer)}, jen.Bool(), e.equalBody)
	e.method(t, "Settle", []jen.Code{jen.Id(e.n.s).Op("*").Qual(cellPath, "Settling"), jen.Id(e.n.v).Add(pointer)}, jen.Bool(), e.settleBody)
	e.method(t, "Clone", []jen.Code{jen.Id(e.n.v).Add(e.typ(t))}, e.typ(t), e.cloneBody)
	if t.kind == kindStruct {
		e.emitGuard(t.typ)
	}
}

// method writes one method of a codec if it is needed. For a recursive type it also writes the
// method that counts the depth.
func (e *emitter) method(t *typ, name string, params []jen.Code, results *jen.Statement, body func(*typ) []jen.Code) {
	receiver := jen.Id(e.m.codecs[t])
	if !t.recursive || name == "Read" || name == "Settle" {
		if e.needed[t][name] {
			e.f.Line()
			e.f.Comment(e.methodComment(name))
			e.f.Func().Params(receiver).Id(name).Params(params...).Add(results).Block(body(t)...)
		}
		return
	}
	counting := strings.ToLower(name)
	if e.needed[t][name] {
		e.need(t, counting)
		args := []jen.Code{jen.Id(e.n.v), jen.Lit(0)}
		switch name {
		case "Append":
			args = []jen.Code{jen.Id(e.n.b), jen.Id(e.n.v), jen.Lit(0)}
		case "Equal":
			args = []jen.Code{jen.Id(e.n.a), jen.Id(e.n.b), jen.Lit(0)}
		}
		body := []jen.Code{jen.Return(expr(e.n.c).call(counting, args...))}
		if name == "Clone" {
			body = e.cloneWhole(expr(e.n.c).call(counting, args...))
		}
		e.f.Line()
		e.f.Comment(e.methodComment(name))
		e.f.Func().Params(jen.Id(e.n.c).Add(receiver)).Id(name).Params(params...).Add(results).Add(block(body...))
	}
	if name == "Clone" {
		results = jen.Params(results, jen.Bool())
	}
	if e.needed[t][counting] {
		e.counting = true
		e.f.Line()
		e.f.Commentf("%s is %s at a depth.", counting, name)
		e.f.Func().Params(receiver).Id(counting).Params(append(params, jen.Id(e.n.depth).Int())...).Add(results).Block(body(t)...)
		e.counting = false
	}
}

// methodComment returns the comment of a method of a codec.
func (e *emitter) methodComment(name string) string {
	switch name {
	case "Append":
		return fmt.Sprintf("Append appends *%s to %s as MessagePack.", e.n.v, e.n.b)
	case "Read":
		return fmt.Sprintf("Read decodes the next value of %s into *%s, which must be zero.", e.n.r, e.n.v)
	case "Equal":
		return fmt.Sprintf("Equal reports whether *%s and *%s are equal; nil and empty differ.", e.n.a, e.n.b)
	case "Settle":
		return fmt.Sprintf("Settle makes *%s its decoded form, and reports whether it changed *%s.", e.n.v, e.n.v)
	}
	return fmt.Sprintf("Clone returns a deep copy of %s.", e.n.v)
}

// counts reports whether the codec of t checks the depth. Every cycle contains a named type.
func (e *emitter) counts(t *typ) bool { return t.recursive && t.named }

// typ writes a type.
func (e *emitter) typ(t *typ) *jen.Statement { return typeCode(e.m.pkgPath, t.typ) }

// show writes a type for messages and comments.
func (e *emitter) show(t *typ) string { return e.showType(t.typ) }

// showType returns a type as messages and comments write it, with names of packages but not their
// paths.
func (e *emitter) showType(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == e.m.pkg {
			return ""
		}
		return p.Name()
	})
}

// wireCall writes a call of a function of runtime/wire.
func wireCall(name string, args ...jen.Code) *jen.Statement {
	return jen.Qual(wirePath, name).Call(args...)
}

// basic describes how values of a basic type are written and read.
type basic struct {
	codec    string // of runtime/state/cell
	appender string // of runtime/wire
	takes    string // the type of the appender's parameter
	reader   string // method of wire.Reader
	returns  string // the type of its result
}

// basicCodec returns the functions of runtime/wire that read and write a basic type.
func basicCodec(b *types.Basic) basic {
	name := types.Typ[b.Kind()].Name() // not the aliases byte or rune
	info := b.Info()
	switch {
	case info&types.IsBoolean != 0:
		return basic{"Bool", "AppendBool", "bool", "Bool", "bool"}
	case info&types.IsString != 0:
		return basic{"Str", "AppendString", "string", "Str", "string"}
	case info&types.IsFloat != 0:
		return basic{"Float", "Append" + upperFirst(name), name, upperFirst(name), name}
	case info&types.IsComplex != 0:
		return basic{"Complex", "Append" + upperFirst(name), name, upperFirst(name), name}
	case info&types.IsUnsigned != 0:
		return basic{"Uint", "AppendUint", "uint64", upperFirst(name), name}
	}
	return basic{"Int", "AppendInt", "int64", upperFirst(name), name}
}

// isPlain reports whether t is the basic type name itself, so that no conversion is needed.
func isPlain(t *typ, name string) bool {
	b, ok := types.Unalias(t.typ).(*types.Basic)
	return ok && types.Typ[b.Kind()].Name() == name
}

// stored returns the fields of a struct that are in stored data.
func (t *typ) stored() []*member {
	var list []*member
	for _, m := range t.fields {
		if !m.skip {
			list = append(list, m)
		}
	}
	return list
}

// comparable reports whether == is equivalent to Equal.
func (t *typ) comparable() bool { return t.strict && types.Comparable(t.typ) }
