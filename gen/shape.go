package gen

import (
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/graphgen-go/graphgen/shape"
)

// shapes describes the types within a state or a payload.
type shapes struct {
	pkg   *types.Package
	names map[*typ]string // types that are described, or in progress
	taken map[string]bool
	types shape.Types
}

// newShapes returns shapes without types, for the states of pkg.
func newShapes(pkg *types.Package) *shapes {
	return &shapes{pkg: pkg, names: make(map[*typ]string), taken: make(map[string]bool)}
}

// describe returns the description of a state.
func describe(pkg *types.Package, t *target) shape.State {
	s := newShapes(pkg)
	d := shape.State{Name: t.name}
	for _, f := range t.fields {
		field := shape.Field{Name: f.name, Wire: f.wire, Was: f.was, Reducer: f.tag(), Type: s.text(f.typ), Run: f.run}
		if f.key != nil {
			field.Key = f.key.selector
		}
		if f.in != nil {
			field.Input = s.text(f.in)
		}
		d.Fields = append(d.Fields, field)
	}
	d.Types = s.sorted()
	return d
}

// describePayload returns the description of a payload.
func describePayload(pkg *types.Package, t *target) shape.Payload {
	s := newShapes(pkg)
	return shape.Payload{Type: s.text(t.typ), Types: s.sorted()}
}

// sorted returns the types by name.
func (s *shapes) sorted() shape.Types {
	slices.SortFunc(s.types, func(a, b shape.Type) int { return strings.Compare(a.Name, b.Name) })
	return s.types
}

// text returns the description of a type and adds its parts to the table.
func (s *shapes) text(t *typ) string {
	if t == nil { // already reported
		return ""
	}
	if name, ok := s.names[t]; ok {
		return name
	}
	if !t.named && t.kind != kindStruct && t.kind != kindUnion || t.kind == kindTime || t.kind == kindOpaque {
		return s.layer(t)
	}
	name := s.name(t)
	s.names[t] = name
	entry := shape.Type{Name: name, Kind: shape.Defined}
	switch t.kind {
	case kindStruct:
		entry.Kind = shape.Struct
		for _, m := range t.stored() {
			entry.Fields = append(entry.Fields, shape.Field{Name: m.name, Wire: m.wire, Was: m.was, Type: s.text(m.typ)})
		}
	case kindUnion:
		if t.home != nil {
			entry.Kind = shape.Wire // its members are known in its package
			break
		}
		entry.Kind = shape.Union
		for _, a := range t.alts {
			member := shape.Member{Tag: a.tag, Type: s.text(a.elem)}
			if a.pointer {
				member.Type = "*" + member.Type
			}
			entry.Members = append(entry.Members, member)
		}
	case kindWire:
		entry.Kind = shape.Wire
	case kindBinary:
		entry.Kind = shape.Binary
	case kindText:
		entry.Kind = shape.Text
	case kindJSON:
		entry.Kind = shape.JSON
	default:
		entry.Of = s.layer(t)
	}
	s.types = append(s.types, entry)
	return name
}

// layer returns the outermost layer of a type, ignoring its name.
func (s *shapes) layer(t *typ) string {
	switch t.kind {
	case kindBasic:
		return types.Typ[t.basic.Kind()].Name() // not the aliases byte or rune
	case kindBytes:
		return "[]byte"
	case kindByteArray:
		return "[" + strconv.FormatInt(t.length, 10) + "]byte"
	case kindPointer:
		return "*" + s.text(t.elem)
	case kindSlice:
		return "[]" + s.text(t.elem)
	case kindArray:
		return "[" + strconv.FormatInt(t.length, 10) + "]" + s.text(t.elem)
	case kindMap:
		return "map[" + s.key(t.key) + "]" + s.text(t.elem)
	}
	return s.show(t.typ, (*types.Package).Name)
}

// key returns the type of a map's keys as they are stored, without its name.
func (s *shapes) key(t *typ) string {
	if t.kind == kindText {
		return "string"
	}
	return s.layer(t)
}

// name returns the name of a type in the table. If types of two packages have the same name, the
// second one includes the package path.
func (s *shapes) name(t *typ) string {
	name := s.show(t.typ, (*types.Package).Name)
	if s.taken[name] {
		name = s.show(t.typ, (*types.Package).Path)
	}
	s.taken[name] = true
	return name
}

// show returns a type as text. qualify returns the prefix for types of other packages.
func (s *shapes) show(t types.Type, qualify func(p *types.Package) string) string {
	return types.TypeString(types.Unalias(t), func(p *types.Package) string {
		if p == s.pkg {
			return ""
		}
		return qualify(p)
	})
}

// shapeType writes a type of package shape.
func shapeType(name string) *jen.Statement { return jen.Qual(shapePath, name) }

// emitTypes writes the variable with the types within a state.
func (e *emitter) emitTypes(name, of string, list shape.Types) {
	e.f.Line()
	e.f.Commentf("%s describes the types in %s. It must not be modified.", name, of)
	e.f.Var().Id(name).Op("=").Add(typesShape(list))
}

// typesShape writes descriptions of types.
func typesShape(list shape.Types) *jen.Statement {
	var values []jen.Code
	for _, t := range list {
		values = append(values, jen.Line().Values(shapeOf(t)...))
	}
	return shapeType("Types").Values(ended(values)...)
}

// shapeOf writes the parts of a type's description.
func shapeOf(t shape.Type) []jen.Code {
	parts := keyed("Name", t.Name)
	kind := upperFirst(string(t.Kind))
	if t.Kind == shape.JSON {
		kind = "JSON"
	}
	parts = append(parts, jen.Id("Kind").Op(":").Add(shapeType(kind)))
	parts = append(parts, keyed("Of", t.Of)...)
	if len(t.Fields) > 0 {
		var fields []jen.Code
		for _, f := range t.Fields {
			fields = append(fields, jen.Line().Values(fieldShape(f)...))
		}
		parts = append(parts, jen.Id("Fields").Op(":").Index().Add(shapeType("Field")).Values(ended(fields)...))
	}
	if len(t.Members) > 0 {
		var members []jen.Code
		for _, m := range t.Members {
			members = append(members, jen.Line().Values(append(keyed("Tag", m.Tag), keyed("Type", m.Type)...)...))
		}
		parts = append(parts, jen.Id("Members").Op(":").Index().Add(shapeType("Member")).Values(ended(members)...))
	}
	return parts
}

// fieldShape writes the parts of a field's description.
func fieldShape(f shape.Field) []jen.Code {
	parts := append(keyed("Name", f.Name), keyed("Wire", f.Wire)...)
	if len(f.Was) > 0 {
		var was []jen.Code
		for _, name := range f.Was {
			was = append(was, jen.Lit(name))
		}
		parts = append(parts, jen.Id("Was").Op(":").Index().String().Values(was...))
	}
	for _, part := range [][2]string{{"Reducer", f.Reducer}, {"Type", f.Type}, {"Key", f.Key}, {"Input", f.Input}} {
		parts = append(parts, keyed(part[0], part[1])...)
	}
	if f.Run {
		parts = append(parts, jen.Id("Run").Op(":").True())
	}
	return parts
}

// keyed writes a string field of a composite literal, unless the string is empty.
func keyed(key, value string) []jen.Code {
	if value == "" {
		return nil
	}
	return []jen.Code{jen.Id(key).Op(":").Lit(value)}
}

// ended adds a line break after the last of values, which are on separate lines.
func ended(values []jen.Code) []jen.Code {
	if len(values) == 0 {
		return nil
	}
	return append(values, jen.Line())
}
