package gen

import (
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/go/packages"
)

// unit is one file to generate, with its types.
type unit struct {
	types  []unitType
	output string // absolute
	origin origin // the origin of the types
}

// unitType is one named type of a unit.
type unitType struct {
	name string
	pos  token.Position // position of the declaration; for a missing type, position of its name
	obj  *types.TypeName
	role role
}

// named returns the names of the types with a role.
func (u *unit) named(role role) []string {
	var names []string
	for _, t := range u.types {
		if t.role == role {
			names = append(names, t.name)
		}
	}
	return names
}

// sources returns the names of the files that declare the types, sorted.
func (u *unit) sources() []string {
	var names []string
	for _, t := range u.types {
		names = append(names, filepath.Base(t.pos.Filename))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// role is the purpose of a type in a graph.
type role int

const (
	roleState   role = iota // has an update type and a schema
	rolePayload             // has AppendWire and DecodeWire
	roleUnion               // an interface, which has an exported codec
)

// units returns the units of a package: one for Config.Types, or those that the package requests.
func (src *source) units(cfg Config, diags *diagnostics) []*unit {
	var units []*unit
	if len(cfg.Types) > 0 {
		u := src.newUnit(cfg.Types, cfg.Output, src.lineOf(cfg.Types), diags)
		src.checkOthers(u, diags)
		units = append(units, u)
	} else {
		units = src.askedUnits(cfg, diags)
	}
	for _, d := range src.directives {
		if d.fault != "" && (len(units) > 0 || d.verb != verbGenerate) {
			diags.add(d.pos, directivePrefix[2:]+d.verb, "%s", d.fault)
		}
	}
	return slices.DeleteFunc(units, func(u *unit) bool { return len(u.types) == 0 })
}

// lineOf returns the position of the go:generate line that names exactly these types. Without one,
// it returns the folder of the package.
func (src *source) lineOf(names []string) token.Position {
	for _, d := range src.directives {
		if d.verb == verbGenerate && slices.Equal(d.types, names) {
			return d.pos
		}
	}
	return token.Position{Filename: src.dir}
}

// checkOthers reports go:generate lines that write the output of u for other types.
func (src *source) checkOthers(u *unit, diags *diagnostics) {
	for _, d := range src.directives {
		shared := func(t unitType) bool { return slices.Contains(d.types, t.name) }
		if d.verb != verbGenerate || slices.ContainsFunc(u.types, shared) {
			continue
		}
		if other := src.newUnit(d.types, d.out, d.pos, new(diagnostics)); other.output == u.output {
			diags.add(d.pos, "go:generate", "writes %s, too; name all types on one line, or give one of them -o", filepath.Base(u.output))
		}
	}
}

// askedUnits returns a unit for every go:generate line that runs graphgen, and one for the marked
// types in no such line.
func (src *source) askedUnits(cfg Config, diags *diagnostics) []*unit {
	var units []*unit
	named := make(map[string]bool)
	for _, d := range src.directives {
		if d.verb != verbGenerate || isTestFile(d.pos.Filename) != src.test {
			continue
		}
		u := src.newUnit(d.types, d.out, d.pos, diags)
		for _, other := range units {
			if other.output == u.output {
				diags.add(d.pos, "go:generate", "two lines write %s; name all types on one, or give one of them -o", filepath.Base(u.output))
			}
		}
		for _, name := range d.types {
			named[name] = true
		}
		units = append(units, u)
	}
	groups := src.marked(named)
	out, at := src.markedOutput(cfg, diags)
	switch {
	case out == "":
	case len(groups) == 0:
		diags.add(at, "-o "+out, "is for types that carry //graphgen:state or //graphgen:payload, and package %s has none; name the types by -type", src.pkg.Name)
	case len(groups) > 1:
		diags.add(at, "-o "+out, "is one file, and the marked types of package %s are not part of the same builds; name them by -type, one file at a time", src.pkg.Name)
	}
	for _, names := range groups {
		u := src.newUnit(names, out, token.Position{}, diags)
		if out == "" && len(u.named(roleState)) > 1 {
			u.output = filepath.Join(src.dir, u.origin.outputName(strings.TrimSuffix(src.pkg.Name, "_test")))
		}
		units = append(units, u)
	}
	return units
}

// markedOutput returns the file of the marked types: the one in cfg, or else that of a go:generate
// line with -o and without -type. It is empty if there is neither.
func (src *source) markedOutput(cfg Config, diags *diagnostics) (out string, at token.Position) {
	if cfg.Output != "" {
		return cfg.Output, token.Position{Filename: src.dir}
	}
	for _, d := range src.directives {
		if d.verb != verbOutput || isTestFile(d.pos.Filename) != src.test {
			continue
		}
		if out != "" && out != d.out {
			diags.add(d.pos, "go:generate", "a second line names the output of the marked types, and the first says %s; keep one", out)
		}
		out, at = d.out, d.pos
	}
	return out, at
}

// marked returns the types that carry a directive and are not in named. States precede payloads.
// Types of different builds are in different groups.
func (src *source) marked(named map[string]bool) [][]string {
	var groups [][]string
	var origins []origin
	for _, verb := range []string{"state", "payload"} {
		for _, d := range src.directives {
			mine := isTestFile(d.pos.Filename) == src.test
			if d.verb != verb || d.name == "" || d.fault != "" || named[d.name] || !mine {
				continue
			}
			o := src.originOf(d.at)
			i := slices.IndexFunc(origins, o.sameBuilds)
			if i < 0 {
				i = len(origins)
				origins, groups = append(origins, o), append(groups, nil)
			}
			groups[i] = append(groups[i], d.name)
		}
	}
	return groups
}

// newUnit looks up the named types. It reports missing types at the position of their names.
func (src *source) newUnit(names []string, output string, at token.Position, diags *diagnostics) *unit {
	u := &unit{output: output}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			diags.add(at, name, "is named twice; name it once")
			continue
		}
		t := unitType{name: name, pos: at}
		obj := src.pkg.Types.Scope().Lookup(name)
		if obj == nil {
			if src.parsed() {
				diags.add(at, name, "package %s declares no such type%s", src.pkg.Name, src.similar(name))
			}
			continue
		}
		t.pos = src.pkg.Fset.Position(obj.Pos())
		var ok bool
		if t.obj, ok = obj.(*types.TypeName); !ok {
			diags.add(t.pos, name, "is a %s, not a type; name a struct type", objectKind(obj))
			continue
		}
		t.role = src.role(t.obj, i == 0)
		o := src.originOf(obj.Pos())
		if len(u.types) == 0 {
			u.origin = o
		} else if !u.origin.sameBuilds(o) {
			diags.add(t.pos, name, "cannot be generated into one file with %s: %s, and %s; name them on two lines",
				u.types[0].name, o.describe(), u.origin.describe())
		}
		u.types = append(u.types, t)
	}
	if output == "" {
		u.output = u.origin.outputName(names[0])
	}
	if !filepath.IsAbs(u.output) {
		u.output = filepath.Join(src.dir, u.output)
	}
	return u
}

// snake returns a name in lower snake case.
func snake(typeName string) string {
	var b strings.Builder
	runes := []rune(typeName)
	for i, c := range runes {
		upper := unicode.IsUpper(c)
		starts := i > 0 && upper && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if starts && runes[i-1] != '_' {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// parsed reports whether the package has files, and all of them could be parsed. Otherwise a
// missing type is not a fault.
func (src *source) parsed() bool {
	return len(src.pkg.Syntax) > 0 && !slices.ContainsFunc(src.pkg.Errors, func(e packages.Error) bool { return e.Kind == packages.ParseError })
}

// role returns the role of a type. A directive decides. Without one, a type is a state if it is
// named first or if the tag of a field has a reducer. All others are payloads, or unions if they
// are interfaces.
func (src *source) role(obj *types.TypeName, first bool) role {
	iface := types.IsInterface(obj.Type())
	asked := ""
	for _, d := range src.directives {
		if d.name == obj.Name() && (d.verb == "state" || d.verb == "payload") {
			asked = d.verb
			break
		}
	}
	switch {
	case asked == "state" || asked == "" && (first && !iface || hasReducer(obj.Type())):
		return roleState
	case iface:
		return roleUnion
	}
	return rolePayload
}

// objectKind returns what messages call an object, such as "function".
func objectKind(obj types.Object) string {
	switch obj.(type) {
	case *types.Func:
		return "function"
	case *types.Const:
		return "constant"
	case *types.Var:
		return "variable"
	}
	return "name"
}

// exportedSuffixes are the suffixes of the exported names of a state.
var exportedSuffixes = []string{"Update", "Schema", "Diff", "DiffOf"}

// statePartNames are the suffixes of the unexported names of a state: its Live, the descriptions
// and the functions of its schema.
var statePartNames = append([]string{"", "Fields", "Types", "Changes"}, schemaFuncs...)

// generatedNames returns the package-level names that graphgen declares for a state. states are
// all states of the package.
func (src *source) generatedNames(state string, states map[string]bool) []string {
	var names []string
	for _, suffix := range exportedSuffixes {
		names = append(names, state+suffix)
	}
	for _, part := range statePartNames {
		names = append(names, src.helperName(state, states)+part)
	}
	return names
}

// helperName returns the prefix of the unexported names for a state. Prefixes of two states always
// differ, even if one state has the name of a part of the other. Names for test files differ from
// all others.
func (src *source) helperName(name string, states map[string]bool) string {
	prefix := "graphgen"
	if obj := src.pkg.Types.Scope().Lookup(name); obj != nil && src.originOf(obj.Pos()).test {
		prefix = "testGraphgen"
	}
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsUpper(first) {
		return prefix + "_" + name
	}
	for _, part := range statePartNames[1:] {
		if states[name+part] {
			return prefix + "_" + name
		}
	}
	return prefix + name
}

// codecPrefix returns the prefix of the codecs of a unit, because two units may need codecs for
// the same type. The first unit of a package has the short prefix. A unit that is not part of
// every build is never the first.
func (src *source) codecPrefix(u *unit) string {
	if u.origin.test {
		return "testGraphgen" + upperFirst(u.types[0].name) + "Codec"
	}
	i := slices.IndexFunc(src.directives, func(d directive) bool {
		return d.verb == verbGenerate && src.originOf(d.at).sameBuilds(origin{})
	})
	if u.origin.build == "" && i < 0 || i >= 0 && src.directives[i].types[0] == u.types[0].name {
		return "graphgenCodec"
	}
	return "graphgen" + upperFirst(u.types[0].name) + "Codec"
}

// fieldSyntax maps the position of each struct field's name to its syntax.
func fieldSyntax(files []*ast.File) map[token.Pos]*ast.Field {
	fields := make(map[token.Pos]*ast.Field)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			st, ok := n.(*ast.StructType)
			if !ok {
				return true
			}
			for _, field := range st.Fields.List {
				for _, name := range field.Names {
					fields[name.Pos()] = field
				}
				if len(field.Names) == 0 {
					fields[embeddedName(field.Type)] = field
				}
			}
			return true
		})
	}
	return fields
}

// comment returns the comment of a field: the one above it, or else the one on its line.
func comment(field *ast.Field) string {
	if field == nil {
		return ""
	}
	if text := strings.TrimSpace(field.Doc.Text()); text != "" {
		return text
	}
	return strings.TrimSpace(field.Comment.Text())
}

// embeddedName returns the position of the type name of an embedded field, which go/types uses for
// the field.
func embeddedName(x ast.Expr) token.Pos {
	switch x := x.(type) {
	case *ast.StarExpr:
		return embeddedName(x.X)
	case *ast.SelectorExpr:
		return x.Sel.Pos()
	case *ast.IndexExpr:
		return embeddedName(x.X)
	case *ast.IndexListExpr:
		return embeddedName(x.X)
	case *ast.ParenExpr:
		return embeddedName(x.X)
	}
	return x.Pos()
}
