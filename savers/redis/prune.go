package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// Prune removes old records and versions, as [checkpoint.Saver] says. It reads the headers of the
// thread's records and decides which records to remove. The server then removes them in one step.
// If the thread has changed meanwhile, Prune starts again. That step blocks the server for about
// 0.2 seconds for each 100,000 removed records, or 0.3 seconds if they are of released versions.
func (s *Saver) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	if err := checkpoint.CheckThread(thread); err != nil {
		return checkpoint.PruneResult{}, err
	}
	if !keep.Ended.IsZero() && keep.Fence.IsZero() {
		if removed, err := s.remove(ctx, thread, keep.Ended); removed || err != nil {
			return checkpoint.PruneResult{Deleted: removed}, err
		}
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
	whole, err := s.whole(ctx, thread, 0, keep.Fence.IsZero(), false)
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
	case "conflict":
		conflict := &checkpoint.ConflictError{Thread: thread, Want: keep.Fence, Reason: "fence", Found: r.id()}
		if r.err != nil {
			return done, false, r.err
		}
		return done, false, conflict
	}
	return checkpoint.PruneResult{Records: removed, Versions: r.int()}, false, r.err
}

// pruning is a Prune as it is worked out.
type pruning struct {
	s       *Saver
	w       *whole
	removed int                    // records
	packs   []packed               // those that are left
	unpack  map[checkpoint.ID]bool // records that leave their packs
	logs    []any                  // the arguments for each log
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
	fence := ""
	if !keep.Fence.IsZero() {
		fence = string(keep.Fence[:])
	}
	args := []any{version, w.uid, w.rev, released, token[:], fence, len(w.logs)}
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
	p := pruning{s: s, w: w, packs: w.packs, unpack: make(map[checkpoint.ID]bool)}
	for _, pruned := range v.Prune(keep) {
		log, err := v.Log(pruned.Namespace, checkpoint.ID{})
		if err == nil {
			err = p.log(ctx, pruned, log)
		}
		if err != nil {
			return nil, 0, err
		}
		p.removed += pruned.Removed
	}
	return append(append(args, formatPacks(p.packs), p.late()), p.logs...), p.removed, nil
}

// late returns the ids of packed records that were committed late, without those that leave their
// packs.
func (p *pruning) late() []byte {
	var b []byte
	for _, id := range p.w.late {
		if !p.unpack[id] {
			b = append(b, id[:]...)
		}
	}
	return b
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

// prunedLog is a log as a Prune leaves it.
type prunedLog struct {
	*wholeLog
	number uint64
	way    *walk
	kept   map[uint64]ledger.Kept // by seq
	chain  map[uint64]uint64      // the seq where the chain of a kept record starts, by its seq
	log    []*ledger.Entry        // all its records
	packs  []packed               // all its packs

	gone, folded, moved, dropped, added, loose []any // arguments
}

// log appends the arguments for one log.
func (p *pruning) log(ctx context.Context, pruned ledger.Pruned, log []*ledger.Entry) error {
	whole := p.w.log(pruned.Namespace)
	number, err := strconv.ParseUint(whole.number, 10, 47)
	if err != nil {
		return fmt.Errorf("redis: the number of a log: %w: %w", err, checkpoint.ErrDamaged)
	}
	l := &prunedLog{
		wholeLog: whole, number: number, way: p.w.walk(whole), log: log,
		kept: make(map[uint64]ledger.Kept, len(pruned.Kept)), chain: make(map[uint64]uint64, len(pruned.Kept)),
	}
	seqs, chain := make([]uint64, len(pruned.Kept)), uint64(0)
	for i, kept := range pruned.Kept {
		e := kept.Entry
		if len(kept.Fold) > 0 || e.Snapshot {
			chain = e.Seq
		}
		seqs[i], l.kept[e.Seq], l.chain[e.Seq] = e.Seq, kept, chain
	}
	p.packs = slices.DeleteFunc(slices.Clone(p.packs), func(q packed) bool {
		if q.log == number {
			l.packs = append(l.packs, q)
		}
		return q.log == number
	})
	for _, q := range l.packs {
		if err := p.pack(ctx, l, q); err != nil {
			return err
		}
	}
	if err := p.records(ctx, l, seqs); err != nil {
		return err
	}
	before, first := split(seqs)
	p.logs = append(p.logs, pruned.Namespace, whole.number, first, chain, len(seqs), formatSeqs(before))
	for _, list := range []struct {
		args []any
		each int
	}{{l.gone, 2}, {l.folded, 2}, {l.moved, 2}, {l.dropped, 1}, {l.added, 2}, {l.loose, 4}} {
		p.logs = append(append(p.logs, len(list.args)/list.each), list.args...)
	}
	return nil
}

// records works out the change of the records that are in no pack.
func (p *pruning) records(ctx context.Context, l *prunedLog, seqs []uint64) error {
	starts := chains(l.log)
	for _, e := range l.log {
		if inPack(l.packs, e.Seq) {
			continue
		}
		if _, stays := l.kept[e.Seq]; !stays {
			l.gone = append(l.gone, e.Seq, e.ID[:])
		}
	}
	for _, seq := range seqs {
		if inPack(l.packs, seq) {
			continue
		}
		kept := l.kept[seq]
		if len(kept.Fold) > 0 {
			r, err := p.s.fold(ctx, p.w, l.way, &kept)
			if err != nil {
				return err
			}
			l.folded = append(l.folded, seq, encodeRecord(l.way.place, r))
		}
		if l.chain[seq] != starts[seq] {
			l.moved = append(l.moved, kept.Entry.ID[:], l.chain[seq])
		}
	}
	return nil
}

func inPack(packs []packed, seq uint64) bool {
	_, found := slices.BinarySearchFunc(packs, seq, func(p packed, seq uint64) int {
		switch {
		case p.last < seq:
			return -1
		case p.first > seq:
			return 1
		}
		return 0
	})
	return found
}

// pack works out the change of a pack: it stays, goes, or is cut. The remaining records of a pack
// that is cut become packs and records without a pack.
func (p *pruning) pack(ctx context.Context, l *prunedLog, q packed) error {
	kept, folds := 0, false
	for seq := q.first; seq <= q.last; seq++ {
		if k, stays := l.kept[seq]; stays {
			kept++
			folds = folds || len(k.Fold) > 0
		}
	}
	if uint64(kept) == q.last-q.first+1 && !folds {
		q.chain = l.chain[q.first]
		p.packs = append(p.packs, q)
		return nil
	}
	var added []newPack
	if kept > 0 {
		var err error
		if added, err = p.cut(ctx, l, q); err != nil {
			return err
		}
	}
	again := false
	for i := range added {
		p.packs = append(p.packs, added[i].packed)
		l.added = append(l.added, added[i].field(), added[i].bytes)
		again = again || added[i].last == q.last
	}
	if !again {
		l.dropped = append(l.dropped, q.field())
	}
	return nil
}

// cut returns the packs of the kept records of a pack, and adds those that are too few for a pack
// to l.loose.
func (p *pruning) cut(ctx context.Context, l *prunedLog, q packed) (added []newPack, err error) {
	all, err := p.s.packRecords(ctx, l.way, q)
	if err != nil {
		return nil, err
	}
	var records []pack.Record
	for _, r := range all {
		kept, stays := l.kept[r.Seq]
		if p.unpack[r.ID] = true; !stays {
			continue
		}
		r.Committed = r.Committed || slices.Contains(p.w.late, r.ID)
		if len(kept.Fold) > 0 {
			if r.Record, err = p.s.fold(ctx, p.w, l.way, &kept); err != nil {
				return nil, err
			}
		}
		records = append(records, r)
	}
	for len(records) > 0 {
		n := pack.Fill(records)
		if n >= p.s.packing.Fewest() {
			added = append(added, newPackOf(l.way.place, l.number, l.chain[records[0].Seq], records[:n]))
			records = records[n:]
			continue
		}
		r := &records[0]
		e := entry{base: r.Base, number: l.number, seq: r.Seq, chain: l.chain[r.Seq], committed: r.Committed}
		l.loose = append(l.loose, r.Seq, r.ID[:], e.format(), encodeRecord(l.way.place, r.Record))
		records = records[1:]
	}
	return added, nil
}

// packRecords reads a pack.
func (s *Saver) packRecords(ctx context.Context, w *walk, q packed) ([]pack.Record, error) {
	r, err := s.pageItems(ctx, w, []any{w.version, w.uid, w.number, "", fullBytes, q.first})
	if err != nil {
		return nil, err
	}
	it := r.item()
	records, err := it.records(w.place)
	if r.check(err); r.err == nil && (it.first != q.first || it.last != q.last) {
		return nil, fmt.Errorf("redis: thread %q %w", short(w.thread), errMadeAnew)
	}
	if r.err != nil {
		return nil, fmt.Errorf("redis: thread %q: %w", short(w.thread), r.err)
	}
	return records, nil
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

// fold returns a record that stays, with a snapshot of the state there in place of its delta.
func (s *Saver) fold(ctx context.Context, w *whole, l *walk, kept *ledger.Kept) (checkpoint.Record, error) {
	way, chain := *l, kept.Fold
	way.kept, way.first, way.end = nil, chain[0].Seq, chain[len(chain)-1].Seq+1
	var records []checkpoint.Record
	for r, err := range s.records(ctx, &way) {
		if err != nil {
			return checkpoint.Record{}, err
		}
		records = append(records, r)
	}
	r, err := kept.Snapshot(records)
	if err != nil {
		return checkpoint.Record{}, fmt.Errorf("redis: thread %q: %w", short(w.ID), err)
	}
	return r, nil
}
