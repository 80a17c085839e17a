package file

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Ready returns threads that are due, as [checkpoint.Saver] says. It looks at each file of the
// folder, as Threads does. If more threads are due than the limit, the next calls return those
// first, for up to a second. Meanwhile they miss threads that another process makes due. A damaged
// thread is never ready.
func (s *Saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	if err := s.begin(ctx, q.Check()); err != nil {
		return checkpoint.ReadyThreads{}, err
	}
	defer s.calls.Done()
	known := ledger.NewRound(&q, time.Now())
	for _, t := range s.knownDue(&q) {
		known.Offer(t, time.Time{})
	}
	if err := s.take(ctx, known); err != nil || len(known.Result.Threads) == q.Limit {
		known.Result.Next = time.Unix(1, 0).UTC() // this call has not read the other threads, which may be due since any time
		return known.Result, err
	}
	q.Limit -= len(known.Result.Threads)
	round := ledger.NewRound(&q, time.Now())
	err := s.offerAll(ctx, round)
	if err == nil {
		err = s.take(ctx, round)
	}
	round.Result.Threads = append(known.Result.Threads, round.Result.Threads...)
	return round.Result, err
}

// offerAll offers all threads of the folder to a round.
func (s *Saver) offerAll(ctx context.Context, round *ledger.Round) error {
	if len(round.Query.Graphs) == 0 {
		return nil // the caller asks for the time
	}
	start := time.Now()
	names, err := s.bases()
	if err != nil {
		return err
	}
	for _, name := range names {
		l, err := s.listing(ctx, name.base)
		if errors.Is(err, checkpoint.ErrDamaged) || err == nil && l.ready.ID == "" {
			continue
		}
		var until time.Time
		if err == nil && !l.ended {
			_, until, err = s.leased(name.base, l.fence)
		}
		if err != nil {
			return err
		}
		round.Offer(l.ready, until) // a Wake with a live lease stays: the next call offers it again
	}
	s.keepDue(round, time.Since(start))
	return nil
}

// take reserves due threads and adds them to the result.
func (s *Saver) take(ctx context.Context, round *ledger.Round) error {
	return round.Due(func(t *checkpoint.ReadyThread) (time.Time, error) { return s.reserve(ctx, t, round) })
}

// reserve moves the Wake of a thread that is still due. It returns the new Wake, or zero.
func (s *Saver) reserve(ctx context.Context, t *checkpoint.ReadyThread, round *ledger.Round) (wake time.Time, err error) {
	if round.Query.Reserve == 0 {
		return t.Wake, nil
	}
	s.dropDue(t.ID)
	err = s.alone(ctx, t.ID, func(v *volume, busy error) error {
		if busy != nil || !v.v.Is(t) {
			return nil //nolint:nilerr // a thread that a run holds is not due
		}
		wake = round.Reserved(t)
		round.AddMail(t, v.version())
		return v.write(&ledger.Event{Wake: &wake}, nil)
	})
	if errors.Is(err, errAbsent) {
		err = nil
	}
	return wake, err
}

// alone calls f with the locked file of a thread with an open version or messages, and the error
// of a live lease. It returns errAbsent for any other thread.
func (s *Saver) alone(ctx context.Context, thread string, f func(v *volume, busy error) error) error {
	v := s.use(thread, baseName(thread), 0)
	defer s.done(v)
	if err := v.enter(ctx, false); err != nil {
		return err
	}
	defer v.unlock()
	if version := v.version(); version.Empty() && version.Mail.Empty() {
		return errAbsent
	}
	busy, err := v.busy(time.Now())
	if err != nil {
		return err
	}
	return f(v, busy)
}

// Rewake sets when a thread is due, as [checkpoint.Saver] says.
func (s *Saver) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	if err := s.begin(ctx, r.Check()); err != nil {
		return err
	}
	defer s.calls.Done()
	err := s.alone(ctx, r.Thread, func(v *volume, busy error) error {
		if err := v.v.AcceptRewake(&r, busy); err != nil {
			return err
		}
		return v.write(&ledger.Event{Wake: ledger.EndWake(r.Wake, time.Now())}, nil)
	})
	if errors.Is(err, errAbsent) {
		err = ledger.Missing(r.Thread, "", r.Fence, "fence", false)
	}
	return err
}
