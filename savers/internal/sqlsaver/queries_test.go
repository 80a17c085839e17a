package sqlsaver

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestQueriesSayWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"no name":           {"SELECT 1;", "has no name"},
		"no semicolon":      {"-- name: a\nSELECT 1", "a: want one statement that ends with a semicolon"},
		"two statements":    {"-- name: a\nSELECT 1;\nSELECT 2;", "a: want one statement"},
		"an unnamed value":  {"-- name: a\n-- parameters: x\nSELECT ?, ?;", "a: it binds 2 values, and names 1 parameters"},
		"a value too few":   {"-- name: a\n-- parameters: x, y\nSELECT $1, $1;", "a: it binds 1 values, and names 2 parameters"},
		"a number left out": {"-- name: a\n-- parameters: x, y\nSELECT ?1, ?3;", "a: it binds 2 values, and names 2 parameters\nit does not bind value 2"},
		"a row too few":     {"-- name: a\n-- parameters: x, y (3 times)\nSELECT ?, ?, ?, ?;", "it binds 4 values, and names 6"},
	} {
		_, err := Queries(fstest.MapFS{"some.sql": {Data: []byte(c.file)}})
		if err == nil || !strings.HasPrefix(err.Error(), "some.sql: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error of some.sql with %q", name, err, c.want)
		}
	}
}

// TestADialectHasAllStatements changes the statements of SQLite.
func TestADialectHasAllStatements(t *testing.T) {
	const folder = "../../sqlite/queries"
	for name, c := range map[string]struct{ file, old, changed, want string }{
		"as it is":             {"schema.sql", "", "", ""},
		"one left out":         {"schema.sql", "-- name: has_schema\n", "-- name: has_shcema\n", "has_schema: there is no such statement\nhas_shcema: the program has no use for this statement"},
		"one there twice":      {"schema.sql", "-- name: schema_version\n", "-- name: has_schema\n", "has_schema: there are two statements of this name"},
		"another parameter":    {"schema.sql", "-- parameters: version", "-- parameters: number", `"number"], and the program binds ["version"]`},
		"a parameter too many": {"schema.sql", "-- parameters: version\n", "-- parameters: version, number\n", "it binds 1 values, and names 2"},
	} {
		files := make(fstest.MapFS)
		names, err := filepath.Glob(folder + "/*.sql")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(name)] = &fstest.MapFile{Data: b}
		}
		file := files[c.file]
		if !strings.Contains(string(file.Data), c.old) {
			t.Fatalf("%s: %s has no %q", name, c.file, c.old)
		}
		file.Data = []byte(strings.Replace(string(file.Data), c.old, c.changed, 1))
		switch _, err := load(files); {
		case c.want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
}

// TestEveryStatementIsUsed looks for statements that no code of the package runs.
func TestEveryStatementIsUsed(t *testing.T) {
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared, used := make(map[string]bool), make(map[string]bool)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			switch {
			case !ok || !strings.HasPrefix(id.Name, "st") || id.Name[2:] == strings.ToLower(id.Name[2:]):
			case name == "statements.go":
				declared[id.Name] = true
			default:
				used[id.Name] = true
			}
			return true
		})
	}
	if len(declared) != int(statements) {
		t.Errorf("statements.go declares %d statements, want %d", len(declared), statements)
	}
	for name := range declared {
		if !used[name] {
			t.Errorf("nothing runs %s", name)
		}
	}
}

// countedFiles counts the calls that open a file or a folder.
type countedFiles struct {
	fs.FS
	opened int
}

func (f *countedFiles) Open(name string) (fs.File, error) {
	f.opened++
	return f.FS.Open(name)
}

func TestStatementsAreReadOnce(t *testing.T) {
	files := &countedFiles{FS: os.DirFS("../../sqlite")}
	read := Load(files)
	first, err := read()
	if err != nil || files.opened == 0 {
		t.Fatalf("opened %d files, %v; want some", files.opened, err)
	}
	opened := files.opened
	if again, err := read(); again != first || err != nil || files.opened != opened {
		t.Errorf("the second call opened %d files, %v; want the statements of the first", files.opened-opened, err)
	}
}
