package redis

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
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
}

// A run puts its thread in the index and then opens it. Both calls end within seconds. A thread
// that is in the index for longer, and is not open, was never opened.
const grace = 600 // seconds

// The number of finished threads that wait until the next call to the index removes them. A
// listing removes the others.
const maxOver = 128

// indexArgs returns the arguments of index.lua: a thread to add, or "", the wake to lower its own
// to, and threads to remove.
func indexArgs(thread string, stamp checkpoint.ID, wake string, over []listed) []any {
	args := make([]any, 0, 3+3*len(over))
	args = append(args, thread, stamp[:], wake)
	for i := range over {
		part := "l"
		switch {
		case over[i].set:
			part = "s"
		case over[i].gone:
			part = "a"
		}
		args = append(args, over[i].id, over[i].stamp[:], part)
	}
	return args
}

// finished notes a thread that may leave the index.
func (s *Saver) finished(l listed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.over) < maxOver {
		l.id = strings.Clone(l.id)
		s.over = append(s.over, l)
	}
}

// takeOver returns the threads that may leave the index, and forgets them. If they do not leave
// it now, a listing removes them.
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
	return s.list(ctx, thread, stamp)
}

// list puts a thread in the index, and in further sets of it.
func (s *Saver) list(ctx context.Context, thread string, stamp checkpoint.ID, sets ...string) error {
	_, err := s.call(ctx, "index", s.script.index, s.indexKeys(sets...), indexArgs(thread, stamp, "", nil)...)
	return err
}

// listDue notes in the index that a thread of a queue is due now.
func (s *Saver) listDue(ctx context.Context, thread string, stamp checkpoint.ID, queue string) error {
	_, err := s.call(ctx, "index", s.script.index, s.indexKeys(s.wakes(queue)), indexArgs(thread, stamp, "at1", nil)...)
	return err
}

// unlist takes threads out of the index. set is the further set that those with set leave.
func (s *Saver) unlist(ctx context.Context, over []listed, set ...string) error {
	if len(over) == 0 {
		return nil
	}
	_, err := s.call(ctx, "index", s.script.index, s.indexKeys(set...), indexArgs("", checkpoint.ID{}, "", over)...)
	return err
}

// Threads yields the threads that have an open version, as [checkpoint.Saver] says. It reads one
// set of the index by pages: that of a label, of the unfinished threads, of the graph, or of all
// threads. It reads each thread in a page, but not its records.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		found, size := 0, firstPage
		if q.Limit > 0 {
			size = min(q.Limit, fullPage)
		}
		for from, more := rangeFrom(&q), true; more; size = min(size*4, fullPage) {
			page, err := s.listPage(ctx, &q, from, size)
			if err != nil {
				yield(checkpoint.Thread{}, err)
				return
			}
			for i := range page {
				if err := page[i].damage; err != nil {
					if !yield(checkpoint.Thread{ID: page[i].ID}, err) {
						return
					}
					continue
				}
				if !page[i].listed() || !ledger.Selects(&q, &page[i].Thread, page[i].leased) {
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
			if more = len(page) == size; more {
				from = "(" + page[size-1].ID
			}
		}
	}
}

// rangeFrom returns where the index is read from, rangeTo where it ends.
func rangeFrom(q *checkpoint.ThreadQuery) string {
	switch {
	case q.After != "" && q.After >= q.Prefix:
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
	damage  error         // if not nil, only the ID and what the index says are known
}

// listPage reads a page of the index and what it names, and takes out of the index what should
// not be there.
func (s *Saver) listPage(ctx context.Context, q *checkpoint.ThreadQuery, from string, size int) ([]candidate, error) {
	index, further := s.set(q)
	page, err := s.indexPage(ctx, index, from, rangeTo(q), size)
	if err != nil {
		return nil, err
	}
	if err := s.describeAll(ctx, page); err != nil {
		return nil, err
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
	if further {
		return page, s.unlist(ctx, over, index)
	}
	return page, s.unlist(ctx, over)
}

// indexPage reads a page of a set of the index.
func (s *Saver) indexPage(ctx context.Context, set, from, to string, size int) ([]candidate, error) {
	r, err := s.call(ctx, "threads", s.script.list, []string{set, s.indexKeys()[2]}, from, to, size)
	if err != nil {
		return nil, err
	}
	r.text()
	var page []candidate
	for r.more() {
		c := candidate{described: described{Thread: checkpoint.Thread{ID: r.text()}}}
		c.indexed, c.age = r.id(), r.number()
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
		return keys[1], false
	case q.Graph != "":
		return s.graphSet(q.Graph), true
	}
	return keys[0], false
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

// describeAll reads the threads of a page in one round trip.
func (s *Saver) describeAll(ctx context.Context, page []candidate) error {
	if len(page) == 0 {
		return nil
	}
	keys := make([]string, len(page))
	for i := range page {
		keys[i] = s.key(page[i].ID)
	}
	replies, err := s.all(ctx, "threads", s.script.describe, keys)
	if err != nil {
		return err
	}
	for i, r := range replies {
		c := &page[i]
		id := c.ID
		switch r.text() {
		case "ok":
			c.described, c.open = r.thread(id), true
		case "none":
			c.described = r.thread(id)
			if c.Status = checkpoint.Ready; c.Updated.IsZero() {
				c.Updated = c.Created
			}
		}
		if r.err != nil {
			c.ID, c.damage = id, fmt.Errorf("redis: threads: thread %q: %w", short(id), r.err)
		}
	}
	return nil
}

// runAll runs a script on many keys, sent together.
func (s *Saver) runAll(ctx context.Context, script *goredis.Script, keys []string) ([]*reply, error) {
	pipe := s.client.Pipeline()
	commands := make([]*goredis.Cmd, len(keys))
	for i, key := range keys {
		commands[i] = pipe.EvalSha(ctx, script.Hash(), []string{key})
	}
	_, err := pipe.Exec(ctx)
	if err != nil && !eachOwn(commands) {
		return nil, err
	}
	replies := make([]*reply, len(keys))
	for i, c := range commands {
		values, err := c.Slice()
		if goredis.HasErrorPrefix(err, "NOSCRIPT") {
			values, err = script.Run(ctx, s.client, keys[i:i+1]).Slice()
		}
		replies[i] = &reply{values: values, err: damage(err)}
		if err != nil && replies[i].err == nil {
			return nil, err
		}
	}
	return replies, nil
}

// eachOwn reports whether each command failed for a reason of its own: the server did not have
// the script, or the data is damaged.
func eachOwn(commands []*goredis.Cmd) bool {
	for _, c := range commands {
		if err := c.Err(); err != nil && !goredis.HasErrorPrefix(err, "NOSCRIPT") && damage(err) == nil {
			return false
		}
	}
	return true
}

// damage returns an error that is ErrDamaged, or nil if err is of another kind.
func damage(err error) error {
	if err == nil {
		return nil
	}
	if err = damaged(err); errors.Is(err, checkpoint.ErrDamaged) {
		return err
	}
	return nil
}
