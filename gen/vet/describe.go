package vet

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// describe returns a value or an address as text that resembles the source, such as
// s.Facts[...].Tags.
func describe(v ssa.Value) string {
	switch v := v.(type) {
	case *ssa.Parameter, *ssa.FreeVar, *ssa.Global:
		return v.Name()
	case *ssa.Alloc:
		if v.Comment != "" {
			return v.Comment
		}
	case *ssa.FieldAddr:
		return describe(outside(v.X)) + "." + fieldName(elem(v.X.Type()), v.Field)
	case *ssa.Field:
		return describe(outside(v.X)) + "." + fieldName(v.X.Type(), v.Field)
	case *ssa.IndexAddr:
		return describe(v.X) + "[...]"
	case *ssa.Index:
		return describe(v.X) + "[...]"
	case *ssa.Lookup:
		return describe(v.X) + "[...]"
	case *ssa.Slice:
		return describe(v.X) + "[:]"
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return describe(v.X)
		}
	case *ssa.Extract:
		return describeTuple(v.Tuple)
	case *ssa.ChangeType:
		return describe(v.X)
	case *ssa.TypeAssert:
		return describe(v.X)
	case *ssa.Call:
		if f := callee(&v.Call); f != nil {
			return f.Name() + "(...)"
		}
	case *ssa.Phi:
		if v.Comment != "" {
			return v.Comment
		}
	}
	return "it"
}

func describeTuple(t ssa.Value) string {
	switch t := t.(type) {
	case *ssa.Next:
		if r, ok := t.Iter.(*ssa.Range); ok {
			return describe(r.X) + "[...]"
		}
	case *ssa.Lookup, *ssa.TypeAssert, *ssa.Call:
		return describe(t)
	}
	return "it"
}

// outside returns the struct that embeds the struct v, or its address; v itself if v is no embedded
// field. A source need not name such a field.
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

func fieldName(t types.Type, n int) string {
	if s, ok := t.Underlying().(*types.Struct); ok {
		return s.Field(n).Name()
	}
	return "field"
}
