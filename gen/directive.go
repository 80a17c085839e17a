package gen

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"path/filepath"
	"strings"
)

// directive is one //graphgen: comment, or a //go:generate line that runs graphgen.
type directive struct {
	pos   token.Position
	at    token.Pos
	verb  string   // state, payload, union, verbGenerate, verbOutput; the text in the source if it is none of these
	name  string   // of the type or interface
	arg   string   // union: the text after the equals sign
	types []string // verbGenerate: of -type
	out   string   // verbGenerate, verbOutput: of -o
	fault string   // the fault of the directive; empty for none
}

const directivePrefix = "//graphgen:"

// Verbs of go:generate lines. The verb of a //graphgen: comment contains no space, so none is
// equal to these.
const (
	verbGenerate = "go generate"
	verbOutput   = "go generate -o"
)

// readDirectives returns the directives of a file in the order of their text.
func readDirectives(fset *token.FileSet, file *ast.File) []directive {
	typeNames := documentedTypes(file)
	var list []directive
	for _, group := range file.Comments {
		for _, c := range group.List {
			d := directive{pos: fset.Position(c.Pos()), at: c.Pos()}
			text := strings.TrimRight(c.Text, " \t\r")
			if line, ok := strings.CutPrefix(text, "//go:generate "); ok {
				if d.readGenerate(line) {
					list = append(list, d)
				}
				continue
			}
			rest, ok := strings.CutPrefix(text, directivePrefix)
			if !ok {
				continue
			}
			var args string
			d.verb, args, _ = strings.Cut(rest, " ")
			d.read(strings.TrimSpace(args), typeNames[c])
			list = append(list, d)
		}
	}
	return list
}

// read parses the text after the verb. typeName is the type that the comment documents.
func (d *directive) read(args, typeName string) {
	switch d.verb {
	case "state", "payload":
		d.name = typeName
		switch {
		case args != "":
			d.fault = fmt.Sprintf("takes nothing after it, got %q; it is about the type it stands above", args)
		case typeName == "":
			d.fault = "stands above no type; put it on the line before a type declaration"
		}
	case "union":
		name, alternatives, ok := strings.Cut(args, "=")
		d.name, d.arg = strings.TrimSpace(name), strings.TrimSpace(alternatives)
		if !ok || d.name == "" || d.arg == "" {
			d.fault = fmt.Sprintf("want Name = *A | *B, got %q", args)
		}
	default:
		d.fault = "unknown directive; there are //graphgen:state, //graphgen:payload and //graphgen:union"
	}
}

// readGenerate parses a go:generate line. It reports whether the line runs graphgen for named
// types, or is an output directive, which names the output of the marked types.
func (d *directive) readGenerate(line string) bool {
	words := strings.Fields(line)
	runs := false
	for len(words) > 0 && !runs {
		base := path.Base(filepath.ToSlash(words[0]))
		base, _, _ = strings.Cut(base, "@")
		words = words[1:]
		runs = base == "graphgen"
	}
	d.verb = verbGenerate
	for len(words) > 0 {
		name, value, ok := strings.Cut(strings.TrimLeft(words[0], "-"), "=")
		isFlag := strings.HasPrefix(words[0], "-")
		words = words[1:]
		if !isFlag || name != "type" && name != "o" {
			continue
		}
		if !ok && len(words) > 0 {
			value, words = words[0], words[1:]
		}
		value = strings.Trim(value, `"`)
		if name == "o" {
			d.out = value
		} else if value != "" {
			d.types = strings.Split(value, ",")
		}
	}
	if len(d.types) == 0 {
		d.verb = verbOutput
		return runs && d.out != ""
	}
	return true
}

// documentedTypes maps each comment that belongs to a type declaration to the type's name.
func documentedTypes(file *ast.File) map[*ast.Comment]string {
	names := make(map[*ast.Comment]string)
	mark := func(group *ast.CommentGroup, name string) {
		if group == nil {
			return
		}
		for _, c := range group.List {
			names[c] = name
		}
	}
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		for _, spec := range gen.Specs {
			ts := spec.(*ast.TypeSpec)
			if len(gen.Specs) == 1 {
				mark(gen.Doc, ts.Name.Name)
			}
			mark(ts.Doc, ts.Name.Name)
			mark(ts.Comment, ts.Name.Name)
		}
	}
	return names
}
