package cell_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// checkCodec writes and reads values, which must all differ.
func checkCodec[T any](t *testing.T, name string, codec cell.Codec[T], values ...T) {
	t.Helper()
	for i := range values {
		b, err := codec.Append([]byte("x"), &values[i])
		if err != nil || b[0] != 'x' {
			t.Errorf("%s: Append of %v: %q, %v", name, values[i], b, err)
			continue
		}
		var got T
		r := wire.NewReader(name, b[1:])
		codec.Read(&r, &got)
		if err := r.End(); err != nil {
			t.Errorf("%s: Read of %v: %v", name, values[i], err)
		}
		for j := range values {
			if equal := codec.Equal(&got, &values[j]); equal != (i == j) {
				t.Errorf("%s: Equal(%v, %v) = %v", name, got, values[j], equal)
			}
		}
	}
}

func TestCodecsOfBasicTypes(t *testing.T) {
	type (
		word  string
		small int8
		ratio float32
		yes   bool
		blob  []byte
	)
	checkCodec[word](t, "string", cell.Str[word]{}, "", "a", "\xff")
	checkCodec[small](t, "int8", cell.Int[small]{}, 0, -128, 127)
	checkCodec[int16](t, "int16", cell.Int[int16]{}, 0, -32768, 32767)
	checkCodec[int32](t, "int32", cell.Int[int32]{}, 0, math.MinInt32, math.MaxInt32)
	checkCodec[int](t, "int", cell.Int[int]{}, 0, math.MinInt, math.MaxInt)
	checkCodec[int64](t, "int64", cell.Int[int64]{}, 0, math.MinInt64, math.MaxInt64)
	checkCodec[uint8](t, "uint8", cell.Uint[uint8]{}, 0, 255)
	checkCodec[uint16](t, "uint16", cell.Uint[uint16]{}, 0, 65535)
	checkCodec[uint32](t, "uint32", cell.Uint[uint32]{}, 0, math.MaxUint32)
	checkCodec[uint](t, "uint", cell.Uint[uint]{}, 0, math.MaxUint)
	checkCodec[uint64](t, "uint64", cell.Uint[uint64]{}, 0, math.MaxUint64)
	checkCodec[ratio](t, "float32", cell.Float[ratio]{}, 0, 0.1, ratio(math.NaN()))
	checkCodec[float64](t, "float64", cell.Float[float64]{}, 0, 0.1, math.NaN(), math.Inf(1))
	checkCodec[complex64](t, "complex64", cell.Complex[complex64]{}, 0, 1+2i)
	checkCodec[complex128](t, "complex128", cell.Complex[complex128]{}, 0, 0.1-2i)
	checkCodec[yes](t, "bool", cell.Bool[yes]{}, false, true)
	checkCodec[blob](t, "bytes", cell.Bytes[blob]{}, nil, blob{}, blob("a"))
	checkCodec[time.Time](t, "time", cell.Time{}, time.Time{}, time.Unix(0, 0), time.Unix(1, 1))
}

func TestCodecsRefuseWhatDoesNotFit(t *testing.T) {
	refuses := func(name string, b []byte, read func(r *wire.Reader)) {
		r := wire.NewReader(name, b)
		if read(&r); r.OK() {
			t.Errorf("%s: %x was read", name, b)
		}
	}
	refuses("int8", wire.AppendInt(nil, 128), func(r *wire.Reader) { cell.Int[int8]{}.Read(r, new(int8)) })
	refuses("int16", wire.AppendInt(nil, 32768), func(r *wire.Reader) { cell.Int[int16]{}.Read(r, new(int16)) })
	refuses("int32", wire.AppendInt(nil, 1<<31), func(r *wire.Reader) { cell.Int[int32]{}.Read(r, new(int32)) })
	refuses("uint8", wire.AppendInt(nil, 256), func(r *wire.Reader) { cell.Uint[uint8]{}.Read(r, new(uint8)) })
	refuses("uint16", wire.AppendInt(nil, 65536), func(r *wire.Reader) { cell.Uint[uint16]{}.Read(r, new(uint16)) })
	refuses("uint32", wire.AppendInt(nil, 1<<32), func(r *wire.Reader) { cell.Uint[uint32]{}.Read(r, new(uint32)) })
	refuses("uint64", wire.AppendInt(nil, -1), func(r *wire.Reader) { cell.Uint[uint64]{}.Read(r, new(uint64)) })
	refuses("float32", wire.AppendFloat64(nil, 0.1), func(r *wire.Reader) { cell.Float[float32]{}.Read(r, new(float32)) })
}

// picky is a codec that refuses to write some values.
type picky struct{ cell.Str[string] }

var errPicky = errors.New("not this one")

func (picky) Append(b []byte, v *string) ([]byte, error) {
	if *v == "bad" {
		return b, errPicky
	}
	return wire.AppendString(b, *v), nil
}

func TestEveryOperationSaysThatAValueCannotBeStored(t *testing.T) {
	field := shape.Field{Name: "F", Wire: "f"}
	list := &cell.ListField[string]{Field: field, Elem: picky{}}
	keyed := &cell.KeyedField[byte, string]{Field: field, Elem: picky{}, Keys: cell.Uint[byte]{}, Key: func(v *string) byte { return (*v)[0] }}
	entries := &cell.MapField[string, string]{Field: field, Keys: picky{}, Values: picky{}, Compare: compareLength}
	value := &cell.ValueField[string]{Field: field, Codec: picky{}}
	tests := map[string]func(core *cell.Core, w *cell.UpdateWriter){
		"set": func(core *cell.Core, w *cell.UpdateWriter) {
			var c cell.ValueCell[string]
			c.Bind(core, value, new(string))
			u := state.Set("bad")
			c.Merge(&u)
			value.AppendUpdate(w, &u)
		},
		"append": func(core *cell.Core, w *cell.UpdateWriter) {
			var c cell.ListCell[string]
			c.Bind(core, list, new([]string))
			u := state.Append("good", "bad")
			c.Merge(&u)
			list.AppendUpdate(w, &u)
		},
		"replace": func(core *cell.Core, w *cell.UpdateWriter) {
			var c cell.ListCell[string]
			c.Bind(core, list, new([]string))
			var u state.List[string]
			u.Replace("good", "bad")
			c.Merge(&u)
			list.AppendUpdate(w, &u)
		},
		"upsert": func(core *cell.Core, w *cell.UpdateWriter) {
			var c cell.KeyedCell[byte, string]
			c.Bind(core, keyed, new([]string))
			var u state.Keyed[byte, string]
			u.Upsert("best", "bad")
			c.Merge(&u)
			keyed.AppendUpdate(w, &u)
		},
		"put": func(core *cell.Core, w *cell.UpdateWriter) {
			var c cell.MapCell[string, string]
			c.Bind(core, entries, new(map[string]string))
			u := state.Put("good", "bad")
			c.Merge(&u)
			entries.AppendUpdate(w, &u)
		},
		"put a key": func(core *cell.Core, w *cell.UpdateWriter) {
			var c cell.MapCell[string, string]
			c.Bind(core, entries, new(map[string]string))
			u := state.Put("bad", "good")
			c.Merge(&u)
			entries.AppendUpdate(w, &u)
		},
		"replace a map": func(core *cell.Core, w *cell.UpdateWriter) {
			var c cell.MapCell[string, string]
			c.Bind(core, entries, new(map[string]string))
			var u state.Map[string, string]
			u.Replace(map[string]string{"good": "bad"})
			c.Merge(&u)
			entries.AppendUpdate(w, &u)
		},
	}
	for name, merge := range tests {
		var core cell.Core
		core.Init("S", cell.Options{Record: true}, 1)
		w := cell.NewUpdateWriter(nil)
		core.Begin(0)
		merge(&core, &w)
		_, written := w.End()
		for what, err := range map[string]error{"merge": core.End(), "update": written} {
			var got *state.MergeError
			if !errors.As(err, &got) || got.Field != "F" || !errors.Is(err, errPicky) {
				t.Errorf("%s: %s: got %v, want a *MergeError of F with the codec's error in it", what, name, err)
			}
		}
	}
}

// compareLength orders strings otherwise than Go does.
func compareLength(a, b string) int { return len(a) - len(b) }

func TestErrorsSayWhatToDo(t *testing.T) {
	for want, err := range map[string]error{
		"state: tasks 1 and 3 of one superstep both wrote field Plan, and only one value can be kept; " +
			"let one node write it, or give it a reducer that chooses, such as last": &state.ConflictError{Field: "Plan", Tasks: [2]int{1, 3}},
		"state: field Plan has a value that cannot be stored: not this one": &state.MergeError{Field: "Plan", Err: errPicky},
		"state: stored data: not this one":                                  &state.DecodeError{Field: "Plan", Err: errPicky},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
