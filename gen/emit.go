package gen

import (
	"bytes"
	"fmt"
	"go/types"
	"slices"
	"strconv"

	"github.com/dave/jennifer/jen"
)

// emitter writes the code of one file.
type emitter struct {
	m *model
	f *jen.File
	n *names

	needed map[*typ]bool // types whose codec is used
	clones map[*typ]bool // those of them that are copied
	todo   []*typ        // of needed, those not looked at yet

	errs     bool // the function being written needs a variable for errors
	counting bool // the function being written knows how deep it is
	inHeader bool // what is being written stands in the header of an if
}

// emit returns the file that a model stands for.
func emit(m *model) ([]byte, error) {
	e := &emitter{m: m, needed: make(map[*typ]bool), clones: make(map[*typ]bool)}
	e.n = newNames(m.pkg, m.packages())
	e.settleCodecs()
	e.f = e.newFile()
	e.f.HeaderComment(Header)
	e.f.Comment("If this does not compile, the code was generated for a newer version of graphgen than the one in go.mod: update it there.")
	e.f.Const().Id("_").Op("=").Qual(wirePath, "IsAtLeastVersion0_1")
	for _, t := range m.targets {
		if t.role == roleState {
			e.emitState(t)
		} else {
			e.emitPayload(t)
		}
	}
	for _, t := range m.types {
		if e.needed[t] {
			e.emitCodec(t)
		}
	}
	e.emitGuards()
	var out bytes.Buffer
	if err := e.f.Render(&out); err != nil {
		return nil, fmt.Errorf("gen: package %s: what was generated is not Go, which is a mistake of graphgen's: %.200s", m.pkgPath, err)
	}
	return out.Bytes(), nil
}

// newFile returns an empty file that knows by which names to import.
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

// settleCodecs finds out which codecs are needed before any is written, since a codec's methods depend on whether it is
// copied. It is a rehearsal: everything is written once for nothing.
func (e *emitter) settleCodecs() {
	e.f = e.newFile()
	for _, t := range e.m.targets {
		if t.role == roleState {
			e.emitState(t)
		} else {
			e.emitPayload(t)
		}
	}
	for again := true; again; {
		before := len(e.needed) + len(e.clones)
		for _, t := range e.m.types {
			if e.needed[t] {
				e.emitCodec(t)
			}
		}
		again = len(e.needed)+len(e.clones) > before
	}
}

// emitPayload writes the methods that make a type a payload.
func (e *emitter) emitPayload(t *target) {
	b, r, v, out := expr(e.n.b), expr(e.n.r), expr(e.n.v), expr(e.n.out)
	receiver := jen.Params(jen.Id(e.n.v).Op("*").Id(t.name))
	bytes := jen.Index().Byte()
	e.f.Line()
	e.f.Comment("AppendWire appends the value to b as MessagePack and returns the extended slice.")
	e.f.Func().Add(receiver).Id("AppendWire").Params(jen.Id(e.n.b).Add(bytes)).Params(bytes, jen.Error()).Block(
		e.payloadAppend(t.typ, b, v)...)
	e.f.Line()
	e.f.Comment("DecodeWire sets the value to what b holds. It keeps no reference to b. After an error the value is what it was.")
	e.f.Func().Add(receiver).Id("DecodeWire").Params(jen.Id(e.n.b).Add(bytes)).Error().Block(
		r.define(wireCall("NewReader", jen.Lit(t.name), b.code())),
		jen.Var().Id(e.n.out).Id(t.name),
		e.payloadRead(t.typ, out),
		jen.If(expr(e.n.err).define(r.call("End")), jen.Id(e.n.err).Op("!=").Nil()).Block(jen.Return(jen.Id(e.n.err))),
		v.deref().set(out.code()),
		jen.Return(jen.Nil()))
}

func (e *emitter) payloadAppend(t *typ, b, v expr) []jen.Code {
	if t.hasCodec() {
		return []jen.Code{jen.Return(e.call(t, "Append", b.code(), v.code()))}
	}
	return []jen.Code{e.returnAppend(t, v.deref())}
}

// hasCodec reports whether values of t are written by a codec that is emitted.
func (t *typ) hasCodec() bool {
	switch t.kind {
	case kindBasic, kindBytes, kindByteArray, kindTime, kindWire, kindBinary, kindText:
		return false
	}
	return true
}

// payloadRead is readValue where the Reader is a variable and no pointer.
func (e *emitter) payloadRead(t *typ, x expr) jen.Code {
	if e.readExpr(t) != nil || !t.hasCodec() {
		return e.readValue(t, x)
	}
	return e.call(t, "Read", expr(e.n.r).addr(), x.addr())
}

// emitGuards writes conversions that do not compile once a struct is not what it was when the code was generated.
func (e *emitter) emitGuards() {
	var guards []jen.Code
	seen := make(map[types.Type]bool)
	guard := func(t types.Type) {
		named, ok := types.Unalias(t).(*types.Named)
		if !ok || seen[named] {
			return
		}
		seen[named] = true
		if st, ok := named.Underlying().(*types.Struct); ok && spellable(st, e.m.pkg) {
			guards = append(guards, jen.Id("_").Op("=").Add(typeCode(e.m.pkgPath, st)).Call(typeCode(e.m.pkgPath, t).Values()))
		}
	}
	for _, t := range e.m.targets {
		guard(t.named)
	}
	for _, t := range e.m.types {
		if e.needed[t] && t.kind == kindStruct {
			guard(t.typ)
		}
	}
	if len(guards) == 0 {
		return
	}
	e.f.Line()
	e.f.Comment("If one of these does not compile, the type has changed since graphgen ran: run go generate.")
	e.f.Var().Defs(guards...)
}

// spellable reports whether code of package pkg can write out the struct so that it is identical.
func spellable(st *types.Struct, pkg *types.Package) bool {
	for i := range st.NumFields() {
		if f := st.Field(i); !f.Exported() && f.Pkg() != pkg {
			return false
		}
	}
	return true
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
		if st, ok := t.typ.Underlying().(*types.Struct); ok {
			packagesIn(m.pkgPath, st, visit)
		}
		if t.key != nil {
			packagesIn(m.pkgPath, t.key.typ, visit)
		}
		for _, a := range t.alts {
			packagesIn(m.pkgPath, a.typ, visit)
		}
	}
	for _, t := range m.targets {
		packagesIn(m.pkgPath, t.named.Underlying(), visit)
		for _, f := range t.fields {
			if f.key != nil {
				packagesIn(m.pkgPath, f.key.typ.typ, visit)
			}
		}
	}
	return list
}

// nameCodecs gives every type the name of its codec. other are the names that graphgen declares in the package otherwise.
func (m *model) nameCodecs(other map[string]bool) {
	m.codecs = make(map[*typ]string)
	taken := make(map[string]bool)
	for _, t := range m.targets {
		taken[fieldsVar(t)] = true
	}
	for _, t := range m.types {
		base := m.helper + t.ident
		if len(m.targets) > 0 && m.targets[0].typ == t {
			m.codecs[t] = m.helper // a payload is its unit's helper itself
			continue
		}
		name := base
		for n := 2; taken[name] || other[name] || m.pkg.Scope().Lookup(name) != nil; n++ {
			name = base + "_" + strconv.Itoa(n)
		}
		taken[name] = true
		m.codecs[t] = name
	}
}
