package value

import (
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// The operations of updates, as package cell stores them.
const (
	opSet = iota + 1
	opAppend
	opRemove
	opReplace
	opClear
	opPut
	opDelete
	opUpsert
	opAdd
	opOffer
	opOr
	opAnd
	opReduce
)

// opNames are the names of the operations, by number.
var opNames = [...]string{"", "set", "append", "remove", "replace", "clear", "put", "delete", "upsert", "add", "offer", "or", "and", "reduce"}

// natural returns the operation by which an update gives a value to a field, and the type of its
// operand. It returns 0 for a field that updates do not store.
func natural(f *shape.Field) (op int, operand string) {
	reducer, _, _ := strings.Cut(f.Reducer, "=")
	switch reducer {
	case "append":
		return opAppend, f.Type
	case "merge":
		return opPut, f.Type
	case "upsert":
		return opUpsert, f.Type
	case "union":
		return opAdd, f.Type
	case "sum":
		return opAdd, f.Type
	case "min", "max":
		return opOffer, f.Type
	case "or":
		return opOr, f.Type
	case "and":
		return opAnd, f.Type
	case "reduce":
		return opReduce, f.Input
	case "untracked":
		return 0, ""
	}
	return opSet, f.Type
}

// EncodeUpdate returns the update that text describes, such as the input of a run. text is a JSON
// object. Its names are the fields of the state in Go. The value of a field depends on its
// reducer:
//
//   - append, upsert, union: the elements to add
//   - merge: the entries to put
//   - sum: the number to add
//   - reduce: the argument of the reducer
//   - any other: the value
//
// null clears a field. EncodeUpdate returns a *JSONError if the JSON does not fit s.
func EncodeUpdate(s *shape.State, text []byte) ([]byte, error) {
	return encodeFields(s, text, (*encoder).change)
}

// encodeFields returns the update of the fields that text has. add appends one of them.
func encodeFields(s *shape.State, text []byte, add func(*encoder, *shape.Field, any)) ([]byte, error) {
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	e := encoder{types: s.Types}
	object, ok := v.(map[string]any)
	if !ok {
		e.fail("", "an object with fields of "+s.Name, v)
		return nil, e.err
	}
	var stored []shape.Field
	for _, f := range s.Fields {
		if op, _ := natural(&f); op != 0 {
			stored = append(stored, f)
		}
	}
	e.b = wire.AppendMapLen(e.b, len(object))
	known := 0
	for i := range stored {
		if of, ok := object[stored[i].Name]; ok {
			known++
			add(&e, &stored[i], of)
		}
	}
	if known < len(object) {
		e.unknown("", s.Name, stored, object)
	}
	return e.b, e.err
}

// change appends a field of an update.
func (e *encoder) change(f *shape.Field, v any) {
	op, operand := natural(f)
	e.b = wire.AppendArrayLen(wire.AppendString(e.b, f.Wire), 2)
	if v == nil {
		e.b = wire.AppendNil(wire.AppendInt(e.b, opClear))
		return
	}
	e.b = wire.AppendInt(e.b, int64(op))
	if e.types.Outer(operand).Kind == "bytes" && op != opSet && op != opReduce {
		e.items(f.Name, shape.Layer{Kind: "list", Elem: "uint8"}, v) // the elements are single values here
		return
	}
	e.value(f.Name, operand, v)
}

// Update reads an update, such as the input of a run. The result has the form that [EncodeUpdate]
// reads. But a field with another operation, or with several, is a list of unions, whose tags are
// the names of the operations. If s is nil, the fields have their wire names. Update returns a
// *[wire.Error] if b is not an update.
func Update(s *shape.State, b []byte) (Value, error) {
	if s == nil {
		s = &shape.State{}
	}
	r := wire.NewReader("update", b)
	d := reader{Reader: &r, types: s.Types}
	v := Value{Kind: Struct, Type: s.Name}
	n := d.MapLen()
	for i := 0; i < n && d.OK(); i++ {
		wireName := d.Str()
		f := shape.Field{Name: wireName}
		for _, known := range s.Fields {
			if known.Wire == wireName {
				f = known
			}
		}
		v.Fields = append(v.Fields, Field{Name: f.Name, Value: d.change(&f)})
	}
	return v, r.End()
}

// change reads the operations of a field of an update.
func (d *reader) change(f *shape.Field) Value {
	n := d.ArrayLen()
	all := Value{Kind: List}
	var single Value
	simple := n == 2
	for i := 0; i+1 < n && d.OK(); i += 2 {
		op := d.Int()
		name := strconv.Itoa(op)
		if 0 < op && op < len(opNames) {
			name = opNames[op]
		}
		usual, operand := natural(f)
		if op == opDelete || op == opClear {
			operand = ""
		}
		single = d.value(operand)
		simple = simple && (op == usual || op == opClear)
		all.Items = append(all.Items, Value{Kind: Union, Fields: []Field{{Name: name, Value: single}}})
	}
	if n%2 != 0 {
		d.Skip()
	}
	if simple {
		return single
	}
	return all
}
