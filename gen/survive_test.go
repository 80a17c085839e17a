package gen_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/gen"
)

// survival is a change of a state. In the sources, N stands for the number of the case.
type survival struct {
	name     string
	old, now string
	update   string // what the old program stores: a body of func(u *StateNUpdate)
	replace  string // a change of the lock file before the comparison: from -> to
	refused  bool
	noted    bool
	pending  string // how the new program reads the update in a result or an input: read or changed
	want     string // the state that the new program reads, or "changed" for ErrGraphChanged
}

// survivals has each row of the table in docs/state.md.
var survivals = []survival{
	{
		name: "a removed name is used again",
		old:  "type StateN struct { A int; B int }", now: "type StateN struct { A int; B int }",
		replace: "StateN B int replace -> StateN B int replace removed",
		update:  "u.B.Set(7)", noted: true, want: "{A:0 B:7}",
	},
	{
		name: "a field is added",
		old:  "type StateN struct { A int }", now: "type StateN struct { A int; B string }",
		update: "u.A.Set(7)", want: "{A:7 B:}",
	}, {
		name: "a field is removed",
		old:  "type StateN struct { A int; B string }", now: "type StateN struct { A int }",
		update: "u.A.Set(7); u.B.Set(`b`)", noted: true, pending: "changed", want: "{A:7}",
	}, {
		name: "a removed name has another type",
		old:  "type StateN struct { A int; B int }", now: "type StateN struct { A int; B string }",
		replace: "StateN B int replace -> StateN B int replace removed",
		update:  "u.B.Set(7)", refused: true, want: "changed",
	}, {
		name: "a field is renamed by was=",
		old:  "type StateN struct { A int }", now: "type StateN struct { B int `graph:\"was=A\"` }",
		update: "u.A.Set(7)", want: "{B:7}",
	}, {
		name: "a field is renamed without was=, and loses its value",
		old:  "type StateN struct { A int }", now: "type StateN struct { B int }",
		update: "u.A.Set(7)", refused: true, want: "{B:0}",
	}, {
		name: "the tag was= is removed",
		old:  "type StateN struct { A int }", now: "type StateN struct { B int }",
		replace: "StateN A int replace -> StateN B int replace was=A",
		update:  "u.A.Set(7)", refused: true, want: "{B:0}",
	}, {
		name: "two fields are read as one",
		old:  "type StateN struct { A, B int }", now: "type StateN struct { B int `graph:\"was=A\"` }",
		update: "u.A.Set(7); u.B.Set(8)", refused: true, want: "changed",
	}, {
		name: "a field is renamed in Go only",
		old:  "type StateN struct { A int }", now: "type StateN struct { B int `graph:\"name=A\"` }",
		update: "u.A.Set(7)", want: "{B:7}",
	}, {
		name: "a reducer changes",
		old:  "type StateN struct { A []int; B int }", now: "type StateN struct { A []int `graph:\"union\"`; B int `graph:\"max\"` }",
		update: "u.A.Set([]int{1, 1}); u.B.Set(3)", noted: true, pending: "changed", want: "{A:[1 1] B:3}",
	}, {
		name: "a field is not stored any more",
		old:  "type StateN struct { A int }", now: "type StateN struct { A int `graph:\"untracked\"` }",
		update: "u.A.Set(7)", noted: true, pending: "changed", want: "{A:0}",
	}, {
		name: "an integer grows",
		old:  "type StateN struct { A int32; B float32; C uint16 }", now: "type StateN struct { A int64; B float64; C int32 }",
		update: "u.A.Set(-1<<31); u.B.Set(1.5); u.C.Set(65535)", want: "{A:-2147483648 B:1.5 C:65535}",
	}, {
		name: "an integer shrinks",
		old:  "type StateN struct { A int64 }", now: "type StateN struct { A int32 }",
		update: "u.A.Set(1<<40)", refused: true, want: "changed",
	}, {
		name: "a float shrinks",
		old:  "type StateN struct { A float64 }", now: "type StateN struct { A float32 }",
		update: "u.A.Set(0.1)", refused: true, want: "changed",
	}, {
		name: "a type changes",
		old:  "type StateN struct { A string }", now: "type StateN struct { A int }",
		update: "u.A.Set(`7`)", refused: true, want: "changed",
	}, {
		name: "a type changes, and Migrate reads it",
		old:  "type StateN struct { A string }",
		now: "type StateN struct { A int }\n" +
			"func (s *StateN) Migrate(from *state.OldFields) error {\n\tif a, ok := from.String(`A`); ok { s.A = len(a) }\n\treturn nil\n}",
		update: "u.A.Set(`seven`)", noted: true, pending: "changed", want: "{A:5}",
	}, {
		name: "a method Migrate is removed",
		old:  "type StateN struct { A string }", now: "type StateN struct { A int }",
		replace: "StateN A string replace -> StateN A int replace migrated",
		update:  "u.A.Set(`seven`)", refused: true, want: "changed",
	}, {
		name: "a type of a part changes, and Migrate reads it",
		old:  "type StateN struct { A ItemN }; type ItemN struct { B string }",
		now: "type StateN struct { A ItemN }; type ItemN struct { B int }\n" +
			"func (s *StateN) Migrate(from *state.OldFields) error {\n\t_, _ = from.Raw(`A`)\n\treturn nil\n}",
		update: "u.A.Set(ItemN{B: `b`})", noted: true, pending: "changed", want: "{A:{B:0}}",
	}, {
		name: "a field of a nested struct is added",
		old:  "type StateN struct { A []ItemN `graph:\"append\"` }; type ItemN struct { B int }",
		now:  "type StateN struct { A []ItemN `graph:\"append\"` }; type ItemN struct { B int; C string }", update: "u.A.Append(ItemN{B: 7})", want: "{A:[{B:7 C:}]}",
	}, {
		name: "a field of a nested struct is removed",
		old:  "type StateN struct { A []ItemN `graph:\"append\"` }; type ItemN struct { B int; C string }",
		now:  "type StateN struct { A []ItemN `graph:\"append\"` }; type ItemN struct { B int }", update: "u.A.Append(ItemN{B: 7})", refused: true, want: "changed",
	}, {
		name: "Migrate does not get a nested struct with an unknown field",
		old:  "type StateN struct { A ItemN }; type ItemN struct { B int; C string }",
		now: "type StateN struct { A ItemN }; type ItemN struct { B int }\n" +
			"func (s *StateN) Migrate(from *state.OldFields) error {\n\t_, _ = from.Raw(`A`)\n\treturn nil\n}",
		update: "u.A.Set(ItemN{B: 7})", refused: true, want: "changed",
	}, {
		name: "a field of a nested struct is renamed by was=",
		old:  "type StateN struct { A ItemN }; type ItemN struct { B int }",
		now:  "type StateN struct { A ItemN }; type ItemN struct { C int `graph:\"was=B\"` }", update: "u.A.Set(ItemN{B: 7})", want: "{A:{C:7}}",
	}, {
		name: "a nested struct has another name",
		old:  "type StateN struct { A ItemN }; type ItemN struct { B int }",
		now:  "type StateN struct { A ThingN }; type ThingN struct { B int }", update: "u.A.Set(ItemN{B: 7})", want: "{A:{B:7}}",
	}, {
		name: "a named type becomes its own",
		old:  "type StateN struct { A CountN }; type CountN int",
		now:  "type StateN struct { A int }", update: "u.A.Set(7)", want: "{A:7}",
	}, {
		name: "a member of a union is added",
		old:  unionN("ItemN") + "; type StateN struct { A UnionN }", now: unionN("ItemN | ThingN") + "; type StateN struct { A UnionN }",
		update: "u.A.Set(ItemN{B: 7})", want: "{A:{B:7}}",
	}, {
		name: "a member of a union is removed",
		old:  unionN("*ItemN | *ThingN") + "; type StateN struct { A UnionN }", now: unionN("*ItemN") + "; type StateN struct { A UnionN }",
		update: "u.A.Set(&ThingN{B: 7})", refused: true, want: "changed",
	}, {
		name: "a member of a union is renamed",
		old:  unionN("*ItemN") + "; type StateN struct { A UnionN }", now: unionN("*ThingN") + "; type StateN struct { A UnionN }",
		update: "u.A.Set(&ItemN{B: 7})", refused: true, want: "changed",
	}, {
		name: "a member of a union is held by value",
		old:  unionN("*ItemN") + "; type StateN struct { A UnionN }", now: unionN("ItemN") + "; type StateN struct { A UnionN }",
		update: "u.A.Set(&ItemN{B: 7})", want: "{A:{B:7}}",
	}, {
		name: "fields move into a part",
		old:  "type StateN struct { A int `graph:\"sum\"`; B string }", now: "type StateN struct { PartN; B string }; type PartN struct { A int `graph:\"sum\"` }",
		update: "u.A.Add(7); u.B.Set(`b`)", want: "{PartN:{A:7} B:b}",
	},
}

// unionN declares a union with the members.
func unionN(members string) string {
	return "type UnionN interface{ isN() }; type ItemN struct { B int }; type ThingN struct { B int }\n" +
		"func (ItemN) isN() {}\nfunc (ThingN) isN() {}\n\n//graphgen:union UnionN = " + members + "\n"
}

// numbered returns a source with the number of its case.
func numbered(text string, n int) string {
	for _, word := range []string{"State", "Item", "Thing", "Union", "Count", "Part", "is"} {
		text = strings.ReplaceAll(text, word+"N", fmt.Sprintf("%s%d", word, n))
	}
	return text
}

// TestLockAndRuntimeAgree generates the states before and after each change, stores a thread with
// the old program and reads it with the new one. Threads survive the changes that the lock allows.
func TestLockAndRuntimeAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program with the whole runtime")
	}
	dir := newModule(t)
	for i, c := range survivals {
		writeCase(t, dir, "old", i, c.old)
		writeCase(t, dir, "now", i, c.now)
	}
	generateIn(t, dir, "./old", "./now")
	verdicts := verdicts(t, dir)
	read := strings.Split(strings.TrimSpace(runProgram(t, dir, survivalProgram())), "\n")
	if len(read) != len(survivals) {
		t.Fatalf("the program printed %d lines, want one for each of the %d cases:\n%s", len(read), len(survivals), strings.Join(read, "\n"))
	}
	for i, c := range survivals {
		verdict := verdicts[fmt.Sprintf("case%d.go", i)]
		want := gen.Allowed
		if c.noted {
			want = gen.Noted
		}
		if c.refused {
			want = gen.Refused
		}
		if verdict != want {
			t.Errorf("%s: the verdict of the lock is %d, want %d", c.name, verdict, want)
		}
		state, pending, _ := strings.Cut(read[i], "; ")
		if want := numbered(c.want, i); state != want {
			t.Errorf("%s: the new program reads %s, want %s", c.name, state, want)
		}
		if c.pending == "" && verdict != gen.Refused {
			c.pending = "read"
		}
		if pending != c.pending && c.pending != "" {
			t.Errorf("%s: the update in a stored result or an input is %s, want %s", c.name, pending, c.pending)
		}
	}
}

// writeCase writes the file of a case into a package.
func writeCase(t *testing.T, dir, pkg string, n int, source string) {
	t.Helper()
	text := "package " + pkg + "\n\nimport \"github.com/graphgen-go/graphgen/runtime/state\"\n\nvar _ state.OldFields\n\n" +
		strings.ReplaceAll(source, "; type ", "\ntype ")
	text = strings.Replace(text, "type StateN", "//graphgen:state\ntype StateN", 1)
	writeFile(t, filepath.Join(dir, pkg, fmt.Sprintf("case%d.go", n)), numbered(text, n))
}

// verdicts locks the package old and compares the package now with its lock file. It returns the
// worst verdict on each file.
func verdicts(t *testing.T, dir string) map[string]gen.Verdict {
	t.Helper()
	result, err := gen.Lock(t.Context(), gen.Config{Dir: dir, Patterns: []string{"./old"}})
	if err != nil || len(result.Files) != 1 {
		t.Fatalf("Lock: %v, %v", err, result)
	}
	text := string(result.Files[0].Content)
	for i, c := range survivals {
		if from, to, ok := strings.Cut(numbered(c.replace, i), " -> "); ok {
			changed := strings.Replace(text, from+"\n", to+"\n", 1)
			if changed == text {
				t.Fatalf("%s: the lock file has no line %s:\n%s", c.name, from, text)
			}
			text = changed
		}
	}
	writeFile(t, filepath.Join(dir, "now", gen.LockName), text)
	if result, err = gen.Lock(t.Context(), gen.Config{Dir: dir, Patterns: []string{"./now"}}); err != nil {
		t.Fatal(err)
	}
	worst := make(map[string]gen.Verdict)
	for _, c := range result.Changes {
		name := filepath.Base(c.Pos.Filename)
		worst[name] = max(worst[name], c.Verdict)
	}
	return worst
}

// survivalProgram returns a program that prints what the new states read, one line for each case.
func survivalProgram() string {
	var b strings.Builder
	b.WriteString(`package main

import (
	"context"
	"errors"
	"fmt"

	"example.com/m/now"
	. "example.com/m/old"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// compile returns a graph that stops before its only node.
func compile[S, U any](schema *state.Schema[S, U], saver checkpoint.Saver) *graph.Graph[S, U] {
	g := graph.New("g", schema)
	g.Node("n", func(context.Context, S) (u U, err error) { return u, nil })
	g.Edge(graph.Start, "n")
	g.Edge("n", graph.End)
	app, err := g.Compile(graph.Saver(saver), graph.InterruptBefore("n"))
	if err != nil {
		panic(err)
	}
	return app
}

// read stores a thread with one schema, and prints what another reads.
func read[S, U, T, V any](old *state.Schema[S, U], now *state.Schema[T, V], update func(u *U)) {
	saver := memory.New()
	if _, err := compile(old, saver).Thread("t").Invoke(context.Background(), state.Build(update)); err != nil {
		panic(err)
	}
	snap, err := compile(now, saver).Thread("t").State(context.Background())
	switch {
	case errors.Is(err, graph.ErrGraphChanged):
		fmt.Print("changed")
	case err != nil:
		fmt.Print(err)
	default:
		fmt.Printf("%+v", snap.State)
	}
	fmt.Println(";", pending(old, now, state.Build(update)))
}

// pending reports whether the new schema reads an update as a result or an input stores it.
func pending[S, U, T, V any](old *state.Schema[S, U], now *state.Schema[T, V], update U) string {
	b, err := old.AppendUpdate(nil, &update)
	if err != nil {
		panic(err)
	}
	var u V
	if err := now.DecodeUpdate(b, &u); err != nil {
		return "changed"
	}
	return "read"
}

func main() {
`)
	for i, c := range survivals {
		fmt.Fprintln(&b, numbered("\tread(StateNSchema, now.StateNSchema, func(u *StateNUpdate) { "+c.update+" })", i))
	}
	return b.String() + "}\n"
}

// newModule returns the folder of a new module that uses this one.
func newModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const path = "github.com/graphgen-go/graphgen"
	dir := t.TempDir()
	text := strings.Replace(string(mod), "module "+path, "module example.com/m", 1)
	writeFile(t, filepath.Join(dir, "go.mod"), text+"\nrequire "+path+" v0.0.0\n\nreplace "+path+" => "+root+"\n")
	writeFile(t, filepath.Join(dir, "go.sum"), string(sum))
	return dir
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// generateIn writes the generated code of packages.
func generateIn(t *testing.T, dir string, patterns ...string) {
	t.Helper()
	for _, file := range generate(t, gen.Config{Dir: dir, Patterns: patterns}).Files {
		if _, err := file.Write(); err != nil {
			t.Fatal(err)
		}
	}
}

// runProgram runs the main package of a module, and returns its output.
func runProgram(t *testing.T, dir, source string) string {
	t.Helper()
	writeFile(t, filepath.Join(dir, "main.go"), source)
	cmd := exec.CommandContext(t.Context(), "go", "run", "-mod=mod", ".")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go run: %v\n%s\n%s", err, out, stderr.Bytes())
	}
	return string(out)
}
