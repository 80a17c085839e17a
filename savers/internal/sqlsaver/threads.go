package sqlsaver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Threads yields the threads that q selects, as [checkpoint.Saver] says: a page at a time, by
// index. NewestFirst with a prefix or IdleSince that selects many threads reads by the creation
// time, and leaves out those that are not selected.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		if err := q.Check(); err != nil {
			yield(checkpoint.Thread{}, err)
			return
		}
		l := s.listing(q)
		for found := 0; !l.done; {
			page, err := l.page(ctx)
			for _, r := range page {
				if r.damage != nil {
					if !yield(checkpoint.Thread{ID: r.ID, Created: r.Created}, r.damage) {
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
	span     span   // in the order NewestFirst
	size     int64
	begun    bool
	kept     []row // with long ids that have the same beginning: their keys are not in order
	done     bool
}

func (s *Saver) listing(q checkpoint.ThreadQuery) *listing {
	l := &listing{s: s, q: q, size: maxPage}
	prefix, after := beginning(q.Prefix), beginning(q.After)
	l.from, l.to = prefix, above(prefix)
	if q.NewestFirst() {
		l.span = spanOf(&q, l.to)
	} else if bytes.Compare(after, prefix) > 0 {
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

// page returns the next threads, in the order of the query.
func (l *listing) page(ctx context.Context) ([]row, error) {
	if !l.begun {
		l.begun = true
		if short, err := l.short(ctx); short || err != nil {
			l.done = true
			if err != nil {
				return nil, err
			}
			return l.sorted(ctx)
		}
	}
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
		l.follow(&rows[len(rows)-1])
	}
	l.size = maxPage
	for i := range rows {
		rows[i].damage = l.s.wrap(ctx, "threads", rows[i].damage)
	}
	return l.order(rows), nil
}

// follow makes the next page follow the last row of a page.
func (l *listing) follow(r *row) {
	if l.q.NewestFirst() {
		l.span.until, l.span.last = r.created, slices.Clone(r.key)
		return
	}
	l.from = append(slices.Clone(r.key), 0)
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
	key     []byte
	created int64 // the column
	asked   bool
	root    int64
	damage  error // if not nil, only the Thread's ID and Created are set
}

// read reads the rows of a page.
func (l *listing) read(ctx context.Context, db Runner) (page []row, err error) {
	st, args, err := l.statement(ctx, db)
	if err != nil {
		return nil, err
	}
	rows, err := l.s.query(ctx, db, st, args...)
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

// few is the number that stCountIdle and stCountCreated count up to: fewer threads are few.
const few = 1000

// filters are the values that select threads: nil is any. released is 1 for all versions, 0 for
// open ones.
type filters struct{ released, status, graph, idle, since, until any }

func (l *listing) filters() filters {
	f := filters{released: int64(0), status: optionalStatus(l.q.Status)}
	if l.q.Released {
		f.released = int64(1)
	}
	f.since, f.until = createdIn(&l.q)
	if l.q.Graph != "" {
		f.graph = []byte(l.q.Graph)
	}
	if !l.q.IdleSince.IsZero() {
		f.idle = ceilMicro(l.q.IdleSince)
	}
	return f
}

// createdIn returns the creation times that q selects: since, up to but without until.
func createdIn(q *checkpoint.ThreadQuery) (since, until int64) {
	since, until = math.MinInt64/2, math.MaxInt64
	if !q.CreatedSince.IsZero() {
		since = ceilMicro(q.CreatedSince)
	}
	if !q.CreatedUntil.IsZero() {
		until = ceilMicro(q.CreatedUntil)
	}
	if !q.IdleSince.IsZero() {
		until = min(until, ceilMicro(q.IdleSince))
	}
	return since, until
}

// label returns the label by whose index the list is read.
func (l *listing) label() (name, value []byte) {
	first := slices.Min(slices.Collect(maps.Keys(l.q.Labels)))
	return []byte(first), []byte(l.q.Labels[first])
}

// statement returns the statement that reads a page, and its arguments. It reads by the index of a
// label if the query has labels. If few threads are idle, or were created in the time, it reads
// these. Otherwise it reads by the keys, within the graph and status of the query.
func (l *listing) statement(ctx context.Context, db Runner) (st statement, args []any, err error) {
	if l.q.NewestFirst() {
		st, args = l.newestStatement()
		return st, args, nil
	}
	f := l.filters()
	if len(l.q.Labels) > 0 {
		name, value := l.label()
		return stThreadsByLabel, []any{
			l.from, l.to, name, value, f.released, f.status, f.graph, f.idle, f.since, f.until, l.size,
		}, nil
	}
	var n int64
	if f.idle != nil {
		if _, err = l.s.one(ctx, db, stCountIdle, []any{f.idle}, &n); err != nil || n < few {
			return stThreadsFewIdle, []any{l.from, l.to, f.idle, f.released, f.status, f.graph, f.since, f.until, l.size}, err
		}
	}
	if !l.q.CreatedSince.IsZero() || !l.q.CreatedUntil.IsZero() {
		if _, err = l.s.one(ctx, db, stCountCreated, []any{f.since, f.until}, &n); err != nil || n < few {
			return stThreadsFewCreated, []any{l.from, l.to, f.since, f.until, f.released, f.status, f.graph, f.idle, l.size}, err
		}
	}
	args = []any{l.from, l.to}
	switch {
	case f.graph != nil && f.status != nil:
		st, args = stThreadsByGraphStatus, append(args, f.graph, f.status)
	case f.graph != nil:
		st, args = stThreadsByGraph, append(args, f.graph, f.released)
	case f.status != nil:
		st, args = stThreadsByStatus, append(args, f.status)
	default:
		st, args = stThreads, append(args, f.released)
	}
	return st, append(args, f.idle, f.since, f.until, l.size), nil
}

// ceilMicro returns the first microsecond that is not before t.
func ceilMicro(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

func scanThread(rows Rows) (r row, err error) {
	var rest, holder, head, graph, title, labels []byte
	var version, versions, status, until, updated, wake, attempts, posted, inputs, others, cancels, priority, now int64
	var step *int64
	err = rows.Scan(&r.key, &rest, &version, &versions, &status, &holder, &until, &updated, &r.asked,
		&r.root, &r.created, &graph, &title, &labels, &wake, &attempts, &posted, &inputs, &others, &cancels, &priority, &now, &head, &step)
	if err != nil {
		return r, err
	}
	t := thread{
		id: nameOf(r.key, rest), open: int(version), versions: int(versions), holder: string(holder), until: until, now: now,
		wake: wake, attempts: int(attempts), posted: posted, inputs: inputs, others: others, cancels: cancels,
	}
	r.ID, r.Created = t.id, createdAt(r.created)
	t.about = ledger.About{Graph: string(graph), Created: r.Created, Title: string(title), Priority: checkpoint.Priority(priority)}
	if t.about.Labels, err = labelsOf(labels); err != nil {
		return r, fmt.Errorf("thread %.64q: %w", t.id, err)
	}
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
	var roots []int64
	at := make(map[int64]*row)
	for i := range page {
		if r := &page[i]; r.asked {
			roots, at[r.root] = append(roots, r.root), r
		}
	}
	if len(roots) == 0 {
		return nil
	}
	list, err := json.Marshal(roots)
	if err != nil {
		return err
	}
	rows, err := l.s.query(ctx, db, stQuestions, string(list))
	if err != nil {
		return err
	}
	writes := make(map[*row][]checkpoint.Write)
	err = each(rows, func(rows Rows) error {
		var root int64
		var data []byte
		if err := rows.Scan(&root, &data); err != nil {
			return err
		}
		r := at[root]
		w, err := decodeWrite(r.ID, data)
		if errors.Is(err, checkpoint.ErrDamaged) {
			if r.damage == nil {
				r.damage = err
			}
			err = nil
		}
		writes[r] = append(writes[r], w)
		return err
	})
	for r := range writes {
		r.Questions = checkpoint.OpenQuestions(writes[r])
	}
	return err
}

// order returns the threads of a page that the query selects, in its order. It may keep the last
// ones for the next page.
func (l *listing) order(rows []row) (page []row) {
	for _, r := range rows {
		if len(l.kept) > 0 && !l.alike(&l.kept[0], &r) {
			page = l.flush(page)
		}
		switch {
		case !strings.HasPrefix(r.ID, l.q.Prefix) || !ledger.Follows(&l.q, r.ID, r.Created):
		case r.damage == nil && !ledger.Labelled(r.Labels, l.q.Labels): // the statement checked one label
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
	order := func(a, b row) int { return strings.Compare(a.ID, b.ID) }
	if l.q.NewestFirst() {
		order = newer
	}
	slices.SortFunc(l.kept, order)
	page = append(page, l.kept...)
	l.kept = nil
	return page
}

func openVersion(number int, status, updated int64) *version {
	return &version{number: number, status: checkpoint.Status(status), updated: updated}
}
