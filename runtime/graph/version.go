package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// find loads a checkpoint and returns t at the version that has it. Zero is the head of the open version. A checkpoint that the
// open version does not have is looked for in the released ones, newest first.
func (t Thread[S, U]) find(ctx context.Context, at checkpoint.ID) (Thread[S, U], checkpoint.Chain, error) {
	c, err := loadChain(ctx, t.g, t.saver(), t.place(at))
	if at.IsZero() || t.version != 0 || !errors.Is(err, checkpoint.ErrNotFound) {
		return t, c, err
	}
	call, cancel := context.WithTimeout(ctx, t.g.opt.saverTimeout)
	defer cancel()
	versions, failed := t.saver().Versions(call, t.id)
	if failed != nil {
		return t, c, t.saverError("load", failed)
	}
	for _, v := range slices.Backward(versions) {
		if v.Released.IsZero() {
			continue
		}
		in := t
		in.version = v.Number
		c, failed := loadChain(ctx, t.g, t.saver(), in.place(at))
		if !errors.Is(failed, checkpoint.ErrNotFound) {
			return in, c, failed
		}
	}
	return t, c, err
}

// released returns the error of a call that continues from a checkpoint which the open version does not have: that it is in a
// released one, or else missing.
func (r *run[S, U]) released(at checkpoint.ID, missing error) error {
	t, _, err := Thread[S, U]{g: r.g, id: r.thread}.find(r.ctx, at)
	if err != nil || t.version == 0 {
		return missing
	}
	return fmt.Errorf("%s: %w: checkpoint %s is in version %d; State and History read it, and Invoke begins an empty version",
		where(r.g.name, r.thread, -1), ErrReleased, at, t.version)
}
