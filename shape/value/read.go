package value

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// State reads the snapshot of a state, such as [checkpoint.Fold] returns. The fields have the
// order of s, without those that were never written, and before unknown ones. If s is nil, the
// fields have their wire names. A value that does not fit s is read as MessagePack alone. State
// returns a *[wire.Error] if b is not MessagePack.
func State(s *shape.State, b []byte) (Value, error) {
	if s == nil {
		s = &shape.State{}
	}
	if len(b) == 0 {
		return Value{Kind: Struct, Type: s.Name}, nil
	}
	r := wire.NewReader("state", b)
	d := reader{Reader: &r, types: s.Types}
	v := d.fields(s.Name, s.Fields)
	v.Fields = slices.DeleteFunc(v.Fields, func(f Field) bool { return strings.HasPrefix(f.Name, renamed) })
	return v, r.End()
}

// renamed is how the mark of a renamed field begins, see package shape.
const renamed = "was,"

// Payload reads the payload of a send, a question, an answer or a signal. If p is nil, or does not
// know the type, the payload is read as MessagePack alone. Payload returns a *[wire.Error] if b is
// not MessagePack.
func Payload(p *shape.Payload, b []byte) (Value, error) {
	if p == nil {
		p = &shape.Payload{}
	}
	r := wire.NewReader("payload", b)
	d := reader{Reader: &r, types: p.Types}
	v := d.value(p.Type)
	return v, r.End()
}

// reader reads values. The types are hints: a value that does not fit its type is read without it.
type reader struct {
	*wire.Reader
	types shape.Types
}

// value reads one value, whose type is text, or unknown if text is empty.
func (d *reader) value(text string) Value {
	if !d.Enter() {
		return Value{}
	}
	defer d.Leave()
	text, layer := pointee(d.types, text)
	v := d.typed(text, layer)
	if v.Type == "" {
		v.Type = text
	}
	return v
}

// pointee removes the pointers of a type, and returns its outermost layer.
func pointee(types shape.Types, text string) (string, shape.Layer) {
	layer := types.Outer(text)
	for range len(types) + len(text) + 1 { // a type can be a pointer to itself
		if layer.Kind != "pointer" {
			break
		}
		text = layer.Elem
		layer = types.Outer(text)
	}
	return text, layer
}

// typed reads a value whose outermost layer is known.
func (d *reader) typed(text string, layer shape.Layer) Value {
	switch c := d.Peek(); {
	case c == 0xc0:
		d.Nil()
		return Value{Kind: Nil}
	case wire.IsMap(c):
		switch layer.Kind {
		case string(shape.Struct):
			return d.fields(text, layer.Type.Fields)
		case string(shape.Union):
			return d.union(layer.Type)
		}
		return d.entries(layer)
	case wire.IsArray(c):
		return d.items(layer)
	case wire.IsString(c):
		s := d.Str()
		if layer.Kind == string(shape.JSON) {
			if v, err := parse([]byte(s)); err == nil {
				return Value{Kind: JSON, Text: compact(v)} // equal values get equal texts
			}
		}
		return Value{Kind: String, Text: strings.Clone(strings.ToValidUTF8(s, "\ufffd"))}
	case c == 0xc2 || c == 0xc3:
		return Value{Kind: Bool, Text: strconv.FormatBool(d.Bool())}
	case wire.IsBytes(c):
		return Value{Kind: Bytes, Text: base64.StdEncoding.EncodeToString(d.Bytes())}
	}
	return d.scalar()
}

// scalar reads a number, a time, or an extension.
func (d *reader) scalar() Value {
	switch c := d.Peek(); {
	case c == 0xca:
		return Value{Kind: Number, Text: formatFloat(float64(d.Float32()), 32)}
	case c == 0xcb:
		return Value{Kind: Number, Text: formatFloat(d.Float64(), 64)}
	case c == 0xcf:
		return Value{Kind: Number, Text: strconv.FormatUint(d.Uint64(), 10)}
	case wire.IsInt(c):
		return Value{Kind: Number, Text: strconv.FormatInt(d.Int64(), 10)}
	}
	ahead := *d.Reader
	if t := ahead.Time(); ahead.OK() {
		*d.Reader = ahead
		return Value{Kind: Time, Text: t.UTC().Format(time.RFC3339Nano)}
	}
	return Value{Kind: Opaque, Text: base64.StdEncoding.EncodeToString([]byte(d.Raw()))}
}

// formatFloat returns a number as JSON has it, or NaN, +Inf or -Inf.
func formatFloat(v float64, bits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', -1, bits)
	}
	b, err := json.Marshal(v)
	if bits == 32 {
		b, err = json.Marshal(float32(v))
	}
	if err != nil {
		return strconv.FormatFloat(v, 'g', -1, bits)
	}
	return string(b)
}

// fields reads a struct. Its fields get the order of their declaration.
func (d *reader) fields(typ string, declared []shape.Field) Value {
	type placed struct {
		Field
		place int
	}
	n := d.MapLen()
	var all []placed
	for i := 0; i < n && d.OK(); i++ {
		name := d.name()
		f := placed{Field{Name: name}, len(declared)}
		var text string
		for i := range declared {
			if of := &declared[i]; of.Wire == name || slices.Contains(of.Was, name) {
				f.Name, f.place, text = of.Name, i, of.Type
				break
			}
		}
		f.Value = d.value(text)
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b placed) int { return a.place - b.place })
	v := Value{Kind: Struct, Type: typ}
	for _, f := range all {
		v.Fields = append(v.Fields, f.Field)
	}
	return v
}

// union reads a map with one entry.
func (d *reader) union(t *shape.Type) Value {
	v := Value{Kind: Union, Type: t.Name}
	n := d.MapLen()
	for i := 0; i < n && d.OK(); i++ {
		tag := d.name()
		var text string
		for _, m := range t.Members {
			if m.Tag == tag {
				text = m.Type
			}
		}
		v.Fields = append(v.Fields, Field{Name: tag, Value: d.value(text)})
	}
	return v
}

// entries reads a map.
func (d *reader) entries(layer shape.Layer) Value {
	v := Value{Kind: Map}
	n := d.MapLen()
	for i := 0; i < n && d.OK(); i++ {
		name := d.name()
		v.Fields = append(v.Fields, Field{Name: name, Value: d.value(layer.Elem)})
	}
	return v
}

// items reads an array.
func (d *reader) items(layer shape.Layer) Value {
	v := Value{Kind: List}
	n := d.ArrayLen()
	for i := 0; i < n && d.OK(); i++ {
		v.Items = append(v.Items, d.value(layer.Elem))
	}
	return v
}

// name reads the key of a map as text. A key that is not a scalar becomes its JSON.
func (d *reader) name() string {
	v := d.value("")
	if v.Kind == List || v.Kind == Map {
		return string(v.appendJSON(nil))
	}
	return v.Text
}
