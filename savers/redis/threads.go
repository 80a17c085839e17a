package redis

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// listed is a thread in the index that must leave it, unless a run has opened it since.
type listed struct {
	id    string
	stamp checkpoint.ID // of the newest run, or import, that is known
	gone  bool          // it has no open version; else it is done
	set   bool          // it leaves only the further set that was read

	// If created is not 0, the thread does not leave: this is its creation time, read after the
	// stamp. settled says that the call with the stamp had taken effect before.
	created int64
	settled bool
}

// A run puts its thread in the index and then opens it. Both calls end within seconds. A thread
// that is in the index for longer, and is not open, was never opened.
const grace = 600 // seconds

// The number of changes that wait until the next call to the index. A listing makes the others.
const maxOver = 512

// indexArgs returns the arguments of index.lua: a thread to add, or "", and the wake to lower its
// own to. fresh says that the call can create the thread. over are threads to change.
func indexArgs(thread string, stamp checkpoint.ID, wake string, fresh bool, over []listed) []any {
	args := make([]any, 0, 4+3*len(over))
	args = append(args, thread, stamp[:], wake, flag(fresh))
	for i := range over {
		part := "l"
		switch {
		case over[i].created != 0 && over[i].settled:
			part = "c" + strconv.FormatInt(over[i].created, 10)
		case over[i].created != 0:
			part = "p" + strconv.FormatInt(over[i].created, 10)
		case over[i].set:
			part = "s"
		case over[i].gone:
			part = "a"
		}
		args = append(args, over[i].id, over[i].stamp[:], part)
	}
	return args
}

// created notes when a thread was created, which a call with the stamp has read. 0 is unknown.
func (s *Saver) created(thread string, stamp checkpoint.ID, at int64) {
	if at != 0 && !stamp.IsZero() {
		s.finished(listed{id: thread, stamp: stamp, created: at, settled: true})
	}
}

// finished notes a change of the index.
func (s *Saver) finished(l listed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.over) < maxOver {
		l.id = strings.Clone(l.id)
		s.over = append(s.over, l)
	}
}

// takeOver returns the changes of the index, and forgets them. If they are not made now, a listing
// makes them.
func (s *Saver) takeOver() []listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	over := s.over
	s.over = nil
	return over
}

// relist puts a thread back in the index that is no longer done, although no run has opened it: a
// late write changed it. It uses a new stamp, so that the note from when the thread was done does
// not remove it again.
func (s *Saver) relist(ctx context.Context, thread string) error {
	stamp, err := checkpoint.NewID()
	if err != nil {
		return err
	}
	return s.list(ctx, thread, stamp, false)
}

// list puts a thread in the index, and in further sets of it. fresh says that the caller can
// create the thread.
func (s *Saver) list(ctx context.Context, thread string, stamp checkpoint.ID, fresh bool, sets ...string) error {
	_, err := s.call(ctx, "index", s.script.index, s.indexKeys(sets...), indexArgs(thread, stamp, "", fresh, nil)...)
	return err
}

// listDue notes in the index that a thread of a queue is due now.
func (s *Saver) listDue(ctx context.Context, thread string, stamp checkpoint.ID, queue string) error {
	_, err := s.call(ctx, "index", s.script.index, s.indexKeys(s.wakes(queue)), indexArgs(thread, stamp, "at1", false, nil)...)
	return err
}

// unlist changes threads in the index. set is the further set that those with set leave. missed is
// the number of threads that could not be placed, because a call has announced them meanwhile. On
// a replica, unlist changes nothing, and replica is true. The index is a hint, which the next
// listing on the master repairs.
func (s *Saver) unlist(ctx context.Context, over []listed, set ...string) (missed int, replica bool, err error) {
	if len(over) == 0 {
		return 0, false, nil
	}
	keys, args := s.indexKeys(set...), indexArgs("", checkpoint.ID{}, "", false, over)
	err = s.do(ctx, "index", func(ctx context.Context) error {
		r, err := s.run(ctx, s.script.index, keys, args...)
		if replica = isReplica(err); replica {
			return nil
		}
		if err != nil {
			return err
		}
		r.text()
		missed = r.int()
		return r.err
	})
	return missed, replica, err
}

// isReplica reports whether an error is that of a replica, which takes no writes.
func isReplica(err error) bool { return goredis.HasErrorPrefix(err, "READONLY") }

// Threads yields the threads that q selects, as [checkpoint.Saver] says, by pages of the index. It
// reads each thread in a page, but not its records.
//
// The index does not have threads whose versions are all released. With q.Released, Threads first
// reads all keys of every server, and keeps the ids of all threads in memory. In the order
// NewestFirst, it also reads all threads first, and keeps them.
//
// NewestFirst reads the creation times of all threads, newest first. The query can have a label, a
// graph, a prefix or a status other than Done. If such a set has fewer than 2,000 threads, Threads
// reads their names and creation times, and sorts them. Otherwise it skips the threads that are
// not in the set.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		if err := q.Check(); err != nil {
			yield(checkpoint.Thread{}, err)
			return
		}
		found, size := 0, firstPage
		if q.Limit > 0 {
			size = min(q.Limit, fullPage)
		}
		next := s.byID(&q)
		switch {
		case q.Released:
			next = s.withReleased(&q)
		case q.NewestFirst():
			next = s.newestFirst(&q)
		}
		for more := true; more; size = min(size*4, fullPage) {
			var page []candidate
			var err error
			if page, more, err = next(ctx, size); err != nil {
				yield(checkpoint.Thread{}, err)
				return
			}
			for i := range page {
				if err := page[i].damage; err != nil {
					if !yield(page[i].known(), err) {
						return
					}
					continue
				}
				if !page[i].selected(&q) {
					continue
				}
				if err := s.open(ctx); err != nil {
					yield(checkpoint.Thread{}, err)
					return
				}
				if found++; !yield(page[i].Thread, nil) || found == q.Limit {
					return
				}
			}
		}
	}
}

// pager returns the next page of a list, and whether more pages may follow.
type pager func(ctx context.Context, size int) (page []candidate, more bool, err error)

// byID reads a list in the order of the ids. It has no filters.
func (s *Saver) byID(q *checkpoint.ThreadQuery) pager {
	from, to, index := rangeFrom(q), rangeTo(q), s.indexKeys()[keyAll]
	return func(ctx context.Context, size int) (page []candidate, more bool, err error) {
		if page, err = s.indexPage(ctx, index, from, to, size); err != nil {
			return nil, false, err
		}
		if more = len(page) == size; more {
			from = "(" + page[size-1].ID
		}
		return page, more, s.look(ctx, q, page, index, false)
	}
}

// rangeFrom returns where the index is read from, rangeTo where it ends.
func rangeFrom(q *checkpoint.ThreadQuery) string {
	switch {
	case !q.NewestFirst() && q.After != "" && q.After >= q.Prefix:
		return "(" + q.After
	case q.Prefix != "":
		return "[" + q.Prefix
	}
	return "-"
}

func rangeTo(q *checkpoint.ThreadQuery) string {
	for last := len(q.Prefix) - 1; last >= 0; last-- {
		if q.Prefix[last] < 0xff {
			return "(" + q.Prefix[:last] + string([]byte{q.Prefix[last] + 1})
		}
	}
	return "+"
}

// candidate is a thread that the index names.
type candidate struct {
	described
	open    bool          // it has an open version
	indexed checkpoint.ID // the stamp in the index
	age     int64         // of that, in seconds
	placed  int64         // the creation time in the index; 0 for none
	damage  error         // if not nil, only the ID and what the index says are known
}

// look reads the threads of a page, and takes out of the index what should not be there. set is
// the set of the index with the page; further says that it is one of a graph or a label.
func (s *Saver) look(ctx context.Context, q *checkpoint.ThreadQuery, page []candidate, set string, further bool) error {
	if err := s.describeAll(ctx, page); err != nil {
		return err
	}
	var over []listed
	for i := range page {
		c := &page[i]
		if c.damage == nil && c.stale() {
			over = append(over, listed{id: c.ID, stamp: c.indexed, gone: !c.listed()})
		}
		if c.damage == nil && further && c.misplaced(q) {
			over = append(over, listed{id: c.ID, stamp: c.indexed, set: true})
		}
	}
	var sets []string
	if further {
		sets = []string{set}
	}
	_, _, err := s.unlist(ctx, over, sets...)
	return err
}

// indexPage reads a page of a set of the index.
func (s *Saver) indexPage(ctx context.Context, set, from, to string, size int) ([]candidate, error) {
	keys := s.indexKeys()
	r, err := s.call(ctx, "threads", s.script.list, []string{set, keys[keyStamps], keys[keyCreated]}, from, to, size)
	if err != nil {
		return nil, err
	}
	return r.candidates()
}

// candidates reads a page of the index.
func (r *reply) candidates() (page []candidate, err error) {
	r.text()
	for r.more() {
		c := candidate{described: described{Thread: checkpoint.Thread{ID: r.text()}}}
		c.indexed, c.age, c.placed = r.id(), r.number(), r.number()
		page = append(page, c)
	}
	return page, r.err
}

// set returns the set of the index that has all threads that q selects. further says that it is
// one of a graph or a label.
func (s *Saver) set(q *checkpoint.ThreadQuery) (key string, further bool) {
	keys := s.indexKeys()
	switch {
	case len(q.Labels) > 0:
		name := labelOf(q)
		return s.labelSet(name, q.Labels[name]), true
	case q.Status != 0 && q.Status != checkpoint.Done:
		return keys[keyLive], false
	case q.Graph != "":
		return s.graphSet(q.Graph), true
	}
	return keys[keyAll], false
}

// labelOf returns the name of the label whose set is read.
func labelOf(q *checkpoint.ThreadQuery) string {
	return slices.Min(slices.Collect(maps.Keys(q.Labels)))
}

// misplaced reports whether the set of a graph or a label that q reads should not have the thread.
// As for stale, the newest run or import is possibly not known yet.
func (c *candidate) misplaced(q *checkpoint.ThreadQuery) bool {
	belongs := c.listed() && c.Graph == q.Graph
	if len(q.Labels) > 0 {
		name := labelOf(q)
		belongs = c.listed() && ledger.Labelled(c.Labels, map[string]string{name: q.Labels[name]})
	}
	return !belongs && (c.indexed == c.stamp || c.age > grace)
}

// stale reports whether the index should not have the thread among the unfinished ones, or at all.
// A stamp that differs from the thread's own is of a run that is about to open it, or that failed
// to.
func (c *candidate) stale() bool {
	if c.unfinished() {
		return false
	}
	known := !c.indexed.IsZero() && c.indexed == c.stamp && !c.leased
	return known || c.age > grace
}

// listed reports whether Threads lists the thread.
func (c *candidate) listed() bool { return c.open || c.Inputs > 0 }

// unfinished reports whether the thread belongs to those that are not done.
func (c *candidate) unfinished() bool {
	return !c.Wake.IsZero() || c.listed() && c.Status != checkpoint.Done
}
