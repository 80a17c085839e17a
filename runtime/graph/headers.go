package graph

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Describe returns the thread as the saver lists it: status, head, holder and open questions. It
// reads no state. A thread whose first input waits has Version 0 and status Ready. Describe
// returns checkpoint.ErrNotFound if the thread has neither an open version nor an input that
// waits. Other errors are *SaverErrors.
func (t Thread[S, U]) Describe(ctx context.Context) (checkpoint.Thread, error) {
	return t.thread.describe(ctx)
}

// describe is Thread.Describe.
func (t threadCore) describe(ctx context.Context) (checkpoint.Thread, error) {
	if err := t.usable(); err != nil {
		return checkpoint.Thread{}, err
	}
	p := t.place(checkpoint.ID{})
	p.Namespace = checkpoint.NoCall
	c, err := loadChain(ctx, t.g, t.saver(), p)
	if err == nil && c.Version == 0 {
		return t.queued(ctx)
	}
	return c.Thread, err
}

// queued returns a thread without an open version, if an input waits.
func (t threadCore) queued(ctx context.Context) (checkpoint.Thread, error) {
	call, cancel := context.WithTimeout(ctx, t.g.opt.saverTimeout)
	defer cancel()
	listed, err := checkpoint.FindThread(call, t.saver(), t.id)
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		return checkpoint.Thread{}, t.fail("%w", checkpoint.ErrNotFound)
	case err != nil:
		return checkpoint.Thread{}, t.readError(ctx, "threads", err)
	}
	return listed, nil
}

// headers yields the checkpoints of one version without their states.
func (t threadCore) headers(ctx context.Context, q checkpoint.Query, v views) error {
	l := lister{t: t, q: q, views: v, due: make(map[checkpoint.ID][]checkpoint.Task)}
	all := checkpoint.Query{Before: q.Before, Sources: everySource, Headers: true}
	for rec, err := range t.saver().History(ctx, t.place(checkpoint.ID{}), all) {
		if err != nil {
			return t.readError(ctx, "history", err)
		}
		if err := l.take(rec); err != nil {
			return err
		}
	}
	return l.flush(true)
}

// lister turns records, newest first, into snapshots without states. The due tasks of an edit or a
// resume are in its base, which is an older record. lister holds such records back until it reads
// the base.
type lister struct {
	t     threadCore
	q     checkpoint.Query
	views views
	held  []checkpoint.Record
	due   map[checkpoint.ID][]checkpoint.Task // due tasks of the held records, by base
	taken int
}

func (l *lister) take(rec checkpoint.Record) error {
	if err := l.t.g.owns(l.t.id, &rec); err != nil {
		return err
	}
	full := l.q.Limit > 0 && l.taken == l.q.Limit
	if wanted := !full && l.q.Match(&rec); wanted {
		l.taken++
		l.held = append(l.held, rec)
	}
	if rec.Base == rec.ID && len(l.held) > 0 {
		l.due[rec.ID] = rec.Due
	}
	if err := l.flush(false); err != nil {
		return err
	}
	if len(l.held) == 0 && l.q.Limit > 0 && l.taken == l.q.Limit {
		return errLeft
	}
	return nil
}

// flush yields the records whose due tasks are known, or all of them.
func (l *lister) flush(all bool) error {
	for len(l.held) > 0 {
		rec := &l.held[0]
		due, known := l.due[rec.Base]
		if !known && !all {
			return nil
		}
		if l.views.push(l.t.snapshot(rec, due)); !l.views.pop() {
			return errLeft
		}
		l.held = l.held[1:]
	}
	clear(l.due)
	return nil
}
