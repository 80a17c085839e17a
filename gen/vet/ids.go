package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const idsDoc = `report ids of nodes that no node has

Ids are strings, so a misspelt one compiles. Compile reports it in edges and joins. A route that
chooses it fails at run time, and a comparison is false:

	g.Node("classify", classify)
	g.Join([]graph.ID{"clasify", "policy"}, "answer") // wrong
	g.Route("classify", func(ctx context.Context, s State) (graph.Next, error) {
		return graph.To("anwser"), nil // wrong: not among the targets
	}, "answer")
	if event.Node == "clasify" { // wrong

Declare constants for the ids:

	const (
		classify graph.ID = "classify"
		answer   graph.ID = "answer"
	)

The analyzer examines a graph if one function declares it, and all its nodes have constant ids. It
examines options such as graph.Rerun and graph.AsNode, and comparisons, if all graphs of the package
are such graphs, and so are those of the packages from which the package gets graphs. In tests it
then also examines lists of ids and fields of type graph.ID.`

// newIDs returns the analyzer of unknown ids.
func newIDs(indexer *analysis.Analyzer) *analysis.Analyzer {
	reader := newIDReader()
	a := analyzer("graphids", idsDoc, indexer, func(pass *analysis.Pass, _ *index) {
		r := pass.ResultOf[reader].(*idReader)
		r.pass = pass
		r.reportGraphs()
		r.reportChoices()
		r.reportPackage()
	})
	a.Requires = append(a.Requires, reader)
	return a
}

// nodeIDs is the fact about a package whose graphs are all known: the ids of their nodes.
type nodeIDs struct{ IDs []string }

// AFact makes nodeIDs a fact.
func (*nodeIDs) AFact() {}

func (f *nodeIDs) String() string { return "nodes " + strings.Join(f.IDs, " ") }

// newIDReader returns the analyzer that reads the ids of a package, for graphids and for packages
// that import it.
func newIDReader() *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       "graphnodes",
		Doc:        "reads the ids of nodes for other analyzers",
		URL:        url + "#graphids",
		ResultType: reflect.TypeFor[*idReader](),
		FactTypes:  []analysis.Fact{new(nodeIDs)},
		Run: func(pass *analysis.Pass) (any, error) {
			r := &idReader{pass: pass, senders: make(map[types.Object]string), decls: make(map[types.Object]*ast.BlockStmt),
				chosen: make(map[*ast.BlockStmt]*targets), closed: true, all: make(map[string]bool), holders: make(map[types.Type]bool)}
			if !importsGraph(pass) {
				return r, nil
			}
			r.read()
			if r.closed && len(r.all) > 0 {
				pass.ExportPackageFact(&nodeIDs{IDs: slices.Sorted(maps.Keys(r.all))})
			}
			return r, nil
		},
	}
}

// idReader collects the ids of a package.
type idReader struct {
	pass    *analysis.Pass
	graphs  []*declared
	senders map[types.Object]string         // ids of the task nodes in variables
	decls   map[types.Object]*ast.BlockStmt // bodies of functions
	chosen  map[*ast.BlockStmt]*targets     // of the functions that routes call
	all     map[string]bool                 // ids of all nodes
	holders map[types.Type]bool             // whether types hold graphs
	closed  bool                            // all holds all ids that the package can name
}

// declared is a graph that a function declares.
type declared struct {
	builder types.Object
	nodes   map[string]bool
	uses    []ast.Expr // ids in edges, joins and routes
	open    bool       // it can have other nodes
}

// targets are the targets of the routes that call one function.
type targets struct {
	ids  map[string]bool
	open bool // there can be others
}

// read collects builders, then what their calls declare.
func (r *idReader) read() {
	calls := make(map[*ast.Ident]bool) // uses of builders that are known
	for _, file := range r.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if obj := r.pass.TypesInfo.Defs[n.Name]; obj != nil && n.Body != nil {
					r.decls[obj] = n.Body
				}
			case *ast.AssignStmt:
				r.assign(n)
			case *ast.CallExpr:
				r.foreign(n)
			}
			return true
		})
	}
	for _, file := range r.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				r.call(c, calls)
			}
			return true
		})
	}
	for id, obj := range r.pass.TypesInfo.Uses {
		if d := r.graphOf(obj); d != nil && !calls[id] {
			d.open = true
		}
		if v, ok := obj.(*types.Var); ok && v.Pkg() != nil && v.Pkg() != r.pass.Pkg && v.Parent() == v.Pkg().Scope() && r.holdsGraph(v.Type()) {
			r.imports(v.Pkg())
		}
	}
	for _, d := range r.graphs {
		r.closed = r.closed && !d.open
		for id := range d.nodes {
			r.all[id] = true
		}
	}
}

// assign records builders and senders that are assigned to variables.
func (r *idReader) assign(s *ast.AssignStmt) {
	if s.Tok != token.DEFINE || len(s.Lhs) != 1 || len(s.Rhs) != 1 {
		return
	}
	c, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
	name, ok2 := s.Lhs[0].(*ast.Ident)
	if !ok || !ok2 {
		return
	}
	switch f := r.function(c); {
	case calls(f, graphPath, "New"):
		r.graphs = append(r.graphs, &declared{builder: r.pass.TypesInfo.Defs[name], nodes: make(map[string]bool)})
	case calls(f, graphPath, "TaskNode", "RoutingTaskNode", "TaskSubgraph") && len(c.Args) > 1:
		if id, ok := r.id(c.Args[1]); ok {
			r.senders[r.pass.TypesInfo.Defs[name]] = id
		}
	}
}

// foreign notes a call of another package that returns a graph.
func (r *idReader) foreign(c *ast.CallExpr) {
	f := r.function(c)
	if f == nil || f.Pkg() == nil || f.Pkg() == r.pass.Pkg {
		if f == nil && namedIs(deref(r.pass.TypesInfo.TypeOf(c)), graphPath, "Builder") {
			r.closed = false
		}
		return
	}
	if f.Pkg().Path() == graphPath {
		return
	}
	for v := range f.Signature().Results().Variables() {
		if !r.holdsGraph(v.Type()) {
			continue
		}
		if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			r.closed = false // any package can implement it
			return
		}
		r.imports(f.Pkg())
	}
}

// imports adds the ids of the graphs of another package. They are unknown if the package computes
// some of them.
func (r *idReader) imports(pkg *types.Package) {
	var f nodeIDs
	if !r.pass.ImportPackageFact(pkg, &f) {
		r.closed = false
		return
	}
	for _, id := range f.IDs {
		r.all[id] = true
	}
}

// holdsGraph reports whether a value of type t is a graph, or has a field or an element that is
// one.
func (r *idReader) holdsGraph(t types.Type) bool {
	known, ok := r.holders[t]
	if !ok {
		known = holdsGraph(t, 0)
		r.holders[t] = known
	}
	return known
}

// holdsGraph is the method of this name, for a part of a value. It looks three levels deep.
func holdsGraph(t types.Type, depth int) bool {
	if t = deref(types.Unalias(t)); namedIs(t, graphPath, "Graph", "Builder", "Thread") {
		return true
	}
	if depth > 3 {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return holdsGraph(u.Elem(), depth+1)
	case *types.Map:
		return holdsGraph(u.Elem(), depth+1)
	case *types.Struct:
		for f := range u.Fields() {
			if holdsGraph(f.Type(), depth+1) {
				return true
			}
		}
	}
	return false
}

// deref returns the type that a pointer points at, and other types as they are.
func deref(t types.Type) types.Type {
	if p, ok := t.(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// function returns the function that a call names; nil for a variable.
func (r *idReader) function(c *ast.CallExpr) *types.Func {
	fun := ast.Unparen(c.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	var name *ast.Ident
	switch x := fun.(type) {
	case *ast.Ident:
		name = x
	case *ast.SelectorExpr:
		name = x.Sel
	default:
		return nil
	}
	f, _ := r.pass.TypesInfo.Uses[name].(*types.Func)
	if f == nil {
		return nil
	}
	return f.Origin()
}

// id returns the id that an expression is, if it is known.
func (r *idReader) id(e ast.Expr) (string, bool) {
	tv := r.pass.TypesInfo.Types[e]
	if tv.Value != nil && tv.Value.Kind() == constant.String {
		return constant.StringVal(tv.Value), true
	}
	if s, ok := ast.Unparen(e).(*ast.SelectorExpr); ok && s.Sel.Name == "ID" {
		if x, ok := s.X.(*ast.Ident); ok {
			id, ok := r.senders[r.pass.TypesInfo.Uses[x]]
			return id, ok
		}
	}
	return "", false
}

// graphOf returns the graph whose builder is obj; nil if there is none.
func (r *idReader) graphOf(obj types.Object) *declared {
	for _, d := range r.graphs {
		if d.builder == obj && obj != nil {
			return d
		}
	}
	return nil
}

// call records what a call declares in a graph.
func (r *idReader) call(c *ast.CallExpr, known map[*ast.Ident]bool) {
	f := r.function(c)
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != graphPath || f.Name() == "Part" {
		return // Part passes the builder on
	}
	args := c.Args
	var builder *ast.Ident
	if receiver(f) == "Builder" {
		if s, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok {
			builder, _ = ast.Unparen(s.X).(*ast.Ident)
		}
	} else if len(args) > 0 {
		builder, _ = ast.Unparen(args[0]).(*ast.Ident)
		args = args[1:]
	}
	if builder == nil || !namedIs(deref(r.pass.TypesInfo.TypeOf(builder)), graphPath, "Builder") {
		return
	}
	known[builder] = true
	d := r.graphOf(r.pass.TypesInfo.Uses[builder])
	if d == nil {
		r.closed = false // the builder of another function, which can add any node
		d = new(declared)
	}
	r.declare(d, f.Name(), c, args)
}

// declare records a call of the builder of d.
func (r *idReader) declare(d *declared, name string, c *ast.CallExpr, args []ast.Expr) {
	switch name {
	case "Node", "RoutingNode", "Subgraph", "TaskNode", "RoutingTaskNode", "MapSubgraph", "TaskSubgraph":
		id, ok := r.id(args[0])
		if d.nodes != nil {
			d.nodes[id] = true
		}
		d.open = d.open || !ok
		r.chooses(args[1:], r.options(args[1:]))
	case "Edge", "Chain":
		d.uses = append(d.uses, args...)
	case "Route":
		d.uses = append(append(d.uses, args[0]), args[2:]...)
		list := args[2:]
		if c.Ellipsis.IsValid() {
			list = nil
		}
		r.chooses(args[1:2], list)
	case "Join", "JoinAny":
		if lit, ok := ast.Unparen(args[0]).(*ast.CompositeLit); ok {
			d.uses = append(d.uses, lit.Elts...)
		}
		d.uses = append(d.uses, args[1])
	case "Fallback", "RoutingFallback", "Cache":
		d.uses = append(d.uses, args[0])
		r.chooses(args[1:], nil)
	}
}

// options returns the ids in the option Targets; nil if it is not among the options.
func (r *idReader) options(args []ast.Expr) []ast.Expr {
	for _, a := range args {
		if c, ok := ast.Unparen(a).(*ast.CallExpr); ok && calls(r.function(c), graphPath, "Targets") && !c.Ellipsis.IsValid() {
			return c.Args
		}
	}
	return nil
}

// chooses records the targets of the first function among args. No targets mean unknown ones.
func (r *idReader) chooses(args, list []ast.Expr) {
	for _, a := range args {
		body := r.body(a)
		if body == nil {
			continue
		}
		t := r.chosen[body]
		if t == nil {
			t = &targets{ids: make(map[string]bool)}
			r.chosen[body] = t
		}
		t.open = t.open || len(list) == 0
		for _, e := range list {
			id, ok := r.id(e)
			t.ids[id] = true
			t.open = t.open || !ok
		}
	}
}

// body returns the body of a function of this package that an expression names.
func (r *idReader) body(e ast.Expr) *ast.BlockStmt {
	switch e := ast.Unparen(e).(type) {
	case *ast.FuncLit:
		return e.Body
	case *ast.Ident:
		return r.decls[r.pass.TypesInfo.Uses[e]]
	case *ast.SelectorExpr:
		return r.decls[r.pass.TypesInfo.Uses[e.Sel]]
	}
	return nil
}
