package plan_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// TestPlanIsPure: the package knows nothing of states, contexts, storage or other goroutines. It
// imports only slices, and has no type parameter, package variable, goroutine or channel.
func TestPlanIsPure(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	if !slices.Contains(names, "plan.go") {
		t.Fatalf("found files %v, want plan.go among them", names)
	}
	for _, name := range names {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
				t.Errorf("%s: a package variable", files.Position(d.Pos()))
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if what := impure(n); what != "" {
				t.Errorf("%s: %s", files.Position(n.Pos()), what)
			}
			return true
		})
	}
}

// impure says what a pure package must not have.
func impure(n ast.Node) string {
	switch n := n.(type) {
	case *ast.ImportSpec:
		if n.Path.Value != `"slices"` {
			return "imports " + n.Path.Value
		}
	case *ast.TypeSpec:
		if n.TypeParams != nil {
			return "type " + n.Name.Name + " has a type parameter"
		}
	case *ast.FuncType:
		if n.TypeParams != nil {
			return "a function has a type parameter"
		}
	case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt:
		return "a goroutine or channel"
	}
	return ""
}

// TestStepsAllocateNothing: a Planner that has warmed up reuses what it has.
func TestStepsAllocateNothing(t *testing.T) {
	for _, row := range []struct{ what, graph, at string }{
		{"a chain", "a→b; b→c; c→a", "1: a"},
		{"a fan-out and a join", "a→b c d; join b c d→a", "1: a"},
		{"a deferred node", "a→b; b→a; d→d; defer d", "1: a d"},
		{"a stop elsewhere", "a→b; b→a; before c; after c", "1: a"},
		{"a task node", "a→b; route a b", "1: a c0(x) c1(y)"},
	} {
		t.Run(row.what, func(t *testing.T) {
			g := graphOf(row.graph)
			p := plannerAt(g, positionOf(g, row.at))
			var sent plan.Payload = payload("x")
			step := func() {
				p.Begin()
				for i, now := 0, p.Now(); i < len(now); i++ {
					if p.Leave(now[i].Node) {
						p.Grow(3)
						p.Choose(number("b"))
						p.Send(number("c"), sent, nil)
						p.Send(number("c"), sent, nil)
					}
				}
				if d := p.Turn(); d != plan.Go {
					t.Fatalf("the run has to %s, want it to go", decisionText(d))
				}
			}
			for range 10 {
				step()
			}
			if got := testing.AllocsPerRun(100, step); got != 0 {
				t.Errorf("a step allocates %v times, want none", got)
			}
		})
	}
}

// document is a payload by reference.
type document [100]int

func (*document) AppendWire(b []byte) ([]byte, error) { return b, nil }

// TestTurnReleasesPayloads: a Planner holds what was sent only until it has been run.
func TestTurnReleasesPayloads(t *testing.T) {
	for _, row := range []struct{ what, graph string }{
		{"a task node", "route a; c→d; d→a"},
		{"a task node in a graph with deferred nodes", "route a; c→d; d→a; defer f; a→f"},
		{"a deferred task node", "route a; c→d; d→a; defer c; a→e"},
	} {
		t.Run(row.what, func(t *testing.T) {
			g := graphOf(row.graph)
			p := plannerAt(g, positionOf(g, "1: a"))
			p.Begin()
			p.Leave(number("a"))
			sent := send(&p, number("c"))
			p.Turn()
			if runtime.GC(); sent.Value() == nil {
				t.Fatal("what was sent is gone before it ran")
			}
			for slices.ContainsFunc(p.Due, func(t plan.Task) bool { return t.Node == number("c") }) {
				begin(&p, p.Now(), nil)
				p.Turn()
			}
			p.Now()
			if runtime.GC(); sent.Value() != nil {
				t.Errorf("the Planner still holds what was sent, with %s due", tasksText(p.Due))
			}
			runtime.KeepAlive(&p)
		})
	}
}

func send(p *plan.Planner, node int) weak.Pointer[document] {
	sent := new(document)
	p.Send(node, sent, nil)
	return weak.Make(sent)
}
