package docs

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documented are the packages whose names the pages use, without the path of the module.
var documented = []string{
	"runtime/graph", "runtime/graph/graphhttp", "runtime/graph/graphtest", "runtime/checkpoint", "runtime/operate", "runtime/state", "runtime/store", "runtime/store/storetest", "runtime/worker", "runtime/worker/workertest", "runtime/schedule", "runtime/wire", "gen",
	"savers/memory", "savers/file", "savers/sqlite", "savers/redis", "savers/mysql", "savers/postgres", "savers/open", "savers/shards", "savers/savertest",
	"engines/enginetest", "agent", "agent/agenttest",
}

// others are names of another package, a method, and the beginning of a name.
var others = map[string]bool{"redis.Client": true, "redis.ClusterClient": true, "file.Repair": true, "wire.Generation": true}

// exported returns the package-level names of a package, with the name of the package before each.
func exported(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no files: %v", dir, err)
	}
	names := make(map[string]bool)
	add := func(id *ast.Ident) { names[path.Base(dir)+"."+id.Name] = true }
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := goparser.ParseFile(token.NewFileSet(), name, nil, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil {
					add(decl.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(spec.Name)
					case *ast.ValueSpec:
						for _, id := range spec.Names {
							add(id)
						}
					}
				}
			}
		}
	}
	return names
}

// TestNamesInTextExist: a name such as graph.Lease in a page is one of the package. The site links
// it to its documentation.
func TestNamesInTextExist(t *testing.T) {
	known, packages := make(map[string]bool), []string{}
	for _, dir := range documented {
		packages = append(packages, path.Base(dir))
		for name := range exported(t, dir) {
			known[name] = true
		}
	}
	span := regexp.MustCompile("`[^`\n]+`")
	use := regexp.MustCompile(`(?:^|[^\w./])((?:` + strings.Join(packages, "|") + `)\.[A-Z]\w*)`)
	n := 0
	for _, page := range pages(t) {
		text := fenced.ReplaceAll(read(t, page), nil)
		for _, code := range span.FindAllString(string(text), -1) {
			for _, m := range use.FindAllStringSubmatch(code, -1) {
				n++
				if !known[m[1]] && !others[m[1]] {
					t.Errorf("%s names %s, which does not exist", page, m[1])
				}
			}
		}
	}
	if n == 0 {
		t.Error("no names found")
	}
}

// TestNamesOnPagesForNewcomersExist checks the pages that compare graphgen with others. Each name
// in the columns of graphgen exists, also a method and a name without its package.
func TestNamesOnPagesForNewcomersExist(t *testing.T) {
	known := map[string]bool{"State": true, "Field": true, "Tokens": true} // of the examples on the pages
	for _, dir := range append(documented, "savers/encrypt", "savers/compress", "runtime/state/cell", "runtime/diagram", "docs/example") {
		files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no files: %v", dir, err)
		}
		for _, name := range files {
			f, err := goparser.ParseFile(token.NewFileSet(), name, nil, goparser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, decl := range f.Decls {
				ast.Inspect(decl, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.FuncDecl:
						known[n.Name.Name] = true
						return false
					case *ast.TypeSpec:
						known[n.Name.Name] = true
					case *ast.ValueSpec:
						for _, id := range n.Names {
							known[id.Name] = true
						}
					case *ast.Field:
						for _, id := range n.Names {
							known[id.Name] = true
						}
					}
					return true
				})
			}
		}
	}
	names, err := filepath.Glob("from-*.md")
	if err != nil || len(names) != 3 {
		t.Fatalf("got the pages %q, %v; want three", names, err)
	}
	for _, page := range names {
		n := 0
		for line := range strings.Lines(string(read(t, page))) {
			cells := strings.Split(line, " | ")
			if !strings.HasPrefix(line, "| ") || len(cells) < 2 {
				continue
			}
			for _, code := range regexp.MustCompile("`[^`]+`").FindAllString(cells[1], -1) {
				if strings.Contains(code, `:"`) {
					continue // a tag
				}
				for _, name := range regexp.MustCompile(`\b[A-Z]\w+`).FindAllString(code, -1) {
					n++
					if !known[name] {
						t.Errorf("%s names %s in %s, which does not exist", page, name, code)
					}
				}
			}
		}
		if n < 20 {
			t.Errorf("%s has %d names in its tables", page, n)
		}
	}
}

var fenced = regexp.MustCompile("(?ms)^```.*?^```$")

// outside are names of ARCHITECTURE.md that the product does not declare.
var outside = map[string]bool{"append": true, "encoding/json": true, "init": true, "TestLockAndRuntimeAgree": true, "graphgen.lock": true}

// TestNamesOfTheArchitectureExist: each function, type, package and file that ARCHITECTURE.md
// names exists, also the unexported ones.
func TestNamesOfTheArchitectureExist(t *testing.T) {
	known := make(map[string]bool)
	identifiers(t, func(d declared) {
		known[d.id] = true
		parts := strings.Split(path.Base(d.name), ".") // package, type and method, or less
		known[strings.Join(parts[max(len(parts)-2, 0):], ".")] = true
	})
	exists := func(name string) bool {
		for _, dir := range []string{"..", "../runtime/graph", "../runtime/graph/internal", "../cmd", "../savers/*"} {
			if found, err := filepath.Glob(filepath.Join(dir, strings.TrimSuffix(name, "/..."))); err == nil && len(found) > 0 {
				return true
			}
		}
		return false
	}
	n := 0
	for _, m := range regexp.MustCompile("`([^`\n]+)`").FindAllSubmatch(fenced.ReplaceAll(read(t, "../ARCHITECTURE.md"), nil), -1) {
		n++
		name, _, _ := strings.Cut(string(m[1]), "[") // without type parameters
		if of, _, call := strings.Cut(name, "("); call {
			name = of[strings.LastIndex(of, ".")+1:] // the method of an example's variable
		}
		if !known[name] && !exists(name) && !outside[name] {
			t.Errorf("ARCHITECTURE.md names %s, which does not exist", m[1])
		}
	}
	if n < 100 {
		t.Errorf("found %d names, want more than 100", n)
	}
	in := 0
	// Such as `run.leave` ([advance.go](...)), and `Next` of [inbox](...), with the path of a
	// file.
	for _, m := range regexp.MustCompile("`(?:\\w+\\.)?(\\w+)`(?: of| in|,)?\\s+\\(?\\[[^]]+\\]\\(([^)]+\\.go)\\)").FindAllSubmatch(read(t, "../ARCHITECTURE.md"), -1) {
		in++
		if !regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?` + string(m[1]) + `[\[(]`).Match(read(t, filepath.Join("..", string(m[2])))) {
			t.Errorf("ARCHITECTURE.md says that %s has %s, which it does not declare", m[2], m[1])
		}
	}
	if in < 10 {
		t.Errorf("found %d names with files, want more than 10", in)
	}
}
