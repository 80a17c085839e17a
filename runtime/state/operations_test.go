package state_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/state"
)

// sets are the operation sets, as pointers.
var sets = map[string]any{
	"Value": new(state.Value[int]), "List": new(state.List[int]), "Keyed": new(state.Keyed[int, int]),
	"Unique": new(state.Unique[int]), "Map": new(state.Map[int, int]), "Sum": new(state.Sum[int]), "Min": new(state.Min[int]),
	"Max": new(state.Max[int]), "Or": new(state.Or[bool]), "And": new(state.And[bool]), "Reduce": new(state.Reduce[int]),
}

// TestTheManualListsEveryOperation compares the table of operations in docs/state.md with the
// methods of the operation sets and the functions that return one.
func TestTheManualListsEveryOperation(t *testing.T) {
	methods, literals := manual(t)
	for name, set := range sets {
		var want []string
		for m := range reflect.TypeOf(set).Methods() {
			if m.Name != "IsZero" && m.Name != "String" && m.Name != "Clear" {
				want = append(want, m.Name)
			}
		}
		slices.Sort(methods[name])
		if !slices.Equal(methods[name], want) {
			t.Errorf("docs/state.md has the operations %q of %s, want %q", methods[name], name, want)
		}
		if _, ok := set.(interface{ Clear() }); !ok {
			t.Errorf("%s has no method Clear", name)
		}
		delete(methods, name)
	}
	if all := methods["all"]; len(methods) != 1 || !slices.Equal(all, []string{"Clear"}) {
		t.Errorf("docs/state.md also has the operations %q, want Clear for all", methods)
	}
	for name, set := range constructors(t) {
		if literals[name] != set {
			t.Errorf("docs/state.md has the literal %s for %q, want %q", name, literals[name], set)
		}
		delete(literals, name)
	}
	if len(literals) > 0 {
		t.Errorf("docs/state.md has the literals %q, which package state lacks", literals)
	}
}

// manual returns the methods of each operation set, and the operation set of each literal.
func manual(t *testing.T) (methods map[string][]string, literals map[string]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/state.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| field of the update | tags | method | literal |\n|---|---|---|---|\n")
	if !found {
		t.Fatal("docs/state.md has no table of operations")
	}
	methods, literals = make(map[string][]string), make(map[string]string)
	for row := range strings.Lines(table) {
		cells := strings.Split(strings.ReplaceAll(row, "`", ""), "|")
		if len(cells) != 6 {
			break
		}
		set, method, literal := strings.TrimSpace(cells[1]), name(cells[3]), name(strings.TrimPrefix(cells[4], " state."))
		methods[set] = append(methods[set], method)
		if literal != "" {
			literals[literal] = set
		}
		if literal != "" && literal != method {
			t.Errorf("docs/state.md has the literal %s for the method %s, want one name", literal, method)
		}
	}
	return methods, literals
}

// name returns the name of the function in a call.
func name(call string) string {
	return strings.TrimSpace(call[:max(0, strings.IndexAny(call+"(", "(["))])
}

// constructors returns the operation set that each function of package state returns.
func constructors(t *testing.T) map[string]string {
	t.Helper()
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.IsExported() && fn.Type.Results != nil {
				if set := setOf(fn.Type.Results.List[0].Type); set != "" {
					all[fn.Name.Name] = set
				}
			}
		}
	}
	return all
}

// setOf returns the name of the operation set that a type expression names, or "".
func setOf(typ ast.Expr) string {
	switch x := typ.(type) {
	case *ast.IndexExpr:
		typ = x.X
	case *ast.IndexListExpr:
		typ = x.X
	}
	if id, ok := typ.(*ast.Ident); ok && sets[id.Name] != nil {
		return id.Name
	}
	return ""
}
