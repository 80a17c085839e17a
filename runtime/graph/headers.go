package graph

import (
	"context"
	"errors"
	"iter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Describe returns what the saver knows of the thread as a whole: its status, head, holder and open questions. It reads no state.
// A thread without an open version is checkpoint.ErrNotFound; other errors are *SaverErrors.
func (t Thread[S, U]) Describe(ctx context.Context) (checkpoint.Thread, error) {
	if err := t.ready(); err != nil {
		return checkpoint.Thread{}, err
	}
	p := t.place(checkpoint.ID{})
	p.Namespace = noNamespace
	c, err := loadChain(ctx, &t.g.core, t.saver(), p)
	if err == nil && c.Version == 0 {
		err = t.fail("%w", checkpoint.ErrNotFound)
	}
	return c.Thread, err
}

// noNamespace is a namespace without records: those of subgraphs are made of the keys of tasks.
const noNamespace = "-"

// Checkpoints yields what History does, but without the states: State is zero, and none is built. It reads hardly more records
// than it yields.
func (t Thread[S, U]) Checkpoints(ctx context.Context, q checkpoint.Query) iter.Seq2[Snapshot[S], error] {
	return func(yield func(Snapshot[S], error) bool) {
		err := t.past(ctx, q, func(t Thread[S, U], q checkpoint.Query) error { return t.headers(ctx, q, yield) })
		if err != nil && !errors.Is(err, errLeft) {
			yield(Snapshot[S]{}, err)
		}
	}
}

// headers yields the checkpoints of one version without their states.
func (t Thread[S, U]) headers(ctx context.Context, q checkpoint.Query, yield func(Snapshot[S], error) bool) error {
	l := lister[S, U]{t: t, q: q, yield: yield, due: make(map[checkpoint.ID][]checkpoint.Task)}
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

// lister turns records, newest first, into snapshots without states. An edit and a resume leave due what their base made so, which
// is an older record: they are held back until it comes.
type lister[S, U any] struct {
	t     Thread[S, U]
	q     checkpoint.Query
	yield func(Snapshot[S], error) bool
	held  []checkpoint.Record
	due   map[checkpoint.ID][]checkpoint.Task // by base, of those held
	taken int
}

func (l *lister[S, U]) take(rec checkpoint.Record) error {
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

// flush yields what is known whole, or all of it.
func (l *lister[S, U]) flush(all bool) error {
	for len(l.held) > 0 {
		rec := &l.held[0]
		due, known := l.due[rec.Base]
		if !known && !all {
			return nil
		}
		if !l.yield(l.t.snapshot(rec, due), nil) {
			return errLeft
		}
		l.held = l.held[1:]
	}
	clear(l.due)
	return nil
}
