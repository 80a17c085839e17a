package graph

import (
	"context"
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

// appendState encodes the whole state, or the change since it was last encoded.
func appendState[S, U any](live state.Live[S, U], b []byte, whole bool) (_ []byte, err error) {
	defer rescue(&err)
	if whole {
		return live.AppendSnapshot(b)
	}
	return live.AppendDelta(b)
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

// guarded calls a saver.
func guarded(ctx context.Context, call func(context.Context) error) (err error) {
	defer rescue(&err)
	return call(ctx)
}
