package graph

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// loader reads chains: a saver, or the log of a run.
type loader interface {
	Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error)
}

// loadChain loads a checkpoint of a thread of g with its chain. It ends with ctx, or after
// SaverTimeout.
func loadChain(ctx context.Context, g *core, s loader, p checkpoint.Ref) (checkpoint.Chain, error) {
	if ctx.Err() != nil {
		return checkpoint.Chain{}, stoppedBy(ctx, where(g.name, p.Thread, -1))
	}
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	c, err := s.Load(call, p)
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return c, stoppedBy(ctx, where(g.name, p.Thread, -1))
	}
	if err != nil {
		return c, &SaverError{Graph: g.name, Thread: p.Thread, Step: -1, Op: "load", Err: err}
	}
	return c, nil
}
