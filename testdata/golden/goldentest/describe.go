package goldentest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// checkDescription checks that the description of a state is true of what is stored, and has the
// schema's fingerprint.
func checkDescription[S, U any](t *testing.T, schema *state.Schema[S, U], prepare func(f *Filler)) {
	t.Helper()
	d := schema.Describe()
	if got := d.Fingerprint(); got != schema.Fingerprint {
		t.Errorf("%s: the description has the fingerprint %#x, the schema %#x", schema.Name, got, schema.Fingerprint)
	}
	checkTravels(t, &d)
	fields := make(map[string]shape.Field)
	for _, f := range d.Fields {
		if f.Stored() {
			fields[f.Wire] = f
		}
	}
	each(t, prepare, func(f *Filler) {
		var s S
		Fill(f, &s)
		live := schema.New(cell.Options{})
		live.Load(s)
		b, err := live.AppendSnapshot(nil)
		if err != nil {
			t.Fatal(err)
		}
		checkStateJSON(t, &d, b, schema.New(cell.Options{}).Decode)
		stored, _ := loosely(t, b).(map[any]any)
		for name, v := range stored {
			field, ok := fields[fmt.Sprint(name)]
			if strings.HasPrefix(fmt.Sprint(name), "was,") {
				continue
			}
			if !ok {
				t.Errorf("%s stores %q, which its description does not have", schema.Name, name)
				continue
			}
			conforms(t, d.Types, field.Type, field.Name, v)
		}
	})
}

// checkTravels checks that a description is what it was after it was written and read.
func checkTravels[T any, P wire.Generated[T]](t *testing.T, d P) {
	t.Helper()
	b, err := d.AppendWire(nil)
	if err != nil {
		t.Fatal(err)
	}
	var read T
	if err := P(&read).DecodeWire(b); err != nil {
		t.Fatal(err)
	}
	if again, err := P(&read).AppendWire(nil); err != nil || !bytes.Equal(again, b) {
		t.Errorf("the description is %+v, %v after it was written and read; want %+v", read, err, *d)
	}
}

// loosely reads MessagePack without knowing its types.
func loosely(t *testing.T, b []byte) any {
	t.Helper()
	dec := msgpack.NewDecoder(bytes.NewReader(b))
	dec.SetMapDecoder(func(d *msgpack.Decoder) (any, error) { return d.DecodeUntypedMap() })
	v, err := dec.DecodeInterface()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// conforms checks that a stored value is of a described type.
func conforms(t *testing.T, types shape.Types, text, path string, v any) {
	t.Helper()
	layer := types.Outer(text)
	ok := true
	switch layer.Kind {
	case "pointer":
		if v != nil {
			conforms(t, types, layer.Elem, path, v)
		}
	case "list":
		list, isList := v.([]any)
		ok = isList && (layer.Len == "" || layer.Len == strconv.Itoa(len(list))) || v == nil && layer.Len == ""
		for _, elem := range list {
			conforms(t, types, layer.Elem, path+"[]", elem)
		}
	case "bytes":
		b, isBytes := v.([]byte)
		ok = isBytes && (layer.Len == "" || layer.Len == strconv.Itoa(len(b))) || v == nil && layer.Len == ""
	case "map":
		table, isMap := v.(map[any]any)
		ok = isMap || v == nil
		for key, elem := range table {
			conforms(t, types, layer.Key, path+"[key]", key)
			conforms(t, types, layer.Elem, path+"[]", elem)
		}
	case string(shape.Struct):
		ok = conformsToStruct(t, types, layer.Type, path, v)
	case string(shape.Union):
		ok = conformsToUnion(t, types, layer.Type, path, v)
	case string(shape.Wire):
	case string(shape.Binary):
		_, isBytes := v.([]byte)
		ok = isBytes || v == nil
	case string(shape.Text), string(shape.JSON):
		_, ok = v.(string)
	default:
		ok = isBasic(layer.Kind, v)
	}
	if !ok {
		t.Errorf("%s is described as %s, whose outer layer is %+v; stored is %T %v", path, text, layer, v, v)
	}
}

func conformsToStruct(t *testing.T, types shape.Types, of *shape.Type, path string, v any) bool {
	t.Helper()
	table, ok := v.(map[any]any)
	if !ok || len(table) != len(of.Fields) {
		return false
	}
	for _, f := range of.Fields {
		elem, has := table[f.Wire]
		if !has {
			return false
		}
		conforms(t, types, f.Type, path+"."+f.Name, elem)
	}
	return true
}

func conformsToUnion(t *testing.T, types shape.Types, of *shape.Type, path string, v any) bool {
	t.Helper()
	if v == nil {
		return true
	}
	table, ok := v.(map[any]any)
	if !ok || len(table) != 1 {
		return false
	}
	for _, m := range of.Members {
		if elem, has := table[m.Tag]; has {
			conforms(t, types, m.Type, path+"."+m.Tag, elem)
			return true
		}
	}
	return false
}

// isBasic reports whether a stored value is of a type that Go declares.
func isBasic(kind string, v any) bool {
	switch v.(type) {
	case bool, string, time.Time, *time.Time:
		return strings.TrimPrefix(fmt.Sprintf("%T", v), "*") == kind
	case float32, float64:
		return kind == "float32" || kind == "float64"
	case []any:
		return kind == "complex64" || kind == "complex128"
	}
	return strings.HasPrefix(strings.TrimPrefix(kind, "u"), "int") && strings.Contains(fmt.Sprintf("%T", v), "int")
}
