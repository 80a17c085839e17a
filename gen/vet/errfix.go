package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"
)

// errFix returns the error of a call that is a statement, or whose error is assigned to _. The
// function must have an error as its last result.
func errFix(pass *analysis.Pass, c ssa.CallInstruction) []analysis.SuggestedFix {
	path := pathAt(pass, c.Pos())
	ret := returnText(pass, path)
	if ret == "" {
		return nil
	}
	check := "err != nil {\n" + ret + "\n}"
	for i, n := range path {
		var edits []analysis.TextEdit
		switch n := n.(type) {
		case *ast.ExprStmt:
			before := "if err := "
			if t, ok := pass.TypesInfo.TypeOf(n.X).(*types.Tuple); ok {
				before = "if " + strings.Repeat("_, ", t.Len()-1) + "err := "
			}
			edits = []analysis.TextEdit{
				{Pos: n.Pos(), End: n.Pos(), NewText: []byte(before)},
				{Pos: n.End(), End: n.End(), NewText: []byte("; " + check)},
			}
		case *ast.AssignStmt:
			call, ok := ast.Unparen(n.Rhs[0]).(*ast.CallExpr)
			if ok && len(n.Rhs) == 1 && call.Lparen == c.Pos() && isStatement(path[i+1], n) {
				edits = assignEdits(pass, n, check)
			}
		case *ast.BlockStmt, *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt:
		default:
			continue
		}
		if edits == nil {
			return nil
		}
		return []analysis.SuggestedFix{{Message: "Return the error", TextEdits: edits}}
	}
	return nil
}

// isStatement reports whether s is a statement of a block, and not a part of an if or a switch.
func isStatement(parent ast.Node, s ast.Stmt) bool {
	switch p := parent.(type) {
	case *ast.BlockStmt:
		return true
	case *ast.CaseClause:
		return true
	case *ast.CommClause:
		return p.Comm != s
	}
	return false
}

// assignEdits gives the blank error of an assignment a name, and checks it. The name err must have
// no other meaning there: the assignment could replace an error that the function needs later.
func assignEdits(pass *analysis.Pass, s *ast.AssignStmt, check string) []analysis.TextEdit {
	last := s.Lhs[len(s.Lhs)-1]
	if !slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { return !isBlank(e) }) {
		return []analysis.TextEdit{
			{Pos: s.Pos(), End: s.Pos(), NewText: []byte("if ")},
			{Pos: last.Pos(), End: s.Rhs[0].Pos(), NewText: []byte("err := ")},
			{Pos: s.End(), End: s.End(), NewText: []byte("; " + check)},
		}
	}
	scope := pass.Pkg.Scope().Innermost(s.Pos())
	if s.Tok != token.DEFINE || !isBlank(last) || scope == nil || scope.Lookup("err") != nil {
		return nil
	}
	if _, outer := scope.LookupParent("err", s.Pos()); outer != nil {
		return nil
	}
	return []analysis.TextEdit{
		{Pos: last.Pos(), End: last.End(), NewText: []byte("err")},
		{Pos: s.End(), End: s.End(), NewText: []byte("\nif " + check)},
	}
}

// isBlank reports whether an expression is the blank identifier.
func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// returnText returns a return of err with zero values for the other results of the function around
// path; "" if it cannot be written simply.
func returnText(pass *analysis.Pass, path []ast.Node) string {
	for _, n := range path {
		var t *ast.FuncType
		switch n := n.(type) {
		case *ast.FuncLit:
			t = n.Type
		case *ast.FuncDecl:
			t = n.Type
		default:
			continue
		}
		return zeros(pass, t)
	}
	return ""
}

// zeros returns what returnText returns for a function of type t. It returns "" if a result is a
// type parameter, whose zero value has no simple text.
func zeros(pass *analysis.Pass, t *ast.FuncType) string {
	if t.Results == nil {
		return ""
	}
	var list []string
	for _, field := range t.Results.List {
		typ := pass.TypesInfo.TypeOf(field.Type)
		if _, generic := types.Unalias(typ).(*types.TypeParam); generic {
			return ""
		}
		var zero string
		switch typ.Underlying().(type) {
		case *types.Struct:
			zero = types.ExprString(field.Type) + "{}"
		case *types.Pointer, *types.Slice, *types.Map, *types.Interface:
			zero = "nil"
		default:
			return ""
		}
		for range max(1, len(field.Names)) {
			list = append(list, zero)
		}
	}
	if last := t.Results.List[len(t.Results.List)-1]; !isError(pass.TypesInfo.TypeOf(last.Type)) {
		return ""
	}
	list[len(list)-1] = "err"
	return "return " + strings.Join(list, ", ")
}
