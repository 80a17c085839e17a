package rows

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// versionsOf selects the released versions of a thread, oldest first.
func versionsOf(id string) Range { return within(Key{Versions, id, threadHash(id)}) }

// release closes the open version, whose head and size v has, and returns it whole. It refuses the
// messages for the version.
func (w *writer) release(ctx context.Context, v version) (version, error) {
	t := &w.next
	v.number, v.root, v.status, v.updated, v.released = t.Open, t.Root, t.Status, t.Updated, w.t.now
	if err := w.refuseOthers(ctx); err != nil {
		return v, err
	}
	w.put(Versions, versionKey(t.ID, v.number), &v, false)
	t.Open, t.Root, t.Status, t.Fence, t.Holder, t.Attempts, t.Asked = 0, root{}, 0, checkpoint.ID{}, "", 0, false
	t.Until, t.Wake, t.Head, t.Step = time.Time{}, time.Time{}, checkpoint.ID{}, 0
	t.Missing = 0
	if t.Inputs > 0 {
		t.Wake = w.t.now
	}
	return v, nil
}

// refuseOthers refuses all untaken messages but inputs.
func (w *writer) refuseOthers(ctx context.Context) error {
	var untakenRows []Row
	for _, p := range w.c.Puts { // those that the same write returned
		if p.Table == Messages && p.Bytes[idSize] == untaken {
			untakenRows = append(untakenRows, Row{Key: p.Bytes, Value: p.Value})
		}
	}
	if w.next.Others > 0 {
		rows, _, err := w.s.read(ctx, mailOf(w.next.ID, untaken))
		if err != nil {
			return err
		}
		for _, row := range rows[0] {
			if !w.deletes(Messages, row.Key) {
				untakenRows = append(untakenRows, row)
			}
		}
	}
	all, err := asMail(w.next.ID, untakenRows)
	if err != nil {
		return err
	}
	for i := range all {
		if all[i].Kind != checkpoint.InputMessage {
			w.handled(&all[i], ledger.Released)
		}
	}
	return nil
}

// Release closes the open version, as checkpoint.Saver says.
func (s *Saver) Release(ctx context.Context, id string, ifHead checkpoint.ID) (out checkpoint.Version, err error) {
	err = s.change(ctx, checkpoint.CheckThread(id), func() error {
		t, err := s.thread(ctx, id)
		switch {
		case err != nil:
			return err
		case t.Open == 0:
			return ledger.NoVersion(id, 0)
		case t.leased():
			return t.busy()
		}
		v := t.open()
		if err := s.measure(ctx, t, &v); err != nil {
			return err
		}
		if !ifHead.IsZero() && ifHead != v.head {
			return t.conflict("head", "", ifHead, v.head)
		}
		w := newWriter(s, t)
		next := &w.next
		if v, err = w.release(ctx, v); err != nil {
			return err
		}
		w.c.Once = true
		if _, _, err := s.apply(ctx, &w.c, t, next); err != nil {
			return err
		}
		s.forget(id)
		out = v.describe(id)
		return nil
	})
	return out, err
}

// measure adds the head of the root, and the number of its records, to the open version v of t. It
// returns ErrChanged if the thread has changed since t was read.
func (s *Saver) measure(ctx context.Context, t *thread, v *version) error {
	l := logOf(t.ID, v.root, "")
	rows, _, err := s.read(ctx, point(threadKey(t.ID)), l.head())
	switch {
	case err != nil:
		return err
	case len(rows[0]) == 0 || rows[0][0].Rev != t.rev:
		return ErrChanged
	case len(rows[1]) == 0:
		return nil
	}
	r, err := l.last(&rows[1][0])
	if err == nil {
		v.head, v.records = r.ID, int(r.Seq-t.Missing)
	}
	return err
}

// describe returns v as one of the versions of a thread.
func (v *version) describe(id string) checkpoint.Version {
	return checkpoint.Version{Thread: id, Number: v.number, Released: v.released, Head: v.head, Records: v.records, Status: v.status}
}

// Versions returns the versions of a thread, as checkpoint.Saver says.
func (s *Saver) Versions(ctx context.Context, id string) (all []checkpoint.Version, err error) {
	err = s.call(ctx, checkpoint.CheckThread(id), func() error {
		all = nil
		rows, now, err := s.read(ctx, point(threadKey(id)), versionsOf(id))
		if err != nil {
			return err
		}
		t, err := asThread(id, rows[0], now)
		if err != nil {
			return err
		}
		versions, err := asVersions(id, rows[1])
		if err != nil {
			return err
		}
		if t.Open != 0 {
			v := t.open()
			if err := s.measure(ctx, t, &v); err != nil {
				return err
			}
			versions = append(versions, v)
		}
		for i := range versions {
			all = append(all, versions[i].describe(id))
		}
		return nil
	})
	return all, err
}

// asVersions returns the versions of rows.
func asVersions(id string, rows []Row) ([]version, error) {
	all := make([]version, len(rows))
	for i := range rows {
		v, err := rows[i].version()
		if err != nil {
			return nil, of(id, err)
		}
		all[i] = v
	}
	return all, nil
}

// Schemas returns descriptions of schemas, as checkpoint.Saver says.
func (s *Saver) Schemas(ctx context.Context, id string, number int) (all map[uint64][]byte, err error) {
	p := checkpoint.Ref{Thread: id, Version: number}
	err = s.call(ctx, p.Check(), func() error {
		_, v, found, err := s.locate(ctx, id, number)
		if err != nil {
			return err
		}
		if !found {
			return ledger.Absent(p)
		}
		rows, _, err := s.read(ctx, within(Key{Writes, id, v.root.base(checkpoint.ID{})}))
		if err != nil {
			return err
		}
		var writes []checkpoint.Write
		for i := range rows[0] {
			w, err := s.write(id, &rows[0][i])
			if err != nil {
				return err
			}
			writes = append(writes, w.Write)
		}
		all, err = checkpoint.Schemas(writes)
		return err
	})
	return all, err
}

// Delete removes a thread, as checkpoint.Saver says.
func (s *Saver) Delete(ctx context.Context, id string) error {
	_, err := s.removeThread(ctx, id, nil)
	return err
}

// removeVersion adds the removal of all that a version has.
func (c *Change) removeVersion(id string, r root) {
	for _, t := range [...]Table{Records, Logs, Writes, States} {
		c.Deletes = append(c.Deletes, within(Key{t, id, r[:]}))
	}
}
