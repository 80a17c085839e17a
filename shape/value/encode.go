package value

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// JSONError describes JSON that does not fit its description.
type JSONError struct {
	Path  string // such as Plan.Steps[2]; empty for the value itself
	Want  string // the expected value
	Found string // what the JSON has
}

func (e *JSONError) Error() string {
	where := "the JSON"
	if e.Path != "" {
		where = e.Path
	}
	return where + ": want " + e.Want + ", found " + e.Found
}

// Encode returns the payload of a question, an answer, a signal or a send that text, which is
// JSON, describes. The package documentation has the form of the JSON. A field that text leaves
// out is zero. If p does not know the type, Encode accepts any JSON. It returns a *JSONError if
// the JSON does not fit p.
func Encode(p *shape.Payload, text []byte) ([]byte, error) {
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	if p == nil {
		p = &shape.Payload{}
	}
	e := encoder{types: p.Types}
	e.value("", p.Type, v)
	return e.b, e.err
}

// EncodeState returns the snapshot of a state that text, a JSON object, describes. A field that
// text leaves out was never written. The names are those of the fields in Go. EncodeState returns
// a *JSONError if the JSON does not fit s.
func EncodeState(s *shape.State, text []byte) ([]byte, error) {
	v, err := parse(text)
	if err != nil {
		return nil, err
	}
	stored := slices.DeleteFunc(slices.Clone(s.Fields), func(f shape.Field) bool { return !f.Stored() })
	slices.SortFunc(stored, func(a, b shape.Field) int { return strings.Compare(a.Wire, b.Wire) })
	e := encoder{types: s.Types}
	if v == nil {
		e.fail("", "an object with fields of "+s.Name, v)
	}
	e.fields("", s.Name, stored, v)
	return e.b, e.err
}

// parse parses exactly one JSON value. Numbers keep their digits.
func parse(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, &JSONError{Want: "JSON", Found: err.Error()}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, &JSONError{Want: "one JSON value", Found: "more text after it"}
	}
	return v, nil
}

// encoder appends the MessagePack of JSON values. Its first error is final.
type encoder struct {
	b     []byte
	types shape.Types
	depth int
	err   error
}

func (e *encoder) fail(path, want string, found any) {
	if e.err == nil {
		e.err = &JSONError{Path: path, Want: want, Found: describe(found)}
	}
}

// describe names a JSON value for an error.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return fmt.Sprintf("the string %.40q", v)
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("an object with the names %.80q", slices.Sorted(maps.Keys(v)))
	}
	return fmt.Sprint(v)
}

// value appends v as a value of the type text.
func (e *encoder) value(path, text string, v any) {
	if e.depth++; e.depth > wire.MaxDepth {
		e.fail(path, fmt.Sprintf("at most %d levels", wire.MaxDepth), v)
	}
	if e.err != nil {
		return
	}
	defer func() { e.depth-- }()
	if v == nil && e.types.Outer(text).Kind == "pointer" {
		e.b = wire.AppendNil(e.b)
		return
	}
	text, layer := pointee(e.types, text)
	switch layer.Kind {
	case "", string(shape.Wire):
		e.untyped(v)
	case string(shape.Struct):
		e.fields(path, text, layer.Type.Fields, v)
	case string(shape.Union):
		e.union(path, layer.Type, v)
	case "list":
		e.items(path, layer, v)
	case "map":
		e.entries(path, layer, v)
	case "bytes", string(shape.Binary):
		e.bytes(path, layer, v)
	case string(shape.JSON):
		e.b = wire.AppendString(e.b, compact(v))
	case "string", string(shape.Text):
		if s, ok := v.(string); ok {
			e.b = wire.AppendString(e.b, s)
		} else {
			e.fail(path, "a string", v)
		}
	default:
		e.scalar(path, layer.Kind, v)
	}
}

// compact returns the JSON of a parsed value.
func compact(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // v was parsed from JSON
		return "null"
	}
	return string(b)
}

// scalar appends a bool, a number or a time.
func (e *encoder) scalar(path, kind string, v any) {
	switch kind {
	case "bool":
		if b, ok := v.(bool); ok {
			e.b = wire.AppendBool(e.b, b)
		} else {
			e.fail(path, "true or false", v)
		}
	case "time.Time":
		s, _ := v.(string)
		if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
			e.b = wire.AppendTime(e.b, t)
		} else {
			e.fail(path, "a time in RFC 3339, such as 2026-01-02T15:04:05Z", v)
		}
	case "complex64", "complex128":
		float := map[string]string{"complex64": "float32", "complex128": "float64"}[kind]
		e.items(path, shape.Layer{Kind: "list", Len: "2", Elem: float}, v)
	default:
		e.number(path, kind, v)
	}
}

// number appends a number of the kind, such as int8 or float64.
func (e *encoder) number(path, kind string, v any) {
	n, _ := v.(json.Number)
	bits := 64
	if i := strings.IndexAny(kind, "0123456789"); i > 0 {
		bits, _ = strconv.Atoi(kind[i:])
	}
	switch {
	case strings.HasPrefix(kind, "float"):
		text := string(n)
		if s, ok := v.(string); ok && (s == "NaN" || s == "+Inf" || s == "-Inf") {
			text = s
		}
		f, err := strconv.ParseFloat(text, bits)
		switch {
		case err != nil:
			e.fail(path, "a number that fits in a "+kind, v)
		case bits == 32:
			e.b = wire.AppendFloat32(e.b, float32(f))
		default:
			e.b = wire.AppendFloat64(e.b, f)
		}
	case strings.HasPrefix(kind, "uint"):
		u, err := strconv.ParseUint(string(n), 10, bits)
		if err != nil {
			e.fail(path, "an integer that fits in a "+kind, v)
		}
		e.b = wire.AppendUint(e.b, u)
	default:
		i, err := strconv.ParseInt(string(n), 10, bits)
		if err != nil {
			e.fail(path, "an integer that fits in an "+kind, v)
		}
		e.b = wire.AppendInt(e.b, i)
	}
}

// bytes appends binary.
func (e *encoder) bytes(path string, layer shape.Layer, v any) {
	if v == nil && layer.Len == "" {
		e.b = wire.AppendNil(e.b)
		return
	}
	s, isString := v.(string)
	raw, err := base64.StdEncoding.DecodeString(s)
	switch {
	case !isString || err != nil:
		e.fail(path, "a string in base64", v)
	case layer.Len != "" && layer.Len != strconv.Itoa(len(raw)):
		e.fail(path, "the base64 of "+layer.Len+" bytes", v)
	}
	e.b = wire.AppendBytes(e.b, raw)
}

// fields appends a struct: the fields that the object has.
func (e *encoder) fields(path, text string, declared []shape.Field, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		e.fail(path, "an object for a "+text, v)
		return
	}
	e.b = wire.AppendMapLen(e.b, len(object))
	known := 0
	for _, f := range declared {
		if of, ok := object[f.Name]; ok {
			known++
			e.b = wire.AppendString(e.b, f.Wire)
			e.value(within(path, Struct, f.Name), f.Type, of)
		}
	}
	if known < len(object) {
		e.unknown(path, text, declared, object)
	}
}

// unknown fails because of a name that no field has.
func (e *encoder) unknown(path, text string, declared []shape.Field, object map[string]any) {
	var names []string
	for _, f := range declared {
		names = append(names, f.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(names, name) {
			if e.err == nil {
				e.err = &JSONError{Path: within(path, Struct, name), Want: "one of the fields " + strings.Join(names, ", ") + " of " + text, Found: "another name"}
			}
			return
		}
	}
}

// union appends a map with one entry.
func (e *encoder) union(path string, t *shape.Type, v any) {
	if v == nil {
		e.b = wire.AppendNil(e.b)
		return
	}
	object, _ := v.(map[string]any)
	var tags []string
	for _, m := range t.Members {
		tags = append(tags, m.Tag)
		of, ok := object[m.Tag]
		if ok && len(object) == 1 {
			e.b = wire.AppendTag(e.b, m.Tag)
			e.value(within(path, Union, m.Tag), m.Type, of)
			return
		}
	}
	e.fail(path, "an object with one of the names "+strings.Join(tags, ", "), v)
}

// items appends a list or an array.
func (e *encoder) items(path string, layer shape.Layer, v any) {
	list, ok := v.([]any)
	switch {
	case v == nil && layer.Len == "":
		e.b = wire.AppendNil(e.b)
		return
	case !ok:
		e.fail(path, "an array", v)
	case layer.Len != "" && layer.Len != strconv.Itoa(len(list)):
		e.fail(path, "an array of "+layer.Len, v)
	}
	e.b = wire.AppendArrayLen(e.b, len(list))
	for i, of := range list {
		e.value(path+"["+strconv.Itoa(i)+"]", layer.Elem, of)
	}
}

// entries appends a map, sorted by its keys as generated code does it.
func (e *encoder) entries(path string, layer shape.Layer, v any) {
	object, ok := v.(map[string]any)
	switch {
	case v == nil:
		e.b = wire.AppendNil(e.b)
		return
	case !ok:
		e.fail(path, "an object", v)
		return
	}
	e.b = wire.AppendMapLen(e.b, len(object))
	for _, name := range e.sortedKeys(layer.Key, object) {
		to := within(path, Map, name)
		e.key(to, layer.Key, name)
		e.value(to, layer.Elem, object[name])
	}
}

// sortedKeys returns the names of an object, in the order of keys of the type text.
func (e *encoder) sortedKeys(text string, object map[string]any) []string {
	names := slices.Sorted(maps.Keys(object))
	switch e.types.Outer(text).Kind {
	case "string", "bool", string(shape.Text):
	default:
		slices.SortStableFunc(names, func(a, b string) int {
			x, errX := strconv.ParseFloat(a, 64)
			y, errY := strconv.ParseFloat(b, 64)
			switch {
			case errX != nil || errY != nil || x == y:
				return 0
			case x < y:
				return -1
			}
			return 1
		})
	}
	return names
}

// key appends the key of a map, which is a name of the object.
func (e *encoder) key(path, text, name string) {
	layer := e.types.Outer(text)
	switch layer.Kind {
	case "string", "", string(shape.Text):
		e.b = wire.AppendString(e.b, name)
	case "bool":
		e.value(path, text, map[string]any{"true": true, "false": false}[name])
	case "time.Time":
		e.value(path, text, name)
	default:
		v, err := parse([]byte(name))
		if err != nil {
			v = name
		}
		e.value(path, text, v)
	}
}

// untyped appends any JSON.
func (e *encoder) untyped(v any) {
	switch v := v.(type) {
	case nil:
		e.b = wire.AppendNil(e.b)
	case bool:
		e.b = wire.AppendBool(e.b, v)
	case string:
		e.b = wire.AppendString(e.b, v)
	case json.Number:
		e.untypedNumber(v)
	case []any:
		e.items("", shape.Layer{}, v)
	case map[string]any:
		e.entries("", shape.Layer{}, v)
	}
}

// untypedNumber appends an integer if the number is one.
func (e *encoder) untypedNumber(n json.Number) {
	if i, err := n.Int64(); err == nil {
		e.b = wire.AppendInt(e.b, i)
		return
	}
	if u, err := strconv.ParseUint(string(n), 10, 64); err == nil {
		e.b = wire.AppendUint(e.b, u)
		return
	}
	f, err := n.Float64()
	if err != nil || math.IsInf(f, 0) {
		e.fail("", "a number that fits in a float64", n)
		return
	}
	e.b = wire.AppendFloat64(e.b, f)
}
