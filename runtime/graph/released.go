package graph

import (
	"context"
	"fmt"
	"iter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// ThreadVersion reads one version of a thread. It can neither run nor edit. Thread.Version returns
// it. It is a small value without state, and safe for concurrent use.
type ThreadVersion[S, U any] struct{ thread Thread[S, U] }

// Version returns the version with number n, usually a released one: n is the Number of a
// checkpoint.Version, which Release and Saver.Versions return. Version reads nothing. If n does
// not exist, the methods of the ThreadVersion return checkpoint.ErrNotFound.
//
//	snap, err := t.Version(1).State(ctx)
func (t Thread[S, U]) Version(n int) ThreadVersion[S, U] {
	t.thread.version, t.thread.at, t.thread.edited, t.edit = n, checkpoint.ID{}, false, nil
	return ThreadVersion[S, U]{t}
}

// State returns the last checkpoint of the version. Errors are those of Thread.State. To read an
// older checkpoint of the version, use Thread.At.
func (v ThreadVersion[S, U]) State(ctx context.Context) (Snapshot[S], error) {
	if err := v.thread.thread.versioned(); err != nil {
		return Snapshot[S]{}, err
	}
	snap, err := v.thread.State(ctx)
	if err != nil {
		return snap, v.thread.thread.named(err)
	}
	return snap, nil
}

// History yields the checkpoints of the version that q selects, newest first. Cost and errors are
// those of Thread.History.
func (v ThreadVersion[S, U]) History(ctx context.Context, q checkpoint.Query) iter.Seq2[Snapshot[S], error] {
	return sequence(v.thread.g, func(all views) error { return v.thread.thread.historyOf(ctx, q, all) })
}

// historyOf is ThreadVersion.History.
func (t threadCore) historyOf(ctx context.Context, q checkpoint.Query, v views) error {
	if err := t.versioned(); err != nil {
		return err
	}
	if err := t.history(ctx, q, v); err != nil {
		return t.named(err)
	}
	return nil
}

// versioned returns an error unless the version of the thread can exist.
func (t threadCore) versioned() error {
	if err := t.usable(); err != nil {
		return err
	}
	if t.version < 1 {
		return t.named(fmt.Errorf("versions are numbered from 1: %w", checkpoint.ErrNotFound))
	}
	return nil
}

// named adds the number of the version to an error.
func (t threadCore) named(err error) error {
	return fmt.Errorf("graph: thread %q, version %d: %w", t.id, t.version, err)
}
