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
	size, lost := q.Limit+len(q.Except)+1, 0
	err = s.call(ctx, q.Check(), func() error {
		for {
			found, enough, err := s.ready(ctx, &q, size, lost)
			switch {
			case errors.Is(err, ErrChanged): // others want the same threads: spread
				if lost++; lost < 5 {
					size *= 2
				}
				return err
			case err != nil || enough:
				got = found
				return err
			}
			size *= 2
		}
	})
	return got, err
}

// ready is Ready that reads up to size due threads of each graph and priority. enough reports
// whether the result does not need more. lost is how often others changed the same threads.
func (s *Saver) ready(ctx context.Context, q *checkpoint.ReadyQuery, size, lost int) (got checkpoint.ReadyThreads, enough bool, err error) {
	var ranges []Range
	for i, graph := range q.Graphs {
		if slices.Index(q.Graphs, graph) < i {
			continue
		}
		for p := checkpoint.Urgent; p <= checkpoint.Low; p++ {
			r := within(Key{Table: Index, Bytes: append(codec.AppendString([]byte{byWake}, graph), byte(p))})
			r.Limit = size
			ranges = append(ranges, r)
		}
	}
	rows, now, err := s.read(ctx, ranges...)
	if err != nil {
		return got, false, err
	}
	b := batch{s: s, q: q, now: now, threads: map[string]*thread{}}
	b.round = ledger.NewRound(q, now, &s.turns)
	enough, err = b.look(ctx, ranges, rows, size)
	if err != nil || !enough {
		return got, false, err
	}
	err = b.round.Due(func(r checkpoint.ReadyThread) (time.Time, error) {
		if lost > 0 && len(b.round.Candidates()) > q.Limit*2 && rand.IntN(lost+2) > 0 {
			b.round.Later(r.Wake)
			return time.Time{}, nil
		}
		wake := b.round.Reserved(&r)
		if q.Reserve > 0 {
			b.move(b.threads[r.ID], wake)
		}
		return wake, nil
	})
	if err == nil && len(b.c.Puts) > 0 {
		_, _, err = s.store.Apply(ctx, &b.c)
	}
	return b.round.Result, true, err
}

// batch is one look of Ready at the threads that are due.
type batch struct {
	s       *Saver
	q       *checkpoint.ReadyQuery
	now     time.Time
	round   *ledger.Round
	threads map[string]*thread
	c       Change
}

// move sets the Wake of a thread.
func (b *batch) move(t *thread, wake time.Time) {
	next := t.Thread
	next.Wake = wake
	b.c.changeThread(t, &next)
}

// look reads the threads of rows of the index, which ranges selected. It reports whether each
// range has enough of them.
func (b *batch) look(ctx context.Context, ranges []Range, rows [][]Row, size int) (enough bool, err error) {
	var points []Range
	var from []int // the range of each
	all := make([]bool, len(rows))
	for i := range rows {
		at := len(ranges[i].Bytes)
		for _, row := range rows[i] {
			if wake := moment(int64(binary.BigEndian.Uint64(row.Key[at:]))); wake.After(b.now) {
				b.round.Later(wake)
				all[i] = true
				break
			}
			points, from = append(points, point(threadKey(string(row.Key[at+8:])))), append(from, i)
		}
		all[i] = all[i] || len(rows[i]) < size
	}
	if len(points) == 0 {
		return true, nil
	}
	found, _, err := b.s.read(ctx, points...)
	if err != nil {
		return false, err
	}
	due := make([]int, len(rows))
	for i := range found {
		t, err := asThread(points[i].Thread, found[i], b.now)
		if err != nil || !t.exists() { // nobody can run a damaged thread
			continue
		}
		before := len(b.round.Candidates())
		if until := b.round.Look(t.ready(), t.lease()); !until.IsZero() {
			b.move(t, until)
		}
		b.threads[t.ID] = t
		due[from[i]] += len(b.round.Candidates()) - before
	}
	for i := range all {
		if !all[i] && due[i] <= b.q.Limit {
			return false, nil
		}
	}
	return true, nil
}

// Rewake sets when a thread is due, as checkpoint.Saver says.
func (s *Saver) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	return s.call(ctx, r.Check(), func() error {
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
		next := t.Thread
		next.Wake = *ledger.EndWake(r.Wake, t.now)
		_, _, err = s.apply(ctx, new(Change), t, &next)
		return err
	})
}
