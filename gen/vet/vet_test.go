package vet_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/graphgen-go/graphgen/gen"
	"github.com/graphgen-go/graphgen/gen/vet"
)

// TestAnalyzers runs each analyzer on the package of testdata that has its name. A comment want
// names a report; all other lines must have none. A file .golden has the source after the fixes.
func TestAnalyzers(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	for _, a := range vet.Analyzers() {
		patterns = append(patterns, "./gen/vet/testdata/"+a.Name+"/...")
	}
	seen := make(map[string]bool)
	for _, result := range analysistest.RunWithSuggestedFixes(t, root, eachOnItsPackages(), patterns...) {
		seen[testdataOf(result.Pass)] = true
	}
	for _, a := range vet.Analyzers() {
		if !seen[a.Name] {
			t.Errorf("%s ran on no package", a.Name)
		}
	}
}

// eachOnItsPackages returns an analyzer that runs, for each package of testdata, the analyzer that
// the folder is named after. One analyzer for all needs one load of the packages, which takes most
// of the time.
func eachOnItsPackages() *analysis.Analyzer {
	all := &analysis.Analyzer{Name: "all", Doc: "runs each analyzer on its packages"}
	byName := make(map[string]*analysis.Analyzer)
	for _, a := range vet.Analyzers() {
		byName[a.Name] = a
		for _, needed := range a.Requires {
			if !slices.Contains(all.Requires, needed) {
				all.Requires = append(all.Requires, needed)
			}
		}
	}
	all.Run = func(pass *analysis.Pass) (any, error) { return byName[testdataOf(pass)].Run(pass) }
	return all
}

// testdataOf returns the name of the folder in testdata that contains the package of a pass.
func testdataOf(pass *analysis.Pass) string {
	_, name, _ := strings.Cut(pass.Pkg.Path(), "/testdata/")
	name, _, _ = strings.Cut(name, "/")
	name, _, _ = strings.Cut(name, ".") // a package of tests in a file, such as graphids.test
	return strings.TrimSuffix(name, "_test")
}

// TestAnalyzersAreValid checks names, documentation and requirements.
func TestAnalyzersAreValid(t *testing.T) {
	if err := analysis.Validate(vet.Analyzers()); err != nil {
		t.Error(err)
	}
}

// TestAnalyzersRunTogether runs all analyzers on the same packages concurrently, as go vet does.
// Under the race detector it proves that they share only what none of them changes.
func TestAnalyzersRunTogether(t *testing.T) {
	cfg := &packages.Config{Mode: packages.LoadSyntax, Context: t.Context()}
	pkgs, err := packages.Load(cfg, "./testdata/graphwrite", "./testdata/graphkeep")
	if err != nil || packages.PrintErrors(pkgs) > 0 {
		t.Fatalf("the test packages do not load: %v", err)
	}
	result, err := checker.Analyze(vet.Analyzers(), pkgs, nil) //nolint:misspell // the name is that of x/tools
	if err != nil {
		t.Fatal(err)
	}
	reports := make(map[string]int)
	for _, a := range result.Roots {
		if a.Err != nil {
			t.Errorf("%s: %v", a, a.Err)
		}
		reports[a.Analyzer.Name] += len(a.Diagnostics)
	}
	if reports["graphwrite"] == 0 || reports["graphkeep"] == 0 {
		t.Errorf("got %v reports, want some of graphwrite and graphkeep", reports)
	}
}

// TestTestdataIsGenerated compares the generated code of the tests with that of the generator.
func TestTestdataIsGenerated(t *testing.T) {
	result, err := gen.Generate(t.Context(), gen.Config{Patterns: []string{"./testdata/desk"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Diagnostics) > 0 || len(result.Files) != 1 {
		t.Fatalf("got %d files and the faults %v, want one file", len(result.Files), result.Diagnostics)
	}
	for _, f := range result.Files {
		if diff, err := f.Diff("."); err != nil || len(diff) > 0 {
			t.Errorf("run go run ../../cmd/graphgen ./testdata/desk: %v\n%s", err, diff)
		}
	}
}
