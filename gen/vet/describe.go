package vet

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// describe returns a value or an address as text that resembles the source, such as
// s.Facts[...].Tags.
func (x *index) describe(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.Parameter, *ssa.FreeVar, *ssa.Global:
		return v.Name()
	case *ssa.Alloc:
		if isLiteral(v) {
			return x.assigned(v.Pos(), 0)
		}
		if v.Comment != "" {
			return v.Comment
		}
	case *ssa.MakeMap, *ssa.MakeSlice:
		return x.assigned(v.Pos(), 0)
	case *ssa.FieldAddr:
		return x.describe(outside(v.X)) + "." + fieldName(elem(v.X.Type()), v.Field)
	case *ssa.Field:
		return x.describe(outside(v.X)) + "." + fieldName(v.X.Type(), v.Field)
	case *ssa.IndexAddr:
		return x.describe(v.X) + "[...]"
	case *ssa.Index:
		return x.describe(v.X) + "[...]"
	case *ssa.Lookup:
		return x.describe(v.X) + "[...]"
	case *ssa.Slice:
		return x.describe(v.X) + "[:]"
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return x.describe(v.X)
		}
	case *ssa.Extract:
		return x.describeTuple(v.Tuple, v.Index)
	case *ssa.ChangeType:
		return x.describe(v.X)
	case *ssa.TypeAssert:
		return x.describe(v.X)
	case *ssa.Call:
		return x.assigned(v.Pos(), 0)
	case *ssa.Phi:
		if v.Comment != "" {
			return v.Comment
		}
	}
	return "it"
}

// describeTuple describes the n-th value of a tuple, such as that of a range.
func (x *index) describeTuple(t ssa.Value, n int) string {
	switch t := t.(type) {
	case *ssa.Next:
		if r, ok := t.Iter.(*ssa.Range); ok {
			return x.describe(r.X) + "[...]"
		}
	case *ssa.Lookup, *ssa.TypeAssert:
		return x.describe(t)
	case *ssa.Call:
		return x.assigned(t.Pos(), n)
	}
	return "it"
}

// isLiteral reports whether a variable is memory that an expression such as &T{} makes. Its
// comment is a word of package ssa.
func isLiteral(v *ssa.Alloc) bool {
	switch v.Comment {
	case "complit", "slicelit", "new", "makeslice", "varargs":
		return true
	}
	return false
}

// assigned returns the name of the variable that gets the value n of the expression at pos. If
// there is none, it returns a call as f(...), and "it" for others.
func (x *index) assigned(pos token.Pos, n int) string {
	text := "it"
	for _, node := range path(x.files, pos) {
		switch node := node.(type) {
		case *ast.CallExpr:
			if node.Lparen != pos {
				return text // pos is in an argument
			}
			text = types.ExprString(node.Fun) + "(...)"
		case *ast.CompositeLit:
			if node.Lbrace != pos {
				return text
			}
		case *ast.Ident, *ast.SelectorExpr, *ast.IndexExpr, *ast.IndexListExpr, *ast.ParenExpr, *ast.UnaryExpr:
		case *ast.AssignStmt:
			if len(node.Rhs) == 1 && n < len(node.Lhs) {
				return nameOr(node.Lhs[n], text)
			}
			return text
		case *ast.ValueSpec:
			if len(node.Values) == 1 && n < len(node.Names) {
				return nameOr(node.Names[n], text)
			}
			return text
		default:
			return text
		}
	}
	return text
}

// nameOr returns the name of a variable, and other for an expression that is none.
func nameOr(e ast.Expr, other string) string {
	if id, ok := e.(*ast.Ident); ok && id.Name != "_" {
		return id.Name
	}
	return other
}

// outside returns the struct that embeds the struct v, or its address; v itself if v is no
// embedded field. A source need not name such a field.
func outside(v ssa.Value) ssa.Value {
	for {
		switch a := v.(type) {
		case *ssa.FieldAddr:
			if embedded(elem(a.X.Type()), a.Field) {
				v = a.X
				continue
			}
		case *ssa.Field:
			if embedded(a.X.Type(), a.Field) {
				v = a.X
				continue
			}
		}
		return v
	}
}

// fieldName returns the name of the n-th field of a struct type.
func fieldName(t types.Type, n int) string {
	if s, ok := t.Underlying().(*types.Struct); ok {
		return s.Field(n).Name()
	}
	return "field"
}
