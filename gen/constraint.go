package gen

import (
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/token"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// origin holds the properties of a source file that decide whether it is part of a build. The
// generated code for its types must be part of the same builds.
type origin struct {
	file  string // the name without the folder
	build string // the condition of the //go:build line; empty for none
	test  bool   // whether it is a test file
}

// sameBuilds reports whether files of both origins are part of the same builds.
func (o origin) sameBuilds(other origin) bool { return o.build == other.build && o.test == other.test }

// describe returns a phrase for messages: when the file is built.
func (o origin) describe() string {
	switch {
	case o.test && o.build != "":
		return o.file + " is for tests with " + o.build
	case o.test:
		return o.file + " is for tests"
	case o.build != "":
		return o.file + " is for builds with " + o.build
	}
	return o.file + " is for every build"
}

// outputName returns the default file for the code of a type with this origin, such as
// agent_state_graphgen.go. Files for different builds often declare the same types, so the name
// contains the build.
func (o origin) outputName(typeName string) string {
	name := snake(typeName)
	if o.build != "" {
		stem := strings.TrimSuffix(strings.TrimSuffix(o.file, ".go"), "_test")
		if stem != name && !strings.HasPrefix(stem, name+"_") {
			stem = name + "_" + stem
		}
		name = stem
	}
	name = strings.TrimLeft(name, "_") // the go command ignores files that begin with _
	if o.test {
		return name + strings.TrimSuffix(Suffix, ".go") + "_test.go"
	}
	return name + Suffix
}

// originOf returns the origin of the file that contains pos.
func (src *source) originOf(pos token.Pos) origin {
	i := slices.IndexFunc(src.pkg.Syntax, func(f *ast.File) bool { return f.FileStart <= pos && pos <= f.FileEnd })
	if i < 0 {
		return origin{}
	}
	file := src.pkg.Syntax[i]
	path := src.pkg.Fset.PositionFor(file.Package, false).Filename
	cgo := len(src.pkg.GoFiles) > 0 && !slices.Contains(src.pkg.GoFiles, path) // a file that cgo generated
	if cgo {
		path = src.pkg.Fset.Position(file.Package).Filename
	}
	name := filepath.Base(path)
	conditions := append(buildLine(file), nameConditions(name)...)
	if cgo {
		conditions = append(conditions, "cgo")
	}
	return origin{file: name, build: join(conditions), test: isTestFile(name)}
}

// isTestFile reports whether a file has the name of a test.
func isTestFile(name string) bool { return strings.HasSuffix(name, "_test.go") }

// buildLine returns the condition of the //go:build line of a file, if there is one.
func buildLine(file *ast.File) []string {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if c.Pos() > file.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			if x, err := constraint.Parse(c.Text); err == nil {
				return []string{x.String()}
			}
		}
	}
	return nil
}

// nameConditions returns the operating system and the architecture in a file name: linux and amd64
// for x_linux_amd64.go. It uses the lists of the go command.
func nameConditions(name string) []string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".go"), "_test")
	parts := strings.Split(name, "_")
	n := len(parts)
	if n < 2 || built("x_"+parts[n-1]+".go", "") {
		return nil
	}
	if n > 2 && !built("x_"+parts[n-2]+"_"+parts[n-1]+".go", parts[n-1]) {
		return parts[n-2:]
	}
	return parts[n-1:]
}

// built reports whether a file with this name can be part of a build for arch on a nonexistent
// operating system.
func built(name, arch string) bool {
	ctx := build.Context{GOOS: "none", GOARCH: arch, Compiler: "gc", OpenFile: func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p\n")), nil
	}}
	ok, err := ctx.MatchFile("", name)
	return ok && err == nil
}

// join returns the conjunction of conditions.
func join(conditions []string) string {
	var all constraint.Expr
	for _, text := range conditions {
		x, err := constraint.Parse("//go:build " + text)
		switch {
		case err != nil:
			continue // the go command reports it
		case all == nil:
			all = x
		default:
			all = &constraint.AndExpr{X: all, Y: x}
		}
	}
	if all == nil {
		return ""
	}
	return all.String()
}

// implies reports whether condition is the tag, or a conjunction that contains the tag.
func implies(condition, tag string) bool {
	x, err := constraint.Parse("//go:build " + condition)
	if err != nil {
		return false
	}
	for {
		and, ok := x.(*constraint.AndExpr)
		if !ok {
			return x.String() == tag
		}
		if implies(and.Y.String(), tag) {
			return true
		}
		x = and.X
	}
}
