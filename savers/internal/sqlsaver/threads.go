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
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Threads yields the threads that q selects, as [checkpoint.Saver] says: a page at a time, by
// index. A list that is newest first reads by one of its filters, and checks the others on each
// row.
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
	done     bool
}

func (s *Saver) listing(q checkpoint.ThreadQuery) *listing {
	l := &listing{s: s, q: q, size: maxPage}
	l.from, l.to = []byte(q.Prefix), above(q.Prefix)
	if q.NewestFirst() {
		l.span = spanOf(&q, l.to)
	} else if q.After != "" && q.After >= q.Prefix {
		l.from = append([]byte(q.After), 0)
	}
	if q.Limit > 0 {
		l.size = int64(min(q.Limit, maxPage))
	}
	return l
}

// above returns the end of the ids that start with prefix: the smallest id after them, or one
// after all ids.
func above(prefix string) []byte {
	b := bytes.TrimRight([]byte(prefix), "\xff")
	if len(b) == 0 {
		return bytes.Repeat([]byte{0xff}, checkpoint.MaxThread+1)
	}
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
	return slices.DeleteFunc(rows, func(r row) bool {
		return r.damage == nil && !ledger.Labelled(r.Labels, l.q.Labels) // the statement checked one label
	}), nil
}

// follow makes the next page follow the last row of a page.
func (l *listing) follow(r *row) {
	if l.q.NewestFirst() {
		l.span.until, l.span.last = r.created, []byte(r.ID)
		return
	}
	l.from = append([]byte(r.ID), 0)
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

// row is a thread in a list.
type row struct {
	checkpoint.Thread
	created int64 // the column
	asked   bool
	root    int64
	damage  error // if not nil, only the Thread's ID and Created are set
}

// read reads the rows of a page.
func (l *listing) read(ctx context.Context, db Runner) (page []row, err error) {
	st, args := l.statement()
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

// few is the number that stCountKeys counts up to: fewer threads are few.
const few = 1000

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

// statement returns the statement that reads a page, and its arguments. A list that is newest
// first is read by an index with the creation time. It is that of a label, of the status if the
// index has it, of the graph, or of all threads. nil is any value of the other filters.
func (l *listing) statement() (st statement, args []any) {
	var released int64
	if l.q.Released {
		released = 1
	}
	if !l.q.NewestFirst() {
		return stThreads, []any{l.from, l.to, released, l.size}
	}
	var graph, idle any
	if l.q.Graph != "" {
		graph = []byte(l.q.Graph)
	}
	if !l.q.IdleSince.IsZero() {
		idle = ceilMicro(l.q.IdleSince)
	}
	var others []any
	status := optionalStatus(l.q.Status)
	switch {
	case len(l.q.Labels) > 0:
		name := slices.Min(slices.Collect(maps.Keys(l.q.Labels)))
		st, args, others = stNewestByLabel, []any{[]byte(name), []byte(l.q.Labels[name])}, []any{status, graph}
	case status != nil && l.q.Status != checkpoint.Done:
		st, args, others = stNewestByStatus, []any{status}, []any{graph}
	case graph != nil:
		st, args, others = stNewestByGraph, []any{graph}, []any{status}
	default:
		st, others = stNewest, []any{status}
	}
	return st, slices.Concat(args, []any{l.span.since, l.span.until, l.span.last, l.from, l.to, released}, others, []any{idle, l.size})
}

// ceilMicro returns the first microsecond that is not before t.
func ceilMicro(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }

func scanThread(rows Rows) (r row, err error) {
	var id, holder, head, graph, title, labels []byte
	var version, versions, status, until, updated, wake, attempts, posted, inputs, others, cancels, priority, now int64
	var step *int64
	err = rows.Scan(&id, &version, &versions, &status, &holder, &until, &updated, &r.asked,
		&r.root, &r.created, &graph, &title, &labels, &wake, &attempts, &posted, &inputs, &others, &cancels, &priority, &now, &head, &step)
	if err != nil {
		return r, err
	}
	t := thread{
		id: string(id), open: int(version), versions: int(versions), holder: string(holder), until: until, now: now,
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

func openVersion(number int, status, updated int64) *version {
	return &version{number: number, status: checkpoint.Status(status), updated: updated}
}
