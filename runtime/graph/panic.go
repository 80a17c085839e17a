package graph

import (
	"runtime/debug"

	"github.com/graphgen-go/graphgen/runtime/state"
)

// rescue turns the panic of user code into the error of the call. Callers defer it and add the
// place to the error.
func rescue(err *error) {
	if v := recover(); v != nil {
		*err = newPanic(v)
	}
}

func newPanic(v any) *PanicError { return &PanicError{Value: v, Stack: debug.Stack()} }

// appendSent encodes the input of a send.
func appendSent(p payload) (_ []byte, err error) {
	defer rescue(&err)
	return p.AppendWire(nil)
}

// appendUpdate encodes an update.
func appendUpdate[S, U any](schema *state.Schema[S, U], u *U) (_ []byte, err error) {
	defer rescue(&err)
	return schema.AppendUpdate(nil, u)
}
