package graph_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
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

// TestWallsHold checks that imports point one way, and that each inner package says what always
// holds in it.
func TestWallsHold(t *testing.T) {
	const prefix = "github.com/graphgen-go/graphgen/runtime/graph"
	may := map[string][]string{ // the packages of this folder that an inner one may import
		"plan": nil, "position": {"plan"}, "task": nil, "journal": nil, "held": nil, "opening": nil, "concluded": nil,
		"ending": {"journal"}, "exec": {"plan", "task"}, "inbox": {"journal", "task"}, "subgraph": {"journal"},
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

// TestDecisionsOnlyCompute checks the packages that decide: they get facts and return a decision.
// They cannot wait for anything, call a saver or read a clock.
func TestDecisionsOnlyCompute(t *testing.T) {
	forbidden := []string{"context", "sync", "sync/atomic", "os", "net", "math/rand", "math/rand/v2", "crypto/rand"}
	names := []string{"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.NewTimer", "time.NewTicker", "checkpoint.Saver", "checkpoint.NewID"}
	for _, inner := range []string{"plan", "ending", "held", "inbox", "opening", "position", "concluded", "subgraph"} {
		for name, file := range parsed(t, filepath.Join("internal", inner)) {
			for _, imp := range file.Imports {
				if path := strings.Trim(imp.Path.Value, `"`); slices.Contains(forbidden, path) {
					t.Errorf("%s imports %s", name, path)
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
					t.Errorf("%s has a %T", name, n)
				case *ast.SelectorExpr:
					if used := fmt.Sprint(n.X, ".", n.Sel); slices.Contains(names, used) {
						t.Errorf("%s uses %s", name, used)
					}
				}
				return true
			})
		}
	}
}

// TestNoStructEmbedsTheRun keeps a struct that groups methods from having the whole run behind it:
// such a type does not say what it may touch.
func TestNoStructEmbedsTheRun(t *testing.T) {
	for name, file := range parsed(t, ".") {
		ast.Inspect(file, func(n ast.Node) bool {
			if of, ok := n.(*ast.StructType); ok && embedsRun(of) {
				t.Errorf("%s: a struct embeds *run or *opener; give it a field, or what it needs", name)
			}
			return true
		})
	}
}

// embedsRun reports whether a struct has an embedded *run or *opener.
func embedsRun(of *ast.StructType) bool {
	return slices.ContainsFunc(of.Fields.List, func(f *ast.Field) bool {
		star, ok := f.Type.(*ast.StarExpr)
		if !ok || len(f.Names) > 0 {
			return false
		}
		name, ok := star.X.(*ast.Ident)
		return ok && (name.Name == "run" || name.Name == "opener")
	})
}

// TestGenericStructsEmbedNothing keeps a generic type from promoting methods. Each package with a
// graph compiles a promoted method four times for each of its states. Event and ReplySignal embed
// types as parts of the API.
func TestGenericStructsEmbedNothing(t *testing.T) {
	structs := 0
	for name, file := range parsed(t, ".") {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.TypeParams == nil {
				return true
			}
			of, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			structs++
			for _, f := range of.Fields.List {
				if embedded := firstName(f.Type); len(f.Names) == 0 && embedded != "RunEvent" && embedded != "Signal" {
					t.Errorf("%s: the generic struct %s embeds %s; give the field a name", name, spec.Name, embedded)
				}
			}
			return true
		})
	}
	if structs == 0 {
		t.Error("got no generic struct, want that of Graph and others")
	}
}

// firstName returns the first name in an expression, such as Signal in Signal[T].
func firstName(e ast.Expr) (name string) {
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && name == "" {
			name = id.Name
		}
		return name == ""
	})
	return name
}
