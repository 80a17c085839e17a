package docs

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// product are the folders whose identifiers keep to the glossary.
var product = []string{"runtime", "savers", "gen", "shape", "engines", "graphotel", "agent", "inspect", "cmd"}

// adjectives are the words of the glossary that say how a thing is. A function with such a name
// returns that, and does nothing.
var adjectives = []string{"deferred", "due", "ended", "left", "paused", "ready", "reported", "stored", "unfinished", "unstored", "waiting", "withdrawn"}

// excepted are identifiers that the glossary does not rule, with the reason.
var excepted = map[string]string{
	"gen/vet.isBranch":                     "of the control flow of Go",
	"gen/vet.flow.copiedInBranch":          "of the control flow of Go",
	"gen/vet.flow.storedInBranch":          "of the control flow of Go",
	"runtime/checkpoint/tree.Style.Branch": "of the tree that checkpoints form: a branch of the glossary",
	"savers/postgres.ErrNoNotification":    "PostgreSQL calls it that",
	"runtime/graph/internal/held.Task":     "the task as the decisions of the room see it",
	"runtime/graph/internal/plan.Task":     "the task as the decisions of the room see it",
	"runtime/graph/internal/task.Task":     "the task as its node sees it: graph.Task",
	"runtime/graph/internal/opening.Head":  "the head as the decisions of the room see it",
	"runtime/graph/graphhttp.Message":      "an event of the HTML standard; the other type is the same in a queue",
	"runtime/graph.Stop":                   "the stop as users see it",
	"runtime/graph.Outcome":                "exec.Outcome for users, because pkg.go.dev shows no constants of an alias",
	"runtime/graph.stream":                 "the events of one run; the other type is the part of them that one client gets",
}

// glossary returns the words of the glossary, and those that code must not use for them.
func glossary(t *testing.T) (words map[string]bool, not map[string]string) {
	t.Helper()
	_, text, found := strings.Cut(string(read(t, "rules.md")), "\n## Glossary\n")
	words, not = make(map[string]bool), make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^\| (\S[^|]*?) \| [^|]+ \|(?: ([^|]*?) \|)?$`).FindAllStringSubmatch(text, -1) {
		if words[strings.ToLower(m[1])] = true; m[1] == "word" {
			continue
		}
		for other := range strings.FieldsFuncSeq(m[2], func(r rune) bool { return r == ',' || r == ' ' }) {
			not[other] = m[1]
		}
	}
	if !found || !words["superstep"] || len(not) < 5 {
		t.Fatalf("rules.md has a glossary of %d words and %d synonyms; want a table with the columns word, meaning and not", len(words), len(not))
	}
	return words, not
}

// declared is an identifier that a package declares: of a type, function, method, field, constant
// or variable.
type declared struct {
	name string        // with the path of the package, and the receiver or the type around it
	id   string        // the name alone
	typ  bool          // it is a type, and no alias
	fn   *ast.FuncType // of a function or method, else nil
}

// identifiers calls yield with the identifiers of the product.
func identifiers(t *testing.T, yield func(d declared)) {
	t.Helper()
	for _, dir := range product {
		err := filepath.WalkDir(filepath.Join("..", dir), func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return fs.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_graphgen.go"):
				return nil
			}
			f, err := goparser.ParseFile(token.NewFileSet(), name, nil, goparser.SkipObjectResolution)
			if err != nil {
				return err
			}
			in := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(name)), "../") + "."
			for _, decl := range f.Decls {
				identifiersOf(decl, in, yield)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// identifiersOf calls yield with the identifiers of one declaration. in comes before their names.
func identifiersOf(decl ast.Decl, in string, yield func(d declared)) {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Recv != nil {
			in += receiver(decl.Recv.List[0].Type) + "."
		}
		yield(declared{name: in + decl.Name.Name, id: decl.Name.Name, fn: decl.Type})
	case *ast.GenDecl:
		for _, spec := range decl.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, id := range spec.Names {
					yield(declared{name: in + id.Name, id: id.Name})
				}
			case *ast.TypeSpec:
				yield(declared{name: in + spec.Name.Name, id: spec.Name.Name, typ: spec.Assign == 0})
				members(spec.Type, in+spec.Name.Name+".", yield)
			}
		}
	}
}

// members calls yield with the fields of a struct, and the methods of an interface.
func members(of ast.Expr, in string, yield func(d declared)) {
	var list []*ast.Field
	switch of := of.(type) {
	case *ast.StructType:
		list = of.Fields.List
	case *ast.InterfaceType:
		list = of.Methods.List
	}
	for _, field := range list {
		fn, _ := field.Type.(*ast.FuncType)
		if _, is := of.(*ast.InterfaceType); !is {
			fn = nil // a field says when it is called
		}
		for _, id := range field.Names {
			yield(declared{name: in + id.Name, id: id.Name, fn: fn})
		}
	}
}

// receiver returns the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// wordsOf returns the words of an identifier in lower case: http and branch of HTTPBranch.
func wordsOf(id string) []string {
	var b strings.Builder
	for i, c := range id {
		next := strings.TrimLeft(id[i+1:], "0123456789")
		if unicode.IsUpper(c) && i > 0 && (!unicode.IsUpper(rune(id[i-1])) || next != "" && unicode.IsLower(rune(next[0]))) {
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return strings.FieldsFunc(b.String(), func(c rune) bool { return !unicode.IsLetter(c) })
}

// TestWordsOfIdentifiers splits names of each form.
func TestWordsOfIdentifiers(t *testing.T) {
	for id, want := range map[string]string{"HTTPBranch": "http branch", "newID": "new id", "toBranch2": "to branch", "x": "x", "A_b": "a b"} {
		if got := strings.Join(wordsOf(id), " "); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
}

// acts reports whether a function does something: it returns only errors, or it takes a context.
func acts(fn *ast.FuncType) bool {
	for _, p := range fn.Params.List {
		if sel, ok := p.Type.(*ast.SelectorExpr); ok && sel.Sel.Name == "Context" {
			return true
		}
	}
	return fn.Results == nil || !slices.ContainsFunc(fn.Results.List, func(f *ast.Field) bool {
		id, ok := f.Type.(*ast.Ident)
		return !ok || id.Name != "error"
	})
}

// TestIdentifiersKeepToTheGlossary: code has one word for each thing, and one meaning for each
// word.
func TestIdentifiersKeepToTheGlossary(t *testing.T) {
	words, not := glossary(t)
	used, types := make(map[string]bool), make(map[string][]string)
	fail := func(d declared, format string, args ...any) {
		t.Helper()
		if used[d.name] = true; excepted[d.name] == "" {
			t.Errorf(d.name+": "+format, args...)
		}
	}
	n := 0
	identifiers(t, func(d declared) {
		n++
		for _, w := range wordsOf(d.id) {
			if word := not[w]; word != "" {
				fail(d, "the glossary of rules.md has the word %q for that", word)
			}
		}
		word := strings.ToLower(d.id)
		if d.fn != nil && strings.HasPrefix(d.name, "runtime/graph") && slices.Contains(adjectives, word) && acts(d.fn) {
			fail(d, "the name says how something is, but the function does something; name it by a verb")
		}
		if d.typ && words[word] && strings.HasPrefix(d.name, "runtime/graph") {
			if types[word] = append(types[word], d.name); len(types[word]) > 1 {
				fail(d, "another type with this word is %s; one word has one meaning", types[word][0])
			}
		}
	})
	if n < 10_000 {
		t.Errorf("found %d identifiers, want more than 10,000", n)
	}
	for name := range excepted {
		if !used[name] {
			t.Errorf("%s is excepted, but nothing is wrong with it", name)
		}
	}
}
