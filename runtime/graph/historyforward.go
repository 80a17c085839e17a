package graph

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// HistoryForward yields the checkpoints from the one that At names up to the newest, oldest first.
// Without At it starts at the oldest. It reads each record at most twice and keeps one state,
// however many checkpoints there are.
//
// The State of a snapshot is valid until the next iteration, which overwrites it. Clone a state to
// keep it.
//
// If most is greater than 0, HistoryForward looks for the checkpoint of At only among that number
// of newest checkpoints. If it is not among them, the error is checkpoint.ErrNotFound. Other
// errors are those of History.
func (t Thread[S, U]) HistoryForward(ctx context.Context, most int) iter.Seq2[Snapshot[S], error] {
	return sequence(t.g, func(v views) error { return t.thread.forward(ctx, most, v) })
}

// forward is Thread.HistoryForward.
func (t threadCore) forward(ctx context.Context, most int, v views) error {
	if err := t.usable(); err != nil {
		return err
	}
	w := way{past: past{t: t, state: v.state}}
	found, err := w.back(ctx, most)
	if err == nil && !found && most < 1 { // the checkpoint may be in a released version
		if w.past.t, _, err = t.find(ctx, t.at); err == nil {
			found, err = w.back(ctx, most)
		}
	}
	switch {
	case err != nil:
		return err
	case !found:
		return t.fail("checkpoint %s is not among the newest %d: %w", t.at, most, checkpoint.ErrNotFound)
	}
	for len(w.ids) > 0 {
		rec, err := w.next(ctx)
		if err != nil {
			return err
		}
		if rec.Source == checkpoint.Resume {
			continue
		}
		s, err := w.past.snapshot(ctx, &rec)
		if err != nil {
			return err
		}
		if v.push(s); !v.pop() {
			return nil
		}
	}
	return nil
}

// way is a part of a log. It reads records backwards to the beginning, and then yields them
// forwards. It keeps the records as long as they are small.
type way struct {
	past  past
	ids   []checkpoint.ID     // ids of the records that are left, newest first
	kept  []checkpoint.Record // the oldest of them
	begun bool
}

const (
	keptBytes = 1 << 20 // the maximum of kept payloads, in bytes
	keptPage  = 32      // how many records are read again in one call
)

// back reads the log back to the beginning of the way, and reports whether it found that.
func (w *way) back(ctx context.Context, most int) (found bool, err error) {
	t, size, checkpoints := w.past.t, 0, 0
	w.ids, w.kept = nil, nil
	for rec, err := range t.saver().History(ctx, t.place(checkpoint.ID{}), checkpoint.Query{Sources: everySource}) {
		if err != nil {
			return false, t.readError(ctx, "history", err)
		}
		w.ids, w.kept, size = append(w.ids, rec.ID), append(w.kept, rec), size+len(rec.Payload)
		for size > keptBytes && len(w.kept) > 1 {
			size -= len(w.kept[0].Payload)
			w.kept[0] = checkpoint.Record{}
			w.kept = w.kept[1:]
		}
		if rec.Source != checkpoint.Resume {
			checkpoints++
		}
		switch {
		case rec.ID == t.at:
			return true, nil
		case most > 0 && checkpoints >= most:
			return false, nil
		}
	}
	return t.at.IsZero(), nil
}

// next returns the oldest record that is left, and builds its state.
func (w *way) next(ctx context.Context) (checkpoint.Record, error) {
	if len(w.kept) == 0 {
		if err := w.again(ctx); err != nil {
			return checkpoint.Record{}, err
		}
	}
	rec := w.kept[len(w.kept)-1]
	w.kept, w.ids = w.kept[:len(w.kept)-1], w.ids[:len(w.ids)-1]
	if w.begun || rec.Snapshot {
		w.begun = true
		return rec, w.past.step(ctx, &rec)
	}
	w.begun = true
	c, err := loadChain(ctx, w.past.t.g, w.past.t.saver(), w.past.t.place(rec.ID))
	if err == nil {
		err = w.past.restore(ctx, &c)
	}
	return rec, err
}

// again reads the oldest records that are left but were not kept.
func (w *way) again(ctx context.Context) error {
	t, first := w.past.t, max(len(w.ids)-keptPage, 0)
	q := checkpoint.Query{Sources: everySource}
	if first > 0 {
		q.Before = w.ids[first-1]
	}
	for rec, err := range t.saver().History(ctx, t.place(checkpoint.ID{}), q) {
		if err != nil {
			return t.readError(ctx, "history", err)
		}
		if len(w.kept) == 0 && rec.ID != w.ids[first] {
			continue // appended in the meantime
		}
		if w.kept = append(w.kept, rec); len(w.kept) == len(w.ids)-first {
			break
		}
	}
	if !slices.EqualFunc(w.kept, w.ids[first:], func(rec checkpoint.Record, id checkpoint.ID) bool { return rec.ID == id }) {
		return t.saverError("history", fmt.Errorf("records were removed while they were read; read the history again: %w", checkpoint.ErrConflict))
	}
	return nil
}
