package rows

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// listPage is how many threads a list reads by one call, and briefPage how many a brief one reads
// by the index alone.
const (
	listPage  = 128
	briefPage = 4096
)

// Threads yields threads, as checkpoint.Saver says.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		w := newWalk(s, &q)
		count := 0
		for !w.over {
			var page []listing
			err := s.call(ctx, q.Check(), func() (err error) {
				page, err = w.page(ctx, q.Limit-count)
				return err
			})
			if err != nil {
				yield(checkpoint.Thread{}, err)
				return
			}
			for _, l := range page {
				if err := ctx.Err(); err != nil {
					yield(checkpoint.Thread{}, s.wrap(err))
					return
				}
				if l.err == nil {
					count++
				}
				if !yield(l.t, s.wrap(l.err)) || l.err == nil && count == q.Limit {
					return
				}
			}
		}
	}
}

// listing is a thread of a list, or the error of one that is damaged.
type listing struct {
	t   checkpoint.Thread
	err error
}

// walk is a place in a list of threads.
type walk struct {
	s    *Saver
	q    *checkpoint.ThreadQuery
	r    Range // the rows that are left
	cut  int   // the length of what precedes the key of listKey; 0 if the rows are those of the threads
	sort bool  // the rows have another order, so the list is one page
	few  bool  // the threads with the prefix may be so few that all of them are read and sorted
	sure bool  // the index of statuses says all that the query filters by, and all that it wants
	over bool
}

// newWalk chooses the rows that a list reads: those of the most selective index.
func newWalk(s *Saver, q *checkpoint.ThreadQuery) *walk {
	w := &walk{s: s, q: q}
	index := func(prefix []byte) {
		w.r, w.cut, w.few = ages(prefix, q), len(prefix), q.Prefix != ""
	}
	switch {
	case q.ID != "", q.Released, q.Tasks(): // no index has them
		w.ids()
		w.sort = q.NewestFirst()
	case len(q.Labels) > 0:
		name := slices.Min(slices.Collect(maps.Keys(q.Labels)))
		index(labelIndex(name, q.Labels[name]))
	case q.Status != 0 && hasIndex(q.Status):
		index([]byte{byStatus, byte(q.Status)})
		w.sure = q.Brief && q.IdleSince.IsZero()
	case q.Graph != "":
		index(graphIndex(q.Graph))
	case q.NewestFirst():
		index([]byte{byAge})
	default:
		w.ids()
	}
	return w
}

// ages selects the rows of an index whose threads have the age that q wants and follow q.After.
func ages(prefix []byte, q *checkpoint.ThreadQuery) Range {
	r := within(Key{Table: Index, Bytes: prefix})
	at := func(k []byte) []byte { return append(prefix[:len(prefix):len(prefix)], k...) }
	for _, before := range [...]time.Time{q.CreatedUntil, q.IdleSince} {
		if !before.IsZero() {
			newest := binary.BigEndian.AppendUint64(nil, ^uint64(before.Add(-1).UnixMicro()))
			r.Bytes = slices.MaxFunc([][]byte{r.Bytes, at(newest)}, bytes.Compare)
		}
	}
	if q.After != "" {
		r.Bytes = slices.MaxFunc([][]byte{r.Bytes, at(followers(q))}, bytes.Compare)
	}
	if !q.CreatedSince.IsZero() {
		oldest := binary.BigEndian.AppendUint64(nil, ^uint64(q.CreatedSince.Add(time.Microsecond-1).UnixMicro()))
		r.To = after(at(oldest))
	}
	return r
}

// followers returns the least end of a key of an index that follows those of q.After.
func followers(q *checkpoint.ThreadQuery) []byte {
	k := listKey(q.AfterCreated, q.After)
	if !q.AfterCreated.Equal(ledger.Micro(q.AfterCreated)) { // later than all threads of its microsecond
		return k[:8]
	}
	return after(k) // its graph may follow
}

// ids makes the walk one over the rows of threads, in the order of their ids.
func (w *walk) ids() {
	if w.q.ID != "" {
		w.r = point(threadKey(w.q.ID))
		return
	}
	w.r = Range{Key: Key{Table: Threads, Bytes: []byte(w.q.Prefix)}, To: after([]byte(w.q.Prefix))}
	if !w.q.NewestFirst() && w.q.After != "" {
		if from := append([]byte(w.q.After), 0); bytes.Compare(from, w.r.Bytes) > 0 {
			w.r.Bytes = from
		}
	}
}

// page returns the next threads. most is how many the caller wants at most; less than 1 is all.
func (w *walk) page(ctx context.Context, most int) ([]listing, error) {
	var all []listing
	if err := w.narrow(ctx); err != nil {
		return nil, err
	}
	for !w.over {
		w.r.Limit = listPage
		if w.sure {
			w.r.Limit = briefPage
		}
		if most > 0 && !w.sort {
			w.r.Limit = min(max(most-len(all), 16), w.r.Limit)
		}
		rows, now, err := w.s.read(ctx, w.r)
		if err != nil {
			return nil, err
		}
		found := rows[0]
		if w.over = len(found) < w.r.Limit; len(found) == 0 {
			break
		}
		last := found[len(found)-1].Key
		w.r.Bytes = append(bytes.Clone(last), 0)
		if w.cut == 0 && !w.q.SelectsID(string(last)) {
			w.r.Bytes = after([]byte(checkpoint.TaskPrefix)) // skips all tasks of queues
		}
		threads, err := w.threads(ctx, found, now)
		if err != nil {
			return nil, err
		}
		if w.sure {
			for i := range threads {
				all = append(all, threads[i].listing)
			}
		} else {
			more, err := w.describe(ctx, threads)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		}
		if !w.sort && len(all) > 0 {
			break
		}
	}
	if w.sort {
		slices.SortFunc(all, func(a, b listing) int { return ledger.Newer(a.t.ID, b.t.ID, a.t.Created, b.t.Created) })
	}
	return all, nil
}

// fewest is how many threads with a prefix a list reads and sorts at most. To read more of them by
// the index is cheaper, unless only few of all threads have the prefix.
const fewest = 512

// narrow makes the walk one over the threads with the prefix, if they are few.
func (w *walk) narrow(ctx context.Context) error {
	if !w.few {
		return nil
	}
	w.few = false
	ids := &walk{s: w.s, q: w.q, sort: true}
	ids.ids()
	ids.r.Limit = fewest + 1
	rows, _, err := w.s.read(ctx, ids.r)
	if err == nil && len(rows[0]) <= fewest {
		*w = *ids
	}
	return err
}

// read is a thread of a list, before it is described.
type read struct {
	*thread
	listing // of a thread that cannot be read
}

// threads returns the threads of rows, which are theirs or those of an index.
func (w *walk) threads(ctx context.Context, rows []Row, now time.Time) ([]read, error) {
	all := make([]read, 0, len(rows))
	found := make([][]Row, 0, len(rows))
	var points []Range
	for i := range rows {
		t := checkpoint.Thread{ID: string(rows[i].Key)}
		if w.cut > 0 {
			key := rows[i].Key[w.cut:]
			id, graph, ok := listedID(key)
			if !ok {
				return nil, damaged(rows[i].Key, errIndex)
			}
			t = checkpoint.Thread{ID: string(id), Created: moment(int64(^binary.BigEndian.Uint64(key)))}
			if w.sure {
				t.Graph, t.Status, t.Now = string(graph), w.q.Status, now
			}
			if len(graph) > 0 && w.q.Graph != "" && w.q.Graph != string(graph) {
				continue
			}
		}
		if w.q.SelectsID(t.ID) {
			all, found, points = append(all, read{listing: listing{t: t}}), append(found, rows[i:i+1]), append(points, point(threadKey(t.ID)))
		}
	}
	if w.sure || len(all) == 0 {
		return all, nil
	}
	if w.cut > 0 {
		var err error
		if found, now, err = w.s.read(ctx, points...); err != nil {
			return nil, err
		}
	}
	there := all[:0]
	for i, t := range all {
		t.thread, t.err = asThread(t.t.ID, found[i], now)
		if t.thread != nil && t.err != nil { // it moves
			t.t.Created = t.About.Created
			switch {
			case t.transit.stage == Leaving: // nobody changes it
				t.err = nil
			case t.transit.stage == Arriving && w.q.ID == "": // the list of its source has it
				continue
			}
		}
		if t.err != nil || t.exists() {
			there = append(there, t)
		}
	}
	return there, nil
}

// describe returns the threads that the list selects, with their heads and questions.
func (w *walk) describe(ctx context.Context, threads []read) ([]listing, error) {
	var all []listing
	var picked []*thread // by index in all; nil for one that is damaged
	var ranges []Range
	for _, t := range threads {
		if t.err != nil {
			all, picked = append(all, t.listing), append(picked, nil)
			continue
		}
		d := t.describe()
		if !w.q.SelectsID(t.ID) || !ledger.Follows(w.q, t.ID, d.Created) || !ledger.Selects(w.q, &d, t.leased()) ||
			d.Status == 0 && !(w.q.Released && t.Versions > 0) {
			continue
		}
		all, picked = append(all, listing{t: d}), append(picked, t.thread)
		if t.runs() {
			l := logOf(t.ID, t.Root, "")
			ranges = append(ranges, l.head())
		}
		if t.Asked {
			ranges = append(ranges, liveWritesOf(t.ID, t.Root))
		}
	}
	var found [][]Row // the head and the pending writes of each thread that needs them
	if len(ranges) > 0 {
		var err error
		if found, err = w.s.readInParts(ctx, ranges); err != nil {
			return nil, err
		}
	}
	for i := range all {
		t := picked[i]
		if t == nil {
			continue
		}
		d := &all[i]
		d.t.Head, d.t.Step = t.Head, t.Step
		if t.runs() {
			d.err = d.setHead(t, found[0])
			found = found[1:]
		}
		if t.Asked {
			writes, _, err := w.s.live(ctx, &thread{threadRow: t.threadRow}, t.Root, found[0])
			if d.t.Questions = checkpoint.OpenQuestions(inOrder(writes)); d.err == nil {
				d.err = err
			}
			found = found[1:]
		}
		if d.err != nil {
			d.t = checkpoint.Thread{ID: t.ID, Created: t.About.Created}
		}
	}
	return all, nil
}

// setHead sets the head that a row has.
func (d *listing) setHead(t *thread, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	l := logOf(t.ID, t.Root, "")
	r, err := l.last(&rows[0])
	if err == nil {
		d.t.Head, d.t.Step = r.ID, r.Step
	}
	return err
}

// errIndex is what is wrong with a key of an index that names no thread.
var errIndex = errors.New("a key of an index names no thread")
