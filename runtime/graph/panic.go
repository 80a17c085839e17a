package graph

import (
	"runtime/debug"

	"github.com/graphgen-go/graphgen/runtime/state"
)

// rescue, deferred, makes the panic of user code the error of the call. Whoever returns the error names the place.
func rescue(err *error) {
	if v := recover(); v != nil {
		*err = newPanic(v)
	}
}

func newPanic(v any) *PanicError { return &PanicError{Value: v, Stack: debug.Stack()} }

// appendSent encodes what is sent to a node.
func appendSent(p payload) (_ []byte, err error) {
	defer rescue(&err)
	return p.AppendWire(nil)
}

// appendUpdate encodes an update.
func appendUpdate[S, U any](schema *state.Schema[S, U], u *U) (_ []byte, err error) {
	defer rescue(&err)
	return schema.AppendUpdate(nil, u)
}
