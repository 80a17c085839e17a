package sqlsaver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Release closes the open version, as [checkpoint.Saver] says.
func (s *Saver) Release(ctx context.Context, id string, ifHead checkpoint.ID) (v checkpoint.Version, err error) {
	if err := checkpoint.CheckThread(id); err != nil {
		return v, err
	}
	if err := s.begin(ctx); err != nil {
		return v, err
	}
	defer s.end()
	err = s.write(ctx, RolledBack, func(tx Tx) error {
		v, err = s.releaseIn(ctx, tx, id, ifHead)
		return err
	})
	if err != nil {
		return checkpoint.Version{}, s.wrap(ctx, "release", err)
	}
	return v, nil
}

func (s *Saver) releaseIn(ctx context.Context, tx Tx, id string, ifHead checkpoint.ID) (v checkpoint.Version, err error) {
	t, err := s.thread(ctx, tx, stLockThread, id)
	switch {
	case err != nil:
		return v, err
	case t == nil || t.open == 0:
		return v, ledger.NoVersion(id, 0)
	}
	if err := t.busy(); err != nil {
		return v, err
	}
	root, err := s.root(ctx, tx, t.root)
	if err != nil {
		return v, err
	}
	if !ifHead.IsZero() && ifHead != root.ID {
		return v, t.conflict("head", "", ifHead, root.ID)
	}
	var records int64
	if _, err := s.one(ctx, tx, stCountRecords, []any{t.root}, &records); err != nil {
		return v, err
	}
	v = checkpoint.Version{
		Thread: id, Number: t.open, Released: time.UnixMicro(t.now).UTC(), Head: root.ID, Records: int(records), Status: t.status,
	}
	if err := s.close(ctx, tx, t); err != nil {
		return v, err
	}
	return v, s.store(ctx, tx, t)
}

// Delete removes a thread, as [checkpoint.Saver] says.
func (s *Saver) Delete(ctx context.Context, id string) error {
	if err := checkpoint.CheckThread(id); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	return s.wrap(ctx, "delete", s.write(ctx, Lost, func(tx Tx) error {
		t, err := s.thread(ctx, tx, stLockThread, id)
		if err != nil || t == nil {
			return err
		}
		if err := t.busy(); err != nil {
			return err
		}
		return s.deleteIn(ctx, tx, t)
	}))
}

// deleteIn removes a thread. The rows that others lead to go first.
func (s *Saver) deleteIn(ctx context.Context, tx Tx, t *thread) error {
	for _, st := range [...]statement{
		stDeleteWrites, stDeleteRecords, stDeletePacks, stDeleteLines, stDeleteLogs, stDeleteState, stDeleteVersions, stDeleteThread,
	} {
		if err := s.later(ctx, tx, st, t.no); err != nil {
			return err
		}
	}
	return nil
}

// Prune removes old records and versions, as [checkpoint.Saver] says.
func (s *Saver) Prune(ctx context.Context, id string, keep checkpoint.Retention) (done checkpoint.PruneResult, err error) {
	if err := checkpoint.CheckThread(id); err != nil {
		return done, err
	}
	if err := s.begin(ctx); err != nil {
		return done, err
	}
	defer s.end()
	err = s.write(ctx, RolledBack, func(tx Tx) error {
		done, err = s.pruneIn(ctx, tx, id, keep)
		return err
	})
	if err != nil {
		return checkpoint.PruneResult{}, s.wrap(ctx, "prune", err)
	}
	return done, nil
}

func (s *Saver) pruneIn(ctx context.Context, tx Tx, id string, keep checkpoint.Retention) (done checkpoint.PruneResult, err error) {
	t, err := s.thread(ctx, tx, stLockThread, id)
	switch {
	case err != nil:
		return done, err
	case t == nil:
		return done, ledger.NoThread(id)
	}
	if err := t.busy(); err != nil {
		return done, err
	}
	if t.open != 0 && (keep.Last > 0 || !keep.Since.IsZero()) {
		if done.Records, err = s.pruneRecords(ctx, tx, t, keep); err != nil {
			return done, err
		}
	}
	if keep.Released != 0 {
		if done.Versions, err = s.pruneVersions(ctx, tx, t, keep.Released); err != nil {
			return done, err
		}
	}
	return done, nil
}

// pruneVersions removes released versions, but not the newest keep; -1 keeps none.
func (s *Saver) pruneVersions(ctx context.Context, tx Tx, t *thread, keep int) (int, error) {
	rows, err := s.query(ctx, tx, stReleasedVersions, t.no)
	if err != nil {
		return 0, err
	}
	var released []spot
	err = each(rows, func(rows Rows) error {
		at := spot{thread: t.no}
		err := rows.Scan(&at.version, &at.root)
		released = append(released, at)
		return err
	})
	gone := released[:max(len(released)-max(keep, 0), 0)]
	if err != nil || len(gone) == 0 {
		return 0, err
	}
	for _, at := range gone {
		if err := s.removeVersion(ctx, tx, at); err != nil {
			return 0, err
		}
	}
	t.versions -= len(gone)
	return len(gone), s.store(ctx, tx, t)
}

// removeVersion removes a released version.
func (s *Saver) removeVersion(ctx context.Context, tx Tx, at spot) error {
	for _, st := range [...]statement{stRemoveVersionWrites, stRemoveVersionRecords, stRemoveVersionPacks, stRemoveVersionLines} {
		if err := s.later(ctx, tx, st, at.root); err != nil {
			return err
		}
	}
	for _, st := range [...]statement{stRemoveVersionLogs, stRemoveVersionState, stRemoveVersion} {
		if err := s.later(ctx, tx, st, at.thread, at.version); err != nil {
			return err
		}
	}
	return nil
}

// pruneRecords removes old records of the open version. Package ledger decides from all headers
// which records those are.
func (s *Saver) pruneRecords(ctx context.Context, tx Tx, t *thread, keep checkpoint.Retention) (int, error) {
	v := ledger.New(t.id, t.open)
	numbers, err := s.namespaces(ctx, tx, t, t.open)
	if err != nil {
		return 0, err
	}
	commitsPrevious := make(map[checkpoint.ID]bool)
	packs := make(map[string][]packRow)
	for name, log := range numbers {
		entries, err := s.headers(ctx, tx, log, commitsPrevious)
		if err != nil {
			return 0, err
		}
		if !t.packed.IsZero() {
			at := rootOf(t, t.open, t.root)
			at.log, at.namespace = log, name
			var packed []*ledger.Entry
			if packs[name], packed, err = s.packedHeaders(ctx, tx, at, commitsPrevious); err != nil {
				return 0, err
			}
			entries = append(entries, packed...)
			slices.SortFunc(entries, func(a, b *ledger.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
		}
		if len(entries) > 0 {
			v.Apply(&ledger.Event{Namespace: name, Entries: entries})
		}
	}
	// A write whose base is committed must go before its base: without the base, the write would
	// count again.
	if err := s.later(ctx, tx, stSweepWrites, t.root); err != nil {
		return 0, err
	}
	writes, err := s.writes(ctx, tx, t.id, t.root)
	if err != nil {
		return 0, err
	}
	v.Apply(&ledger.Event{Writes: writes})
	removed := 0
	for _, p := range v.Prune(keep) {
		log, err := v.Log(p.Namespace, checkpoint.ID{})
		if err != nil {
			return 0, err
		}
		at := rootOf(t, t.open, t.root)
		at.log, at.namespace = numbers[p.Namespace], p.Namespace
		pr := pruner{s: s, tx: tx, at: at, commitsPrevious: commitsPrevious}
		gone, err := pr.scatter(ctx, packs[p.Namespace], p.Kept)
		if err != nil {
			return 0, err
		}
		pr.packed = len(gone) > 0
		if err := pr.prune(ctx, log, p.Kept); err != nil {
			return 0, err
		}
		for i := range gone {
			if err := s.later(ctx, tx, stRemovePack, gone[i].log, gone[i].last); err != nil {
				return 0, err
			}
		}
		removed += p.Removed
	}
	return removed, nil
}

// namespaces returns the numbers of a version's logs by namespace; the root's is empty.
func (s *Saver) namespaces(ctx context.Context, db Runner, t *thread, version int) (map[string]int64, error) {
	rows, err := s.query(ctx, db, stLogs, t.no, int64(version))
	if err != nil {
		return nil, err
	}
	numbers := make(map[string]int64)
	err = each(rows, func(rows Rows) error {
		var n int64
		var key, rest []byte
		err := rows.Scan(&n, &key, &rest)
		numbers[nameOf(key, rest)] = n
		return err
	})
	return numbers, err
}

// headers returns what Prune needs of the records of a log, oldest first. It adds those that
// commit the record before them to commitsPrevious.
func (s *Saver) headers(ctx context.Context, tx Tx, number int64, commitsPrevious map[checkpoint.ID]bool) (log []*ledger.Entry, err error) {
	rows, err := s.query(ctx, tx, stHeaders, number)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(rows Rows) error {
		e, commits, err := scanHeader(rows)
		if commits {
			commitsPrevious[e.ID] = true
		}
		log = append(log, e)
		return err
	})
	return log, err
}

// scanHeader reads a row of stHeaders, and reports whether the record commits the one before it.
func scanHeader(rows Rows) (e *ledger.Entry, commitsPrevious bool, err error) {
	e = new(ledger.Entry)
	var seq, source, created int64
	var id, base []byte
	if err := rows.Scan(&seq, &id, &source, &e.Snapshot, &commitsPrevious, &created, &base); err != nil {
		return e, false, err
	}
	e.Seq, e.Source, e.Created = uint64(seq), checkpoint.Source(source), time.UnixMicro(created).UTC()
	if !setID(&e.ID, id) || !setID(&e.Base, base) {
		return e, false, damagedID(seq)
	}
	return e, commitsPrevious, nil
}

// pruner prunes one log.
type pruner struct {
	s               *Saver
	tx              Tx
	at              spot
	commitsPrevious map[checkpoint.ID]bool // the records that commit the record before them
	packed          bool                   // packs are left, none of whose records is kept
}

// packedHeaders reads the packs of a log, and what headers returns of their records.
func (s *Saver) packedHeaders(
	ctx context.Context, tx Tx, at spot, commitsPrevious map[checkpoint.ID]bool,
) (packs []packRow, log []*ledger.Entry, err error) {
	if packs, err = s.packs(ctx, tx, stPacks, at.log, 1, lastSeq); err != nil {
		return nil, nil, err
	}
	for i := range packs {
		records, err := packs[i].records(&at)
		if err != nil {
			return nil, nil, err
		}
		for n := range records {
			r := &records[n].Record
			if n > 0 && r.Commits == records[n-1].ID {
				commitsPrevious[r.ID] = true
			}
			log = append(log, &ledger.Entry{Record: checkpoint.Record{
				ID: r.ID, Seq: r.Seq, Base: r.Base, Source: r.Source, Snapshot: r.Snapshot, Created: r.Created,
			}})
		}
	}
	return packs, log, nil
}

// scatter moves the records of packs back into rows if Prune keeps some of them. It returns the other packs.
func (p *pruner) scatter(ctx context.Context, packs []packRow, kept []ledger.Kept) (gone []packRow, err error) {
	for i := range packs {
		row := &packs[i]
		stays := slices.ContainsFunc(kept, func(k ledger.Kept) bool {
			return int64(k.Entry.Seq) >= row.first && int64(k.Entry.Seq) <= row.last
		})
		if !stays {
			gone = append(gone, *row)
			continue
		}
		records, err := row.records(&p.at)
		if err != nil {
			return nil, err
		}
		if err := p.s.scatter(ctx, p.tx, p.at, row, records); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// prune removes the records of a log that are not kept. A kept record that loses the record before
// it is rewritten, so that it holds itself what it had from that record. A kept record that loses
// the record after it is marked.
func (p *pruner) prune(ctx context.Context, log []*ledger.Entry, kept []ledger.Kept) error {
	stays := make(map[uint64]*ledger.Kept, len(kept))
	for i := range kept {
		stays[kept[i].Entry.Seq] = &kept[i]
	}
	for i, e := range log {
		k := stays[e.Seq]
		follows := i > 0 && log[i-1].Seq+1 == e.Seq
		switch {
		case k == nil && follows && stays[e.Seq-1] != nil:
			if err := p.mark(ctx, log[i-1], e); err != nil {
				return err
			}
		case k != nil && (len(k.Fold) > 0 || follows && stays[e.Seq-1] == nil):
			if err := p.untie(ctx, k); err != nil {
				return err
			}
		}
	}
	return p.remove(ctx, log, stays)
}

// mark marks a record that stays when the one after it goes.
func (p *pruner) mark(ctx context.Context, stays, goes *ledger.Entry) error {
	if p.commitsPrevious[goes.ID] {
		if err := p.s.later(ctx, p.tx, stMarkCommitted, p.at.root, stays.ID[:]); err != nil {
			return err
		}
	}
	return p.s.later(ctx, p.tx, stMarkNextRemoved, p.at.log, int64(stays.Seq))
}

// remove removes the records of a log that do not stay; those between two that stay by one
// statement.
func (p *pruner) remove(ctx context.Context, log []*ledger.Entry, stays map[uint64]*ledger.Kept) error {
	for i := 0; i < len(log); i++ {
		if stays[log[i].Seq] != nil {
			continue
		}
		first := log[i].Seq
		for i+1 < len(log) && stays[log[i+1].Seq] == nil {
			i++
		}
		if err := p.s.later(ctx, p.tx, stRemoveRecords, p.at.log, int64(first), int64(log[i].Seq)); err != nil {
			return err
		}
	}
	return nil
}

// untie rewrites a record so that it can be read without the one before it.
func (p *pruner) untie(ctx context.Context, k *ledger.Kept) error {
	seq := int64(k.Entry.Seq)
	first := seq
	if len(k.Fold) > 0 {
		first = int64(k.Fold[0].Seq)
	}
	chain, err := p.s.whole(ctx, p.tx, stretch{at: p.at, first: first, last: seq, packed: p.packed})
	if err != nil {
		return err
	}
	if len(chain) == 0 {
		return fmt.Errorf("record %d has gone: %w", seq, checkpoint.ErrDamaged)
	}
	r := chain[len(chain)-1]
	if len(k.Fold) > 0 {
		if r, err = ledger.Snapshot(chain); err != nil {
			return err
		}
	}
	return p.s.untie(ctx, p.tx, p.at, &r)
}
