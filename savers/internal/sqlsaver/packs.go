package sqlsaver

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// packRow is a row of graph_pack: records of a log that follow each other.
type packRow struct {
	log, first, last int64
	whole            bool // the first has a snapshot
	body             []byte
}

// packs runs a statement that selects rows of graph_pack.
func (s *Saver) packs(ctx context.Context, db Runner, st statement, args ...any) (all []packRow, err error) {
	rows, err := s.query(ctx, db, st, args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(rows Rows) error {
		var p packRow
		err := rows.Scan(&p.log, &p.first, &p.last, &p.whole, &p.body)
		all = append(all, p)
		return err
	})
	return all, err
}

func (p *packRow) place(at *spot) pack.Place {
	return pack.Place{Thread: at.id, Namespace: at.namespace, First: uint64(p.first), Last: uint64(p.last)}
}

// payloads returns the payloads of a pack of a log.
func (p *packRow) payloads(at *spot) (pack.Payloads, error) {
	all, err := pack.Open(p.place(at), p.body)
	if err == nil && all.Whole != p.whole {
		err = fmt.Errorf("its row says that it begins with a snapshot: %t: %w", p.whole, checkpoint.ErrDamaged)
	}
	return all, p.wrap(at, err)
}

// records returns the records of a pack of a log.
func (p *packRow) records(at *spot) ([]pack.Record, error) {
	all, err := pack.Decode(p.place(at), p.body)
	if err == nil && (len(all) == 0 || all[0].Seq != uint64(p.first) || all[len(all)-1].Seq != uint64(p.last)) {
		err = fmt.Errorf("it has %d other records: %w", len(all), checkpoint.ErrDamaged)
	}
	return all, p.wrap(at, err)
}

func (p *packRow) wrap(at *spot, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("thread %.64q, namespace %.64q, the pack of records %d to %d: %w", at.id, at.namespace, p.first, p.last, err)
}

// mayBePacked reports whether a record of the open version may be in a pack.
func (t *thread) mayBePacked(id checkpoint.ID) bool {
	return bytes.Compare(id[:], t.packed[:]) <= 0 && !id.IsZero()
}

// inPack finds a record of a log in packs; nil if it is in none.
func (s *Saver) inPack(ctx context.Context, db Runner, at spot, id checkpoint.ID) (*pack.Record, error) {
	packs, err := s.packs(ctx, db, stPacksOfID, at.root, id[:])
	if err != nil {
		return nil, err
	}
	for i := range packs {
		if packs[i].log != at.log {
			continue
		}
		records, err := packs[i].records(&at)
		if err != nil {
			return nil, err
		}
		for n := range records {
			if records[n].ID == id {
				return &records[n], nil
			}
		}
	}
	return nil, nil
}

// unpack moves the records of the pack that has the record id back into rows. A transaction calls
// it before it changes that record or compares its id. root is the root of a version. Most ids are
// newer than every pack.
func (s *Saver) unpack(ctx context.Context, tx Tx, t *thread, version int, root int64, id checkpoint.ID) error {
	if !t.mayBePacked(id) {
		return nil
	}
	packs, err := s.packs(ctx, tx, stPacksOfID, root, id[:])
	if err != nil || len(packs) == 0 {
		return err
	}
	numbers, err := s.namespaces(ctx, tx, t, version)
	if err != nil {
		return err
	}
	for i := range packs {
		at := rootOf(t, version, root)
		at.log = packs[i].log
		for name, number := range numbers {
			if number == at.log {
				at.namespace = name
			}
		}
		records, err := packs[i].records(&at)
		if err != nil {
			return err
		}
		for n := range records {
			if records[n].ID == id {
				return s.scatter(ctx, tx, at, &packs[i], records)
			}
		}
	}
	return nil
}

// errMoved is the error of a transaction whose rows another one has changed.
var errMoved = errors.New("rows have changed under the lock of their thread")

// scatter gives the records of a pack rows of their own.
func (s *Saver) scatter(ctx context.Context, tx Tx, at spot, p *packRow, records []pack.Record) error {
	if removed, err := s.exec(ctx, tx, stRemovePack, p.log, p.last); err != nil {
		return err
	} else if removed != 1 {
		return p.wrap(&at, errMoved)
	}
	there, err := s.linesBetween(ctx, tx, at.root, at.lineNo(0), at.lineNo(uint64(p.last)))
	if err != nil {
		return err
	}
	var l line
	var before checkpoint.ID
	for i := range records {
		r := &records[i].Record
		if !l.is(r) {
			var found bool
			if l, found = newestLine(there, &at, r); !found {
				l = at.line(r)
				err = s.insertLine(ctx, tx, at.root, &l)
			}
		}
		if err == nil {
			err = s.insert(ctx, tx, at, r, l.no, before)
		}
		if err == nil && i == 0 {
			err = s.untie(ctx, tx, at, r)
		}
		if err == nil && records[i].Committed {
			err = s.later(ctx, tx, stMarkCommitted, at.root, r.ID[:])
		}
		if err != nil {
			return err
		}
		before = r.ID
	}
	if err := s.later(ctx, tx, stUnsettle, p.first, p.log); err != nil {
		return err
	}
	return s.later(ctx, tx, stMarkNextRemoved, at.log, p.last) // the next may be packed
}

// newestLine returns the line of r with the largest number that r may have. So numbers of lines
// never fall within a log.
func newestLine(there map[int64]line, at *spot, r *checkpoint.Record) (newest line, found bool) {
	for no, l := range there {
		if l.is(r) && no <= at.lineNo(r.Seq) && no > newest.no {
			newest, found = l, true
		}
	}
	return newest, found
}

// untie rewrites the row of a record so that it holds what it had from the record with the seq
// before.
func (s *Saver) untie(ctx context.Context, tx Tx, at spot, r *checkpoint.Record) error {
	body, payload := at.body(r)
	return s.later(ctx, tx, stRewriteRecord, r.Snapshot, r.Parent[:], optional(r.Commits, !r.Commits.IsZero()), body, payload,
		at.log, int64(r.Seq))
}
