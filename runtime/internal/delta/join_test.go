package delta_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/internal/delta"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// joinable is a delta with operations on fields, in the order of their names.
func joinable(dead int, fields ...[]byte) []byte {
	b := wire.AppendMapLen(wire.AppendInt(wire.AppendArrayLen(nil, 2), int64(dead)), len(fields))
	return append(b, bytes.Join(fields, nil)...)
}

// sets is a field with Set operations.
func sets(name string, values ...int) []byte {
	b := wire.AppendArrayLen(wire.AppendString(nil, name), 2*len(values))
	for _, v := range values {
		b = wire.AppendInt(wire.AppendInt(b, int64(delta.Set)), int64(v))
	}
	return b
}

// appends is a field with Append operations, each of some elements.
func appends(name string, elements ...[]int) []byte {
	b := wire.AppendArrayLen(wire.AppendString(nil, name), 2*len(elements))
	for _, list := range elements {
		b = wire.AppendArrayLen(wire.AppendInt(b, int64(delta.Append)), len(list))
		for _, v := range list {
			b = wire.AppendInt(b, int64(v))
		}
	}
	return b
}

// mixed is a field with an Append operation, a Set, and another Append.
func mixed(name string) []byte {
	b := wire.AppendArrayLen(wire.AppendString(nil, name), 6)
	for _, op := range [...]delta.Op{delta.Append, delta.Set, delta.Append} {
		b = wire.AppendInt(wire.AppendArrayLen(wire.AppendInt(b, int64(op)), 1), 7)
	}
	return b
}

func TestConsecutiveAppendsAreJoined(t *testing.T) {
	one := func(n int) []byte { return joinable(n, appends("a", []int{n})) }
	deltas := [][]byte{one(1), joinable(0), joinable(0, appends("a", []int{2, 3}), sets("b", 4)), one(5)}
	joined, table, ok := delta.Join(deltas...)
	want := joinable(6, appends("a", []int{1, 2, 3, 5}), sets("b", 4))
	if !ok || !bytes.Equal(joined, want) {
		t.Fatalf("got %x, %t; want %x", joined, ok, want)
	}
	got, err := delta.Cut(joined, table)
	if err != nil || fmt.Sprintf("%x", got) != fmt.Sprintf("%x", deltas) {
		t.Errorf("got %x, %v; want %x", got, err, deltas)
	}
}

func TestJoinedDeltasAreCutIntoTheSameBytes(t *testing.T) {
	for name, deltas := range map[string][][]byte{
		"none":         nil,
		"one":          {joinable(3, sets("a", 1))},
		"empty ones":   {joinable(0), joinable(0), joinable(0, sets("a", 1)), joinable(0)},
		"other fields": {joinable(0, sets("a", 1)), joinable(700, sets("b", 2, 3)), joinable(0, sets("a", 4), sets("b", 5))},
		"out of order": {joinable(0, sets("b", 1), sets("a", 2)), joinable(0, sets("a", 1), sets("a", 2))},
		"no operation": {joinable(0, sets("a")), joinable(0, sets("a", 1))},
		"no elements": {
			joinable(0, appends("a", nil)), joinable(0, appends("a", []int{1}, nil, nil, []int{2, 3})),
			joinable(0, appends("a", nil)), joinable(0, mixed("a")), joinable(0, appends("a", nil, []int{4})),
		},
		"appends":         {joinable(0, appends("a", []int{1})), joinable(9, mixed("a")), joinable(0, mixed("a")), joinable(0, appends("a", []int{2}, []int{3}))},
		"appends in both": {joinable(0, appends("a", []int{1}), appends("b", []int{2})), joinable(0, appends("b", []int{3}))},
	} {
		joined, table, ok := delta.Join(deltas...)
		if !ok {
			t.Errorf("%s: cannot be joined", name)
			continue
		}
		one, err := delta.Fold([]byte{0x80}, joined)
		if each, wrong := delta.Fold([]byte{0x80}, deltas...); err != nil || wrong != nil || !bytes.Equal(one, each) {
			t.Errorf("%s: the joined delta makes %x, %v; want %x, %v", name, one, err, each, wrong)
		}
		got, err := delta.Cut(joined, table)
		if err != nil || fmt.Sprintf("%x", got) != fmt.Sprintf("%x", deltas) {
			t.Errorf("%s: got %x, %v; want %x", name, got, err, deltas)
		}
	}
}

func TestWhatIsNoDeltaIsNotJoined(t *testing.T) {
	for name, d := range map[string][]byte{
		"other bytes": []byte("ciphertext"), "nothing": {}, "nil": nil,
		"a number written long": {0x92, 0xcd, 0, 0, 0x80},
	} {
		if _, _, ok := delta.Join(joinable(0, sets("a", 1)), d); ok {
			t.Errorf("%s: is joined, and cannot be cut into the same bytes", name)
		}
	}
}

// Any bytes are deltas or an error, and what Join says it can join is cut into the same bytes.
func FuzzJoin(f *testing.F) {
	f.Add(joinable(0, sets("a", 1)), joinable(5, sets("a", 1), sets("b", 2)), []byte{0, 0})
	f.Add(joinable(0), []byte{0x92}, []byte{0xff, 0xff})
	f.Add(joinable(0, appends("a", []int{1}, nil)), joinable(5, mixed("a")), []byte{0, 1, 0, 1, 1})
	f.Fuzz(func(t *testing.T, a, b, other []byte) {
		joined, table, ok := delta.Join(a, b, a)
		if ok {
			got, err := delta.Cut(joined, table)
			if err != nil || len(got) != 3 || !bytes.Equal(got[0], a) || !bytes.Equal(got[1], b) || !bytes.Equal(got[2], a) {
				t.Fatalf("got %x, %v; want %x, %x and %x", got, err, a, b, a)
			}
		}
		if cut, err := delta.Cut(a, other); err == nil {
			if again, err := delta.Concat(cut...); err == nil && len(cut) > 0 {
				if _, err := delta.Cut(again, other); err != nil {
					t.Fatalf("cut %x by %x into %x, and not again: %v", a, other, cut, err)
				}
			}
		}
	})
}
