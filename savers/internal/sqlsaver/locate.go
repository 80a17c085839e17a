package sqlsaver

import (
	"context"
	"database/sql"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// located is the place of the record that a load restores, and its surroundings.
type located struct {
	t     *thread
	v     *version // nil if the version does not exist
	head  head     // of the log
	root  head     // of the log of the version's root; it has no line
	found bool     // the record has a row; otherwise a pack whose records end at last may have it
	stamp stamp
	wanted
}

// wanted says which rows stChain reads.
type wanted struct {
	at          spot
	first, last int64  // seqs
	base        []byte // the id of the base of the record; nil if the record has no row
}

// stamp has the values that differ if a load has read two moments of a thread. Missing records and
// packs are found when they are joined.
type stamp struct {
	version, versions, status, until, updated, log, head, root int64
	fence                                                      checkpoint.ID
	mail                                                       mailStamp
}

// mailStamp has the values of a stamp that change when the lease does not.
type mailStamp struct {
	posted, inputs, others, cancels, attempts, wake int64
}

// locate runs stPlace.
func (s *Saver) locate(ctx context.Context, db Runner, p checkpoint.Ref) (pl *located, err error) {
	pl = &located{t: &thread{id: p.Thread}}
	var t threadRow
	var h, r headRow
	var number, root, status, updated, released, log, found, firstPacked, lastPacked sql.NullInt64
	var base []byte
	exists, err := s.one(ctx, db, stPlace, []any{[]byte(p.Thread), int64(p.Version), key(p.Namespace), optional(p.At, !p.At.IsZero())},
		&pl.t.no, &t.open, &t.versions, &t.status, &t.fence, &t.holder, &pl.t.until, &pl.t.updated, &t.packed,
		&t.created, &t.graph, &t.title, &t.labels, &pl.t.wake, &t.attempts, &pl.t.posted, &pl.t.inputs, &pl.t.others, &pl.t.cancels, &t.priority, &pl.t.now,
		&number, &root, &status, &updated, &released, &log,
		&h.seq, &h.id, &h.step, &h.line, &h.lineID, &h.fingerprint, &h.graph,
		&r.seq, &r.id, &r.step, &found, &base, &firstPacked, &lastPacked, &pl.first)
	if err != nil || !exists {
		return pl, err
	}
	if err := t.set(pl.t); err != nil || !number.Valid {
		return pl, err
	}
	pl.v = &version{
		number: int(number.Int64), root: root.Int64, status: checkpoint.Status(status.Int64), updated: updated.Int64,
		released: released.Int64, packed: !pl.t.packed.IsZero(),
	}
	if pl.v.number == pl.t.open {
		pl.v.status, pl.v.updated = pl.t.status, pl.t.updated
	}
	pl.at = rootOf(pl.t, pl.v.number, pl.v.root)
	pl.at.log, pl.at.namespace = log.Int64, p.Namespace
	if err = h.set(&pl.head); err == nil {
		err = r.set(&pl.root)
	}
	pl.found, pl.last = found.Valid, max(found.Int64, lastPacked.Int64)
	if pl.base = base; pl.found && base == nil { // it is its own base
		pl.base = optional(p.At, true)
		if p.At.IsZero() {
			pl.base = optional(pl.head.id, true)
		}
	}
	pl.stamp = stamp{
		int64(pl.t.open), int64(pl.t.versions), int64(pl.t.status), pl.t.until, pl.t.updated, pl.at.log, pl.head.seq, pl.root.seq,
		pl.t.fence, mailStamp{pl.t.posted, pl.t.inputs, pl.t.others, pl.t.cancels, int64(pl.t.attempts), pl.t.wake},
	}
	return pl, err
}

// seq returns the seq of the record that p names, 0 if p names the head of an empty log.
func (pl *located) seq(p checkpoint.Ref, got *parts) (int64, error) {
	if p.At.IsZero() || pl.found {
		return pl.last, nil
	}
	for i := range got.packs {
		records, err := got.packs[i].records(&pl.at)
		if err != nil {
			return 0, err
		}
		for n := range records {
			if records[n].ID == p.At {
				return int64(records[n].Seq), nil
			}
		}
	}
	return 0, ledger.NoRecord(p.Thread, p.Namespace, p.At)
}
