package sqlsaver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Threads yields the threads that have an open version, as [checkpoint.Saver] says: a page at a
// time, by index.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		l := s.listing(q)
		for found := 0; !l.done; {
			page, err := l.page(ctx)
			for _, r := range page {
				if r.damage != nil {
					if !yield(checkpoint.Thread{ID: r.ID}, r.damage) {
						return
					}
					continue
				}
				if found++; !yield(r.Thread, nil) || found == q.Limit {
					return
				}
			}
			if err != nil {
				yield(checkpoint.Thread{}, err)
				return
			}
		}
	}
}

// listing is a list of threads that is being read.
type listing struct {
	s        *Saver
	q        checkpoint.ThreadQuery
	from, to []byte // keys not read yet: from, up to but without to
	size     int64
	few      bool  // the page was read by the index on updated
	kept     []row // with long ids that have the same beginning: their keys are not in order
	done     bool
}

func (s *Saver) listing(q checkpoint.ThreadQuery) *listing {
	l := &listing{s: s, q: q, size: maxPage}
	prefix, after := beginning(q.Prefix), beginning(q.After)
	l.from, l.to = prefix, above(prefix)
	if bytes.Compare(after, prefix) > 0 {
		l.from = after
	}
	if q.Limit > 0 {
		l.size = int64(min(q.Limit+1, maxPage)) // After may be among them
	}
	return l
}

// beginning returns the part of a name that is in its key unchanged.
func beginning(name string) []byte { return []byte(name[:min(len(name), plainName)]) }

// above returns the end of the keys that start with prefix: the smallest key after them, or one
// after all keys.
func above(prefix []byte) []byte {
	b := bytes.TrimRight(prefix, "\xff")
	if len(b) == 0 {
		return bytes.Repeat([]byte{0xff}, longestKey+1)
	}
	b = slices.Clone(b)
	b[len(b)-1]++
	return b
}

// page returns the next threads, in the order of their ids.
func (l *listing) page(ctx context.Context) ([]row, error) {
	if err := l.s.begin(ctx); err != nil {
		return nil, err
	}
	defer l.s.end()
	var rows []row
	err := l.s.list(ctx, func(db Runner) (err error) {
		if rows, err = l.read(ctx, db); err != nil {
			return err
		}
		return l.ask(ctx, db, rows)
	})
	if err != nil {
		l.done = true
		return nil, l.s.wrap(ctx, "threads", err)
	}
	if l.done = int64(len(rows)) < l.size; !l.done {
		l.from = append(slices.Clone(rows[len(rows)-1].key), 0)
	}
	l.size = maxPage
	for i := range rows {
		rows[i].damage = l.s.wrap(ctx, "threads", rows[i].damage)
	}
	return l.order(rows), nil
}

// list runs f; in a transaction that reads by index if the dialect has a statement for that.
func (s *Saver) list(ctx context.Context, f func(db Runner) error) error {
	if !s.has(stReadByIndex) {
		return s.try(ctx, Lost, func() error { return f(s.db) })
	}
	return s.read(ctx, func(tx Tx) error {
		if err := s.later(ctx, tx, stReadByIndex); err != nil {
			return err
		}
		return f(tx)
	})
}

// row is a thread with its key.
type row struct {
	checkpoint.Thread
	key    []byte
	asked  bool
	damage error // if not nil, only the Thread's ID is set
}

// read reads the rows of a page.
func (l *listing) read(ctx context.Context, db Runner) (page []row, err error) {
	st, args, err := l.statement(ctx, db)
	if err != nil {
		return nil, err
	}
	rows, err := l.s.query(ctx, db, st, append(args, l.size)...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(rows Rows) error {
		r, err := scanThread(rows)
		if errors.Is(err, checkpoint.ErrDamaged) {
			r.damage, err = err, nil
		}
		page = append(page, r)
		return err
	})
	return page, err
}

// fewIdle is the number that stCountIdle counts up to: fewer idle threads are few.
const fewIdle = 1000

// statement returns the statement that reads a page, and all its arguments but the last. The index
// of keys finds many idle threads fast; the index on updated finds few.
func (l *listing) statement(ctx context.Context, db Runner) (st statement, args []any, err error) {
	args = []any{l.from, l.to}
	var status any
	if l.q.Status != 0 {
		status = int64(l.q.Status)
	}
	if l.q.IdleSince.IsZero() {
		if status == nil {
			return stThreads, args, nil
		}
		return stThreadsByStatus, append(args, status), nil
	}
	idle, before := int64(0), ceilMicro(l.q.IdleSince)
	_, err = l.s.one(ctx, db, stCountIdle, []any{before}, &idle)
	switch l.few = idle < fewIdle; {
	case l.few:
		return stThreadsFewIdle, []any{before, l.from, l.to, status}, err
	case status == nil:
		return stThreadsIdle, append(args, before), err
	}
	return stThreadsIdleByStatus, append(args, status, before), err
}

// ceilMicro returns the first microsecond that is not before t.
func ceilMicro(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

func scanThread(rows Rows) (r row, err error) {
	var rest, holder, head []byte
	var version, versions, status, until, updated, now int64
	var step *int64
	err = rows.Scan(&r.key, &rest, &version, &versions, &status, &holder, &until, &updated, &r.asked, &now, &head, &step)
	if err != nil {
		return r, err
	}
	t := thread{
		id: nameOf(r.key, rest), open: int(version), versions: int(versions), holder: string(holder), until: until, now: now,
	}
	r.ID = t.id
	var root checkpoint.Record
	if !setID(&root.ID, head) {
		return r, fmt.Errorf("thread %.64q: the head's id is not 16 bytes long: %w", t.id, checkpoint.ErrDamaged)
	}
	if step != nil {
		root.Step = int(*step)
	}
	r.Thread = describe(&t, openVersion(int(version), status, updated), root, nil)
	return r, nil
}

// ask sets the questions of a page by one statement, if any thread may have some.
func (l *listing) ask(ctx context.Context, db Runner, page []row) error {
	if !slices.ContainsFunc(page, func(r row) bool { return r.asked }) {
		return nil
	}
	st, args := stQuestions, []any{page[0].key, page[len(page)-1].key}
	switch {
	case l.few:
		st, args = stQuestionsFewIdle, append([]any{ceilMicro(l.q.IdleSince)}, args...)
	case l.q.Status != 0:
		st, args = stQuestionsByStatus, append(args, int64(l.q.Status))
	}
	rows, err := l.s.query(ctx, db, st, args...)
	if err != nil {
		return err
	}
	writes, damage := make(map[string][]checkpoint.Write), make(map[string]error)
	ids := make(map[string]string, len(page))
	for i := range page {
		ids[string(page[i].key)] = page[i].ID
	}
	err = each(rows, func(rows Rows) error {
		var key, data []byte
		if err := rows.Scan(&key, &data); err != nil {
			return err
		}
		id, found := ids[string(key)]
		if !found { // its question was asked after the page was read
			return nil
		}
		w, err := decodeWrite(id, data)
		if errors.Is(err, checkpoint.ErrDamaged) {
			damage[string(key)], err = err, nil
		}
		writes[string(key)] = append(writes[string(key)], w)
		return err
	})
	for i := range page {
		r := &page[i]
		if r.Questions = checkpoint.OpenQuestions(writes[string(r.key)]); r.damage == nil {
			r.damage = damage[string(r.key)]
		}
	}
	return err
}

// order returns the threads of a page that the query selects, in the order of their ids. It may
// keep the last ones for the next page.
func (l *listing) order(rows []row) (page []row) {
	for _, r := range rows {
		if len(l.kept) > 0 && !bytes.Equal(beginning(l.kept[0].ID), beginning(r.ID)) {
			page = l.flush(page)
		}
		switch {
		case !strings.HasPrefix(r.ID, l.q.Prefix) || r.ID <= l.q.After:
		case len(r.ID) < plainName:
			page = append(page, r)
		default:
			l.kept = append(l.kept, r)
		}
	}
	if l.done {
		page = l.flush(page)
	}
	return page
}

func (l *listing) flush(page []row) []row {
	slices.SortFunc(l.kept, func(a, b row) int { return strings.Compare(a.ID, b.ID) })
	page = append(page, l.kept...)
	l.kept = nil
	return page
}

func openVersion(number int, status, updated int64) *version {
	return &version{number: number, status: checkpoint.Status(status), updated: updated}
}
