package file

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Ready returns threads that are due, as [checkpoint.Saver] says. It looks at each file of the
// folder, as Threads does. A damaged thread is never ready.
func (s *Saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	if err := q.Check(); err != nil {
		return checkpoint.ReadyThreads{}, err
	}
	var names []name
	if len(q.Graphs) > 0 { // without graphs, the caller asks for the time
		var err error
		if names, err = s.names(ctx, &checkpoint.ThreadQuery{}); err != nil {
			return checkpoint.ReadyThreads{}, err
		}
	}
	if err := s.begin(ctx); err != nil {
		return checkpoint.ReadyThreads{}, err
	}
	defer s.calls.Done()
	round := ledger.NewRound(&q, time.Now(), &s.turns)
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
			return checkpoint.ReadyThreads{}, err
		}
		round.Look(l.ready, until) // a Wake with a live lease stays: the next call looks again
	}
	err := round.Due(func(t checkpoint.ReadyThread) (time.Time, error) { return s.reserve(ctx, &t, round) })
	return round.Result, err
}

// reserve moves the Wake of a thread that is still due. It returns the new Wake, or zero.
func (s *Saver) reserve(ctx context.Context, t *checkpoint.ReadyThread, round *ledger.Round) (wake time.Time, err error) {
	if round.Query.Reserve == 0 {
		return t.Wake, nil
	}
	err = s.alone(ctx, t.ID, func(v *volume, busy error) error {
		if busy != nil || !v.v.Is(t) {
			return nil //nolint:nilerr // a thread that a run holds is not due
		}
		wake = round.Reserved(t)
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
	if err := r.Check(); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
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
