package main

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/operate"
)

// refHelp describes how a command line names a checkpoint.
const refHelp = `A checkpoint is named by its id, by its number in the log (the column SEQ of history), or as head. head~2 is the
checkpoint two before the head on its branch, and due:NODE the newest one there at which the node is due.`

// ops returns the operations on the threads of a saver.
func ops(s checkpoint.Saver) *operate.Operator { return &operate.Operator{Saver: s, Explain: sealed} }

// findThread returns a thread, or a *missingError. If stored data of the thread cannot be read,
// the thread has its id.
func findThread(ctx context.Context, s checkpoint.Saver, id string) (checkpoint.Thread, error) {
	t, err := ops(s).Find(ctx, id)
	if errors.Is(err, checkpoint.ErrNotFound) {
		err = noThread(id)
	}
	return t, err
}

// rowOf returns a thread as the saver lists it. ok is false if it has neither an open version nor
// inputs. A thread with a damaged neighbour is found, too.
func rowOf(ctx context.Context, s checkpoint.Saver, id string) (t checkpoint.Thread, ok bool, err error) {
	if t, err = ops(s).Find(ctx, id); errors.Is(err, checkpoint.ErrNotFound) {
		err = nil
	}
	return t, err == nil && (t.Version > 0 || t.Inputs > 0), err
}
