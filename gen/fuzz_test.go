package gen

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// FuzzTag parses struct tags. The parser must not panic, and must agree with reflect on whether
// there is a graph tag.
func FuzzTag(f *testing.F) {
	for _, tag := range []string{
		`graph:"upsert,key=ID"`, `graph:"append,name=hist,was=old"`, `json:"x" graph:"reduce=f"`, `graph:"-"`, `graph:""`, `graph:`, `graph:"last`,
		`graph:"a,b,c"`, `graph:"name=\u0007"`, `x graph:"last"`, `graph:"last" graph:"first"`,
	} {
		f.Add(tag)
	}
	f.Add(`json:"x" grpah:"upsert,key=ID"`)
	f.Fuzz(func(t *testing.T, raw string) {
		parsed, faults := parseTag(raw)
		if fault := misspeltKey("graph:" + strconv.Quote(raw)); fault != "" {
			t.Errorf("misspeltKey of graph:%q = %q, want nothing", raw, fault)
		}
		misspeltKey(raw)
		value, found := reflect.StructTag(raw).Lookup("graph")
		if found && !parsed.present && len(faults) == 0 {
			t.Errorf("parseTag(%q) finds nothing and no fault, reflect finds %q", raw, value)
		}
		if parsed.present && !found {
			t.Errorf("parseTag(%q) = %+v, reflect finds nothing", raw, parsed)
		}
		if parsed.reducer != "" && !isReducer(parsed.reducer) {
			t.Errorf("parseTag(%q) has the reducer %q", raw, parsed.reducer)
		}
	})
}

// FuzzSource runs all stages except the go command on source files. They must not panic, and code
// for a file without faults must compile.
func FuzzSource(f *testing.F) {
	for _, pattern := range []string{"../testdata/golden/*/*.go", "../testdata/bad/*/*.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, Suffix) || strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(src))
		}
	}
	f.Add("package m\n//graphgen:state\ntype State struct{ A map[string][]*State; B []byte `graph:\"last\"` }")
	f.Add("package m\n//graphgen:state\ntype State struct{ Équal, S, F, String string; c struct{ x [2]struct{} } }")
	f.Fuzz(func(t *testing.T, text string) {
		fset := token.NewFileSet()
		hook := new(parseHook)
		file, err := hook.parse(fset, "/m/state.go", []byte(text))
		if file == nil || err != nil || file.Name == nil || file.Name.Name == "_" {
			return
		}
		pkg := check(t, fset, file)
		src := newSource(Config{Dir: "/m"}, pkg, hook)
		result, err := generate(Config{Dir: "/m"}, []*source{src})
		if errors.Is(err, errNoTypes) || err == nil && (len(result.Diagnostics) > 0 || hasErrors(pkg)) {
			return
		}
		if err != nil {
			t.Fatalf("generate: %v\n%s", err, text)
		}
		compile(t, fset, text, result.Files)
	})
}

// hasErrors reports whether a package has errors that generate may ignore: those in values of
// variables.
func hasErrors(pkg *packages.Package) bool {
	for _, e := range pkg.TypeErrors {
		if !e.Soft && !strings.HasPrefix(e.Msg, "undefined: ") {
			return true
		}
	}
	return false
}

// check type-checks a file as go/packages does.
func check(t *testing.T, fset *token.FileSet, file *ast.File) *packages.Package {
	t.Helper()
	pkg := &packages.Package{ID: "m", Name: file.Name.Name, PkgPath: "m", GoFiles: []string{"/m/state.go"}, Fset: fset, Syntax: []*ast.File{file}}
	conf := types.Config{Importer: imports(t), Error: func(err error) {
		if e := (types.Error{}); errors.As(err, &e) {
			pkg.TypeErrors = append(pkg.TypeErrors, e)
		}
	}}
	pkg.Types, _ = conf.Check("m", fset, []*ast.File{file}, nil) // errors are in TypeErrors
	return pkg
}

// compile type-checks generated code together with its source, whose function bodies may use that
// code.
func compile(t *testing.T, fset *token.FileSet, text string, generated []File) {
	t.Helper()
	file, err := new(parseHook).parse(fset, "/m/state.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	files := []*ast.File{file}
	for _, g := range generated {
		parsed, err := parser.ParseFile(fset, g.Path, g.Content, parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s does not parse: %v\nof\n%s", g.Path, err, text)
		}
		files = append(files, parsed)
	}
	conf := types.Config{Importer: imports(t), Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && strings.HasSuffix(fset.Position(e.Pos).Filename, Suffix) {
			t.Errorf("what was generated does not compile: %v\nof\n%s", err, text)
		}
	}}
	_, _ = conf.Check("m", fset, files, nil) // errors are reported above
}

// imports returns an importer for the imports of golden packages and generated code.
func imports(t *testing.T) types.Importer {
	t.Helper()
	pkgs, err := loadImports()
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

type importMap map[string]*types.Package

func (m importMap) Import(path string) (*types.Package, error) {
	if p := m[path]; p != nil {
		return p, nil
	}
	return nil, os.ErrNotExist
}

var loadImports = sync.OnceValues(func() (importMap, error) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes},
		"cmp", "maps", "slices", "strings", "time", "encoding/json", "sync", "math/big", statePath, cellPath, wirePath, shapePath, storePath, asjsonPath)
	m := make(importMap)
	for _, p := range pkgs {
		m[p.PkgPath] = p.Types
	}
	return m, err
})
