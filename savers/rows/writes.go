package rows

import (
	"bytes"
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// writesOf selects the pending writes of a version, with those of bases that are committed.
func writesOf(id string, r root) Range { return within(Key{Writes, id, r[:]}) }

// liveWritesOf selects the pending writes of writesOf. It leaves out schemas, whose base is zero.
func liveWritesOf(id string, r root) Range {
	all := writesOf(id, r)
	all.Bytes = after(r.base(checkpoint.ID{}))
	return all
}

// writes adds pending writes to the change. blind says that each is likely new and its base not
// committed: if not, the change fails.
func (w *writer) writes(ctx context.Context, all []checkpoint.Write, blind bool) error {
	if len(all) == 0 {
		return nil
	}
	stored := map[string]*writeRow{} // by key
	mine := map[string]bool{}        // those that this call puts
	over := map[checkpoint.ID]bool{}
	if !blind {
		if err := w.stored(ctx, all, stored, over); err != nil {
			return err
		}
	}
	for i := range all {
		p := &all[i]
		switch {
		case w.committed[p.Base] || over[p.Base]:
		case p.Kind == checkpoint.Discard:
			for _, kind := range [...]checkpoint.Kind{checkpoint.Result, checkpoint.Failure, checkpoint.Answer} {
				d := *p
				d.Kind = kind
				key := w.next.Root.write(&d)
				if mine[string(key)] {
					w.unput(Writes, key)
					delete(mine, string(key))
				}
				delete(stored, string(key))
				w.c.Deletes = append(w.c.Deletes, point(Key{Writes, w.next.ID, key}))
			}
		default:
			key := w.next.Root.write(p)
			old := stored[string(key)]
			n := &writeRow{Write: *p}
			switch {
			case old == nil:
				n.Order = w.s.nextOrder()
			case p.Kind == checkpoint.Result || p.Kind == checkpoint.Schema || p.Kind == checkpoint.Outcome:
				continue
			default:
				n.Order = old.Order
			}
			isNew := old == nil && !w.deletes(Writes, key)
			if mine[string(key)] {
				isNew = w.unput(Writes, key)
			}
			stored[string(key)], mine[string(key)] = n, true
			w.next.Asked = w.next.Asked || p.Kind == checkpoint.Question
			w.put(Writes, key, n, isNew)
		}
	}
	return nil
}

// stored reads which of the pending writes are stored, and which of their bases are committed.
func (w *writer) stored(ctx context.Context, all []checkpoint.Write, stored map[string]*writeRow, over map[checkpoint.ID]bool) error {
	id, root := w.next.ID, w.next.Root
	var ranges []Range
	var bases []checkpoint.Write // one write of each base that records may commit
	for i := range all {
		p := &all[i]
		if !p.Base.IsZero() && !slices.ContainsFunc(bases, func(b checkpoint.Write) bool { return b.Base == p.Base }) {
			l := logOf(id, root, p.Namespace)
			bases = append(bases, *p)
			ranges = append(ranges, point(Key{Writes, id, root.mark(p.Base)}), point(l.after(p.Base)), l.upTo(p.Base, 1))
		}
	}
	for i := range all {
		ranges = append(ranges, point(Key{Writes, id, root.write(&all[i])}))
	}
	rows, err := w.s.readInParts(ctx, ranges)
	if err != nil {
		return err
	}
	for i := range bases {
		base, l := bases[i].Base, logOf(id, root, bases[i].Namespace)
		committed, err := l.commits(base, rows[3*i+1], rows[3*i+2])
		if err != nil {
			return err
		}
		found, err := l.find(base, rows[3*i+2])
		switch {
		case err != nil:
			return err
		case found == nil && w.based:
			return ledger.NoRecord(id, bases[i].Namespace, base)
		}
		if over[base] = committed || len(rows[3*i]) > 0; !over[base] && found != nil {
			w.s.noteOpen(w.t, base)
		}
	}
	for _, row := range rows[3*len(bases):] {
		if len(row) == 0 {
			continue
		}
		p, err := w.s.write(id, &row[0])
		if err != nil {
			return err
		}
		stored[string(row[0].Key)] = p
	}
	return nil
}

// unput removes a put of the change, and reports whether it was New.
func (w *writer) unput(t Table, key []byte) (isNew bool) {
	for i := range w.c.Puts {
		if p := &w.c.Puts[i]; p.Table == t && bytes.Equal(p.Bytes, key) {
			isNew = p.New
			w.c.Puts = slices.Delete(w.c.Puts, i, i+1)
			return isNew
		}
	}
	return false
}

// deletes reports whether the change deletes the row of a table with a key.
func (w *writer) deletes(t Table, key []byte) bool {
	return slices.ContainsFunc(w.c.Deletes, func(d Range) bool { return d.Table == t && bytes.Equal(d.Bytes, key) })
}

// write returns the pending write of a row.
func (s *Saver) write(id string, r *Row) (*writeRow, error) {
	p, err := r.write()
	if err != nil {
		return nil, of(id, err)
	}
	s.sawOrder(p.Order)
	return p, nil
}

// pending reads the pending writes of a version that count, in order, without schemas. It returns
// ErrChanged if the thread has changed since t was read.
func (s *Saver) pending(ctx context.Context, t *thread, r root) ([]checkpoint.Write, error) {
	rows, _, err := s.read(ctx, liveWritesOf(t.ID, r))
	if err != nil {
		return nil, err
	}
	all, _, err := s.live(ctx, t, r, rows[0])
	return inOrder(all), err
}

// live returns those of the stored writes that count, without schemas, and the bases of the
// others. It reads which bases are committed, except those of heads, which are the newest records
// of their logs. It returns ErrChanged if the thread has changed since t was read, because records
// that were removed in between would make writes count again. A list passes a t without a
// revision, which is not compared: it is not of one moment.
func (s *Saver) live(ctx context.Context, t *thread, r root, rows []Row, heads ...checkpoint.ID) (all []*writeRow, spent []checkpoint.ID, err error) {
	over := make(map[checkpoint.ID]bool)
	if all, spent, err = s.sift(t.ID, rows, over); err != nil {
		return nil, nil, err
	}
	var ranges []Range
	var asked []log
	var bases []checkpoint.ID
	var before checkpoint.ID
	for _, w := range all {
		if w.Base != before && !slices.Contains(heads, w.Base) {
			l := logOf(t.ID, r, w.Namespace)
			ranges, asked, bases = append(ranges, point(l.after(w.Base)), l.upTo(w.Base, 1)), append(asked, l), append(bases, w.Base)
		}
		before = w.Base
	}
	if len(bases) == 0 {
		return all, spent, nil
	}
	found, err := s.readInParts(ctx, append(ranges, point(threadKey(t.ID)))) // the thread last: so it compares all
	if err != nil {
		return nil, nil, err
	}
	if now := found[len(ranges)]; t.rev != 0 && (len(now) == 0 || now[0].Rev != t.rev) {
		return nil, nil, ErrChanged
	}
	for i, base := range bases {
		if over[base], err = asked[i].commits(base, found[2*i], found[2*i+1]); err != nil {
			return nil, nil, err
		}
		if over[base] {
			spent = append(spent, base)
		}
	}
	return slices.DeleteFunc(all, func(w *writeRow) bool { return over[w.Base] }), spent, nil
}

// sift returns those of the stored writes whose bases are not over, by base, without schemas, and
// the bases of the others. Bases that have a mark are over, too.
func (s *Saver) sift(id string, rows []Row, over map[checkpoint.ID]bool) (all []*writeRow, spent []checkpoint.ID, err error) {
	for i := range rows {
		base := baseOf(rows[i].Key)
		switch {
		case base.IsZero():
		case isMark(rows[i].Key): // the first of its base
			over[base] = true
		case over[base]:
			if !slices.Contains(spent, base) {
				spent = append(spent, base)
			}
		default:
			w, err := s.write(id, &rows[i])
			if err != nil {
				return nil, nil, err
			}
			all = append(all, w)
		}
	}
	return all, spent, nil
}

// inOrder returns pending writes in the order in which they were first stored.
func inOrder(all []*writeRow) []checkpoint.Write {
	slices.SortFunc(all, func(a, b *writeRow) int {
		if a.Order < b.Order {
			return -1
		}
		return 1
	})
	var writes []checkpoint.Write
	for _, w := range all {
		writes = append(writes, w.Write)
	}
	return writes
}
