package gen

import (
	"go/token"
	"go/types"
	"slices"
	"strconv"
)

// names are the identifiers of generated code. They neither hide declarations of the user's
// package nor are hidden by them.
type names struct {
	a, b, c, d, f, i, k, l, m, n, r, s, u, v, w, x, y, after, before, changed, depth, err, fork, key, list, ok, opts, out, task string

	imports map[string]string // path -> the import name
	given   map[string]string // path -> the name of the package
}

// wellKnown lists the imports of the runtime, in the order in which they get names. Go requires
// that no file of the package declares the name of an import, not even a test. Generated code must
// not depend on tests. The runtime's packages therefore have names that no helper of a test has.
var wellKnown = []struct{ path, name, as string }{
	{"cmp", "cmp", "cmp"},
	{"maps", "maps", "maps"},
	{"slices", "slices", "slices"},
	{"strings", "strings", "strings"},
	{"time", "time", "time"},
	{statePath, "state", "graphstate"},
	{cellPath, "cell", "graphcell"},
	{wirePath, "wire", "graphwire"},
	{shapePath, "shape", "graphshape"},
}

// newNames chooses names for code of package pkg that imports the packages used.
func newNames(pkg *types.Package, used []*types.Package) *names {
	taken := make(map[string]bool)
	for _, name := range pkg.Scope().Names() {
		taken[name] = true
	}
	free := func(name string) string {
		for n := 2; taken[name] || token.IsKeyword(name) || types.Universe.Lookup(name) != nil; n++ {
			name = trimNumber(name) + strconv.Itoa(n)
		}
		taken[name] = true
		return name
	}
	ns := &names{
		a: free("a"), b: free("b"), c: free("c"), d: free("d"), f: free("f"), i: free("i"), k: free("k"), l: free("l"), m: free("m"), n: free("n"),
		r: free("r"), s: free("s"), u: free("u"), v: free("v"), w: free("w"), x: free("x"), y: free("y"),
		after: free("after"), before: free("before"), changed: free("changed"), depth: free("depth"), err: free("err"), fork: free("fork"), key: free("key"), list: free("list"),
		ok: free("ok"), opts: free("opts"), out: free("out"), task: free("task"),
		imports: make(map[string]string), given: make(map[string]string),
	}
	for _, w := range wellKnown {
		ns.imports[w.path], ns.given[w.path] = free(w.as), w.name
	}
	used = slices.Clone(used)
	slices.SortFunc(used, comparePath)
	for _, p := range used {
		if p != pkg && ns.imports[p.Path()] == "" {
			ns.imports[p.Path()], ns.given[p.Path()] = free(p.Name()), p.Name()
		}
	}
	return ns
}

// trimNumber removes a number from the end of a name.
func trimNumber(name string) string {
	for len(name) > 1 && name[len(name)-1] >= '0' && name[len(name)-1] <= '9' {
		name = name[:len(name)-1]
	}
	return name
}

// comparePath orders packages by their paths.
func comparePath(a, b *types.Package) int {
	switch {
	case a.Path() < b.Path():
		return -1
	case a.Path() > b.Path():
		return 1
	}
	return 0
}
