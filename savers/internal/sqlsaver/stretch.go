package sqlsaver

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// stretch is a part of a log. Each of its records is in a row of its own or in a pack, never in
// both. All reads of several records read a stretch, or pages of a history.
type stretch struct {
	at          spot
	first, last int64 // seqs
	line        line  // that may be the one of its records
	packed      bool  // the version may have packs
}

func (w *stretch) damaged(seq int64, what string) error {
	return fmt.Errorf("thread %.64q, namespace %.64q, record %d %s: %w", w.at.id, w.at.namespace, seq, what, checkpoint.ErrDamaged)
}

// restore sets Last of a chain and the payloads that restore its state. It returns the records
// that it decoded: those with rows, and those of the pack that has the last one.
func (w *stretch) restore(got *parts, chain *checkpoint.Chain) (decoded []pack.Record, err error) {
	if w.first == 0 {
		return nil, w.damaged(w.last, "has no snapshot before it")
	}
	if decoded, err = w.rows(got); err != nil {
		return nil, err
	}
	f := folder{w: w, chain: chain, next: w.first}
	rest := decoded
	for i := range got.packs {
		p := &got.packs[i]
		if p.first > w.last {
			break
		}
		n := slices.IndexFunc(rest, func(r pack.Record) bool { return int64(r.Seq) > p.last })
		if n < 0 {
			n = len(rest)
		}
		f.add(rest[:n])
		rest = rest[n:]
		if p.last < w.last {
			f.addPack(p)
			continue
		}
		records, err := p.records(&w.at) // the last is among them
		if err != nil {
			return nil, err
		}
		f.add(records)
		decoded = append(decoded, records...)
	}
	f.add(rest)
	return decoded, f.end()
}

// rows returns the records that have rows.
func (w *stretch) rows(got *parts) ([]pack.Record, error) {
	from := 0
	if len(got.entries) > 0 && int64(got.entries[0].Seq) < w.first {
		from = 1
	}
	records, err := complete(&w.at, got.entries, from, got.lines)
	if err != nil {
		return nil, err
	}
	all := make([]pack.Record, len(records))
	for i := range records {
		all[i] = pack.Record{Record: records[i], Committed: got.entries[from+i].markedCommitted}
		if i > 0 && got.entries[from+i].commitsPrevious {
			all[i-1].Committed = true
		}
	}
	return all, nil
}

// folder makes a chain of records and packs, in the order of the log.
type folder struct {
	w     *stretch
	chain *checkpoint.Chain
	next  int64 // the seq of the next record
	err   error
}

// add adds records up to the last.
func (f *folder) add(records []pack.Record) {
	for i := range records {
		r := &records[i].Record
		if int64(r.Seq) > f.w.last {
			return
		}
		f.follow(int64(r.Seq), r.Snapshot)
		f.next++
		if r.Snapshot {
			f.begin(r.Payload)
		} else {
			f.chain.Deltas = append(f.chain.Deltas, r.Payload)
			f.chain.Chained++
		}
		if int64(r.Seq) == f.w.last {
			f.chain.Last = *r
		}
	}
}

func (f *folder) addPack(p *packRow) {
	f.follow(p.first, p.whole)
	all, err := p.payloads(&f.w.at)
	if f.err == nil {
		f.err = err
	}
	count := int(p.last - p.first + 1)
	f.next = p.last + 1
	if p.whole {
		f.begin(all.Snapshot)
		count--
	}
	f.chain.Deltas = append(f.chain.Deltas, all.Deltas...)
	f.chain.Chained += count
}

func (f *folder) begin(snapshot []byte) {
	f.chain.Snapshot, f.chain.Deltas, f.chain.Chained = snapshot, nil, 0
}

// follow finds records that are missing, and a beginning without a snapshot.
func (f *folder) follow(seq int64, whole bool) {
	switch {
	case f.err != nil:
	case seq != f.next:
		f.err = f.w.damaged(f.next, "has gone")
	case seq == f.w.first && !whole:
		f.err = f.w.damaged(seq, "has no snapshot before it")
	}
}

func (f *folder) end() error {
	if f.err == nil && f.next != f.w.last+1 {
		f.err = f.w.damaged(f.next, "has gone")
	}
	return f.err
}

// whole returns all records of a stretch, oldest first.
func (s *Saver) whole(ctx context.Context, db Runner, w stretch) ([]checkpoint.Record, error) {
	all, _, err := s.between(ctx, db, w.at, w.first, w.last, w.line)
	if err != nil || !w.packed {
		return all, err
	}
	packs, err := s.packs(ctx, db, stPacks, w.at.log, w.first, w.last)
	if err != nil || len(packs) == 0 {
		return all, err
	}
	for i := range packs {
		records, err := packs[i].records(&w.at)
		if err != nil {
			return nil, err
		}
		for _, r := range records {
			if int64(r.Seq) >= w.first && int64(r.Seq) <= w.last {
				all = append(all, r.Record)
			}
		}
	}
	slices.SortFunc(all, func(a, b checkpoint.Record) int { return cmp.Compare(a.Seq, b.Seq) })
	return all, nil
}

// page reads up to size rows of a log backwards, from the record with the seq last on, or else the
// part of one pack. The records are newest first. more says that there may be older ones. It reads
// a pack only if the rows have a gap, or are too few.
// With headers it reads the payloads of no rows; those of a pack are read with it.
func (s *Saver) page(
	ctx context.Context, db Runner, at spot, known line, headers bool, last, size int64,
) (page []checkpoint.Record, more bool, err error) {
	st := stHistory
	if headers {
		st = stHistoryHeaders
	}
	all, err := s.entries(ctx, db, st, at.log, last, size+1) // with the record before, which may be the parent of the oldest
	if err != nil {
		return nil, false, err
	}
	more = int64(len(all)) > size
	var packs []packRow
	if !more || int64(all[size].Seq) != last-size {
		if packs, err = s.packs(ctx, db, stPackBefore, at.log, last); err != nil {
			return nil, false, err
		}
	}
	if len(packs) > 0 {
		p := &packs[0]
		newer := slices.IndexFunc(all, func(e entry) bool { return int64(e.Seq) < p.first })
		if newer == 0 || len(all) == 0 {
			records, err := p.records(&at)
			return upTo(records, last), true, err
		}
		if newer > 0 {
			all, more = all[:newer], true
		}
		if int64(len(all)) <= size {
			more = true
		}
	}
	slices.Reverse(all)
	page, err = s.records(ctx, db, at, all, max(len(all)-int(size), 0), known)
	slices.Reverse(page)
	return page, more, err
}

// upTo returns the records of a pack up to the seq last, newest first.
func upTo(records []pack.Record, last int64) (page []checkpoint.Record) {
	for _, r := range slices.Backward(records) {
		if int64(r.Seq) <= last {
			page = append(page, r.Record)
		}
	}
	return page
}
