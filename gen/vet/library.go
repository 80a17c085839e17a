package vet

import (
	"go/types"
	"reflect"

	"golang.org/x/tools/go/ssa"
)

// Acts of functions that copy their list if it has no spare capacity.
const (
	appends   = "appends in place to"
	inserts   = "inserts in place into"
	exchanges = "replaces in place in"
)

const decodes = "decodes into"

// grows reports whether a call of a library function writes in place only if the list has spare
// capacity. how is what the function does, such as appends.
func grows(c *ssa.CallCommon, how string) bool {
	return how == appends || how == inserts || how == exchanges && !shrinks(c)
}

// shrinks reports whether a call of slices.Replace certainly adds no more elements than it
// removes.
func shrinks(c *ssa.CallCommon) bool {
	i, ok1 := c.Args[1].(*ssa.Const)
	j, ok2 := c.Args[2].(*ssa.Const)
	added := int64(0)
	if !isNil(c.Args[3]) {
		s, ok := c.Args[3].(*ssa.Slice)
		if !ok {
			return false
		}
		a, ok := s.X.(*ssa.Alloc)
		if !ok {
			return false
		}
		array, ok := elem(a.Type()).Underlying().(*types.Array)
		if !ok || s.Low != nil || s.High != nil {
			return false
		}
		added = array.Len()
	}
	return ok1 && ok2 && added <= j.Int64()-i.Int64()
}

// unwrap returns what an argument of an interface type holds. sort.Reverse refers to its argument.
func unwrap(v ssa.Value) ssa.Value {
	for {
		switch w := v.(type) {
		case *ssa.MakeInterface:
			v = w.X
		case *ssa.ChangeInterface:
			v = w.X
		case *ssa.Call:
			if !calls(callee(&w.Call), "sort", "Reverse") {
				return v
			}
			v = w.Call.Args[0]
		default:
			return v
		}
	}
}

// mutated returns the argument whose memory a function of the standard library changes, and how.
func mutated(c *ssa.CallCommon) (ssa.Value, string) {
	if b, ok := c.Value.(*ssa.Builtin); ok {
		switch b.Name() {
		case "append":
			if len(c.Args) > 1 && !isNil(c.Args[1]) {
				return c.Args[0], appends
			}
		case "copy":
			return c.Args[0], "copies into"
		case "clear":
			return c.Args[0], "clears"
		case "delete":
			return c.Args[0], "deletes from"
		}
		return nil, ""
	}
	f := callee(c)
	switch {
	case calls(f, "sort", "Strings", "Ints", "Float64s", "Slice", "SliceStable", "Sort", "Stable"),
		calls(f, "slices", "Sort", "SortFunc", "SortStableFunc"):
		return c.Args[0], "sorts"
	case calls(f, "slices", "Reverse"):
		return c.Args[0], "reverses"
	case calls(f, "slices", "Delete", "DeleteFunc", "Compact", "CompactFunc"):
		return c.Args[0], "deletes in place from"
	case calls(f, "slices", "Insert") && !isNil(c.Args[2]):
		return c.Args[0], inserts
	case calls(f, "slices", "Replace"):
		return c.Args[0], exchanges
	case calls(f, "slices", "AppendSeq"):
		return c.Args[0], appends
	case calls(f, "maps", "Copy", "Insert"):
		return c.Args[0], "copies into"
	case calls(f, "maps", "DeleteFunc"):
		return c.Args[0], "deletes from"
	case calls(f, "encoding/json", "Unmarshal", "Decoder.Decode"):
		return c.Args[len(c.Args)-1], decodes
	}
	return nil, ""
}

// decoded reports whether json decodes into memory of the run. The variable with the address v
// refers to a map, an array or a value of the state. json fills that memory.
func (f *flow) decoded(v ssa.Value) bool {
	m, ok := v.(*ssa.MakeInterface)
	if !ok {
		return false
	}
	p := placeOf(m.X)
	a := p.variable()
	if a == nil || !fills(elem(m.X.Type())) || f.rootOf(a).contents(a, p.path, m) != shared {
		return false
	}
	for _, w := range accesses(a) {
		if w.kind == writes && overlaps(w.path, p.path) && (isNil(w.val) || replacesNil(w.val)) {
			return false // the variable can be empty
		}
	}
	return true
}

// fills reports whether json keeps the memory behind a value of type t and fills it.
func fills(t types.Type) bool {
	for _, name := range []string{"UnmarshalJSON", "UnmarshalText"} {
		if obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(t), true, nil, name); obj != nil {
			return false
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Map, *types.Pointer:
		return true
	case *types.Slice:
		b, ok := u.Elem().Underlying().(*types.Basic)
		return !ok || b.Kind() != types.Byte
	case *types.Array:
		return fills(u.Elem())
	case *types.Struct:
		for i := range u.NumFields() {
			f := u.Field(i)
			if (f.Exported() || f.Embedded()) && reflect.StructTag(u.Tag(i)).Get("json") != "-" && fills(f.Type()) {
				return true
			}
		}
	}
	return false
}
