package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

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
		test := strings.HasSuffix(r.pass.Fset.Position(file.FileStart).Filename, "_test.go")
		inputs := make(map[ast.Expr]bool)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if test && !inputs[n] {
					r.literal(n)
				}
			case *ast.AssignStmt:
				r.addTasks(inputs, n.Rhs)
			case *ast.ValueSpec:
				r.addTasks(inputs, n.Values)
			case *ast.CallExpr:
				if f := r.function(n); f != nil && f.Pkg() != nil && f.Pkg().Path() == graphPath+"/graphtest" {
					r.addTasks(inputs, n.Args)
				}
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

// addTasks adds the tasks among some values to inputs. A test can run a node as a task of any id.
func (r *idReader) addTasks(inputs map[ast.Expr]bool, values []ast.Expr) {
	for _, e := range values {
		if isTask(r.pass.TypesInfo.TypeOf(e)) {
			inputs[ast.Unparen(e)] = true
		}
	}
}

// literal reports unknown ids in a list of ids, or in the fields of a struct.
func (r *idReader) literal(c *ast.CompositeLit) {
	t := r.pass.TypesInfo.TypeOf(c)
	switch t.Underlying().(type) {
	case *types.Slice, *types.Struct:
		for _, e := range c.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				r.unknown(e)
				continue
			}
			r.unknown(kv.Value)
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Node" && isTask(t) {
				r.unknownText(kv.Value)
			}
		}
	}
}

// unknown reports those of some constants of type ID that no node of the package has.
func (r *idReader) unknown(list ...ast.Expr) {
	for _, e := range list {
		if tv := r.pass.TypesInfo.Types[e]; tv.Value != nil && namedIs(tv.Type, graphPath, "ID") {
			r.unknownText(e)
		}
	}
}

// unknownText reports a constant that is the id of no node of the package.
func (r *idReader) unknownText(e ast.Expr) {
	if id, ok := r.id(e); ok && !r.all[id] && !special(id) {
		r.report(e, "no node of this package has the id "+strconv.Quote(id), id, r.all)
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
