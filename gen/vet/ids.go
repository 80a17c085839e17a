package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strconv"

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
are such graphs, and the package calls no function of another package that returns a graph.`

// newIDs returns the analyzer of unknown ids.
func newIDs(indexer *analysis.Analyzer) *analysis.Analyzer {
	return analyzer("graphids", idsDoc, indexer, func(pass *analysis.Pass, _ *index) {
		r := &idReader{pass: pass, senders: make(map[types.Object]string), decls: make(map[types.Object]*ast.BlockStmt),
			chosen: make(map[*ast.BlockStmt]*targets), closed: true, all: make(map[string]bool)}
		r.read()
		r.reportGraphs()
		r.reportChoices()
		r.reportPackage()
	})
}

// idReader collects the ids of a package.
type idReader struct {
	pass    *analysis.Pass
	graphs  []*declared
	senders map[types.Object]string         // ids of the task nodes in variables
	decls   map[types.Object]*ast.BlockStmt // bodies of functions
	chosen  map[*ast.BlockStmt]*targets     // of the functions that routes call
	all     map[string]bool                 // ids of all nodes
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

// foreign notes a call of another package that returns a graph, whose ids are unknown.
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
		if namedIs(deref(v.Type()), graphPath, "Graph", "Builder", "Thread") {
			r.closed = false
		}
	}
}

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
	if f == nil || f.Pkg() == nil || f.Pkg().Path() != graphPath {
		return
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

// reportGraphs reports ids in edges, joins and routes that the graph does not have.
func (r *idReader) reportGraphs() {
	for _, d := range r.graphs {
		if d.open || len(d.nodes) == 0 {
			continue
		}
		for _, e := range d.uses {
			if id, ok := r.id(e); ok && !d.nodes[id] && !special(id) {
				r.report(e, "no node of this graph has the id "+strconv.Quote(id), id, d.nodes)
			}
		}
	}
}

// special reports whether an id is Start, End or Parent, or none.
func special(id string) bool { return id == "" || len(id) > 1 && id[:2] == "__" }

// reportChoices reports ids in graph.To that are not among the targets of the function.
func (r *idReader) reportChoices() {
	for body, t := range r.chosen {
		if t.open {
			continue
		}
		ast.Inspect(body, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f := r.function(c)
			if calls(f, graphPath, "ToParent") {
				return false
			}
			if !calls(f, graphPath, "To") {
				return true
			}
			for _, e := range c.Args {
				if id, ok := r.id(e); ok && !t.ids[id] && id != "" {
					r.report(e, "the targets of this route do not contain "+quotedID(id), id, t.ids)
				}
			}
			return true
		})
	}
}

// quotedID returns an id as in the source.
func quotedID(id string) string {
	switch id {
	case "__start__":
		return "graph.Start"
	case "__end__":
		return "graph.End"
	case "__parent__":
		return "graph.Parent"
	}
	return strconv.Quote(id)
}

// reportPackage reports ids in options and comparisons that no node of the package has.
func (r *idReader) reportPackage() {
	if !r.closed || len(r.all) == 0 {
		return
	}
	for _, file := range r.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if calls(r.function(n), graphPath, "Rerun", "InterruptBefore", "InterruptAfter", "AsNode") {
					r.unknown(n.Args...)
				}
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					r.unknown(n.X, n.Y)
				}
			case *ast.SwitchStmt:
				if n.Tag != nil && namedIs(r.pass.TypesInfo.TypeOf(n.Tag), graphPath, "ID") {
					for _, s := range n.Body.List {
						r.unknown(s.(*ast.CaseClause).List...)
					}
				}
			}
			return true
		})
	}
}

// unknown reports those of some constants of type ID that no node of the package has.
func (r *idReader) unknown(list ...ast.Expr) {
	for _, e := range list {
		tv := r.pass.TypesInfo.Types[e]
		if tv.Value == nil || !namedIs(tv.Type, graphPath, "ID") {
			continue
		}
		if id, _ := r.id(e); !r.all[id] && !special(id) {
			r.report(e, "no node of this package has the id "+strconv.Quote(id), id, r.all)
		}
	}
}

// report reports an id, with the known id that resembles it most.
func (r *idReader) report(e ast.Expr, message, id string, known map[string]bool) {
	best, least, alone := "", 3, true
	for k := range known {
		n := edits(id, k)
		alone = n < least || n > least && alone
		if n < least || n == least && k < best {
			best, least = k, n
		}
	}
	d := analysis.Diagnostic{Pos: e.Pos(), End: e.End(), Message: message}
	if best != "" && !special(best) {
		d.Message += "; did you mean " + strconv.Quote(best) + "?"
		// Two ids of a few letters can resemble each other although neither is misspelt.
		if _, literal := e.(*ast.BasicLit); literal && alone && len(id) > 2*least {
			d.SuggestedFixes = []analysis.SuggestedFix{{Message: "Replace by " + strconv.Quote(best), TextEdits: []analysis.TextEdit{
				{Pos: e.Pos(), End: e.End(), NewText: []byte(strconv.Quote(best))}}}}
		}
	}
	r.pass.Report(d)
}

// edits returns the number of letters to insert, delete or replace to turn a into b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := slices.Clone(row)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(before[j+1], row[j]) + 1
			if a[i] == b[j] {
				row[j+1] = min(row[j+1], before[j])
			} else {
				row[j+1] = min(row[j+1], before[j]+1)
			}
		}
	}
	return row[len(b)]
}
