package gen

import (
	"bytes"
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"
	"golang.org/x/tools/go/types/typeutil"
)

// emitter writes the code of one file.
type emitter struct {
	m *model
	f *jen.File
	n *names

	needed map[*typ]map[string]bool // the methods of codecs that are called
	needs  int                      // their number

	guarded typeutil.Map // the structs that have a guard

	errs     bool // the function being written needs a variable for errors
	oks      bool // the function being written needs a variable for whether something was copied
	counting bool // the function being written counts the depth
	inHeader bool // the header of an if statement is being written
}

// emit returns the file for a model.
func emit(m *model) ([]byte, error) {
	e := &emitter{m: m, n: newNames(m.pkg, m.packages()), needed: make(map[*typ]map[string]bool)}
	// The methods that a codec needs are known only after all their callers are written.
	// Everything is therefore written until no new method is needed, and the last pass is kept.
	for needs := -1; needs != e.needs; {
		needs = e.needs
		e.emitFile()
	}
	var out bytes.Buffer
	if err := e.f.Render(&out); err != nil {
		// The error contains the whole output; its first lines are enough.
		return nil, fmt.Errorf("gen: package %s: the generated code is not valid Go: %s; this is a bug of graphgen, please report it", m.pkgPath, clip(err.Error()))
	}
	return groupImports(out.Bytes()), nil
}

// emitFile writes the file with the codec methods that are known to be needed.
func (e *emitter) emitFile() {
	e.f, e.guarded = e.newFile(), typeutil.Map{}
	e.f.HeaderComment(Header)
	e.f.HeaderComment("//")
	e.f.HeaderComment("// Source: " + strings.Join(e.m.sources, ", "))
	e.f.HeaderComment("// Generator: graphgen " + Version)
	if e.m.build != "" {
		e.f.HeaderComment("//go:build " + e.m.build)
	}
	e.f.Comment("This file and the graphgen module in go.mod must fit together. If this name is undefined, run")
	e.f.Comment("go generate, or update the module.")
	e.f.Const().Id("_").Op("=").Qual(wirePath, "Generation3")
	emitted := make(map[*typ]bool) // whose codec is next to the methods of the type
	for _, t := range e.m.targets {
		if t.role == roleState {
			e.emitState(t)
			continue
		}
		if t.role == roleUnion {
			for _, method := range codecMethods {
				e.need(t.typ, method)
			}
		} else {
			e.emitPayload(t)
		}
		if len(e.needed[t.typ]) > 0 {
			e.emitCodec(t.typ)
			emitted[t.typ] = true
		}
	}
	for _, t := range e.m.types {
		if len(e.needed[t]) > 0 && !emitted[t] {
			e.emitCodec(t)
		}
	}
	e.emitGuards()
}

// groupImports puts a blank line between the imports of the standard library and the others.
func groupImports(src []byte) []byte {
	head, rest, ok := bytes.Cut(src, []byte("\nimport (\n"))
	block, tail, closed := bytes.Cut(rest, []byte("\n)\n"))
	if !ok || !closed {
		return src
	}
	var std, other [][]byte
	for _, line := range bytes.Split(block, []byte("\n")) {
		if _, path, _ := bytes.Cut(line, []byte(`"`)); bytes.Contains(bytes.SplitN(path, []byte("/"), 2)[0], []byte(".")) {
			other = append(other, line)
		} else {
			std = append(std, line)
		}
	}
	if len(std) == 0 || len(other) == 0 {
		return src
	}
	groups := append(append(std, nil), other...)
	return slices.Concat(head, []byte("\nimport (\n"), bytes.Join(groups, []byte("\n")), []byte("\n)\n"), tail)
}

// newFile returns an empty file with the names of its imports.
func (e *emitter) newFile() *jen.File {
	f := jen.NewFilePathName(e.m.pkgPath, e.m.pkg.Name())
	for path, name := range e.n.imports {
		if name == e.n.given[path] {
			f.ImportName(path, name)
		} else {
			f.ImportAlias(path, name)
		}
	}
	return f
}

// emitPayload writes the methods that make a type a payload.
func (e *emitter) emitPayload(t *target) {
	b, r, v, out := expr(e.n.b), expr(e.n.r), expr(e.n.v), expr(e.n.out)
	receiver := jen.Params(jen.Id(e.n.v).Op("*").Id(t.name))
	bytes := jen.Index().Byte()
	e.f.Line()
	e.f.Commentf("AppendWire appends the MessagePack encoding of %s to %s and returns the extended slice.", e.n.v, e.n.b)
	e.f.Func().Add(receiver).Id("AppendWire").Params(jen.Id(e.n.b).Add(bytes)).Params(bytes, jen.Error()).Block(
		e.payloadAppend(t.typ, b, v)...)
	e.f.Line()
	e.f.Commentf("DecodeWire decodes %s into %s. It keeps no reference to %s.", e.n.b, e.n.v, e.n.b)
	e.f.Commentf("If it returns an error, %s is unchanged.", e.n.v)
	e.f.Func().Add(receiver).Id("DecodeWire").Params(jen.Id(e.n.b).Add(bytes)).Error().Block(
		r.define(wireCall("NewReader", jen.Lit(t.name), b.code())),
		jen.Var().Id(e.n.out).Id(t.name),
		e.payloadRead(t.typ, out),
		jen.If(expr(e.n.err).define(r.call("End")), jen.Id(e.n.err).Op("!=").Nil()).Block(jen.Return(jen.Id(e.n.err))),
		v.deref().set(out.code()),
		jen.Return(jen.Nil()))
	e.f.Line()
	e.f.Commentf("WireShape describes how %s is stored, for tools.", t.name)
	e.f.Func().Params(jen.Op("*").Id(t.name)).Id("WireShape").Params().Add(shapeType("Payload")).Block(
		jen.Return(shapeType("Payload").Values(e.payloadShape(t)...)))
}

// payloadShape writes the parts of a payload's description.
func (e *emitter) payloadShape(t *target) []jen.Code {
	parts := []jen.Code{jen.Line().Id("Type").Op(":").Lit(t.payload.Type)}
	if len(t.payload.Types) > 0 {
		parts = append(parts, jen.Line().Id("Types").Op(":").Add(typesShape(t.payload.Types)))
	}
	return ended(parts)
}

// payloadAppend emits the body of the function that encodes the payload v behind b.
func (e *emitter) payloadAppend(t *typ, b, v expr) []jen.Code {
	if t.hasCodec() {
		return []jen.Code{jen.Return(e.call(t, "Append", b.code(), v.code()))}
	}
	return []jen.Code{e.returnAppend(t, v.deref())}
}

// hasCodec reports whether an emitted codec writes values of t.
func (t *typ) hasCodec() bool {
	switch t.kind {
	case kindBasic, kindBytes, kindByteArray, kindTime, kindWire, kindBinary, kindText, kindJSON:
		return false
	}
	return true
}

// payloadRead is readValue for a Reader that is a variable and not a pointer.
func (e *emitter) payloadRead(t *typ, x expr) jen.Code {
	if e.readExpr(t) != nil || !t.hasCodec() {
		return e.readValue(t, x)
	}
	return e.call(t, "Read", expr(e.n.r).addr(), x.addr())
}

// hasGraphTag reports whether a field of the struct has a graph tag.
func hasGraphTag(st *types.Struct) bool {
	for i := range st.NumFields() {
		if t, faults := parseTag(st.Tag(i)); t.present || len(faults) > 0 {
			return true
		}
	}
	return false
}

// packages returns the packages that the model's types mention.
func (m *model) packages() []*types.Package {
	var list []*types.Package
	visit := func(p *types.Package) {
		if !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, t := range m.types {
		packagesIn(m.pkgPath, t.typ, visit)
		packagesIn(m.pkgPath, t.typ.Underlying(), visit)
		if t.key != nil {
			packagesIn(m.pkgPath, t.key.typ, visit)
		}
		for _, a := range t.alts {
			packagesIn(m.pkgPath, a.typ, visit)
		}
	}
	for _, a := range m.aliases() {
		packagesIn(m.pkgPath, types.Unalias(a), visit)
	}
	for _, a := range m.absent {
		packagesIn(m.pkgPath, a.typ, visit)
	}
	for _, t := range m.within {
		packagesIn(m.pkgPath, t.Underlying(), visit)
	}
	for _, t := range m.targets {
		packagesIn(m.pkgPath, t.named.Underlying(), visit)
		for _, part := range t.parts {
			packagesIn(m.pkgPath, part.named, visit)
			packagesIn(m.pkgPath, part.named.Underlying(), visit)
		}
		for _, f := range t.fields {
			if f.key != nil {
				packagesIn(m.pkgPath, f.key.typ.typ, visit)
			}
		}
	}
	return list
}

// nameCodecs gives the codec of every type a name. taken are other names that graphgen declares in
// the package.
func (m *model) nameCodecs(prefix string, taken map[string]bool) {
	m.codecs = make(map[*typ]string)
	taken = maps.Clone(taken)
	for _, t := range m.targets {
		if t.role == roleUnion {
			m.codecs[t.typ] = t.name + codecSuffix
		}
	}
	for _, t := range m.types {
		if m.codecs[t] != "" {
			continue
		}
		name := prefix + t.ident
		for n := 2; taken[name] || m.pkg.Scope().Lookup(name) != nil; n++ {
			name = prefix + t.ident + strconv.Itoa(n)
		}
		taken[name] = true
		m.codecs[t] = name
	}
}
