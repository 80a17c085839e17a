package goldentest

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// rounds is how many random values a property is tried on.
const rounds = 100

// Payload checks the codec and the description of a payload type on random values.
func Payload[T any, P wire.Generated[T]](t *testing.T, prepare func(f *Filler)) {
	t.Helper()
	codec[T]{
		name:   reflect.TypeFor[T]().Name(),
		encode: func(v T) ([]byte, error) { return P(&v).AppendWire(nil) },
		decode: func(b []byte) (v T, err error) { err = P(&v).DecodeWire(b); return v, err },
	}.check(t, prepare)
	d := shape.Of[T, P]()
	checkTravels(t, &d)
	each(t, prepare, func(f *Filler) {
		var v T
		Fill(f, &v)
		b, err := P(&v).AppendWire(nil)
		if err != nil {
			t.Fatal(err)
		}
		conforms(t, d.Types, d.Type, d.Type, loosely(t, b))
		checkPayloadJSON(t, &d, b)
	})
}

// State checks what is generated for a state on random values: the codec, Clone, the description
// and the diff.
func State[S, U, D any](t *testing.T, schema *state.Schema[S, U], diffOf func(before, after S) D, prepare func(f *Filler)) {
	t.Helper()
	codec[S]{
		name: schema.Name,
		encode: func(s S) ([]byte, error) {
			live := schema.New(cell.Options{Record: true})
			live.Load(s)
			return live.AppendSnapshot(nil)
		},
		decode: func(b []byte) (S, error) {
			live := schema.New(cell.Options{Record: true})
			err := live.Decode(b)
			return live.View(), err
		},
		equal: func(a, b S) bool { return len(schema.Diff(a, b)) == 0 },
	}.check(t, prepare)
	each(t, prepare, func(f *Filler) { checkClone(t, schema, f) })
	checkDescription(t, schema, prepare)
	each(t, prepare, func(f *Filler) { checkDiff(t, schema, diffOf, f) })
}

// each runs check with many seeds and stops at the first that fails.
func each(t *testing.T, prepare func(f *Filler), check func(f *Filler)) {
	t.Helper()
	for seed := range uint64(rounds) {
		f := New(t, seed)
		if prepare != nil {
			prepare(f)
		}
		if check(f); t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// codec is how values of one type are written and read.
type codec[T any] struct {
	name   string
	encode func(v T) ([]byte, error)
	decode func(b []byte) (T, error)
	equal  func(a, b T) bool // nil when there is none
}

func (c codec[T]) check(t *testing.T, prepare func(f *Filler)) {
	t.Helper()
	each(t, prepare, func(f *Filler) {
		var v T
		Fill(f, &v)
		b, err := c.encode(v)
		if err != nil {
			t.Fatalf("%s: encode %+v: %v", c.name, v, err)
		}
		c.checkRoundTrip(t, v, b)
		c.checkInterop(t, v, b)
		if f.Rand.IntN(20) == 0 {
			c.checkPrefixes(t, b)
		}
	})
}

func (c codec[T]) checkRoundTrip(t *testing.T, v T, b []byte) {
	t.Helper()
	got, err := c.decode(b)
	if err != nil {
		t.Fatalf("%s: decode what was encoded: %v", c.name, err)
	}
	if !reflect.DeepEqual(got, v) {
		t.Errorf("%s: decoded\n%+v\nwant\n%+v", c.name, got, v)
	}
	if c.equal != nil && !c.equal(got, v) {
		t.Errorf("%s: Equal says that what was decoded differs from\n%+v", c.name, v)
	}
	again, err := c.encode(got)
	if err != nil || !bytes.Equal(again, b) {
		t.Errorf("%s: encoding again gives other bytes (%v)\ngot  %x\nwant %x", c.name, err, again, b)
	}
}

// checkInterop has an independent library read the bytes and write them again its own way.
func (c codec[T]) checkInterop(t *testing.T, v T, b []byte) {
	t.Helper()
	decoder := msgpack.NewDecoder(bytes.NewReader(b))
	decoder.SetMapDecoder(func(d *msgpack.Decoder) (any, error) { return d.DecodeUntypedMap() })
	tree, err := decoder.DecodeInterface()
	if err != nil {
		t.Fatalf("%s: the other library cannot read %x: %v", c.name, b, err)
	}
	var other bytes.Buffer
	encoder := msgpack.NewEncoder(&other) // not the shortest form of integers, and maps in any order
	if err := encoder.Encode(tree); err != nil {
		t.Fatalf("%s: the other library cannot write %v: %v", c.name, tree, err)
	}
	got, err := c.decode(other.Bytes())
	if err != nil {
		t.Fatalf("%s: decode what the other library wrote: %v", c.name, err)
	}
	if !reflect.DeepEqual(got, v) {
		t.Errorf("%s: by way of the other library\n%+v\nwant\n%+v", c.name, got, v)
	}
}

// checkPrefixes checks that data which was cut short is never taken for whole: every prefix of
// short data, and some hundreds of long data.
func (c codec[T]) checkPrefixes(t *testing.T, b []byte) {
	t.Helper()
	for n := 0; n < len(b); n += 1 + len(b)/500 {
		if _, err := c.decode(b[:n]); err == nil {
			t.Fatalf("%s: %d of %d bytes decode without an error: %x", c.name, n, len(b), b[:n])
		}
	}
	if _, err := c.decode(append(bytes.Clone(b), 0xc0)); err == nil {
		t.Errorf("%s: a byte after the end is no error", c.name)
	}
}

// checkClone checks that writing through a clone changes nothing, and that Equal and Changed see
// what differs.
func checkClone[S, U any](t *testing.T, schema *state.Schema[S, U], f *Filler) {
	t.Helper()
	var s S
	Fill(f, &s)
	want := DeepCopy(s)
	clone := schema.Clone(s)
	if len(schema.Diff(clone, s)) != 0 || !reflect.DeepEqual(clone, s) {
		t.Errorf("%s: Clone returned\n%+v\nwant\n%+v", schema.Name, clone, s)
	}
	if changed := state.FieldNames(schema.Diff(s, clone)); changed != nil {
		t.Errorf("%s: Changed(s, Clone(s)) = %q, want nil", schema.Name, changed)
	}
	Scramble(&clone)
	live := schema.New(cell.Options{Record: true})
	live.Load(s)
	copied := live.Clone().View()
	if !reflect.DeepEqual(copied, s) {
		t.Errorf("%s: a clone of its Live shows\n%+v\nwant\n%+v", schema.Name, copied, s)
	}
	Scramble(&copied)
	if !reflect.DeepEqual(s, want) {
		t.Errorf("%s: writing through a clone changed the original to\n%+v\nwant\n%+v", schema.Name, s, want)
	}
	checkChanged(t, schema, s, f)
}

// checkChanged changes one field after the other and expects Changed to name just that.
func checkChanged[S, U any](t *testing.T, schema *state.Schema[S, U], s S, f *Filler) {
	t.Helper()
	for _, field := range schema.Fields {
		if field.Reducer == "untracked" {
			continue
		}
		other := DeepCopy(s)
		v := fieldOf(reflect.ValueOf(&other).Elem(), field.Name)
		f.fill(v, 0)
		was := fieldOf(reflect.ValueOf(&s).Elem(), field.Name)
		same := reflect.DeepEqual(v.Interface(), was.Interface())
		want := fmt.Sprint([]string{field.Name})
		if same {
			want = fmt.Sprint([]string(nil))
		}
		if got := fmt.Sprint(state.FieldNames(schema.Diff(s, other))); got != want {
			t.Errorf("%s: Changed after a change of %s = %s, want %s", schema.Name, field.Name, got, want)
		}
		if got := len(schema.Diff(s, other)) == 0; got != same {
			t.Errorf("%s: Equal after a change of %s = %v, want %v", schema.Name, field.Name, got, same)
		}
	}
}
