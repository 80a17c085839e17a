package graph_test

import (
	"go/ast"
	"go/parser"
	"go/token"
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
