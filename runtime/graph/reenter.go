package graph

import (
	"context"
	"fmt"
	"sync/atomic"
)

// holding records that a run holds a thread. The contexts of its nodes carry it, so that a node's
// call on the same thread returns an error instead of waiting for itself.
type holding struct {
	store  any // see core.store
	thread string
	outer  *holding // the holding of the run whose node started this run; nil for none
	over   atomic.Bool
}

type holdingKey struct{}

// hold returns the context of a run that holds the thread until release is called.
func (t threadCore) hold(ctx context.Context) (held context.Context, release func()) {
	h := &holding{store: t.g.store, thread: t.id}
	h.outer, _ = ctx.Value(holdingKey{}).(*holding)
	return context.WithValue(ctx, holdingKey{}, h), func() { h.over.Store(true) }
}

// reenters returns an error if ctx is that of a node whose own run holds the thread.
func (t threadCore) reenters(ctx context.Context) error {
	h, _ := ctx.Value(holdingKey{}).(*holding)
	for ; h != nil; h = h.outer {
		if h.thread != t.id || h.store != t.g.store || h.over.Load() {
			continue
		}
		by := "code of the run"
		if at := CurrentTask(ctx); at.Node != "" {
			by = fmt.Sprintf("node %q of graph %q", at.Node, at.Graph)
		}
		return t.fail("%w: %s called on it; return an update, or use another thread", ErrOwnThread, by)
	}
	return nil
}
