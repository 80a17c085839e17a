package rows

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// locate reads a thread and finds one of its versions; 0 is the open one. found is false if it
// does not exist.
func (s *Saver) locate(ctx context.Context, id string, number int) (t *thread, v version, found bool, err error) {
	ranges := []Range{point(threadKey(id))}
	if number != 0 {
		ranges = append(ranges, point(Key{Versions, id, versionKey(id, number)}))
	}
	rows, now, err := s.read(ctx, ranges...)
	if err != nil {
		return nil, v, false, err
	}
	if t, err = asThread(id, rows[0], now); err != nil {
		return nil, v, false, err
	}
	switch {
	case t.Open != 0 && (number == 0 || number == t.Open):
		return t, t.open(), true, nil
	case number == 0 || len(rows[1]) == 0:
		return t, v, false, nil
	}
	v, err = rows[1][0].version()
	return t, v, err == nil, of(id, err)
}

// open returns the open version.
func (t *thread) open() version {
	return version{number: t.Open, root: t.Root, status: t.Status, updated: t.Updated}
}

// describeVersion is describe for any version.
func (t *thread) describeVersion(v *version) checkpoint.Thread {
	d := t.describe()
	if v.number != t.Open {
		d = checkpoint.Thread{ID: t.ID, Version: v.number, Status: v.status, Updated: v.updated, Now: t.now, Versions: t.Versions}
		t.About.Describe(&d)
	}
	return d
}

// chainPage is how many records Load reads first. Chains are shorter unless a state is large.
const chainPage = 32

// Load returns the data that restores a checkpoint, as checkpoint.Saver says.
func (s *Saver) Load(ctx context.Context, p checkpoint.Ref) (chain checkpoint.Chain, err error) {
	err = s.call(ctx, p.Check(), func() error {
		t, v, found, err := s.locate(ctx, p.Thread, p.Version)
		if err != nil {
			return err
		}
		if !found {
			chain = checkpoint.Chain{}
			return ledger.Absent(p)
		}
		l := loader{s: s, ctx: ctx, p: p, t: t, v: v, log: logOf(p.Thread, v.root, p.Namespace)}
		chain, err = l.load()
		return err
	})
	if err != nil {
		return checkpoint.Chain{}, err
	}
	return chain, nil
}

// loader is one try of Load.
type loader struct {
	s   *Saver
	ctx context.Context
	p   checkpoint.Ref
	t   *thread
	v   version
	log log
}

// load reads the version. It returns ErrChanged if the thread has changed since it was located.
func (l *loader) load() (chain checkpoint.Chain, err error) {
	root := logOf(l.p.Thread, l.v.root, "")
	wanted := l.log.all()
	wanted.Reverse, wanted.Limit = true, chainPage
	if !l.p.At.IsZero() {
		wanted = l.log.upTo(l.p.At, chainPage)
	}
	ranges := []Range{point(threadKey(l.p.Thread)), writesOf(l.p.Thread, l.v.root), root.head(), wanted}
	if !l.p.At.IsZero() {
		ranges = append(ranges, l.log.head(), point(l.log.after(l.p.At)))
	}
	rows, err := l.read(ranges...)
	if err != nil {
		return chain, err
	}
	chain.Version, chain.Birth, chain.Thread = l.v.number, l.t.About.Birth, l.t.describeVersion(&l.v)
	if err := l.heads(&chain, root, rows); err != nil {
		return chain, err
	}
	live, err := l.s.liveRows(l.ctx, l.p.Thread, l.v.root, rows[1])
	if err != nil {
		return chain, err
	}
	chain.Thread.Questions = checkpoint.OpenQuestions(inOrder(slices.Clone(live)))
	records, err := l.records(rows[3])
	if err != nil {
		return chain, err
	}
	if len(records) == 0 {
		if !l.p.At.IsZero() {
			return chain, ledger.NoRecord(l.p.Thread, l.p.Namespace, l.p.At)
		}
		return chain, nil
	}
	if !l.p.At.IsZero() {
		if records[0].Committed, err = l.log.commits(l.p.At, rows[5], rows[3]); err != nil {
			return chain, err
		}
	}
	n := len(records) - 1
	chain.Last, chain.Snapshot, chain.Chained = records[0].Record, records[n].Payload, n
	for i := n - 1; i >= 0; i-- {
		chain.Deltas = append(chain.Deltas, records[i].Payload)
	}
	if err := l.base(&chain, records, rows[1]); err != nil {
		return chain, err
	}
	chain.Writes = inOrder(slices.DeleteFunc(live, func(w *Write) bool { return w.Base != chain.Last.Base }))
	return chain, nil
}

// read reads ranges, the first of which has the row of the thread. It returns ErrChanged if the
// thread has changed since it was located.
func (l *loader) read(ranges ...Range) ([][]Row, error) {
	rows, now, err := l.s.read(l.ctx, ranges...)
	if err != nil {
		return nil, err
	}
	if len(rows[0]) == 0 || rows[0][0].Rev != l.t.rev {
		return nil, ErrChanged
	}
	l.t.now = now
	return rows, nil
}

// heads sets the head of the root and that of the namespace. What it learns of the open version is
// kept for the next write.
func (l *loader) heads(chain *checkpoint.Chain, root log, rows [][]Row) error {
	if len(rows[2]) > 0 {
		r, err := root.last(&rows[2][0])
		if err != nil {
			return err
		}
		chain.Thread.Head, chain.Thread.Step = r.ID, r.Step
		if l.v.number == l.t.Open {
			l.s.keep(l.t, "", headOf(r))
		}
	}
	newest := rows[3]
	if !l.p.At.IsZero() {
		newest = rows[4]
	}
	if len(newest) > 0 {
		r, err := l.log.last(&newest[0])
		if err != nil {
			return err
		}
		chain.Head = r.ID
	}
	return nil
}

// records returns the records from the one that is asked for back to a snapshot, newest first.
// rows are the first rows of these.
func (l *loader) records(rows []Row) (all []pack.Record, err error) {
	for limit := chainPage; ; {
		found, err := l.log.records(rows)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 && !l.p.At.IsZero() { // a pack may have later ones
			at := slices.IndexFunc(found, func(r pack.Record) bool { return r.ID == l.p.At })
			if at < 0 {
				return nil, nil
			}
			found = found[at:]
		}
		if len(all) > 0 && len(found) > 0 {
			found[0].Committed = found[0].Committed || all[len(all)-1].Commits == found[0].ID
		}
		all = append(all, found...)
		if i := slices.IndexFunc(all, func(r pack.Record) bool { return r.Snapshot }); i >= 0 {
			return all[:i+1], nil
		}
		if len(rows) < limit {
			break
		}
		limit *= 4
		more := Range{Key: Key{Records, l.p.Thread, l.log.prefix}, To: rows[len(rows)-1].Key, Reverse: true, Limit: limit}
		next, err := l.read(point(threadKey(l.p.Thread)), more)
		if err != nil {
			return nil, err
		}
		rows = next[1]
	}
	if len(all) > 0 {
		return nil, of(l.p.Thread, damaged(l.log.prefix, errors.New("the log begins without a snapshot")))
	}
	return nil, nil
}

// base sets what the base of the last record says. writes are the rows of pending writes.
func (l *loader) base(chain *checkpoint.Chain, records []pack.Record, writes []Row) error {
	id := chain.Last.Base
	mark := l.v.root.mark(id)
	chain.Committed = slices.ContainsFunc(writes, func(r Row) bool { return string(r.Key) == string(mark) })
	if at := slices.IndexFunc(records, func(r pack.Record) bool { return r.ID == id }); at >= 0 {
		chain.Due = records[at].Due
		chain.Committed = chain.Committed || records[at].Committed
		return nil
	}
	rows, _, err := l.s.read(l.ctx, l.log.upTo(id, 1), point(l.log.after(id)))
	if err != nil {
		return err
	}
	found, err := l.log.find(id, rows[0])
	if err != nil || found == nil {
		return err
	}
	committed, err := l.log.commits(id, rows[1], rows[0])
	chain.Due, chain.Committed = found.Due, chain.Committed || committed
	return err
}

// historyPage is how many rows History reads at once.
const historyPage = 64

// History yields records, as checkpoint.Saver says.
func (s *Saver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		h := history{s: s, p: p, before: q.Before}
		for found := 0; !h.over; {
			var records []pack.Record
			err := s.call(ctx, p.Check(), func() (err error) {
				records, err = h.page(ctx)
				return err
			})
			if err != nil {
				yield(checkpoint.Record{}, err)
				return
			}
			for i := range records {
				r := records[i].Record
				if !q.Match(&r) {
					continue
				}
				if q.Headers {
					r.Payload = nil
				}
				if err := ctx.Err(); err != nil {
					yield(checkpoint.Record{}, s.wrap(err))
					return
				}
				if found++; !yield(r, nil) || found == q.Limit {
					return
				}
			}
		}
	}
}

// history is a place in a log, from which it is read towards the oldest record.
type history struct {
	s      *Saver
	p      checkpoint.Ref
	before checkpoint.ID // only records before this one; zero is all
	log    *log
	to     []byte // only rows before this key
	over   bool
}

// page returns the next records, newest first.
func (h *history) page(ctx context.Context) ([]pack.Record, error) {
	if h.log == nil {
		if err := h.begin(ctx); err != nil || h.over {
			return nil, err
		}
	}
	rows, _, err := h.s.read(ctx, Range{Key: Key{Records, h.p.Thread, h.log.prefix}, To: h.to, Reverse: true, Limit: historyPage})
	if err != nil {
		return nil, err
	}
	if h.over = len(rows[0]) < historyPage; len(rows[0]) == 0 {
		return nil, nil
	}
	h.to = rows[0][len(rows[0])-1].Key
	records, err := h.log.records(rows[0])
	if err != nil || h.before.IsZero() {
		return records, err
	}
	at := slices.IndexFunc(records, func(r pack.Record) bool { return r.ID == h.before })
	h.before = checkpoint.ID{}
	return records[at+1:], nil
}

// begin finds the log, and the record before which to begin.
func (h *history) begin(ctx context.Context) error {
	_, v, found, err := h.s.locate(ctx, h.p.Thread, h.p.Version)
	if err != nil {
		return err
	}
	if !found {
		h.over = true
		at := h.p
		at.At = h.before
		return ledger.Absent(at)
	}
	l := logOf(h.p.Thread, v.root, h.p.Namespace)
	h.to = after(l.prefix)
	if !h.before.IsZero() {
		r, err := h.s.record(ctx, l, h.before)
		if err != nil {
			return err
		}
		if r == nil {
			return ledger.NoRecord(h.p.Thread, h.p.Namespace, h.before)
		}
		h.to = l.key(h.before)
	}
	h.log = &l
	return nil
}
