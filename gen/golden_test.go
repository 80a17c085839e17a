package gen_test

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/gen"
)

var goldenDir = filepath.Join("..", "testdata", "golden")

// generate returns the result for packages without faults.
func generate(tb testing.TB, cfg gen.Config) *gen.Result {
	tb.Helper()
	result, err := gen.Generate(tb.Context(), cfg)
	if err != nil {
		tb.Fatalf("Generate: %v", err)
	}
	for _, d := range result.Diagnostics {
		tb.Errorf("unexpected diagnostic: %s", d)
	}
	if len(result.Diagnostics) > 0 {
		tb.FailNow()
	}
	return result
}

// golden returns the files of all golden packages, generated in one run.
func golden(t *testing.T) *gen.Result {
	t.Helper()
	result, err := generateGolden()
	if err != nil || len(result.Diagnostics) > 0 {
		t.Fatalf("Generate: %v, %v", err, result.Diagnostics)
	}
	return result
}

var generateGolden = sync.OnceValues(func() (*gen.Result, error) {
	return gen.Generate(context.Background(), gen.Config{Dir: goldenDir, Patterns: []string{"./..."}})
})

// TestGoldenFilesAreUpToDate generates all golden packages in one run and compares the files with
// those in the repository.
func TestGoldenFilesAreUpToDate(t *testing.T) {
	result := golden(t)
	if len(result.Files) < 12 {
		t.Errorf("generated %d files, want at least 12: are all packages found?", len(result.Files))
	}
	for _, file := range result.Files {
		diff, err := file.Diff(goldenDir)
		if err != nil {
			t.Fatal(err)
		}
		if len(diff) > 0 {
			t.Errorf("%s is stale; run go run ./cmd/graphgen ./testdata/golden/...\n%s", file.Path, diff)
		}
	}
}

// TestOnePackageAloneGivesTheSame generates each golden package alone, as go generate does, and
// again by naming its types. The files must equal those of one run over all packages.
func TestOnePackageAloneGivesTheSame(t *testing.T) {
	want := make(map[string][]byte)
	for _, file := range golden(t).Files {
		want[file.Path] = file.Content
	}
	runs := []gen.Config{
		{Dir: filepath.Join(goldenDir, "foreign")},
		{Dir: filepath.Join(goldenDir, "foreign"), Types: []string{"State"}},
		{Dir: filepath.Join(goldenDir, "unions"), Types: []string{"State", "Envelope"}},
		{Dir: filepath.Join(goldenDir, "multi"), Types: []string{"First"}},
		{Dir: filepath.Join(goldenDir, "multi"), Types: []string{"SecondState", "Payload"}, Output: "second_graphgen.go"},
		{Dir: filepath.Join(goldenDir, "multi"), Types: []string{"Marked"}},
		{Dir: filepath.Join(goldenDir, "collisions"), Types: []string{"State", "b"}},
	}
	for _, cfg := range runs {
		for _, file := range generate(t, cfg).Files {
			if !bytes.Equal(file.Content, want[file.Path]) {
				t.Errorf("%s differs when generated alone with types %q", file.Path, cfg.Types)
			}
		}
	}
}

// TestGeneratedFilesHaveTheirManners checks that every generated file has the header for tools and
// does not use reflection.
func TestGeneratedFilesHaveTheirManners(t *testing.T) {
	for _, file := range golden(t).Files {
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, file.Path, file.Content, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if !ast.IsGenerated(parsed) {
			t.Errorf("%s does not have the header of generated files", file.Path)
		}
		for _, imp := range parsed.Imports {
			if path := strings.Trim(imp.Path.Value, `"`); path == "reflect" || path == "unsafe" || path == "fmt" {
				t.Errorf("%s imports %s", file.Path, path)
			}
		}
		if bytes.Contains(file.Content, []byte("\r")) || !bytes.HasSuffix(file.Content, []byte("}\n")) && !bytes.HasSuffix(file.Content, []byte(")\n")) {
			t.Errorf("%s does not end in one newline", file.Path)
		}
	}
}

// TestOutputDoesNotDependOnOldOutput damages the old output, which must have no effect.
func TestOutputDoesNotDependOnOldOutput(t *testing.T) {
	dir := copyPackage(t, filepath.Join(goldenDir, "keys"))
	want := generate(t, gen.Config{Dir: dir}).Files[0]
	if err := os.WriteFile(want.Path, []byte(gen.Header+"\n\npackage keys\n\nfunc {"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := generate(t, gen.Config{Dir: dir}).Files[0]
	if !bytes.Equal(got.Content, want.Content) {
		t.Error("output differs when an old file is damaged")
	}
}

// copyPackage copies the sources of a package into a new module, without generated files. The
// package may import only the standard library.
func copyPackage(tb testing.TB, from string) string {
	tb.Helper()
	dir := tb.TempDir()
	entries, err := os.ReadDir(from)
	if err != nil {
		tb.Fatal(err)
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".go" || strings.HasSuffix(entry.Name(), "_test.go") || strings.HasSuffix(entry.Name(), gen.Suffix) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, entry.Name()), content, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	mod := "module example.com/m\n\ngo 1.26\n"
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// BenchmarkGenerate measures generation for one package, the go command included.
func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		generate(b, gen.Config{Dir: filepath.Join(goldenDir, "reference")})
	}
}

// BenchmarkGenerateAll measures one run over all golden packages.
func BenchmarkGenerateAll(b *testing.B) {
	for b.Loop() {
		generate(b, gen.Config{Dir: goldenDir, Patterns: []string{"./..."}})
	}
}
