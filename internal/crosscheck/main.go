// Command crosscheck type-checks packages for the system in GOOS and GOARCH, with their tests. It
// compiles nothing, so it is much faster than go vet for another system: that compiles all
// packages that they import.
//
//	GOOS=windows go run ./internal/crosscheck ./...
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	faults, err := check(os.Args[1:])
	for _, fault := range faults {
		fmt.Fprintln(os.Stderr, fault)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crosscheck:", err)
	}
	if err != nil || len(faults) > 0 {
		os.Exit(1)
	}
}

// check returns the errors in packages, and those of packages that cannot be loaded.
func check(patterns []string) (faults []string, err error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	cfg := &packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo,
		Tests: true,
		Env:   append(os.Environ(), "CGO_ENABLED=0"),
		ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
			if file != nil && !strings.HasPrefix(name, here+string(filepath.Separator)) {
				dropBodies(file)
			}
			return file, err
		},
	}
	pkgs, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, err
	}
	for _, pkg := range pkgs {
		if strings.HasSuffix(pkg.PkgPath, ".test") {
			continue // the main package of a test binary, which the go command writes elsewhere
		}
		for _, e := range pkg.Errors {
			faults = append(faults, e.Error())
		}
	}
	if len(pkgs) == 0 {
		return nil, fmt.Errorf("no package matches %q; name packages as for go vet", patterns)
	}
	return faults, nil
}

// dropBodies drops the bodies of functions, which nothing outside of their package depends on. It
// causes errors in that package, which nobody reads.
func dropBodies(file *ast.File) {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			f.Body = nil
		}
	}
}
