package docs

import (
	goparser "go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// packages returns the comment of each package that users can import or run, by its folder.
func packages(t *testing.T) map[string]string {
	t.Helper()
	comments := make(map[string]string)
	notImported := []string{"internal", "testdata", "docs", "examples", "site", "bench", "tools", "node_modules"}
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains(notImported, d.Name()) || strings.HasPrefix(d.Name(), ".") && name != ".."):
			return filepath.SkipDir
		case filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || name == filepath.Join("..", "tools.go"):
			return nil
		}
		f, err := goparser.ParseFile(token.NewFileSet(), name, nil, goparser.PackageClauseOnly|goparser.ParseComments)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel("..", filepath.Dir(name))
		comments[filepath.ToSlash(dir)] += f.Doc.Text()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return comments
}

// TestEachPackageIsStableOrExperimental compares the list of stable packages with the packages.
// All others say in their first line that they are experimental.
func TestEachPackageIsStableOrExperimental(t *testing.T) {
	_, text, _ := strings.Cut(string(read(t, "../RELEASING.md")), "\n## Stable and experimental\n")
	text, _, _ = strings.Cut(text, "\n## ")
	stable := make(map[string]bool)
	for _, m := range regexp.MustCompile("`([a-z/]+)`").FindAllStringSubmatch(text, -1) {
		stable[m[1]] = true
	}
	all := packages(t)
	if len(stable) < 10 || len(all) < 30 {
		t.Fatalf("%d stable packages of %d", len(stable), len(all))
	}
	for dir := range stable {
		if _, found := all[dir]; !found {
			t.Errorf("RELEASING.md calls %s stable, which is no package", dir)
		}
	}
	for dir, comment := range all {
		first, _, _ := strings.Cut(comment, "\n")
		if experimental := strings.Contains(first, "(experimental)"); experimental == stable[dir] {
			t.Errorf("%s: stable %v in RELEASING.md, but its documentation begins with %q", dir, stable[dir], first)
		}
	}
}
