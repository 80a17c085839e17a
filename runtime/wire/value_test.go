package wire_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

func TestAUnionsTagIsRead(t *testing.T) {
	b := wire.AppendInt(wire.AppendTag(nil, "text"), 7)
	r := wire.NewReader("T", b)
	if tag, v := r.Tag("Part"), r.Int(); tag != "text" || v != 7 || r.End() != nil {
		t.Errorf("read tag %q and %d, %v", tag, v, r.Err())
	}
	if err := wire.NotMember("Part", 7); !errors.Is(err, wire.ErrNotMember) || !strings.HasPrefix(err.Error(), "Part holds a value of type int, ") {
		t.Errorf("NotMember: got %v", err)
	}
}

func TestEqualityOfValues(t *testing.T) {
	nan := math.NaN()
	for name, got := range map[string]bool{
		"equal floats":      wire.SameFloat(1.5, 1.5),
		"NaN and NaN":       wire.SameFloat(nan, nan),
		"zero of each sign": wire.SameFloat(0, math.Copysign(0, -1)),
		"equal slices":      wire.SameSlice([]int{1}, []int{1}),
		"nil slices":        wire.SameSlice[[]int](nil, nil),
		"equal maps":        wire.SameMap(map[string]int{"a": 1}, map[string]int{"a": 1}),
		"nil maps":          wire.SameMap[map[string]int](nil, nil),
		"equal bytes":       wire.SameBytes(marshal("a"), marshal("a")),
	} {
		if !got {
			t.Errorf("%s are not the same", name)
		}
	}
	for name, got := range map[string]bool{
		"NaN and a number":        wire.SameFloat(nan, 1),
		"slices that differ":      wire.SameSlice([]int{1}, []int{2}),
		"a nil and an empty list": wire.SameSlice([]int{}, nil),
		"maps that differ":        wire.SameMap(map[string]int{"a": 1}, map[string]int{"a": 2}),
		"a nil and an empty map":  wire.SameMap(map[string]int{}, nil),
		"bytes that differ":       wire.SameBytes(marshal("a"), marshal("b")),
		"failures":                wire.SameBytes(failing, failing),
		"a value and a failure":   wire.SameBytes(marshal(""), failing),
	} {
		if got {
			t.Errorf("%s are the same", name)
		}
	}
}

func marshal(s string) func() ([]byte, error) {
	return func() ([]byte, error) { return []byte(s), nil }
}

func failing() ([]byte, error) { return nil, errors.New("refused") }

func TestCopyGoesThroughBytes(t *testing.T) {
	var got string
	keep := func(b []byte) error { got = string(b); return nil }
	if !wire.Copy(marshal("x"), keep) || got != "x" {
		t.Errorf("Copy gave %q", got)
	}
	if wire.Copy(failing, keep) || wire.Copy(marshal("x"), func([]byte) error { return errors.New("refused") }) {
		t.Error("Copy reports true although a method failed")
	}
	b, err := wire.Marshal(func(b []byte) ([]byte, error) { return append(b, 'y'), nil })()
	if err != nil || string(b) != "y" {
		t.Errorf("Marshal gave %q, %v", b, err)
	}
}
