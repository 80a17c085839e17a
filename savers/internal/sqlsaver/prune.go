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
		pr := pruner{s: s, tx: tx, at: at, commitsPrevious: commitsPrevious, stays: make(map[uint64]*ledger.Kept, len(p.Kept))}
		for i := range p.Kept {
			pr.stays[p.Kept[i].Entry.Seq] = &p.Kept[i]
		}
		gone, err := pr.scatter(ctx, packs[p.Namespace])
		if err != nil {
			return 0, err
		}
		if err := pr.prune(ctx, log); err != nil {
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
	commitsPrevious map[checkpoint.ID]bool  // the records that commit the record before them
	stays           map[uint64]*ledger.Kept // by seq
	packed          bool                    // there are packs left
	whole           map[uint64]bool         // the first seqs of the packs that stay as they are
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

// scatter moves the records of packs back into rows if Prune keeps some of them. A pack stays as
// it is if Prune keeps all of its records and the next one, and folds none of them. scatter
// returns the packs that Prune removes.
func (p *pruner) scatter(ctx context.Context, packs []packRow) (gone []packRow, err error) {
	p.whole = make(map[uint64]bool)
	for i := range packs {
		row := &packs[i]
		kept, folds := 0, false
		for seq := row.first; seq <= row.last; seq++ {
			if k := p.stays[uint64(seq)]; k != nil {
				kept, folds = kept+1, folds || len(k.Fold) > 0
			}
		}
		switch {
		case kept == 0:
			gone, p.packed = append(gone, *row), true
			continue
		case !folds && int64(kept) == row.last-row.first+1 && p.stays[uint64(row.last)+1] != nil:
			p.whole[uint64(row.first)], p.packed = true, true
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
func (p *pruner) prune(ctx context.Context, log []*ledger.Entry) error {
	for i, e := range log {
		k := p.stays[e.Seq]
		follows := i > 0 && log[i-1].Seq+1 == e.Seq
		switch {
		case k == nil && follows && p.stays[e.Seq-1] != nil:
			if err := p.mark(ctx, log[i-1], e); err != nil {
				return err
			}
		case k != nil && !p.whole[e.Seq] && (len(k.Fold) > 0 || follows && p.stays[e.Seq-1] == nil):
			if err := p.untie(ctx, k); err != nil {
				return err
			}
		}
	}
	return p.remove(ctx, log)
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
func (p *pruner) remove(ctx context.Context, log []*ledger.Entry) error {
	for i := 0; i < len(log); i++ {
		if p.stays[log[i].Seq] != nil {
			continue
		}
		first := log[i].Seq
		for i+1 < len(log) && p.stays[log[i+1].Seq] == nil {
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
		if r, err = k.Snapshot(chain); err != nil {
			return err
		}
	}
	return p.s.untie(ctx, p.tx, p.at, &r)
}
