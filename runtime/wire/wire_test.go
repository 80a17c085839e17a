package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// form is a value and its encoding by this package. read returns the value that was read.
type form struct {
	name  string
	bytes []byte
	value any // as another library decodes it
	read  func(r *wire.Reader) any
}

// forms returns values at the limits of every form that is written.
func forms() []form {
	var list []form
	add := func(name string, b []byte, value any, read func(r *wire.Reader) any) {
		list = append(list, form{name, b, value, read})
	}
	add("nil", wire.AppendNil(nil), nil, func(r *wire.Reader) any { r.Nil(); return nil })
	for _, v := range []bool{true, false} {
		add(fmt.Sprint(v), wire.AppendBool(nil, v), v, func(r *wire.Reader) any { return r.Bool() })
	}
	for _, v := range []int64{
		0, 1, 127, 128, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, math.MaxInt64, -1, -32, -33, -128, -129, -32768, -32769,
		math.MinInt32, math.MinInt32 - 1, math.MinInt64,
	} {
		add(fmt.Sprint(v), wire.AppendInt(nil, v), v, func(r *wire.Reader) any { return r.Int64() })
	}
	for _, v := range []uint64{0, 127, 128, 255, 256, 65535, 65536, 1<<32 - 1, 1 << 32, math.MaxUint64} {
		add(fmt.Sprint("u", v), wire.AppendUint(nil, v), v, func(r *wire.Reader) any { return r.Uint64() })
	}
	for _, v := range []float64{0, 1.5, -2, math.MaxFloat64, math.Inf(-1), math.SmallestNonzeroFloat64} {
		add(fmt.Sprint("f", v), wire.AppendFloat64(nil, v), v, func(r *wire.Reader) any { return r.Float64() })
		add(fmt.Sprint("f32 ", v), wire.AppendFloat32(nil, float32(v)), float32(v), func(r *wire.Reader) any { return r.Float32() })
	}
	for _, n := range []int{0, 1, 31, 32, 255, 256, 65535, 65536} {
		s := strings.Repeat("x", n)
		add(fmt.Sprint("string of ", n), wire.AppendString(nil, s), s, func(r *wire.Reader) any { return r.Str() })
		add(fmt.Sprint("bytes of ", n), wire.AppendBytes(nil, []byte(s)), []byte(s), func(r *wire.Reader) any { return r.Bytes() })
	}
	for _, n := range []int{0, 15, 16, 65535, 65536} {
		array, object := wire.AppendArrayLen(nil, n), wire.AppendMapLen(nil, n)
		values, entries := make([]any, n), make(map[string]any, n)
		for i := range n {
			array = wire.AppendNil(array)
			key := fmt.Sprint(i)
			object = wire.AppendNil(wire.AppendString(object, key))
			entries[key] = nil
		}
		add(fmt.Sprint("array of ", n), array, values, readArray)
		add(fmt.Sprint("map of ", n), object, entries, readMap)
	}
	for _, v := range []time.Time{
		{}, time.Unix(0, 0), time.Unix(1<<32-1, 0), time.Unix(1<<32, 0), time.Unix(1<<34-1, 999999999), time.Unix(1<<34, 0),
		time.Unix(-1, 1), time.Date(9999, 12, 31, 23, 59, 59, 1, time.UTC),
	} {
		add(v.UTC().Format(time.RFC3339Nano), wire.AppendTime(nil, v), v.UTC(), func(r *wire.Reader) any { return r.Time() })
	}
	return list
}

func readArray(r *wire.Reader) any {
	n := r.ArrayLen()
	list := wire.MakeSlice[any](r, n)
	for range n {
		if !r.Nil() {
			r.Skip()
		}
		list = append(list, nil)
	}
	return list
}

func readMap(r *wire.Reader) any {
	n := r.MapLen()
	m := wire.MakeMap[string, any](r, n)
	for range n {
		key := r.Key()
		if !r.Nil() {
			r.Skip()
		}
		m[key] = nil
	}
	return m
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, f := range forms() {
		r := wire.NewReader("T", f.bytes)
		got := f.read(&r)
		if err := r.End(); err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		if !same(f.value, got) {
			t.Errorf("%s: got %.80v, want %.80v", f.name, got, f.value)
		}
	}
}

func TestAnotherLibraryReadsWhatIsWritten(t *testing.T) {
	for _, f := range forms() {
		var got any
		if err := msgpack.Unmarshal(f.bytes, &got); err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		if at, ok := got.(time.Time); ok {
			got = at.UTC()
		}
		if want := f.value; !same(plain(want), plain(got)) {
			t.Errorf("%s: got %.80v, want %.80v", f.name, got, want)
		}
	}
}

// plain returns an integer of any type as an int64, or as a uint64 if it does not fit.
func plain(v any) any {
	v64 := reflect.ValueOf(v)
	switch {
	case v64.CanInt():
		return v64.Int()
	case v64.CanUint() && v64.Uint() <= math.MaxInt64:
		return int64(v64.Uint())
	}
	return v
}

// same compares values, which may be large.
func same(want, got any) bool { return reflect.DeepEqual(want, got) }

func TestWhatAnotherLibraryWritesIsRead(t *testing.T) {
	for _, compact := range []bool{false, true} {
		for _, f := range forms() {
			var buf bytes.Buffer
			enc := msgpack.NewEncoder(&buf)
			enc.UseCompactInts(compact)
			enc.UseCompactFloats(compact)
			if err := enc.Encode(f.value); err != nil {
				t.Fatal(err)
			}
			r := wire.NewReader("T", buf.Bytes())
			got := f.read(&r)
			if err := r.End(); err != nil {
				t.Errorf("%s, compact %v, %x: %v", f.name, compact, buf.Bytes()[:min(buf.Len(), 20)], err)
				continue
			}
			if !same(f.value, got) {
				t.Errorf("%s, compact %v: got %.80v, want %.80v", f.name, compact, got, f.value)
			}
		}
	}
}

func TestTheShortestFormIsWritten(t *testing.T) {
	for _, f := range forms() {
		switch f.value.(type) {
		case int64, uint64, string, []byte, nil, bool:
		default:
			continue
		}
		var buf bytes.Buffer
		enc := msgpack.NewEncoder(&buf)
		enc.UseCompactInts(true)
		if err := enc.Encode(f.value); err != nil {
			t.Fatal(err)
		}
		if len(f.bytes) > buf.Len() {
			t.Errorf("%s takes %d bytes, another library takes %d", f.name, len(f.bytes), buf.Len())
		}
	}
}

func TestEveryTruncatedPrefixIsAnError(t *testing.T) {
	for _, f := range forms() {
		if len(f.bytes) > 300 {
			f.bytes = f.bytes[:300]
		}
		for n := range f.bytes {
			r := wire.NewReader("T", f.bytes[:n])
			f.read(&r)
			if f.value == nil && n == 0 {
				continue // Nil reports false, which is not an error
			}
			if r.OK() || r.Err() == nil {
				t.Errorf("%s: the first %d bytes: got no error", f.name, n)
			}
			skip := wire.NewReader("T", f.bytes[:n])
			if skip.Skip(); skip.OK() {
				t.Errorf("%s: skipping the first %d bytes: got no error", f.name, n)
			}
		}
	}
}

func TestSkipReadsOneValueOfAnyKind(t *testing.T) {
	extensions := map[string][]byte{
		"fixext 1": {0xd4, 5, 1}, "fixext 16": append([]byte{0xd8, 5}, make([]byte, 16)...),
		"ext 8": {0xc7, 2, 5, 1, 2}, "ext 16": {0xc8, 0, 1, 5, 1}, "ext 32": {0xc9, 0, 0, 0, 1, 5, 1},
		"nested": {0x92, 0x81, 0xa1, 'k', 0x91, 0xc0, 0x02},
	}
	list := forms()
	for name, b := range extensions {
		list = append(list, form{name: name, bytes: b})
	}
	for _, f := range list {
		r := wire.NewReader("T", append(slices.Clone(f.bytes), 0x2a))
		if raw := r.Raw(); raw != string(f.bytes) {
			t.Errorf("%s: Raw read %d bytes, want %d", f.name, len(raw), len(f.bytes))
		}
		if got := r.Int(); got != 42 || r.End() != nil {
			t.Errorf("%s: the next value is %d, %v", f.name, got, r.Err())
		}
	}
}

func TestNarrowIntegersCheckTheirRange(t *testing.T) {
	reads := map[string]func(r *wire.Reader) string{
		"int8":   func(r *wire.Reader) string { return fmt.Sprint(r.Int8()) },
		"int16":  func(r *wire.Reader) string { return fmt.Sprint(r.Int16()) },
		"int32":  func(r *wire.Reader) string { return fmt.Sprint(r.Int32()) },
		"int":    func(r *wire.Reader) string { return fmt.Sprint(r.Int()) },
		"int64":  func(r *wire.Reader) string { return fmt.Sprint(r.Int64()) },
		"uint8":  func(r *wire.Reader) string { return fmt.Sprint(r.Uint8()) },
		"uint16": func(r *wire.Reader) string { return fmt.Sprint(r.Uint16()) },
		"uint32": func(r *wire.Reader) string { return fmt.Sprint(r.Uint32()) },
		"uint":   func(r *wire.Reader) string { return fmt.Sprint(r.Uint()) },
		"uint64": func(r *wire.Reader) string { return fmt.Sprint(r.Uint64()) },
	}
	fits := map[string][2]string{ // the minimum and the maximum
		"int8": {"-128", "127"}, "int16": {"-32768", "32767"}, "int32": {"-2147483648", "2147483647"},
		"int": {"-9223372036854775808", "9223372036854775807"}, "int64": {"-9223372036854775808", "9223372036854775807"},
		"uint8": {"0", "255"}, "uint16": {"0", "65535"}, "uint32": {"0", "4294967295"},
		"uint": {"0", "18446744073709551615"}, "uint64": {"0", "18446744073709551615"},
	}
	values := []struct {
		text  string
		bytes []byte
	}{
		{"-9223372036854775808", wire.AppendInt(nil, math.MinInt64)}, {"-2147483649", wire.AppendInt(nil, math.MinInt32-1)},
		{"-2147483648", wire.AppendInt(nil, math.MinInt32)}, {"-32769", wire.AppendInt(nil, -32769)}, {"-32768", wire.AppendInt(nil, -32768)},
		{"-129", wire.AppendInt(nil, -129)}, {"-128", wire.AppendInt(nil, -128)}, {"-1", wire.AppendInt(nil, -1)}, {"0", wire.AppendInt(nil, 0)},
		{"127", wire.AppendInt(nil, 127)}, {"128", wire.AppendInt(nil, 128)}, {"255", wire.AppendInt(nil, 255)}, {"256", wire.AppendInt(nil, 256)},
		{"32767", wire.AppendInt(nil, 32767)}, {"32768", wire.AppendInt(nil, 32768)}, {"65535", wire.AppendInt(nil, 65535)},
		{"65536", wire.AppendInt(nil, 65536)}, {"2147483647", wire.AppendInt(nil, math.MaxInt32)}, {"2147483648", wire.AppendInt(nil, 1<<31)},
		{"4294967295", wire.AppendInt(nil, 1<<32-1)}, {"4294967296", wire.AppendInt(nil, 1<<32)},
		{"9223372036854775807", wire.AppendInt(nil, math.MaxInt64)}, {"9223372036854775808", wire.AppendUint(nil, 1<<63)},
		{"18446744073709551615", wire.AppendUint(nil, math.MaxUint64)},
	}
	for name, read := range reads {
		in := false
		for _, v := range values {
			in = in || v.text == fits[name][0]
			r := wire.NewReader("T", v.bytes)
			got := read(&r)
			var err *wire.Error
			switch {
			case in && (r.End() != nil || got != v.text):
				t.Errorf("%s of %s: got %s, %v", name, v.text, got, r.Err())
			case !in && (!errors.As(r.Err(), &err) || err.Kind != wire.Range || err.Found != v.text || err.Want != name):
				t.Errorf("%s of %s: got %s, %v, want an error of its range", name, v.text, got, r.Err())
			}
			in = in && v.text != fits[name][1]
		}
	}
}

func TestFloatsTakeWhatTheyHoldExactly(t *testing.T) {
	tests := []struct {
		name  string
		bytes []byte
		f64   float64
		ok64  bool
		f32   float32
		ok32  bool
	}{
		{"a float32", wire.AppendFloat32(nil, 1.5), 1.5, true, 1.5, true},
		{"a float64 that fits", wire.AppendFloat64(nil, 1.5), 1.5, true, 1.5, true},
		{"a float64 that does not", wire.AppendFloat64(nil, 0.1), 0.1, true, 0, false},
		{"an integer", wire.AppendInt(nil, -7), -7, true, -7, true},
		{"an integer of 53 bits", wire.AppendInt(nil, 1<<53), 1 << 53, true, 1 << 53, true},
		{"an integer of more", wire.AppendInt(nil, 1<<53+1<<10), 0, false, 0, false},
		{"a string", wire.AppendString(nil, "1"), 0, false, 0, false},
	}
	for _, tt := range tests {
		r := wire.NewReader("T", tt.bytes)
		if got := r.Float64(); got != tt.f64 || r.OK() != tt.ok64 {
			t.Errorf("%s as a float64: got %v, %v", tt.name, got, r.Err())
		}
		r = wire.NewReader("T", tt.bytes)
		if got := r.Float32(); got != tt.f32 || r.OK() != tt.ok32 {
			t.Errorf("%s as a float32: got %v, %v", tt.name, got, r.Err())
		}
	}
	r := wire.NewReader("T", wire.AppendFloat64(nil, math.NaN()))
	if got := r.Float32(); got == got || !r.OK() {
		t.Errorf("NaN as a float32: got %v, %v", got, r.Err())
	}
}

func TestComplexAndFixedValues(t *testing.T) {
	b := wire.AppendComplex128(wire.AppendComplex64(nil, 1+2i), 3-4i)
	b = wire.AppendBytes(wire.AppendArrayLen(b, 2), []byte("ab"))
	r := wire.NewReader("T", b)
	if got := r.Complex64(); got != 1+2i {
		t.Errorf("Complex64() = %v", got)
	}
	if got := r.Complex128(); got != 3-4i {
		t.Errorf("Complex128() = %v", got)
	}
	if !r.FixedArray(2) {
		t.Error("FixedArray(2) = false")
	}
	var two [2]byte
	if r.FixedBytes(two[:]); string(two[:]) != "ab" {
		t.Errorf("FixedBytes read %q", two)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	tests := []struct {
		bytes []byte
		read  func(r *wire.Reader)
		want  string
	}{
		{[]byte{0x92, 0, 0}, func(r *wire.Reader) { r.FixedArray(3) }, "want array of 3, got array of 2"},
		{[]byte{0x93, 0, 0, 0}, func(r *wire.Reader) { r.Complex64() }, "want complex64, got array of 3"},
		{[]byte{0x91, 0}, func(r *wire.Reader) { r.Complex128() }, "want complex128, got array of 1"},
		{wire.AppendBytes(nil, []byte("ab")), func(r *wire.Reader) { r.FixedBytes(make([]byte, 3)) }, "want 3 bytes, got 2"},
		{[]byte{0x92, 0, 0}, func(r *wire.Reader) { r.FixedBytes(make([]byte, 2)) }, "want bytes, got array"},
		{[]byte{0x80}, func(r *wire.Reader) { r.Tag("Part") }, "want Part, a map of one, got map of 0"},
	}
	for _, tt := range tests {
		r := wire.NewReader("T", tt.bytes)
		if tt.read(&r); r.OK() || r.Err().Error() != "T: "+tt.want {
			t.Errorf("got %v, want %q", r.Err(), tt.want)
		}
	}
}

func TestErrorsNameThePlace(t *testing.T) {
	pack := func(v any) []byte {
		b, err := msgpack.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	type object = map[string]any
	toString := func(r *wire.Reader) { r.Str() }
	field := func(next func(r *wire.Reader)) func(r *wire.Reader) {
		return func(r *wire.Reader) {
			for range r.MapLen() {
				r.Raw()
				next(r)
			}
		}
	}
	each := func(next func(r *wire.Reader)) func(r *wire.Reader) {
		return func(r *wire.Reader) {
			for range r.ArrayLen() {
				next(r)
			}
		}
	}
	tests := []struct {
		name  string
		bytes []byte
		read  func(r *wire.Reader)
		want  string
	}{
		{"at the root", pack(true), toString, "State: want string, got bool"},
		{"in a field", pack(object{"Name": nil}), field(toString), "State.Name: want string, got nil"},
		{"in a list in a field", pack(object{"Messages": []any{object{"ID": "a"}, object{"ID": 1.5}}}), field(each(field(toString))), "State.Messages[1].ID: want string, got float"},
		{"under a key that is no name", pack(object{"a b": 1}), field(toString), `State["a b"]: want string, got int`},
		{"under a long key", pack(object{strings.Repeat("k", 50): 1}), field(toString), `State["kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk..."]: want string, got int`},
		{"under a number", pack(map[int]any{-3: []byte("x")}), field(toString), "State[-3]: want string, got bytes"},
		{"under a bool", pack(map[bool]any{true: 1}), field(toString), "State[bool]: want string, got int"},
		{"an extension", pack(object{"At": time.Unix(1, 0)}), field(toString), "State.At: want string, got extension"},
		{"the byte that nothing starts with", []byte{0xc1}, toString, "State: want string, got the byte 0xc1, which MessagePack does not use"},
		{"the end", pack(object{"ID": "abc"})[:5], field(toString), "State.ID: want string of 3, got fewer bytes than that"},
		{"after the end", []byte{1, 2}, func(r *wire.Reader) { r.Int() }, "State: more data after the end of the value, at byte 1"},
		{"of a method", pack(object{"When": "noon"}), field(func(r *wire.Reader) { r.Text(func([]byte) error { return errors.New("not a time") }) }), "State.When: not a time"},
		{"an unknown field", pack(object{"New": 1}), func(r *wire.Reader) { r.MapLen(); r.Unknown(r.Key()) }, `State.New: the code has no field "New"`},
		{"an unknown member", pack(object{"Part": object{"gif": 1}}), field(func(r *wire.Reader) { at := r.Offset(); r.UnknownTag(at, "Part", r.Tag("Part")) }), `State.Part: "gif" is no member of Part`},
		{"not a union", pack(object{"Part": object{"a": 1, "b": 2}}), field(func(r *wire.Reader) { r.Tag("Part") }), "State.Part: want Part, a map of one, got map of 2"},
		{"a nanosecond too many", []byte{0xd7, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, func(r *wire.Reader) { r.Time() }, "State: want time, got a nanosecond past the second"},
		{"a long length", []byte{0xdd, 0xff, 0xff, 0xff, 0xff}, func(r *wire.Reader) { r.ArrayLen() }, "State: want array of 4294967295, got fewer bytes than that"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := wire.NewReader("State", tt.bytes)
			tt.read(&r)
			err := r.End()
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestTheFirstErrorSticks(t *testing.T) {
	r := wire.NewReader("T", []byte{0xc0, 1, 2, 3})
	r.Int()
	first := r.Err()
	for _, read := range []func(){
		func() { r.Str() }, func() { r.Bytes() }, func() { r.Time() }, func() { r.Skip() }, func() { r.Fail(0, errors.New("later")) },
		func() { r.Unknown("x") }, func() { r.UnknownTag(0, "a", "b") }, func() { r.Tag("x") }, func() { r.FixedBytes(make([]byte, 1)) },
		func() { r.Binary(func([]byte) error { return errors.New("later") }) }, func() { r.Wire(func([]byte) error { return nil }) },
	} {
		read()
		if r.Err() != first {
			t.Fatalf("the error became %v, want %v", r.Err(), first)
		}
	}
	if r.OK() || r.Left() != 0 || r.MapLen() != 0 || r.ArrayLen() != 0 || r.Raw() != "" || r.Nil() || r.Bool() || r.Float32() != 0 {
		t.Error("the Reader read a value after an error")
	}
	if r.Peek() != 0xc1 {
		t.Errorf("Peek() = %#x, want 0xc1", r.Peek())
	}
	r.Recover(1)
	if got := r.Int() + r.Int() + r.Int(); got != 6 || r.End() != nil {
		t.Errorf("after Recover: got %d, %v, want 6", got, r.Err())
	}
}

func TestUnknownFieldsCanBeDropped(t *testing.T) {
	b := []byte("\x82\xa3New\x92\x01\x02\xa3Old\x03")
	read := func(r *wire.Reader) (old int) {
		for range r.MapLen() {
			switch name := r.Key(); name {
			case "Old":
				old = r.Int()
			default:
				r.Unknown(name)
			}
		}
		return old
	}
	r := wire.NewReader("T", b)
	if read(&r); !errors.Is(r.End(), wire.ErrUnknownField) {
		t.Errorf("got %v, want ErrUnknownField", r.Err())
	}
	r = wire.NewReader("T", b)
	r.DropUnknown()
	if got := read(&r); got != 3 || r.End() != nil {
		t.Errorf("with DropUnknown: got %d, %v, want 3", got, r.Err())
	}
}

func TestDepthIsBounded(t *testing.T) {
	deep := bytes.Repeat([]byte{0x91}, 1<<20)
	r := wire.NewReader("T", append(deep, 0xc0))
	if r.Skip(); r.End() != nil {
		t.Errorf("skipping a value nested a million deep: %v", r.Err())
	}
	var nested func(r *wire.Reader)
	nested = func(r *wire.Reader) {
		if !r.Enter() {
			return
		}
		for range r.ArrayLen() {
			nested(r)
		}
		r.Leave()
	}
	r = wire.NewReader("T", deep)
	nested(&r)
	var err *wire.Error
	if !errors.As(r.Err(), &err) || err.Kind != wire.Depth || len(err.Path) > 300 {
		t.Errorf("got %v, want an error of the depth with a path of bounded length", r.Err())
	}
	fits := append(bytes.Repeat([]byte{0x91}, wire.MaxDepth-1), 0x90)
	r = wire.NewReader("T", fits)
	if nested(&r); r.End() != nil {
		t.Errorf("%d levels: %v", wire.MaxDepth, r.Err())
	}
	if wire.AppendDepth(wire.MaxDepth-1) != nil || !errors.Is(wire.AppendDepth(wire.MaxDepth), wire.ErrDepth) {
		t.Error("AppendDepth fails below MaxDepth, or does not fail at MaxDepth")
	}
}

func TestReadersKeepNothingOfBytes(t *testing.T) {
	b := wire.AppendBytes(wire.AppendString(nil, "text"), []byte("bytes"))
	r := wire.NewReader("T", b)
	clear(b)
	if s, v := r.Str(), r.Bytes(); s != "text" || string(v) != "bytes" {
		t.Errorf("after the input was overwritten: %q, %q", s, v)
	}
}

func TestSizesAreThoseOfWhatIsWritten(t *testing.T) {
	for _, n := range []int{0, 15, 16, 31, 32, 255, 256, 65535, 65536} {
		if got, want := wire.SizeString(strings.Repeat("x", n)), len(wire.AppendString(nil, strings.Repeat("x", n))); got != want {
			t.Errorf("SizeString of %d bytes = %d, want %d", n, got, want)
		}
		if got, want := wire.SizeLen(n), len(wire.AppendArrayLen(nil, n)); got != want {
			t.Errorf("SizeLen(%d) = %d, want %d", n, got, want)
		}
		if got, want := wire.SizeLen(n), len(wire.AppendMapLen(nil, n)); got != want {
			t.Errorf("SizeLen(%d) = %d, want %d for a map", n, got, want)
		}
	}
}

func TestPayloadsOfBasicTypes(t *testing.T) {
	if got, err := viaWire[wire.String]("text"); got != "text" || err != nil {
		t.Errorf("String: got %q, %v", got, err)
	}
	if got, err := viaWire[wire.Bool](true); !bool(got) || err != nil {
		t.Errorf("Bool: got %v, %v", got, err)
	}
	if got, err := viaWire[wire.Int](-70000); got != -70000 || err != nil {
		t.Errorf("Int: got %v, %v", got, err)
	}
	var s wire.String
	var b wire.Bool
	var n wire.Int
	for name, decode := range map[string]func([]byte) error{"String": s.DecodeWire, "Bool": b.DecodeWire, "Int": n.DecodeWire} {
		for _, in := range []string{"", "\xc0", "\x91\x01", "\xa1x\xa1y", "\x01\x01", "\xc3\xc3"} {
			if err := decode([]byte(in)); err == nil {
				t.Errorf("%s of %x: got no error", name, in)
			}
		}
	}
}

// viaWire encodes and decodes a payload, as a graph does.
func viaWire[T any, P wire.Generated[T]](v T) (T, error) {
	var read T
	b, err := P(&v).AppendWire(nil)
	if err != nil {
		return read, err
	}
	return read, P(&read).DecodeWire(b)
}

func TestMethodsOfTypesAreCalled(t *testing.T) {
	b, err := wire.AppendBinary(nil, func() ([]byte, error) { return []byte("bin"), nil })
	if err != nil {
		t.Fatal(err)
	}
	if b, err = wire.AppendText(b, func() ([]byte, error) { return bytes.Repeat([]byte("t"), 40), nil }); err != nil {
		t.Fatal(err)
	}
	b = wire.AppendInt(b, 300)
	var got []string
	keep := func(b []byte) error { got = append(got, string(b)); return nil }
	r := wire.NewReader("T", b)
	r.Binary(keep)
	r.Text(keep)
	r.Wire(keep)
	want := []string{"bin", strings.Repeat("t", 40), "\xcd\x01\x2c"}
	if diff := cmp.Diff(want, got); diff != "" || r.End() != nil {
		t.Errorf("read (-want +got), %v:\n%s", r.Err(), diff)
	}
	broken := errors.New("broken")
	fail := func() ([]byte, error) { return nil, broken }
	if b, err := wire.AppendBinary([]byte("x"), fail); !errors.Is(err, broken) || string(b) != "x" {
		t.Errorf("AppendBinary: got %q, %v", b, err)
	}
	if b, err := wire.AppendText([]byte("x"), fail); !errors.Is(err, broken) || string(b) != "x" {
		t.Errorf("AppendText: got %q, %v", b, err)
	}
	r = wire.NewReader("T", wire.AppendString(nil, "x"))
	r.Text(func([]byte) error { return broken })
	if !errors.Is(r.End(), broken) {
		t.Errorf("Text: got %v, want the method's error", r.Err())
	}
	if b, err := wire.AppendBinary(nil, func() ([]byte, error) { return nil, nil }); err != nil || !bytes.Equal(b, []byte{0xc4, 0}) {
		t.Errorf("AppendBinary of nil: got %x, %v, want empty binary", b, err)
	}
}

func TestMapKeysAreSorted(t *testing.T) {
	if got, want := wire.SortedKeys(map[string]int{"b": 1, "aa": 2, "a": 3}), []string{"a", "aa", "b"}; !slices.Equal(got, want) {
		t.Errorf("SortedKeys = %q, want %q", got, want)
	}
	if got, want := wire.SortedBools(map[bool]int{true: 1, false: 2}), []bool{false, true}; !slices.Equal(got, want) {
		t.Errorf("SortedBools = %v, want %v", got, want)
	}
	if got := wire.SortedBools(map[bool]int{true: 1}); len(got) != 1 || !got[0] {
		t.Errorf("SortedBools of true = %v", got)
	}
}
