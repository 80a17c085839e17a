package graph_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parsed returns the files of a folder, without tests, by name.
func parsed(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(names), err)
	}
	files := make(map[string]*ast.File)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file
	}
	return files
}

// structs returns the struct types of a folder.
func structs(t *testing.T, dir string) map[string]*ast.StructType {
	t.Helper()
	all := make(map[string]*ast.StructType)
	for _, file := range parsed(t, dir) {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if s, ok := spec.Type.(*ast.StructType); ok {
					all[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	return all
}

// TestARunIsSmall keeps run small enough to understand. A field of a struct type of this package
// counts with the fields of that type, unless the type has methods. A type with methods has a
// purpose of its own.
func TestARunIsSmall(t *testing.T) {
	all := structs(t, ".")
	withMethods := make(map[string]bool)
	for name := range methods(t, ".") {
		withMethods[name] = true
	}
	var count func(s *ast.StructType) int
	count = func(s *ast.StructType) (n int) {
		for _, f := range s.Fields.List {
			n += max(len(f.Names), 1)
			typ := f.Type
			for {
				switch at := typ.(type) {
				case *ast.StarExpr:
					typ = at.X
					continue
				case *ast.ArrayType:
					typ = at.Elt
					continue
				case *ast.MapType:
					typ = at.Value
					continue
				case *ast.StructType:
					n += count(at)
				case *ast.Ident:
					if inner := all[at.Name]; inner != nil && !withMethods[at.Name] && at.Name != "runOptions" {
						n += count(inner)
					}
				}
				break
			}
		}
		return n
	}
	if all["run"] == nil {
		t.Fatal("no type run")
	}
	if got := count(all["run"]); got > 20 {
		t.Errorf("run has %d fields, want at most 20", got)
	}
}

// methods counts the methods of the types of a folder.
func methods(t *testing.T, dir string) map[string]int {
	t.Helper()
	all := make(map[string]int)
	for _, file := range parsed(t, dir) {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			typ := f.Recv.List[0].Type
			if star, ok := typ.(*ast.StarExpr); ok {
				typ = star.X
			}
			switch generic := typ.(type) {
			case *ast.IndexExpr:
				typ = generic.X
			case *ast.IndexListExpr:
				typ = generic.X
			}
			all[typ.(*ast.Ident).Name]++
		}
	}
	return all
}

func TestNoTypeHasManyMethods(t *testing.T) {
	for name, n := range methods(t, ".") {
		if n > 40 {
			t.Errorf("%s has %d methods, want at most 40", name, n)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, dir := range []string{".", "internal/plan", "internal/exec", "internal/journal", "internal/subgraph", "internal/task"} {
		for name := range parsed(t, dir) {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if n := bytes.Count(src, []byte("\n")); n > 400 {
				t.Errorf("%s has %d lines, want at most 400", name, n)
			}
		}
	}
}

// TestWallsHold checks that imports point one way, and that each inner package says what always
// holds in it.
func TestWallsHold(t *testing.T) {
	const prefix = "github.com/graphgen-go/graphgen/runtime/graph"
	may := map[string][]string{ // the packages of this folder that an inner one may import
		"plan": nil, "task": nil, "journal": nil, "exec": {"plan", "task"}, "subgraph": {"journal"},
	}
	for inner, allowed := range may {
		doc := ""
		for name, file := range parsed(t, filepath.Join("internal", inner)) {
			doc += file.Doc.Text()
			for _, imp := range file.Imports {
				path := strings.Trim(imp.Path.Value, `"`)
				other, ok := strings.CutPrefix(path, prefix)
				if !ok {
					continue
				}
				ok = false
				for _, a := range allowed {
					ok = ok || other == "/internal/"+a
				}
				if !ok {
					t.Errorf("%s imports %s, want nothing of this folder but %q", name, path, allowed)
				}
			}
		}
		if !strings.Contains(doc, "Invariants:") {
			t.Errorf("the comment of package %s states no invariants", inner)
		}
	}
}
