package rows

import (
	"bytes"
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

// chainPage is how many rows Load reads first, unless it knows how many records restore the state.
const chainPage = 32

// callPage is how many pending writes Load reads first for a subgraph call, which are those of any
// call. If there are more, it reads those of the call alone by another round trip.
const callPage = 32

// Load returns the data that restores a checkpoint, as checkpoint.Saver says.
func (s *Saver) Load(ctx context.Context, p checkpoint.Ref) (chain checkpoint.Chain, err error) {
	known, h, _ := s.recall(p.Thread, "") // right if the revision is still the same
	err = s.call(ctx, p.Check(), func() (err error) {
		var v version
		t, found := known, known != nil && known.Open != 0 && (p.Version == 0 || p.Version == known.Open)
		if known = nil; found {
			v = t.open()
		} else if t, v, found, err = s.locate(ctx, p.Thread, p.Version); err != nil {
			return err
		}
		if !found {
			chain = checkpoint.Chain{}
			return ledger.Absent(p)
		}
		l := loader{s: s, p: p, t: t, v: v, log: logOf(p.Thread, v.root, p.Namespace), page: t.page(&p, h)}
		chain, err = l.load(ctx)
		known = l.newer
		return err
	})
	if err != nil {
		return checkpoint.Chain{}, err
	}
	return chain, nil
}

// page returns how many rows of a log Load reads first. h is the head of the root, as far as it is
// known.
func (t *thread) page(p *checkpoint.Ref, h head) int {
	if !t.runs() {
		h = head{id: t.Head, chain: t.Chain}
	}
	open := t.Open != 0 && (p.Version == 0 || p.Version == t.Open)
	if open && p.Namespace == "" && (p.At.IsZero() || p.At == h.id) && h.chain > 0 {
		return h.chain
	}
	return chainPage
}

// loader is one try of Load.
type loader struct {
	s   *Saver
	p   checkpoint.Ref
	t   *thread
	v   version
	log log

	page  int     // how many rows to read first
	based bool    // the base of the newest record is decoded: others need only their payloads
	newer *thread // the thread as it was read, if it has changed since it was located
}

// load reads the version. It returns ErrChanged if the thread has changed since it was located.
func (l *loader) load(ctx context.Context) (chain checkpoint.Chain, err error) {
	root := logOf(l.p.Thread, l.v.root, "")
	wanted := l.log.all()
	wanted.Reverse, wanted.Limit = true, l.page
	if !l.p.At.IsZero() {
		wanted = l.log.upTo(l.p.At, l.page)
	}
	pending := liveWritesOf(l.p.Thread, l.v.root)
	if !l.p.Questions() {
		pending.Limit = callPage
	}
	ranges := []Range{point(threadKey(l.p.Thread)), pending, root.head(), wanted}
	if !l.p.At.IsZero() {
		ranges = append(ranges, l.log.head(), point(l.log.after(l.p.At)))
	}
	rows, err := l.read(ctx, ranges...)
	if err != nil {
		return chain, err
	}
	chain.Version, chain.Birth, chain.Thread = l.v.number, l.t.About.Birth, l.t.describeVersion(&l.v)
	if l.v.number == l.t.Open {
		chain.Fence = l.t.Fence
	}
	if err := l.heads(&chain, root, rows); err != nil {
		return chain, err
	}
	var live []*writeRow
	if l.p.Questions() {
		if live, _, err = l.s.live(ctx, l.t, l.v.root, rows[1], chain.Thread.Head, chain.Head); err != nil {
			return chain, err
		}
		chain.Thread.Questions = checkpoint.OpenQuestions(inOrder(slices.Clone(live)))
	}
	records, err := l.restore(ctx, &chain, rows[3])
	if err != nil {
		return chain, err
	}
	if len(records) == 0 {
		if !l.p.At.IsZero() {
			return chain, ledger.NoRecord(l.p.Thread, l.p.Namespace, l.p.At)
		}
		return chain, nil
	}
	chain.Last = records[0].Record
	if l.p.Namespace == "" && l.v.number == l.t.Open && chain.Last.ID == chain.Thread.Head {
		h := headOf(&chain.Last)
		h.chain = chain.Chained + 1
		l.s.keep(l.t, "", &h)
	}
	if !l.p.At.IsZero() {
		if records[0].Committed, err = l.log.commits(l.p.At, rows[5], rows[3]); err != nil {
			return chain, err
		}
	}
	written := rows[1]
	if !l.p.Questions() {
		if written, err = l.ofBase(ctx, &chain, rows[1]); err != nil {
			return chain, err
		}
	}
	if err := l.base(ctx, &chain, records, written); err != nil || chain.Committed {
		return chain, err
	}
	if !l.p.Questions() {
		if live, _, err = l.s.live(ctx, l.t, l.v.root, written, chain.Last.Base); err != nil {
			return chain, err
		}
	}
	chain.Writes = inOrder(slices.DeleteFunc(live, func(w *writeRow) bool { return w.Base != chain.Last.Base }))
	return chain, nil
}

// ofBase returns those of the rows of pending writes that are of the base of a chain. It reads
// them if there may be more than the first rows. A run may append to the log meanwhile, and the
// revision of the thread stays the same. So a mark that came with the record after the head does
// not count.
func (l *loader) ofBase(ctx context.Context, chain *checkpoint.Chain, first []Row) (all []Row, err error) {
	base := chain.Last.Base
	if len(first) < callPage {
		for _, r := range first {
			if baseOf(r.Key) == base {
				all = append(all, r)
			}
		}
		return all, nil
	}
	writes := within(Key{Writes, l.p.Thread, l.v.root.base(base)})
	rows, err := l.read(ctx, point(threadKey(l.p.Thread)), writes, point(l.log.after(chain.Head)))
	if err != nil {
		return nil, err
	}
	if len(rows[2]) > 0 && chain.Last.ID == chain.Head {
		return slices.DeleteFunc(rows[1], func(r Row) bool { return isMark(r.Key) }), nil
	}
	return rows[1], nil
}

// read reads ranges. The first has the row of the thread. read returns ErrChanged if the thread
// has changed since it was located.
func (l *loader) read(ctx context.Context, ranges ...Range) ([][]Row, error) {
	rows, now, err := l.s.read(ctx, ranges...)
	if err != nil {
		return nil, err
	}
	t, err := asThread(l.p.Thread, rows[0], now)
	if err == nil && t.rev != l.t.rev {
		l.newer, err = t, ErrChanged
	}
	l.t = t
	return rows, err
}

// heads sets the head of the root and that of the namespace. The Saver keeps the head of the open
// version for the next write.
func (l *loader) heads(chain *checkpoint.Chain, root log, rows [][]Row) error {
	if len(rows[2]) > 0 {
		r, err := root.last(&rows[2][0])
		if err != nil {
			return err
		}
		chain.Thread.Head, chain.Thread.Step = r.ID, r.Step
		if l.v.number == l.t.Open {
			h := headOf(r)
			l.s.keep(l.t, "", &h)
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

// restore sets the payloads of the chain that ends at the record that is asked for. rows are the
// first rows of the log up to there. It returns the records that it decoded, newest first: those
// down to the base of the newest, and none of packs further back.
func (l *loader) restore(ctx context.Context, chain *checkpoint.Chain, rows []Row) (decoded []pack.Record, err error) {
	var newestFirst [][]byte // the deltas
	for limit, page := l.page, rows; ; {
		for i := range page {
			over, err := l.extend(chain, &decoded, &newestFirst, &page[i], i == 0 && limit == l.page)
			if err != nil {
				return nil, err
			}
			if over {
				slices.Reverse(newestFirst)
				chain.Deltas = newestFirst
				return decoded, nil
			}
		}
		if len(page) < limit {
			break
		}
		limit *= 4
		more := Range{Key: Key{Records, l.p.Thread, l.log.prefix}, To: page[len(page)-1].Key, Reverse: true, Limit: limit}
		next, err := l.read(ctx, point(threadKey(l.p.Thread)), more)
		if err != nil {
			return nil, err
		}
		page = next[1]
	}
	if len(decoded) > 0 {
		return nil, of(l.p.Thread, damaged(l.log.prefix, errors.New("the log begins without a snapshot")))
	}
	return nil, nil
}

// extend adds the row before those of a chain to it. It reports whether the chain has its
// snapshot, or the log does not have the record that is asked for. first says that the row has
// that record.
func (l *loader) extend(chain *checkpoint.Chain, decoded *[]pack.Record, deltas *[][]byte, row *Row, first bool) (over bool, err error) {
	if !first && l.based {
		payload, snapshot, several, err := row.payload()
		switch {
		case err != nil:
			return false, of(l.p.Thread, err)
		case several != nil:
			return l.extendByPack(chain, deltas, several)
		}
		return extend(chain, deltas, payload, snapshot), nil
	}
	single, several, err := row.records()
	if err != nil {
		return false, of(l.p.Thread, err)
	}
	if several != nil && !first {
		return l.extendByPack(chain, deltas, several)
	}
	all, err := l.log.expand(row, single, several)
	if err != nil {
		return false, err
	}
	if first && !l.p.At.IsZero() { // a pack may have later ones
		at := slices.IndexFunc(all, func(r pack.Record) bool { return r.ID == l.p.At })
		if at < 0 {
			return true, nil
		}
		all = all[:at+1]
	}
	for i := len(all) - 1; i >= 0; i-- {
		r := all[i]
		if n := len(*decoded); n > 0 {
			r.Committed = r.Committed || (*decoded)[n-1].Commits == r.ID
		}
		*decoded = append(*decoded, r)
		l.based = l.based || r.ID == (*decoded)[0].Base
		if extend(chain, deltas, r.Payload, r.Snapshot) {
			return true, nil
		}
	}
	return false, nil
}

// extend adds the payload before those of a chain to it. It reports whether that is its snapshot.
func extend(chain *checkpoint.Chain, deltas *[][]byte, payload []byte, snapshot bool) (over bool) {
	if snapshot {
		chain.Snapshot = payload
		return true
	}
	*deltas = append(*deltas, payload)
	chain.Chained++
	return false
}

// extendByPack is extend for a pack whose records need not be decoded: it adds their payloads.
func (l *loader) extendByPack(chain *checkpoint.Chain, deltas *[][]byte, p *packRow) (over bool, err error) {
	all, err := pack.Open(p.in(&l.log), p.body)
	if err != nil {
		return false, of(l.p.Thread, err)
	}
	for i := len(all.Deltas) - 1; i >= 0; i-- {
		*deltas = append(*deltas, all.Deltas[i])
	}
	chain.Chained += all.Len()
	if all.Whole {
		chain.Chained--
		chain.Snapshot = all.Snapshot
	}
	return all.Whole, nil
}

// base sets Due and Committed of chain, which are those of the base of its last record. writes are
// the rows of pending writes.
func (l *loader) base(ctx context.Context, chain *checkpoint.Chain, records []pack.Record, writes []Row) error {
	id := chain.Last.Base
	mark := l.v.root.mark(id)
	chain.Committed = slices.ContainsFunc(writes, func(r Row) bool { return string(r.Key) == string(mark) })
	if at := slices.IndexFunc(records, func(r pack.Record) bool { return r.ID == id }); at >= 0 {
		chain.Due = records[at].Due
		chain.Committed = chain.Committed || records[at].Committed
		return nil
	}
	rows, _, err := l.s.read(ctx, l.log.upTo(id, 1), point(l.log.after(id)))
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

// historyPage is how many rows History reads by one call.
const historyPage = 64

// History yields records, as checkpoint.Saver says.
func (s *Saver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		h := history{s: s, p: p, before: q.Before, limit: historyPage}
		if q.Limit > 0 {
			h.limit = min(q.Limit+2, historyPage) // of a run, most records are checkpoints
		}
		h.known, _, _ = s.recall(p.Thread, "") // right if the revision is still the same
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
	limit  int           // the number of rows to read next
	log    *log
	to     []byte // only rows before this key
	over   bool

	known *thread // if the version is its open one, the first page need not locate it
	begun bool    // the first page was read
}

// page returns the next records, newest first.
func (h *history) page(ctx context.Context) ([]pack.Record, error) {
	if h.log == nil {
		if err := h.begin(ctx); err != nil || h.over {
			return nil, err
		}
	}
	rows, err := h.s.readOf(ctx, h.p.Thread, Range{Key: Key{Records, h.p.Thread, h.log.prefix}, To: h.to, Reverse: true, Limit: h.limit})
	if err != nil {
		return nil, err
	}
	if t := h.known; t != nil {
		if h.known = nil; len(rows[1]) == 0 || rows[1][0].Rev != t.rev {
			h.log = nil
			return nil, ErrChanged
		}
	}
	records, err := h.log.records(rows[0])
	if err != nil {
		return nil, err
	}
	if !h.begun && !h.before.IsZero() && !slices.ContainsFunc(records, func(r pack.Record) bool { return r.ID == h.before }) {
		return nil, ledger.NoRecord(h.p.Thread, h.p.Namespace, h.before)
	}
	h.begun = true
	if h.over = len(rows[0]) < h.limit; len(rows[0]) == 0 {
		return nil, nil
	}
	h.limit = historyPage
	h.to = rows[0][len(rows[0])-1].Key
	if !h.before.IsZero() { // a pack has later ones too
		records = slices.DeleteFunc(records, func(r pack.Record) bool { return bytes.Compare(r.ID[:], h.before[:]) >= 0 })
	}
	if n := len(records); n > 0 {
		h.before = records[n-1].ID
	}
	return records, nil
}

// begin finds the log, and the key before which to begin.
func (h *history) begin(ctx context.Context) error {
	var v version
	if t := h.known; t != nil && t.Open != 0 && (h.p.Version == 0 || h.p.Version == t.Open) {
		v = t.open()
	} else {
		var found bool
		var err error
		h.known = nil
		if _, v, found, err = h.s.locate(ctx, h.p.Thread, h.p.Version); err != nil {
			return err
		}
		if !found {
			h.over = true
			at := h.p
			at.At = h.before
			return ledger.Absent(at)
		}
	}
	l := logOf(h.p.Thread, v.root, h.p.Namespace)
	h.log, h.to = &l, after(l.prefix)
	if !h.before.IsZero() {
		h.to = l.key(h.before)
	}
	return nil
}
