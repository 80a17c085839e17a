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

// storedSent encodes the input of a send, and returns the decoded form too.
func storedSent(p payload) (decoded payload, b []byte, err error) {
	defer rescue(&err)
	if b, err = p.AppendWire(nil); err != nil {
		return nil, nil, err
	}
	decoded, err = p.(interface{ decoded([]byte) (payload, error) }).decoded(b)
	return decoded, b, err
}

// appendUpdate encodes an update.
func appendUpdate[S, U any](schema *state.Schema[S, U], u *U) (_ []byte, err error) {
	defer rescue(&err)
	return schema.AppendUpdate(nil, u)
}

// decodeUpdate decodes an update.
func decodeUpdate[S, U any](schema *state.Schema[S, U], b []byte) (u U, err error) {
	defer rescue(&err)
	return u, schema.DecodeUpdate(b, &u)
}
