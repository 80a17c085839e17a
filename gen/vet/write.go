package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ast/astutil"
)

const writeDoc = `report nodes that write through what they were given

A node gets a copy of the state whose maps, slices and pointers share memory with the run. A write
through them changes the state of other nodes, and is not stored:

	func tag(ctx context.Context, s State) (StateUpdate, error) {
		s.Facts["city"] = Fact{Text: "Lisbon"} // wrong
		sort.Strings(s.Tags)                   // wrong
		return StateUpdate{}, nil
	}

Put the change into the update, or change a copy:

	func tag(ctx context.Context, s State) (StateUpdate, error) {
		var u StateUpdate
		u.Facts.Put("city", Fact{Text: "Lisbon"})
		tags := slices.Clone(s.Tags)
		sort.Strings(tags)
		return u, nil
	}

The analyzer follows calls of functions in the same package. An append to a field of the state is
correct, because the runtime clips these slices. A copy that only one branch makes does not help. It
does not see writes by functions of other packages, except those of the standard library that change
their argument, such as slices.Sort and json.Unmarshal.`

// newWrite returns the analyzer of writes through the state.
func newWrite(indexer *analysis.Analyzer) *analysis.Analyzer {
	return analyzer("graphwrite", writeDoc, indexer, func(pass *analysis.Pass, x *index) {
		for _, n := range x.nodes {
			for _, w := range x.nodeFlow(n).writes() {
				reportWrite(pass, w)
			}
		}
	})
}

// reportWrite reports a write to memory of the run, with the way to mend it.
func reportWrite(pass *analysis.Pass, w write) {
	d := analysis.Diagnostic{Pos: w.pos}
	by := "this node"
	if w.apply != nil {
		if f := callee(w.apply.Common()); f != nil && f.Pkg() == pass.Pkg {
			by = f.Name()
			d.Related = []analysis.RelatedInformation{{Pos: w.in.Pos(), Message: "the function that writes"}}
		}
	}
	d.Message = by + " " + w.how + " " + w.what + ", which belongs to the run; put the change into the update, or change a copy"
	if (w.how == appends || w.how == inserts) && by == "this node" {
		d.SuggestedFixes = clipFix(pass, w.pos)
	}
	pass.Report(d)
}

// clipFix makes the append at pos copy: append(x[:i], v) becomes append(x[:i:i], v), and
// append(x, v) becomes append(x[:len(x):len(x)], v). It does so only if x and i are names of
// variables and fields, so that the fix evaluates nothing twice.
func clipFix(pass *analysis.Pass, pos token.Pos) []analysis.SuggestedFix {
	call := callAt(pass, pos)
	if call == nil || len(call.Args) == 0 {
		return nil
	}
	edit := analysis.TextEdit{}
	switch x := call.Args[0].(type) {
	case *ast.SliceExpr:
		if x.Slice3 || x.High == nil || !isPlain(x.High) {
			return nil
		}
		edit.Pos, edit.End, edit.NewText = x.High.End(), x.High.End(), []byte(":"+types.ExprString(x.High))
	default:
		if !isPlain(x) {
			return nil
		}
		n := "len(" + types.ExprString(x) + ")"
		edit.Pos, edit.End, edit.NewText = x.End(), x.End(), []byte("[:"+n+":"+n+"]")
	}
	return []analysis.SuggestedFix{{Message: "Limit the capacity, so that append copies", TextEdits: []analysis.TextEdit{edit}}}
}

// isPlain reports whether an expression has only names, fields and literals.
func isPlain(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.SelectorExpr:
		return isPlain(e.X)
	case *ast.IndexExpr:
		return isPlain(e.X) && isPlain(e.Index)
	}
	return false
}

// callAt returns the call whose opening parenthesis, or whose beginning, is at pos.
func callAt(pass *analysis.Pass, pos token.Pos) *ast.CallExpr {
	for _, n := range pathAt(pass, pos) {
		if c, ok := n.(*ast.CallExpr); ok && (c.Lparen == pos || c.Pos() == pos) {
			return c
		}
	}
	return nil
}

// pathAt returns the syntax around pos, innermost first.
func pathAt(pass *analysis.Pass, pos token.Pos) []ast.Node { return path(pass.Files, pos) }

// path returns the syntax around a position, innermost first.
func path(files []*ast.File, pos token.Pos) []ast.Node {
	for _, file := range files {
		if file.FileStart <= pos && pos < file.FileEnd {
			path, _ := astutil.PathEnclosingInterval(file, pos, pos)
			return path
		}
	}
	return nil
}
