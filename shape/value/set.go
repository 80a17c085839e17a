package value

import (
	"strings"

	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// EncodeSet returns the update after which fields of a state have exactly the values that text
// describes. text is a JSON object. Its names are the fields of the state in Go. null clears a
// field. Other fields stay as they are.
//
// EncodeSet returns a *JSONError if the JSON does not fit s. It also returns one for a field with
// a custom reducer, because no update sets such a field.
func EncodeSet(s *shape.State, text []byte) ([]byte, error) {
	return encodeFields(s, text, (*encoder).set)
}

// set appends a field of an update that sets the field.
func (e *encoder) set(f *shape.Field, v any) {
	reducer, _, _ := strings.Cut(f.Reducer, "=")
	e.b = wire.AppendString(e.b, f.Wire)
	if v == nil {
		e.b = wire.AppendNil(wire.AppendInt(wire.AppendArrayLen(e.b, 2), opClear))
		return
	}
	op, operand := natural(f)
	switch reducer {
	case "append", "union", "upsert", "merge":
		op = opReplace
	case "sum", "min", "max", "or", "and": // nothing is left that the value could be combined with
		e.b = wire.AppendNil(wire.AppendInt(wire.AppendArrayLen(e.b, 4), opClear))
		e.b = wire.AppendInt(e.b, int64(op))
		e.value(f.Name, operand, v)
		return
	case "reduce":
		e.fail(f.Name, "null, or the value as it is: its reducer decides about any other value", v)
		return
	}
	e.b = wire.AppendInt(wire.AppendArrayLen(e.b, 2), int64(op))
	if e.types.Outer(operand).Kind == "bytes" && op != opSet {
		e.items(f.Name, shape.Layer{Kind: "list", Elem: "uint8"}, v) // the elements are single values here
		return
	}
	e.value(f.Name, operand, v)
}
