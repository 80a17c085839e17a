package graph

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Interrupted reports whether the runtime has interrupted code that runs in a node, so that err is
// no failure of that code. A wrapper that turns errors of such code into results must return these
// errors, perhaps wrapped. ctx is that of the node, not a child with a timeout of its own.
// Interrupted reports true in these cases:
//
//   - err is ErrWaiting: the task waits, even if the node does not return the error. The code
//     after the call then runs without an answer.
//   - ctx has ended, and err is not nil. If the node returns nil then, its update
//     is stored as the result of the task, and the task does not run again.
//   - err is ErrNotAskable or ErrNotDurable: the node does not do what it did before.
//   - err is ErrGraphChanged or checkpoint.ErrDamaged: stored data does not fit the code.
//   - err is a *SaverError: a durable call has succeeded, and its result is not stored. It can
//     also be that of a call for another thread.
//
// All other errors are results: ErrExpired, a *ChildError, failures and timeouts of the code
// itself. A panic and runtime.Goexit are no errors. A wrapper without recover lets them through.
func Interrupted(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return err != nil
	}
	for _, known := range [...]error{ErrWaiting, ErrNotAskable, ErrNotDurable, ErrGraphChanged, checkpoint.ErrDamaged} {
		if errors.Is(err, known) {
			return true
		}
	}
	var saver *SaverError
	return errors.As(err, &saver)
}
