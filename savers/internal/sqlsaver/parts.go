package sqlsaver

import (
	"cmp"
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// parts are the rows of stChain.
type parts struct {
	stamp   stamp
	entries []entry   // in the order of their seq
	packs   []packRow // too
	lines   map[int64]line
	writes  []checkpoint.Write // in the order first stored
	base    base
}

// The parts of the rows of stChain.
const (
	partStamp = 1 + iota
	partRecord
	partPack
	partLine
	partWrite
	partBase
	partMailStamp
)

// partRow is a row of stChain. Its part says which values it has.
type partRow struct {
	part                                     int64
	n                                        [8]int64
	id, parent, base, commits, body, payload []byte
}

// parts runs stChain.
func (s *Saver) parts(ctx context.Context, db Runner, w *wanted) (*parts, error) {
	at := &w.at
	rows, err := s.query(ctx, db, stChain, at.thread, at.version, key(at.namespace), at.log, at.root,
		w.first, w.last, w.base, at.lineNo(0), at.lineNo(uint64(w.last)))
	if err != nil {
		return nil, err
	}
	p := &parts{lines: make(map[int64]line)}
	var writes []partRow
	err = each(rows, func(rows Rows) error {
		var r partRow
		n := &r.n
		err := rows.Scan(&r.part, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7],
			&r.id, &r.parent, &r.base, &r.commits, &r.body, &r.payload)
		if err == nil && r.part == partWrite {
			writes = append(writes, r)
		} else if err == nil {
			err = p.add(at, &r)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(p.entries, func(a, b entry) int { return cmp.Compare(a.Seq, b.Seq) })
	slices.SortFunc(p.packs, func(a, b packRow) int { return cmp.Compare(a.last, b.last) })
	slices.SortFunc(writes, func(a, b partRow) int { return cmp.Compare(a.n[0], b.n[0]) })
	for i := range writes {
		write, err := decodeWrite(at.id, writes[i].body)
		if err != nil {
			return nil, err
		}
		p.writes = append(p.writes, write)
	}
	return p, nil
}

// add adds a row that is no write.
func (p *parts) add(at *spot, r *partRow) (err error) {
	n := &r.n
	switch r.part {
	case partStamp:
		p.stamp = stamp{n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], checkpoint.ID(r.id), p.stamp.mail}
	case partMailStamp:
		p.stamp.mail = mailStamp{n[0], n[1], n[2], n[3], n[4], n[5]}
	case partRecord:
		e := entry{line: n[1], commitsPrevious: n[4] != 0, markedCommitted: n[5] != 0, body: r.body, payload: r.payload}
		e.Seq, e.Source, e.Snapshot, e.Step = uint64(n[0]), checkpoint.Source(n[2]), n[3] != 0, int(n[6])
		err = e.set(n[7], r.id, r.parent, r.base, r.commits)
		p.entries = append(p.entries, e)
	case partPack:
		p.packs = append(p.packs, packRow{log: at.log, first: n[0], last: n[1], whole: n[2] != 0, body: r.body})
	case partLine:
		l := line{no: n[0], fingerprint: uint64(n[1]), graph: string(r.body)}
		err = l.setID(r.id)
		p.lines[l.no] = l
	case partBase:
		p.base = base{log: n[0], seq: n[1], committed: n[2] != 0}
	}
	return err
}
