package sqlsaver

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Schemas returns the descriptions of schemas, as [checkpoint.Saver] says.
func (s *Saver) Schemas(ctx context.Context, id string, version int) (all map[uint64][]byte, err error) {
	p := checkpoint.Ref{Thread: id, Version: version}
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	err = s.read(ctx, func(tx Tx) error {
		t, v, err := s.version(ctx, tx, id, version)
		if err != nil {
			return err
		}
		if v == nil {
			return ledger.Absent(p)
		}
		writes, err := s.schemas(ctx, tx, t.id, v.root)
		if err == nil {
			all, err = checkpoint.Schemas(writes)
		}
		return err
	})
	return all, s.wrap(ctx, "schemas", err)
}

// root returns the id and step of the head of a root's log.
func (s *Saver) root(ctx context.Context, tx Tx, log int64) (r checkpoint.Record, err error) {
	var id []byte
	var step int64
	found, err := s.one(ctx, tx, stRootHead, []any{log}, &id, &step)
	if err != nil || !found {
		return r, err
	}
	r.Step = int(step)
	if !setID(&r.ID, id) {
		err = fmt.Errorf("the head's id is not 16 bytes long: %w", checkpoint.ErrDamaged)
	}
	return r, err
}

// place returns the seq of the checkpoint that p names, in a log with this head; 0 for none.
// packed says that the version may have packs.
func (s *Saver) place(ctx context.Context, tx Tx, at spot, p checkpoint.Ref, h head, packed bool) (last int64, err error) {
	if p.At.IsZero() {
		return h.seq, nil
	}
	last, found, err := s.find(ctx, tx, at, p.At, packed)
	if err == nil && !found {
		err = ledger.NoRecord(p.Thread, p.Namespace, p.At)
	}
	return last, err
}

// base is the place of a record, and whether it is committed. It is zero if the version does not
// have the record.
type base struct {
	log, seq  int64
	committed bool
}

// base finds a record of a version. Its body is not read.
func (s *Saver) base(ctx context.Context, db Runner, root int64, id checkpoint.ID) (b base, err error) {
	_, err = s.one(ctx, db, stBase, []any{root, id[:]}, &b.log, &b.seq, &b.committed)
	return b, err
}

// version is one version of a thread.
type version struct {
	number   int
	root     int64 // the log of its root
	status   checkpoint.Status
	updated  int64
	released int64 // 0 while open
	packed   bool  // it may have packs
}

// version returns a version of a thread, 0 for the open one. It returns nil if the version does
// not exist.
func (s *Saver) version(ctx context.Context, db Runner, id string, number int) (*thread, *version, error) {
	t, err := s.thread(ctx, db, stThread, id)
	if err != nil || t == nil {
		return nil, nil, err
	}
	if number == 0 || number == t.open {
		if t.open == 0 {
			return t, nil, nil
		}
		return t, &version{number: t.open, root: t.root, status: t.status, updated: t.updated, packed: !t.packed.IsZero()}, nil
	}
	v, status := &version{number: number, packed: !t.packed.IsZero()}, int64(0)
	found, err := s.one(ctx, db, stVersion, []any{t.no, int64(number)}, &v.root, &status, &v.updated, &v.released)
	if err != nil || !found {
		return t, nil, err
	}
	v.status = checkpoint.Status(status)
	return t, v, nil
}

// describe returns a version as a Thread.
func describe(t *thread, v *version, root checkpoint.Record, writes []checkpoint.Write) checkpoint.Thread {
	d := checkpoint.Thread{
		ID: t.id, Version: v.number, Status: v.status, Head: root.ID, Step: root.Step,
		Updated: updatedAt(v.updated), Now: time.UnixMicro(t.now).UTC(), Versions: t.versions, Questions: checkpoint.OpenQuestions(writes),
	}
	t.about.Describe(&d)
	if v.released == 0 {
		d.Wake, d.Attempts = wakeAt(t.wake), t.attempts
		d.Posted, d.Inputs, d.Others, d.Cancels = uint64(t.posted), int(t.inputs), int(t.others), int(t.cancels)
	}
	if v.released == 0 && t.leased() {
		d.Holder, d.Lease = t.holder, time.UnixMicro(t.until).UTC()
	}
	return d
}

// updatedAt decodes the column updated.
func updatedAt(column int64) time.Time {
	if column == never {
		return time.Time{}
	}
	return time.UnixMicro(column).UTC()
}

// History yields records, newest first, as [checkpoint.Saver] says. It reads them in pages.
func (s *Saver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		h := history{s: s, p: p, before: q.Before, headers: q.Headers, size: 16}
		if q.Limit > 0 {
			h.size = int64(min(max(q.Limit+2, 4), maxPage)) // resume records may be among them
		}
		found := 0
		for !h.done {
			page, err := h.page(ctx)
			for i := range page {
				if !q.Match(&page[i]) {
					continue
				}
				if q.Headers {
					page[i].Payload = nil // of a record of a pack
				}
				if found++; !yield(page[i], nil) || found == q.Limit {
					return
				}
			}
			if err != nil {
				yield(checkpoint.Record{}, err)
				return
			}
		}
	}
}

// maxPage is how many records, or threads, are read at a time.
const maxPage = 256

// history is a history that is being read.
type history struct {
	s       *Saver
	p       checkpoint.Ref
	before  checkpoint.ID
	headers bool // without payloads
	at      spot
	line    line  // the head's
	next    int64 // only records with a smaller seq; 0 before the first page
	size    int64
	done    bool
}

// page returns the next records. A page is one moment of the log: between two, records may be
// packed.
func (h *history) page(ctx context.Context) (page []checkpoint.Record, err error) {
	if err := h.p.Check(); err != nil {
		return nil, err
	}
	if err := h.s.begin(ctx); err != nil {
		return nil, err
	}
	defer h.s.end()
	more := false
	err = h.s.read(ctx, func(tx Tx) error {
		if h.next == 0 {
			if err := h.start(ctx, tx); err != nil || h.done {
				return err
			}
		}
		page, more, err = h.s.page(ctx, tx, h.at, h.line, h.headers, h.next-1, h.size)
		return err
	})
	if len(page) > 0 {
		h.next = int64(page[len(page)-1].Seq)
	}
	h.done = h.done || err != nil || !more || h.next <= 1
	h.size = min(2*h.size, maxPage)
	return page, h.s.wrap(ctx, "history", err)
}

// start finds the first record.
func (h *history) start(ctx context.Context, tx Tx) error {
	p := h.p
	p.At = h.before
	t, v, err := h.s.version(ctx, tx, p.Thread, p.Version)
	if err != nil {
		return err
	}
	if v == nil {
		h.done = true
		return ledger.Absent(p)
	}
	h.at, err = h.s.spot(ctx, tx, rootOf(t, v.number, v.root), p.Namespace)
	if err != nil {
		return err
	}
	head, err := h.s.head(ctx, tx, h.at)
	if err != nil {
		return err
	}
	h.line = head.line
	h.next, err = h.s.place(ctx, tx, h.at, p, head, v.packed)
	switch {
	case err != nil:
		return err
	case h.at.log == unknown:
		h.done = true
	case h.before.IsZero():
		h.next++ // the head is the first
	}
	return nil
}

// Versions returns a thread's versions, as [checkpoint.Saver] says.
func (s *Saver) Versions(ctx context.Context, id string) (all []checkpoint.Version, err error) {
	if err := checkpoint.CheckThread(id); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	err = s.try(ctx, Lost, func() error {
		all = nil
		rows, err := s.query(ctx, s.db, stVersions, []byte(id))
		if err != nil {
			return err
		}
		return each(rows, func(rows Rows) error {
			v, err := scanVersion(id, rows)
			all = append(all, v)
			return err
		})
	})
	return all, s.wrap(ctx, "versions", err)
}

func scanVersion(id string, rows Rows) (checkpoint.Version, error) {
	var number, status, released, records int64
	var head []byte
	if err := rows.Scan(&number, &status, &released, &records, &head); err != nil {
		return checkpoint.Version{}, err
	}
	v := checkpoint.Version{Thread: id, Number: int(number), Status: checkpoint.Status(status), Records: int(records)}
	if released > 0 {
		v.Released = time.UnixMicro(released).UTC()
	}
	if !setID(&v.Head, head) {
		return v, fmt.Errorf("version %d: the head's id is not 16 bytes long: %w", number, checkpoint.ErrDamaged)
	}
	return v, nil
}
