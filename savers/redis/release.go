package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Release closes the open version, as [checkpoint.Saver] says.
func (s *Saver) Release(ctx context.Context, thread string, ifHead checkpoint.ID) (checkpoint.Version, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return checkpoint.Version{}, err
	}
	token, err := checkpoint.NewID()
	if err != nil {
		return checkpoint.Version{}, err
	}
	r, err := s.call(ctx, "release", s.script.release, []string{s.key(thread)}, ifHead[:], s.ttl, token[:])
	if err != nil {
		return checkpoint.Version{}, err
	}
	switch outcome := r.text(); outcome {
	case "ok":
	case "absent":
		return checkpoint.Version{}, ledger.NoVersion(thread, 0)
	default:
		return checkpoint.Version{}, s.refused(&checkpoint.Append{Thread: thread, After: ifHead}, outcome, r)
	}
	v := r.version(thread)
	stamp := r.id()
	if r.err != nil {
		return checkpoint.Version{}, r.err
	}
	s.finished(listed{id: thread, stamp: stamp, gone: true})
	return v, nil
}

// Delete removes a thread, as [checkpoint.Saver] says.
func (s *Saver) Delete(ctx context.Context, thread string) error {
	if err := checkpoint.CheckThread(thread); err != nil {
		return err
	}
	r, err := s.call(ctx, "delete", s.script.delete, []string{s.key(thread)})
	if err != nil {
		return err
	}
	if r.text() == "busy" {
		return busy(thread, r)
	}
	stamp := r.id()
	if r.err != nil || stamp.IsZero() {
		return r.err
	}
	return s.unlist(ctx, []listed{{id: thread, stamp: stamp, gone: true}})
}

// Prune removes old records and versions, as [checkpoint.Saver] says. It reads the headers of the thread's records,
// works out what goes, and has the server do that in one step if nothing has changed, else it begins again. That step
// keeps the server busy: some 0.2 seconds for each 100,000 records that go, or 0.3 when they are of released versions.
func (s *Saver) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return checkpoint.PruneResult{}, err
	}
	for range 10 {
		done, changed, err := s.prune(ctx, thread, keep)
		if !changed {
			return done, err
		}
	}
	return checkpoint.PruneResult{}, fmt.Errorf("redis: prune: thread %q changes all the time; try again: %w", short(thread), checkpoint.ErrConflict)
}

// prune tries it once; changed says that the thread did meanwhile, with whatever error.
func (s *Saver) prune(ctx context.Context, thread string, keep checkpoint.Retention) (done checkpoint.PruneResult, changed bool, err error) {
	whole, err := s.whole(ctx, thread, 0, true, false)
	if err != nil {
		return done, false, err
	}
	if !whole.exists {
		return done, false, ledger.NoThread(thread)
	}
	args, removed, err := s.pruneArgs(ctx, whole, keep)
	if err != nil {
		return done, errors.Is(err, errMadeAnew), err
	}
	r, err := s.call(ctx, "prune", s.script.prune, []string{s.key(thread)}, args...)
	if err != nil {
		return done, false, err
	}
	switch r.text() {
	case "busy":
		return done, false, busy(thread, r)
	case "changed":
		return done, true, nil
	}
	return checkpoint.PruneResult{Records: removed, Versions: r.int()}, false, r.err
}

// pruneArgs returns the arguments of prune.lua, and how many records they remove.
func (s *Saver) pruneArgs(ctx context.Context, w *whole, keep checkpoint.Retention) ([]any, int, error) {
	token, err := checkpoint.NewID()
	if err != nil {
		return nil, 0, err
	}
	released := ""
	if keep.Released != 0 {
		released = fmt.Sprint(max(keep.Released, 0))
	}
	version := 0
	if w.found {
		version = w.Version
	}
	args := []any{version, w.uid, w.rev, released, token[:], len(w.logs)}
	for _, l := range w.logs {
		args = append(args, l.namespace, l.format(l.id))
	}
	if !w.found || keep.Last <= 0 && keep.Since.IsZero() {
		return args, 0, nil
	}
	v, err := s.index(ctx, w)
	if err != nil {
		return nil, 0, err
	}
	removed := 0
	for _, p := range v.Prune(keep) {
		log, err := v.Log(p.Namespace, checkpoint.ID{})
		if err == nil {
			args, err = s.pruneLog(ctx, args, w, p, log)
		}
		if err != nil {
			return nil, 0, err
		}
		removed += p.Removed
	}
	return args, removed, nil
}

// index returns a version as a ledger has it, without bodies.
func (s *Saver) index(ctx context.Context, w *whole) (*ledger.Version, error) {
	v := ledger.New(w.ID, w.Version)
	for _, l := range w.logs {
		records, err := s.headers(ctx, w.walk(l))
		if err != nil {
			return nil, err
		}
		entries := make([]*ledger.Entry, len(records))
		for i := range records {
			entries[i] = &ledger.Entry{Record: records[i]}
		}
		v.Apply(&ledger.Event{Namespace: l.namespace, Entries: entries})
	}
	v.Apply(&ledger.Event{Writes: w.writes})
	return v, nil
}

// pruneLog appends what prune.lua takes for one log.
func (s *Saver) pruneLog(ctx context.Context, args []any, w *whole, p ledger.Pruned, log []*ledger.Entry) ([]any, error) {
	l := w.log(p.Namespace)
	var folded, moved []any
	starts, chain := chains(log), make([]uint64, len(p.Kept))
	seqs := make([]uint64, len(p.Kept))
	for i, kept := range p.Kept {
		e := kept.Entry
		seqs[i] = e.Seq
		switch {
		case len(kept.Fold) > 0:
			b, err := s.fold(ctx, w, l, kept.Fold)
			if err != nil {
				return nil, err
			}
			folded = append(folded, e.Seq, b)
			chain[i] = e.Seq
		case e.Snapshot:
			chain[i] = e.Seq
		default:
			chain[i] = chain[i-1]
		}
		if chain[i] != starts[e.Seq] {
			moved = append(moved, e.ID[:], chain[i])
		}
	}
	kept, first := split(seqs)
	args = append(args, p.Namespace, l.number, first, chain[len(chain)-1], len(p.Kept), formatSeqs(kept), p.Removed)
	stays := make(map[uint64]bool, len(seqs))
	for _, seq := range seqs {
		stays[seq] = true
	}
	for _, e := range log {
		if !stays[e.Seq] {
			args = append(args, e.Seq, e.ID[:])
		}
	}
	args = append(append(args, len(folded)/2), folded...)
	return append(append(args, len(moved)/2), moved...), nil
}

// chains returns where the chain of each record of a log starts.
func chains(log []*ledger.Entry) map[uint64]uint64 {
	starts := make(map[uint64]uint64, len(log))
	start := uint64(0)
	for _, e := range log {
		if e.Snapshot {
			start = e.Seq
		}
		starts[e.Seq] = start
	}
	return starts
}

// split returns the seqs before the last gap, and the first after it.
func split(seqs []uint64) (kept []uint64, first uint64) {
	i := len(seqs) - 1
	for i > 0 && seqs[i-1]+1 == seqs[i] {
		i--
	}
	return seqs[:i], seqs[i]
}

// fold returns the last record of a chain with the state that the chain comes to, encoded.
func (s *Saver) fold(ctx context.Context, w *whole, l *wholeLog, chain []*ledger.Entry) ([]byte, error) {
	way := w.walk(l)
	way.kept, way.first, way.end = nil, chain[0].Seq, chain[len(chain)-1].Seq+1
	var records []checkpoint.Record
	for r, err := range s.records(ctx, way) {
		if err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	r, err := ledger.Snapshot(records)
	if err != nil {
		return nil, fmt.Errorf("redis: thread %q: %w", short(w.ID), err)
	}
	return encodeRecord(way.place, r), nil
}
