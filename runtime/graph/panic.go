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

// guardedState makes a panic of a codec an error.
type guardedState[S, U any] struct{ state.Live[S, U] }

// AppendSnapshot implements journal.State.
func (g guardedState[S, U]) AppendSnapshot(b []byte) (_ []byte, err error) {
	defer rescue(&err)
	return g.Live.AppendSnapshot(b)
}

// AppendDelta implements journal.State.
func (g guardedState[S, U]) AppendDelta(b []byte) (_ []byte, err error) {
	defer rescue(&err)
	return g.Live.AppendDelta(b)
}

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
