package delta_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

type (
	object = map[string]any
	array  = []any
)

// pack writes a value with another library.
func pack(tb testing.TB, v any) []byte {
	tb.Helper()
	var buf bytes.Buffer
	enc := msgpack.NewEncoder(&buf)
	enc.SetSortMapKeys(true)
	enc.UseCompactInts(true)
	enc.UseCompactFloats(true)
	if err := enc.Encode(v); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func unpack(t *testing.T, b []byte) any {
	t.Helper()
	var v any
	if err := msgpack.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v in %x", err, b)
	}
	return v
}

// change returns a delta with the operations on field f.
func change(tb testing.TB, ops ...any) []byte {
	tb.Helper()
	return pack(tb, array{0, object{"f": ops}})
}

func TestOperations(t *testing.T) {
	absent := object{}
	with := func(v any) object { return object{"f": v} }
	tests := []struct {
		name string
		was  object
		ops  []any
		want object
	}{
		{"set what is absent", absent, []any{delta.Set, "v"}, with("v")},
		{"set over a value", with(1), []any{delta.Set, array{2}}, with(array{int8(2)})},
		{"set nil", with(1), []any{delta.Set, nil}, with(nil)},
		{"clear", with(1), []any{delta.Clear, nil}, absent},
		{"clear what is absent", absent, []any{delta.Clear, nil}, absent},
		{"append to what is absent", absent, []any{delta.Append, array{"a", "b"}}, with(array{"a", "b"})},
		{"append to nil", with(nil), []any{delta.Append, array{"a"}}, with(array{"a"})},
		{"append nothing to nil", with(nil), []any{delta.Append, array{}}, with(array{})},
		{"append to a list", with(array{"a"}), []any{delta.Append, array{array{}}}, with(array{"a", array{}})},
		{"set an element", with(array{"a", "b"}), []any{delta.SetAt, array{1, nil}}, with(array{"a", nil})},
		{"remove elements", with(array{"a", "b", "c", "d"}), []any{delta.RemoveAt, array{0, 2}}, with(array{"b", "d"})},
		{"remove no elements", with(array{"a"}), []any{delta.RemoveAt, array{}}, with(array{"a"})},
		{"remove all elements", with(array{"a"}), []any{delta.RemoveAt, array{0}}, with(array{})},
		{"put into what is absent", absent, []any{delta.Put, object{"k": 1}}, with(object{"k": int8(1)})},
		{"put into a map", with(object{"a": 1, "b": 2}), []any{delta.Put, object{"b": 3, "c": 4}}, with(object{"a": int8(1), "b": int8(3), "c": int8(4)})},
		{"put nothing into nil", with(nil), []any{delta.Put, object{}}, with(object{})},
		{"delete", with(object{"a": 1, "b": 2}), []any{delta.Delete, array{"b", "x"}}, with(object{"a": int8(1)})},
		{"delete from what is absent", absent, []any{delta.Delete, array{"b"}}, absent},
		{"delete from nil", with(nil), []any{delta.Delete, array{"b"}}, with(nil)},
		{"several, in order", with(array{"a"}), []any{delta.Append, array{"b"}, delta.SetAt, array{0, "c"}, delta.Clear, nil, delta.Append, array{"d"}}, with(array{"d"})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.was["other"] = "stays"
			tt.want["other"] = "stays"
			got, err := delta.Fold(pack(t, tt.was), change(t, tt.ops...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(any(tt.want), unpack(t, got)); diff != "" {
				t.Errorf("folded (-want +got):\n%s", diff)
			}
			delete(tt.was, "other")
			delete(tt.want, "other")
		})
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	tests := []struct {
		name string
		was  any
		d    []byte
		want error
	}{
		{"append to a map", object{"f": object{}}, change(t, delta.Append, array{1}), delta.ErrNotList},
		{"append to a string", object{"f": "s"}, change(t, delta.Append, array{1}), delta.ErrNotList},
		{"put into a list", object{"f": array{}}, change(t, delta.Put, object{}), delta.ErrNotMap},
		{"put into what was appended to", object{}, change(t, delta.Append, array{}, delta.Put, object{}), delta.ErrNotMap},
		{"append to what was put into", object{}, change(t, delta.Put, object{}, delta.Append, array{}), delta.ErrNotList},
		{"delete from a list", object{"f": array{}}, change(t, delta.Delete, array{"a"}), delta.ErrNotMap},
		{"set an element of what is absent", object{}, change(t, delta.SetAt, array{0, 1}), delta.ErrNotList},
		{"set an element past the end", object{"f": array{1}}, change(t, delta.SetAt, array{1, 1}), delta.ErrIndex},
		{"remove elements out of order", object{"f": array{1, 2}}, change(t, delta.RemoveAt, array{1, 1}), delta.ErrIndex},
		{"remove an element below 0", object{"f": array{1, 2}}, change(t, delta.RemoveAt, array{-1}), delta.ErrIndex},
		{"no such operation", object{}, change(t, 7, nil), delta.ErrOp},
		{"a negative operation", object{}, change(t, -1, nil), delta.ErrOp},
		{"no operand", object{}, change(t, delta.Clear), delta.ErrOdd},
		{"negative dead bytes", object{}, pack(t, array{-1, object{}}), delta.ErrNegative},
		{"a field twice", object{}, nil, delta.ErrTwice},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			snapshot := pack(t, tt.was)
			if tt.d == nil {
				snapshot, tt.d = []byte("\x82\xa1f\x01\xa1f\x02"), change(t, delta.Clear, nil)
			}
			_, err := delta.Fold(snapshot, tt.d)
			var at *wire.Error
			if !errors.Is(err, tt.want) || !errors.As(err, &at) {
				t.Errorf("got %v, want %v in a *wire.Error", err, tt.want)
			}
		})
	}
}

func TestErrorsNameTheDelta(t *testing.T) {
	good, bad := change(t, delta.Set, 1), change(t, delta.Append, array{1})
	if _, err := delta.Fold([]byte{0x80}, good, bad); err == nil || !strings.HasPrefix(err.Error(), "delta 2 of 2: ") {
		t.Errorf("Fold: got %v, want an error of delta 2 of 2", err)
	}
	if _, err := delta.Fold([]byte{0xc0}, good); err == nil || !strings.HasPrefix(err.Error(), "snapshot: ") {
		t.Errorf("Fold: got %v, want an error of the snapshot", err)
	}
	if _, err := delta.Concat(good, []byte{0xc0}, good); err == nil || !strings.HasPrefix(err.Error(), "delta 2 of 3: ") {
		t.Errorf("Concat: got %v, want an error of delta 2 of 3", err)
	}
}

func TestFoldWithoutDeltasIsTheSnapshot(t *testing.T) {
	snapshot := pack(t, object{"a": 1})
	got, err := delta.Fold(snapshot)
	if err != nil || !bytes.Equal(got, snapshot) {
		t.Errorf("got %x, %v, want %x", got, err, snapshot)
	}
}

func TestFoldWritesInOrder(t *testing.T) {
	snapshot := []byte("\x83\xa1b\x01\xa1a\x02\xa2aa\x03")
	got, err := delta.Fold(snapshot, pack(t, array{0, object{"B": array{0, 4}}}))
	if want := "\x84\xa1B\x04\xa1a\x02\xa2aa\x03\xa1b\x01"; err != nil || string(got) != want {
		t.Errorf("names: got %q, %v, want %q", got, err, want)
	}
	ints := func(b []byte, keys ...int64) []byte {
		b = wire.AppendMapLen(b, len(keys))
		for _, key := range keys {
			b = wire.AppendNil(wire.AppendInt(b, key))
		}
		return b
	}
	d := append([]byte("\x92\x00\x81\xa1f\x92\x02"), ints(nil, 5, -1, 70000, math.MinInt64, 0, -200, 128, math.MaxInt64)...)
	got, err = delta.Fold([]byte{0x80}, d)
	want := ints([]byte("\x81\xa1f"), math.MinInt64, -200, -1, 0, 5, 128, 70000, math.MaxInt64)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("integers: got %x, %v, want %x", got, err, want)
	}
	d = []byte("\x92\x00\x81\xa1f\x92\x02\x84\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x00\xff\x01\xcf\x80\x00\x00\x00\x00\x00\x00\x00\x02\x03\x04")
	got, err = delta.Fold([]byte{0x80}, d)
	wantOrder := "\x81\xa1f\x84\xff\x01\x03\x04\xcf\x80\x00\x00\x00\x00\x00\x00\x00\x02\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x00"
	if err != nil || string(got) != wantOrder {
		t.Errorf("large integers: got %x, %v, want %x", got, err, wantOrder)
	}
	d = []byte("\x92\x00\x81\xa1f\x92\x02\x82\xc3\x01\xc2\x02")
	got, err = delta.Fold([]byte{0x80}, d)
	if want := "\x81\xa1f\x82\xc2\x02\xc3\x01"; err != nil || string(got) != want {
		t.Errorf("bools: got %x, %v, want %x", got, err, want)
	}
}

func TestOneKeyHasOneEncoding(t *testing.T) {
	// Keys as other libraries may write them, and the same in their shortest form.
	for name, keys := range map[string][2]string{
		"a long integer":    {"\xd3\x00\x00\x00\x00\x00\x00\x00\x05", "\x05"},
		"an unsigned one":   {"\xcf\x00\x00\x00\x00\x00\x00\x01\x00", "\xcd\x01\x00"},
		"a short negative":  {"\xd1\xff\xff", "\xff"},
		"a long string":     {"\xdb\x00\x00\x00\x01k", "\xa1k"},
		"the shortest form": {"\xa1k", "\xa1k"},
	} {
		snapshot := []byte("\x81\xa1f\x81" + keys[0] + "\x01")
		got, err := delta.Fold(snapshot, []byte("\x92\x00\x81\xa1f\x92\x02\x81"+keys[1]+"\x02"))
		if want := "\x81\xa1f\x81" + keys[1] + "\x02"; err != nil || string(got) != want {
			t.Errorf("%s: put: got %x, %v, want %x", name, got, err, want)
		}
		got, err = delta.Fold(snapshot, []byte("\x92\x00\x81\xa1f\x92\x03\x91"+keys[1]))
		if want := "\x81\xa1f\x80"; err != nil || string(got) != want {
			t.Errorf("%s: delete: got %x, %v, want %x", name, got, err, want)
		}
	}
}

func TestConcatAddsUp(t *testing.T) {
	got, err := delta.Concat(
		pack(t, array{3, object{"b": array{0, 1}, "a": array{1, array{"x"}}}}),
		pack(t, array{300, object{"a": array{1, array{"y"}, 5, array{0}}}}),
		pack(t, array{0, object{}}),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := array{uint16(303), object{
		"a": array{int8(1), array{"x"}, int8(1), array{"y"}, int8(5), array{int8(0)}}, "b": array{int8(0), int8(1)},
	}}
	if diff := cmp.Diff(any(want), unpack(t, got)); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
	if none, err := delta.Concat(); err != nil || string(none) != "\x92\x00\x80" {
		t.Errorf("of none: got %x, %v, want a delta that changes nothing", none, err)
	}
	most := wire.AppendMapLen(wire.AppendInt([]byte{0x92}, math.MaxInt64), 0)
	if _, err := delta.Concat(most, most); err == nil {
		t.Error("more dead bytes than can be counted: got no error")
	}
}

func TestFoldingManyDeltasCostsWhatTheyHold(t *testing.T) {
	work := func(n int) float64 {
		snapshot := pack(t, object{"f": make(array, n)})
		deltas := make([][]byte, n)
		for i := range deltas {
			deltas[i] = change(t, delta.Append, array{fmt.Sprint(i)}, delta.SetAt, array{i, i})
		}
		return testing.AllocsPerRun(3, func() {
			if _, err := delta.Fold(snapshot, deltas...); err != nil {
				t.Fatal(err)
			}
		})
	}
	small, large := work(200), work(2000)
	if large > 11*small {
		t.Errorf("2000 deltas take %v allocations, 200 take %v: want about ten times as many", large, small)
	}
}

func FuzzFold(f *testing.F) {
	f.Add([]byte("\x82\xa1a\x91\x01\xa1f\x81\x05\x06"), []byte("\x92\x00\x81\xa1f\x94\x02\x81\xff\x01\x03\x91\x05"), []byte("\x92\x01\x81\xa1a\x92\x04\x92\x00\xc0"))
	f.Add([]byte("\x81\xa1f\xc0"), change(f, delta.Append, array{1, "x"}), change(f, delta.RemoveAt, array{0}))
	f.Fuzz(func(t *testing.T, snapshot, first, second []byte) {
		folded, err := delta.Fold(snapshot, first, second)
		if err != nil {
			return
		}
		half, err := delta.Fold(snapshot, first)
		if err != nil {
			t.Fatalf("both can be folded, but not the first: %v", err)
		}
		steps, err := delta.Fold(half, second)
		if err != nil || !bytes.Equal(steps, folded) {
			t.Errorf("one by one: %v\n got %x\nwant %x", err, steps, folded)
		}
		again, err := delta.Fold(folded, []byte("\x92\x00\x80"))
		if err != nil || !bytes.Equal(again, folded) {
			t.Errorf("with nothing: %v\n got %x\nwant %x", err, again, folded)
		}
	})
}
