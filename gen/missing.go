package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// similar returns a hint for a missing type: a type with nearly the same name, or the file that
// declares it for other builds.
func (src *source) similar(name string) string {
	scope := src.pkg.Types.Scope()
	for _, other := range scope.Names() {
		_, isType := scope.Lookup(other).(*types.TypeName)
		if isType && edits(strings.ToLower(name), strings.ToLower(other)) <= min(2, len(name)/2) {
			return "; did you mean " + other + "?"
		}
	}
	for _, path := range src.pkg.IgnoredFiles {
		if file, _ := parseIgnored(path); file != nil && declares(file, name) {
			return "; it is in " + filepath.Base(path) + ", which this build leaves out: " +
				"set GOOS, GOARCH or GOFLAGS=-tags=... as the file wants it"
		}
	}
	return "; name a struct type of this package"
}

// parseIgnored parses a file that the build leaves out. It returns nil if that is not possible.
func parseIgnored(path string) (*ast.File, []byte) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, nil
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil
	}
	return file, content
}

// declares reports whether a file declares the type name.
func declares(file *ast.File, name string) bool {
	for _, decl := range file.Decls {
		gen, ok := decl.(*ast.GenDecl)
		if !ok || gen.Tok != token.TYPE {
			continue
		}
		if slices.ContainsFunc(gen.Specs, func(s ast.Spec) bool { return s.(*ast.TypeSpec).Name.Name == name }) {
			return true
		}
	}
	return false
}
