package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// generated returns the generated files for a source at /m/state.go.
func generated(t *testing.T, fset *token.FileSet, text string) []File {
	t.Helper()
	hook := new(parseHook)
	file, err := hook.parse(fset, "/m/state.go", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	result, err := generate(Config{Dir: "/m"}, []*source{newSource(Config{Dir: "/m"}, check(t, fset, file), hook)})
	if err != nil || len(result.Diagnostics) > 0 {
		t.Fatalf("generate: %v, %v\n%s", err, result.Diagnostics, text)
	}
	return result.Files
}

// complaints returns the compiler's errors for a source and generated files.
func complaints(t *testing.T, fset *token.FileSet, text string, files []File) []string {
	t.Helper()
	var list []string
	conf := types.Config{Importer: imports(t), Error: func(err error) { list = append(list, err.Error()) }}
	parse := func(name, text string) *ast.File {
		parsed, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	parsed := []*ast.File{parse("/m/state.go", text)}
	for _, f := range files {
		parsed = append(parsed, parse(f.Path, string(f.Content)))
	}
	_, _ = conf.Check("m", fset, parsed, nil) // errors are in list
	return list
}

func TestAStaleFileDoesNotCompileUntilItIsGeneratedAgain(t *testing.T) {
	const (
		state = "\n//graphgen:state\ntype State struct { A int; B string; In Inner }"
		inner = "\ntype Inner struct { X, Y int }"
	)
	tests := []struct{ name, state, inner, want string }{
		{"a field that was added", "\n//graphgen:state\ntype State struct { A int; B string; C bool; In Inner }", inner, "cannot use State{}"},
		{"a field that was removed", "\n//graphgen:state\ntype State struct { A int; In Inner }", inner, "cannot use State{}"},
		{"a field that was renamed", "\n//graphgen:state\ntype State struct { A int; C string; In Inner }", inner, "cannot use State{}"},
		{"a field of another type", "\n//graphgen:state\ntype State struct { A int; B []byte; In Inner }", inner, "cannot use State{}"},
		{"fields in another order", "\n//graphgen:state\ntype State struct { B string; A int; In Inner }", inner, "cannot use State{}"},
		{"a reducer", "\n//graphgen:state\ntype State struct { A int; B string `graph:\"last\"`; In Inner }", inner, "cannot use State{}"},
		{"a nested field that was added", state, "\ntype Inner struct { X, Y, Z int }", "cannot use Inner{}"},
		{"the name of a nested field in stored data", state, "\ntype Inner struct { X int `graph:\"name=x\"`; Y int }", "cannot use Inner{}"},
		{"a tag that others read", state, "\ntype Inner struct { X int `json:\"x\"`; Y int \"json:\\\"`\\\"\" }", "cannot use Inner{}"},
		{"a struct without a name", "\n//graphgen:state\ntype State struct { A struct { X []struct { Z *int `graph:\"name=z\"` } }; B string; In Inner }", inner, "cannot use State{}"},
	}
	for _, tt := range tests {
		fset := token.NewFileSet()
		before, after := "package m\n"+state+inner, "package m\n"+tt.state+tt.inner
		files := generated(t, fset, before)
		if got := complaints(t, fset, before, files); got != nil {
			t.Fatalf("what was generated does not compile: %q", got)
		}
		if got := strings.Join(complaints(t, fset, after, files), "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("%s: the compiler says %q, want %q in it", tt.name, got, tt.want)
		}
		again := generated(t, fset, after)
		if got := complaints(t, fset, after, again); got != nil {
			t.Errorf("%s: generated again it does not compile: %q", tt.name, got)
		}
		if got := strings.Join(complaints(t, fset, before, again), "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("without %s: the compiler says %q, want %q in it", tt.name, got, tt.want)
		}
	}
}
