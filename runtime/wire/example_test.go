package wire_test

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// Point is a payload with a codec that is written by hand. It is an array of two numbers.
type Point struct{ X, Y int64 }

func (p *Point) AppendWire(b []byte) ([]byte, error) {
	b = wire.AppendArrayLen(b, 2)
	b = wire.AppendInt(b, p.X)
	return wire.AppendInt(b, p.Y), nil
}

func (p *Point) DecodeWire(b []byte) error {
	r := wire.NewReader("Point", b)
	if !r.FixedArray(2) {
		return r.End()
	}
	p.X, p.Y = r.Int64(), r.Int64()
	return r.End()
}

// A payload with a codec that is written by hand.
func Example() {
	b, err := (&Point{X: 3, Y: -4}).AppendWire(nil)
	if err != nil {
		fmt.Println(err)
	}
	var p Point
	fmt.Println(p.DecodeWire(b), p)
	fmt.Println(p.DecodeWire(wire.AppendString(nil, "3")))
	// Output:
	// <nil> {3 -4}
	// Point: want array of 2, got string
}
