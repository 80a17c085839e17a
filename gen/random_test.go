package gen

import (
	"fmt"
	"go/token"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRandomStatesCompile writes random states with types that can be stored and with names that
// generated code uses. It type-checks the code for them.
func TestRandomStatesCompile(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 40
	}
	for seed := range seeds {
		text := (&writer{rand: rand.New(rand.NewPCG(seed, 7))}).source()
		fset := token.NewFileSet()
		hook := new(parseHook)
		file, err := hook.parse(fset, "/m/state.go", []byte(text))
		if err != nil {
			t.Fatalf("the test writes what is not Go: %v\n%s", err, text)
		}
		pkg := check(t, fset, file)
		result, err := generate(Config{Dir: "/m"}, []*source{newSource(Config{Dir: "/m"}, pkg, hook)})
		if err != nil {
			t.Fatalf("generate: %v\n%s", err, text)
		}
		for _, d := range result.Diagnostics {
			t.Errorf("unexpected diagnostic: %s", d)
		}
		if compile(t, fset, text, result.Files); t.Failed() {
			t.Fatalf("with seed %d:\n%s", seed, text)
		}
	}
}

// writer writes random sources.
type writer struct {
	rand  *rand.Rand
	types []string // the structs declared so far
	decls strings.Builder
}

// nastyNames are names and imports in generated code.
var nastyNames = []string{
	"a", "b", "c", "f", "g", "i", "k", "l", "m", "n", "r", "s", "u", "v", "w", "x", "y", "ok", "err", "key", "list", "out", "names", "task", "opts", "depth", "d", "before", "after",
	"state", "wire", "slices", "maps", "cmp", "String", "Equal", "Clone", "Core", "Init", "Merge", "View", "Load", "Fields", "New", "Codec", "IsZero", "Changes", "Writes", "Éte", "ß",
	"SliceOfString", "StateFields", "graphgenCodecA", "graphgenStateX", "CodecB",
}

func (w *writer) source() string {
	for range 1 + w.rand.IntN(8) {
		name := nastyNames[w.rand.IntN(len(nastyNames))]
		if strings.Contains(" "+strings.Join(w.types, " ")+" ", " "+name+" ") {
			continue
		}
		fmt.Fprintf(&w.decls, "type %s struct {\n%s}\n\n", name, w.fields(false))
		w.types = append(w.types, name)
	}
	fields := w.fields(true)
	return "package p\n\nimport \"time\"\n\nvar _ time.Time\n\n" + w.decls.String() + "//graphgen:state\ntype State struct {\n" + fields + "}\n"
}

// fields writes the fields of a struct, with reducers if it is a state.
func (w *writer) fields(isState bool) string {
	var b strings.Builder
	used := make(map[string]bool)
	for range w.rand.IntN(9) {
		name := nastyNames[w.rand.IntN(len(nastyNames))]
		if used[name] {
			continue
		}
		used[name] = true
		typ, tag := w.typ(0), ""
		if isState {
			typ, tag = w.reduced()
		}
		fmt.Fprintf(&b, "\t%s %s%s\n", name, typ, tag)
	}
	return b.String()
}

// reduced returns a type and a tag with a reducer for it.
func (w *writer) reduced() (typ, tag string) {
	switch w.rand.IntN(9) {
	case 0:
		return "[]*" + w.types[w.rand.IntN(len(w.types))], " `graph:\"append\"`"
	case 1:
		return "[][2]" + w.key(), " `graph:\"union\"`"
	case 2:
		return "map[" + w.key() + "]" + w.typ(1), " `graph:\"merge\"`"
	case 3:
		return []string{"int8", "uint", "float32", "time.Duration", "complex64"}[w.rand.IntN(5)], " `graph:\"sum\"`"
	case 4:
		return []string{"int8", "string", "float32", "time.Duration"}[w.rand.IntN(4)], " `graph:\"" + []string{"min", "max"}[w.rand.IntN(2)] + "\"`"
	case 5:
		return "bool", " `graph:\"" + []string{"and", "or"}[w.rand.IntN(2)] + "\"`"
	case 6:
		return w.typ(0), " `graph:\"" + []string{"last", "first", "ephemeral", "replace"}[w.rand.IntN(4)] + "\"`"
	case 7:
		return "func(chan<- " + w.typ(2) + ", ...int) (a, b error)", " `graph:\"untracked\"`"
	}
	return w.typ(0), ""
}

func (w *writer) key() string {
	return []string{"string", "bool", "int", "uint16", "time.Month", "rune"}[w.rand.IntN(6)]
}

// typ writes a type that can be stored.
func (w *writer) typ(depth int) string {
	basic := []string{"int", "string", "bool", "float64", "byte", "rune", "complex128", "[]byte", "[5]byte", "time.Time", "time.Duration", "uint64"}
	n := w.rand.IntN(10)
	if depth > 3 {
		n = 9
	}
	switch {
	case n == 0:
		return "[]" + w.typ(depth+1)
	case n == 1:
		return "map[" + w.key() + "]" + w.typ(depth+1)
	case n == 2:
		return fmt.Sprintf("[%d]%s", w.rand.IntN(4), w.typ(depth+1))
	case n == 3:
		return "struct { A " + w.typ(depth+1) + " `json:\"a\"`; b " + w.typ(depth+1) + " }"
	case n == 4 && len(w.types) > 0:
		return "*" + w.types[w.rand.IntN(len(w.types))]
	case n <= 6 && len(w.types) > 0:
		return w.types[w.rand.IntN(len(w.types))]
	}
	return basic[w.rand.IntN(len(basic))]
}
