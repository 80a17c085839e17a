package rows

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Ready returns threads that are due, as checkpoint.Saver says.
func (s *Saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (got checkpoint.ReadyThreads, err error) {
	b := batch{s: s, q: &q, size: q.Limit + len(q.Except) + 1}
	b.server, _ = s.store.(Server)
	b.low = s.lowMarks(&b)
	err = s.call(ctx, q.Check(), func() error {
		for {
			enough, err := b.ready(ctx)
			switch {
			case errors.Is(err, ErrChanged): // others want the same threads: spread
				if b.lost++; b.lost < 5 {
					b.size *= 2
				}
				return err
			case err != nil:
				return err
			case enough:
				got = b.round.Result
				return errors.Join(b.overdue...)
			}
			b.size *= 2
		}
	})
	if err != nil && len(b.overdue) == 0 {
		return checkpoint.ReadyThreads{}, err
	}
	return got, err
}

// batch is one call of Ready.
type batch struct {
	s      *Saver
	q      *checkpoint.ReadyQuery
	server Server               // nil if the store is none
	low    map[string]time.Time // no thread of a graph has an earlier wake
	size   int                  // how many due threads of each graph and priority to read
	lost   int                  // how often others changed the same threads

	now    time.Time
	queues []Queue
	round  *ledger.Round
	c      Change
	moved  []*threadRow // the threads of c
	mail   []string     // the threads whose messages c reads

	overdue []error // of threads whose moves should have ended
}

// ready looks once at the threads that are due, and moves their wakes. enough reports whether the
// result does not need more of them.
func (b *batch) ready(ctx context.Context) (enough bool, err error) {
	var later []time.Time
	if later, err = b.scan(ctx); err != nil {
		return false, err
	}
	choose := func(found [][]Row) (*Change, error) {
		b.round, b.c, b.moved, b.mail, b.overdue = ledger.NewRound(b.q, b.now), Change{}, nil, nil, nil
		for _, wake := range later {
			b.round.Later(wake)
		}
		enough, err = b.choose(found)
		return &b.c, err
	}
	if b.server != nil && b.q.Reserve > 0 && len(b.queues) > 0 {
		read, err := b.server.Reserve(ctx, b.queues, choose)
		if err != nil {
			return false, err
		}
		b.keep(b.c.Rev(b.now), read)
		return enough, nil
	}
	found, err := b.read(ctx)
	if err != nil {
		return false, err
	}
	if c, err := choose(found); err != nil || !enough || len(c.Checks) == 0 {
		return enough, err
	}
	rev, read, err := b.s.store.Apply(ctx, &b.c)
	var part *PartError
	switch {
	case err == nil:
		b.keep(rev, read)
	case errors.As(err, &part) && b.q.Reserve > 0 && b.only(part.Stored):
		return true, nil // the others are due for those who changed them
	}
	return true, err
}

// only removes the threads from the result that are not stored. It reports whether some are left.
func (b *batch) only(stored []string) bool {
	r := &b.round.Result
	r.Threads = slices.DeleteFunc(r.Threads, func(t checkpoint.ReadyThread) bool {
		gone := !slices.Contains(stored, t.ID)
		if gone {
			b.round.Later(t.Wake)
		}
		return gone
	})
	return len(r.Threads) > 0
}

// keep notes the threads whose wakes the call has moved. So an opening of one need not read it. It
// adds the messages that were read to the result. Those that it cannot read are left to Mail.
func (b *batch) keep(rev uint64, read [][]Row) {
	for _, t := range b.moved {
		b.s.keep(&thread{threadRow: *t, rev: rev, now: b.now}, "", nil)
	}
	for i, id := range b.mail {
		all, err := asMail(id, read[i])
		if err != nil {
			continue
		}
		b.s.noteMail(id, rev, all)
		for j := range b.round.Result.Threads {
			if t := &b.round.Result.Threads[j]; t.ID == id {
				t.Mail, t.HasMail = all, true
			}
		}
	}
}

// scan reads the index, and sets the queues that have due threads. later are wakes of threads that
// are not due yet.
func (b *batch) scan(ctx context.Context) (later []time.Time, err error) {
	var all []Queue
	for i, graph := range b.q.Graphs {
		if slices.Index(b.q.Graphs, graph) < i {
			continue
		}
		for p := checkpoint.Urgent; p <= checkpoint.Low; p++ {
			q := Queue{Range: within(Key{Table: Index, Bytes: append(codec.AppendString([]byte{byWake}, graph), byte(p))}), graph: graph}
			q.Limit, q.ID = b.size, len(q.Bytes)+8
			if low := b.low[graph]; !low.IsZero() {
				q.Bytes = binary.BigEndian.AppendUint64(q.Bytes, uint64(micro(low)))
			}
			all = append(all, q)
		}
	}
	rows, now, err := b.s.read(ctx, ranged(all)...)
	if err != nil {
		return nil, err
	}
	b.now, b.queues = now, nil
	least := make(map[string]time.Time)
	for i := range all {
		q := &all[i]
		q.To = after(binary.BigEndian.AppendUint64(slices.Clone(q.Bytes[:q.ID-8]), uint64(micro(now))))
		first := now
		for j, row := range rows[i] {
			wake := moment(int64(binary.BigEndian.Uint64(row.Key[q.ID-8:])))
			if j == 0 && wake.Before(now) {
				first = wake
			}
			if wake.After(now) {
				later = append(later, wake)
				break
			}
			q.threads = append(q.threads, string(row.Key[q.ID:]))
		}
		q.first, q.Bytes = first, binary.BigEndian.AppendUint64(q.Bytes[:q.ID-8], uint64(micro(first)))
		if len(q.threads) > 0 {
			b.queues = append(b.queues, *q)
		}
		if old, found := least[q.graph]; !found || first.Before(old) {
			least[q.graph] = first
		}
	}
	b.s.raise(least)
	return later, nil
}

// ranged returns the ranges of queues.
func ranged(queues []Queue) []Range {
	all := make([]Range, len(queues))
	for i := range queues {
		all[i] = queues[i].Range
	}
	return all
}

// lowMark is the least wake that threads of a graph can have. On a server, each reservation leaves
// a dead entry at the left edge of the index, which the server removes late. Ready begins to read
// after most of them.
type lowMark struct {
	wake  time.Time
	polls int
}

// A call of Ready reads from the low mark on, but every sixteenth from the start. A thread whose
// wake was set lately may become visible late: the mark is so much lower than the wakes seen.
const (
	fullPolls = 16
	lowBelow  = checkpoint.DefaultLease
)

// lowMarks returns the wakes from which a call of Ready reads graphs.
func (s *Saver) lowMarks(b *batch) map[string]time.Time {
	if b.server == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make(map[string]time.Time)
	for _, graph := range b.q.Graphs {
		mark := s.low[graph]
		if mark.polls++; mark.polls%fullPolls != 0 {
			all[graph] = mark.wake
		}
		s.low[graph] = mark
	}
	return all
}

// raise notes the least wakes that a call of Ready has seen, by graph.
func (s *Saver) raise(least map[string]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for graph, wake := range least {
		mark := s.low[graph]
		mark.wake = wake.Add(-lowBelow)
		s.low[graph] = mark
	}
}

// read reads the rows of the threads of the queues. From then on, the call has the time of this
// read. So a wake that was set after the index was read is due, too.
func (b *batch) read(ctx context.Context) ([][]Row, error) {
	var points []Range
	for i := range b.queues {
		for _, id := range b.queues[i].threads {
			points = append(points, point(threadKey(id)))
		}
	}
	all := make([][]Row, len(b.queues))
	if len(points) == 0 {
		return all, nil
	}
	found, now, err := b.s.read(ctx, points...)
	if err != nil {
		return nil, err
	}
	b.now = now
	for i := range all {
		n := len(b.queues[i].threads)
		all[i], found = slices.Concat(found[:n]...), found[n:]
	}
	return all, nil
}

// move sets the Wake of a thread.
func (b *batch) move(t *thread, wake time.Time) {
	next := t.threadRow
	next.Wake = wake
	b.c.changeThread(t, &next)
	b.moved = append(b.moved, &next)
}

// readMail makes the call read the messages of a thread that it reserves, if it has room for them.
func (b *batch) readMail(t *thread, r *checkpoint.ReadyThread) {
	switch n := t.Inputs + t.Others; {
	case !b.round.HasRoom(n, int(t.MailBytes)):
	case n == 0:
		r.HasMail = true
	default:
		b.mail = append(b.mail, t.ID)
		b.c.Reads = append(b.c.Reads, mailOf(t.ID, untaken))
	}
}

// choose chooses the threads that Ready returns, given the rows of those in the queues. It reports
// whether each queue has enough of them.
func (b *batch) choose(rows [][]Row) (enough bool, err error) {
	threads := make(map[string]*thread)
	enough = true
	for i := range rows {
		before := len(b.round.Candidates())
		for j := range rows[i] {
			t, err := asThread(string(rows[i][j].Key), rows[i][j:j+1], b.now)
			if moved := (*MovedError)(nil); errors.As(err, &moved) && moved.Overdue {
				b.overdue = append(b.overdue, moved)
			}
			if err != nil { // nobody can run a damaged thread, or one that moves
				continue
			}
			threads[t.ID] = t
			if until := b.round.Offer(t.ready(), t.lease()); !until.IsZero() {
				b.move(t, until)
			}
		}
		if len(rows[i]) < len(b.queues[i].threads) { // others hold the rest at the moment
			b.round.Later(b.queues[i].first)
		} else if len(rows[i]) == b.size && len(b.round.Candidates())-before <= b.q.Limit {
			enough = false
		}
	}
	if !enough {
		b.c, b.moved, b.mail = Change{}, nil, nil
		return false, nil
	}
	return true, b.round.Due(func(r *checkpoint.ReadyThread) (time.Time, error) {
		if b.lost > 0 && len(b.round.Candidates()) > b.q.Limit*2 && rand.IntN(b.lost+2) > 0 {
			b.round.Later(r.Wake)
			return time.Time{}, nil
		}
		wake := b.round.Reserved(r)
		if b.q.Reserve > 0 {
			b.move(threads[r.ID], wake)
			b.readMail(threads[r.ID], r)
		}
		return wake, nil
	})
}

// Rewake sets when a thread is due, as checkpoint.Saver says.
func (s *Saver) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	return s.change(ctx, r.Check(), func() error {
		t, err := s.thread(ctx, r.Thread)
		if err != nil {
			return err
		}
		switch {
		case t.Open == 0 && t.Posted == 0:
			return ledger.Missing(r.Thread, "", r.Fence, "fence", t.exists())
		case r.Fence != t.Fence:
			return t.conflict("fence", "", r.Fence, t.Fence)
		case r.Posted != t.Posted:
			return t.conflict("mail", "", r.Fence, t.Fence)
		case !ledger.IsBirth(r.Birth, t.About.Birth):
			return t.conflict("birth", "", r.Birth, t.About.Birth)
		case t.leased():
			return t.busy()
		}
		next := t.threadRow
		next.Wake = *ledger.EndWake(r.Wake, t.now)
		_, _, err = s.apply(ctx, new(Change), t, &next)
		return err
	})
}
