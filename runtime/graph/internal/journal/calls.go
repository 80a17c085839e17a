package journal

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// DurableCall is the stored result of a durable call.
type DurableCall struct {
	Number int // among the calls of the attempt that have an order, from 1; else 0
	Value  []byte
}

// AppendCall appends the result of a call.
func AppendCall(b []byte, c DurableCall) []byte {
	b = wire.AppendInt(wire.AppendArrayLen(b, 2), int64(c.Number))
	return wire.AppendBytes(b, c.Value)
}

// ReadCall reads what AppendCall wrote.
func ReadCall(b []byte) (c DurableCall, err error) {
	r := wire.NewReader("call", b)
	r.FixedArray(2)
	c.Number, c.Value = r.Int(), r.Bytes()
	if c.Number < 0 || c.Value == nil {
		r.Damage(0, fmt.Errorf("got the call %d with a result of %d bytes; want a number from 0, and a result", c.Number, len(c.Value)))
	}
	err = r.End()
	if !r.Framed() {
		return DurableCall{}, err
	}
	return c, nil
}
