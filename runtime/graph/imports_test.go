package graph_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestNoReflection keeps the hot path free of reflection: what runs between two supersteps is
// known to the compiler.
func TestNoReflection(t *testing.T) {
	files := 0
	for _, dir := range []string{".", "internal/ending", "internal/exec", "internal/flow", "internal/held", "internal/inbox", "internal/journal", "internal/opening", "internal/plan", "internal/subgraph", "internal/task", "internal/teststate", "../state", "../wire", "../internal/delta"} {
		names, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			files++
			for _, imp := range file.Imports {
				if path, _ := strconv.Unquote(imp.Path.Value); path == "reflect" {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
	if files < 20 {
		t.Errorf("looked at %d files, want all of them", files)
	}
}
