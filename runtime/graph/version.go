package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// find loads a checkpoint and returns t at the version that has it. The zero id is the head of the
// open version. If the open version does not have the checkpoint, find searches the released
// versions, newest first.
func (t threadCore) find(ctx context.Context, at checkpoint.ID) (threadCore, checkpoint.Chain, error) {
	version, c, err := findChain(ctx, t.g, t.saver(), t.place(at))
	t.version = version
	return t, c, err
}

// findChain loads a checkpoint of a thread, with its chain. If the open version does not have the
// checkpoint, and p names no version, findChain searches the released versions, newest first. It
// returns the number of the version, or 0 for the open one.
func findChain(ctx context.Context, g *core, saver checkpoint.Saver, p checkpoint.Ref) (version int, c checkpoint.Chain, err error) {
	c, err = loadChain(ctx, g, saver, p)
	if p.At.IsZero() || p.Version != 0 || !errors.Is(err, checkpoint.ErrNotFound) {
		return p.Version, c, err
	}
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	versions, failed := saver.Versions(call, p.Thread)
	if failed != nil {
		return 0, c, &SaverError{Graph: g.name, Thread: p.Thread, Step: -1, Op: "load", Err: failed}
	}
	for _, v := range slices.Backward(versions) {
		if v.Released.IsZero() {
			continue
		}
		p.Version = v.Number
		c, failed := loadChain(ctx, g, saver, p)
		if !errors.Is(failed, checkpoint.ErrNotFound) {
			return p.Version, c, failed
		}
	}
	return 0, c, err
}

// released returns the error of a call that continues from a checkpoint which the open version
// does not have. It returns ErrReleased if a released version has the checkpoint, else missing.
func (r *run) released(at checkpoint.ID, missing error) error {
	version, _, err := findChain(r.ctx, r.g, r.g.opt.saver, checkpoint.Ref{Thread: r.thread, At: at})
	if err != nil || version == 0 {
		return missing
	}
	return fmt.Errorf("%s: %w: checkpoint %s is in version %d; State and History read it, and Invoke begins an empty version",
		where(r.g.name, r.thread, -1), ErrReleased, at, version)
}
