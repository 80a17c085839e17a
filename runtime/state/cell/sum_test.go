package cell_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/state/cell"
	"github.com/graphgen-go/graphgen/shape"
)

// summed is what a field of type T is after two tasks add to it, and the error of the second.
func summed[T state.Number](t *testing.T, codec cell.Codec[T], first, second T) (T, error) {
	t.Helper()
	var core cell.Core
	var c cell.SumCell[T]
	var v T
	core.Init("S", cell.Options{Record: true}, 1)
	c.Bind(&core, &cell.SumField[T]{Field: shape.Field{Name: "N", Wire: "n", Type: "T"}, Codec: codec}, &v)
	for task, n := range []T{first, second} {
		u := state.Add(n)
		core.Begin(task)
		c.Merge(&u)
	}
	return v, core.End()
}

// checkSum fails unless first and second add up to want, or are an overflow that leaves first.
func checkSum[T state.Number](t *testing.T, codec cell.Codec[T], first, second, want T, fits bool) {
	t.Helper()
	got, err := summed(t, codec, first, second)
	var over *state.OverflowError
	switch {
	case fits && (err != nil || got != want):
		t.Errorf("%T: %v + %v: got %v, %v; want %v", got, first, second, got, err, want)
	case !fits && (!errors.As(err, &over) || over.Field != "N" || over.Task != 1 || got != first):
		t.Errorf("%T: %v + %v: got %v, %v; want an overflow of N by task 1 that leaves the first", got, first, second, got, err)
	}
	var u state.Sum[T]
	u.Add(first)
	u.Add(second)
	if _, err := summed(t, codec, 0, second); err != nil {
		t.Errorf("%T: 0 + %v: %v", got, second, err)
	}
	w := cell.NewUpdateWriter(nil)
	(&cell.SumField[T]{Field: shape.Field{Name: "N"}, Codec: codec}).AppendUpdate(&w, &u)
	if _, err := w.End(); errors.As(err, &over) == fits {
		t.Errorf("%T: %v + %v in one update: got %v when it is stored", got, first, second, err)
	}
}

func TestSumsOfEightBitsOverflowExactlyWhenTheyDoNotFit(t *testing.T) {
	for a := -128; a < 256; a++ {
		for b := -128; b < 256; b++ {
			if a <= math.MaxInt8 && b <= math.MaxInt8 {
				checkSum(t, cell.Int[int8]{}, int8(a), int8(b), int8(a+b), a+b >= math.MinInt8 && a+b <= math.MaxInt8)
			}
			if a >= 0 && b >= 0 {
				checkSum(t, cell.Uint[uint8]{}, uint8(a), uint8(b), uint8(a+b), a+b <= math.MaxUint8)
			}
		}
	}
}

func TestSumsOfEveryKindOverflowAtTheEndOfItsRange(t *testing.T) {
	signed[int16](t, math.MinInt16, math.MaxInt16)
	signed[int32](t, math.MinInt32, math.MaxInt32)
	signed[int64](t, math.MinInt64, math.MaxInt64)
	signed[int](t, math.MinInt, math.MaxInt)
	signed[time.Duration](t, math.MinInt64, math.MaxInt64)
	unsigned[uint16](t, math.MaxUint16)
	unsigned[uint32](t, math.MaxUint32)
	unsigned[uint64](t, math.MaxUint64)
	unsigned[uint](t, math.MaxUint)
	checkSum(t, cell.Float[float64]{}, math.MaxFloat64, math.MaxFloat64, math.Inf(1), true)
	checkSum(t, cell.Float[float32]{}, math.MaxFloat32, math.MaxFloat32, float32(math.Inf(1)), true)
	checkSum(t, cell.Complex[complex128]{}, complex(math.MaxFloat64, 0), complex(math.MaxFloat64, 1), complex(math.Inf(1), 1), true)
}

func signed[T ~int | ~int16 | ~int32 | ~int64](t *testing.T, least, most T) {
	t.Helper()
	codec := cell.Int[T]{}
	checkSum(t, codec, most, 0, most, true)
	checkSum(t, codec, most, 1, 0, false)
	checkSum(t, codec, 1, most, 0, false)
	checkSum(t, codec, most-1, 1, most, true)
	checkSum(t, codec, most, least, -1, true)
	checkSum(t, codec, least, -1, 0, false)
	checkSum(t, codec, -1, least, 0, false)
	checkSum(t, codec, least+1, -1, least, true)
	checkSum(t, codec, least, least, 0, false)
	checkSum(t, codec, most, most, 0, false)
}

func unsigned[T ~uint | ~uint16 | ~uint32 | ~uint64](t *testing.T, most T) {
	t.Helper()
	codec := cell.Uint[T]{}
	checkSum(t, codec, most, 0, most, true)
	checkSum(t, codec, most-1, 1, most, true)
	checkSum(t, codec, most, 1, 0, false)
	checkSum(t, codec, 1, most, 0, false)
	checkSum(t, codec, most, most, 0, false)
}

func TestAddingUpAllocatesNothing(t *testing.T) {
	var core cell.Core
	var c cell.SumCell[int8]
	var v int8
	core.Init("S", cell.Options{}, 1)
	c.Bind(&core, &cell.SumField[int8]{Codec: cell.Int[int8]{}}, &v)
	got := testing.AllocsPerRun(100, func() {
		var u state.Sum[int8]
		u.Add(1)
		u.Add(-1)
		c.Merge(&u)
	})
	if got != 0 || core.End() != nil {
		t.Errorf("a sum takes %v allocations (%v), want none", got, core.End())
	}
}
