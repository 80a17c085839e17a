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

// origin is what decides whether a source file is part of a build. What is generated for its types
// must be part of the same builds.
type origin struct {
	file  string // its name, without the folder
	build string // the condition as a //go:build line has it; empty for none
	test  bool   // it is a test file
}

// sameBuilds reports whether files of both origins are part of the same builds.
func (o origin) sameBuilds(other origin) bool { return o.build == other.build && o.test == other.test }

// describe says for the middle of a message when the file is built.
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

// outputName returns the file that code for a type of this origin goes to when nobody says
// otherwise: agent_state_graphgen.go. Files for some builds only often declare the same types, so
// their names are part of it.
func (o origin) outputName(typeName string) string {
	name := snake(typeName)
	if o.build != "" {
		stem := strings.TrimSuffix(strings.TrimSuffix(o.file, ".go"), "_test")
		if stem != name && !strings.HasPrefix(stem, name+"_") {
			stem = name + "_" + stem
		}
		name = stem
	}
	name = strings.TrimLeft(name, "_") // the go command passes over files that begin with _
	if o.test {
		return name + strings.TrimSuffix(Suffix, ".go") + "_test.go"
	}
	return name + Suffix
}

// originOf returns the origin of the file that pos is in.
func (src *source) originOf(pos token.Pos) origin {
	i := slices.IndexFunc(src.pkg.Syntax, func(f *ast.File) bool { return f.FileStart <= pos && pos <= f.FileEnd })
	if i < 0 {
		return origin{}
	}
	file := src.pkg.Syntax[i]
	path := src.pkg.Fset.PositionFor(file.Package, false).Filename
	cgo := len(src.pkg.GoFiles) > 0 && !slices.Contains(src.pkg.GoFiles, path) // what cgo made of the file
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

// nameConditions returns the system and the architecture that the name of a file stands for: linux
// and amd64 for x_linux_amd64.go. The list of both is the go command's.
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

// built reports whether the name of a file lets it be part of a build for an architecture, on a
// system that there is not.
func built(name, arch string) bool {
	ctx := build.Context{GOOS: "none", GOARCH: arch, Compiler: "gc", OpenFile: func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package p\n")), nil
	}}
	ok, err := ctx.MatchFile("", name)
	return ok && err == nil
}

// join returns the condition that all of a list hold.
func join(conditions []string) string {
	var all constraint.Expr
	for _, text := range conditions {
		x, err := constraint.Parse("//go:build " + text)
		switch {
		case err != nil:
			continue // the go command says so
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

// implies reports whether a condition is an and of conditions of which one is the tag.
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
