package sqlsaver

import (
	"context"
	"errors"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// Load returns the records and writes that restore a checkpoint, as [checkpoint.Saver] says. It
// runs two statements, each in one round trip: the first finds the place, the second reads
// everything. If the thread changes between the two, Load runs them again in a transaction.
func (s *Saver) Load(ctx context.Context, p checkpoint.Ref) (chain checkpoint.Chain, err error) {
	if err := p.Check(); err != nil {
		return chain, err
	}
	if err := s.begin(ctx); err != nil {
		return chain, err
	}
	defer s.end()
	err = s.try(ctx, Lost, func() error {
		chain, err = s.load(ctx, s.db, p)
		return err
	})
	if errors.Is(err, errChanged) || errors.Is(err, checkpoint.ErrDamaged) { // a change can look like damage
		err = s.read(ctx, func(tx Tx) error {
			chain, err = s.load(ctx, tx, p)
			return err
		})
	}
	if err != nil {
		return checkpoint.Chain{}, s.wrap(ctx, "load", err)
	}
	return chain, nil
}

// errChanged is the error of a load outside a transaction whose statements have not read the same
// moment of a thread.
var errChanged = errors.New("the thread changed while it was read")

func (s *Saver) load(ctx context.Context, db Runner, p checkpoint.Ref) (chain checkpoint.Chain, err error) {
	pl, err := s.locate(ctx, db, p)
	if err != nil {
		return chain, err
	}
	if pl.v == nil {
		return chain, ledger.Absent(p)
	}
	got, err := s.parts(ctx, db, &pl.wanted)
	if err != nil {
		return chain, err
	}
	if got.stamp != pl.stamp {
		return chain, errChanged
	}
	chain.Version, chain.Birth, chain.Head = pl.v.number, birth(pl.t.no), pl.head.id
	chain.Thread = describe(pl.t, pl.v, checkpoint.Record{ID: pl.root.id, Step: int(pl.root.step)}, got.writes)
	last, err := pl.seq(p, got)
	if err != nil || last == 0 {
		return chain, err
	}
	way := stretch{at: pl.at, first: pl.first, last: last, line: pl.head.line, packed: pl.v.packed}
	decoded, err := way.restore(got, &chain)
	if err != nil {
		return chain, err
	}
	if err := s.due(ctx, db, &way, &chain, got, decoded); err != nil {
		return chain, err
	}
	for _, w := range got.writes {
		if w.Base == chain.Last.Base {
			chain.Writes = append(chain.Writes, w)
		}
	}
	return chain, nil
}

// due sets Due and Committed of a chain from the base of its last record. The base is almost
// always among the records that were read.
func (s *Saver) due(ctx context.Context, db Runner, way *stretch, chain *checkpoint.Chain, got *parts, decoded []pack.Record) error {
	at, id := way.at, chain.Last.Base
	if i := slices.IndexFunc(decoded, func(r pack.Record) bool { return r.ID == id }); i >= 0 {
		r := &decoded[i]
		chain.Due, chain.Committed = r.Due, r.Committed || got.base == base{at.log, int64(r.Seq), true}
		return nil
	}
	if _, atOnce := db.(Tx); !atOnce {
		return errChanged // other statements would read another moment
	}
	b, err := s.base(ctx, db, at.root, id)
	if err != nil {
		return err
	}
	if b.log == unknown && way.packed {
		r, err := s.inPack(ctx, db, at, id)
		if r != nil {
			chain.Due, chain.Committed = r.Due, r.Committed
		}
		return err
	}
	if b.log != at.log {
		return nil
	}
	chain.Committed = b.committed
	base, _, err := s.between(ctx, db, at, b.seq, b.seq, way.line)
	if err == nil && len(base) == 1 {
		chain.Due = base[0].Due
	}
	return err
}
