package state_test

import (
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHotCodeDoesNotImportReflect(t *testing.T) {
	folders := []string{".", "cell", "internal/rep", "../wire", "../internal/delta", "../internal/live"}
	generated, err := filepath.Glob("../../testdata/golden/*/*_graphgen.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(generated) == 0 {
		t.Fatal("no generated code found")
	}
	for _, name := range generated {
		folders = append(folders, filepath.Dir(name))
	}
	for _, dir := range folders {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		files = slices.DeleteFunc(files, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
		if len(files) == 0 {
			t.Errorf("%s has no Go files", dir)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
			if err != nil {
				t.Error(err)
				continue
			}
			for _, spec := range file.Imports {
				if path := strings.Trim(spec.Path.Value, `"`); path == "reflect" {
					t.Errorf("%s imports %s", name, path)
				}
			}
		}
	}
}
