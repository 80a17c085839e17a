package memory

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Ready returns threads that are due, as [checkpoint.Saver] says. It looks at every thread.
func (s *Saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	if err := q.Check(); err != nil {
		return checkpoint.ReadyThreads{}, err
	}
	var ids []string
	if len(q.Graphs) > 0 { // without graphs, the caller asks for the time
		var err error
		if ids, err = s.ids(ctx, &checkpoint.ThreadQuery{}); err != nil {
			return checkpoint.ReadyThreads{}, err
		}
	}
	if err := s.begin(ctx); err != nil {
		return checkpoint.ReadyThreads{}, err
	}
	defer s.end()
	now := time.Now()
	round := ledger.NewRound(&q, now, &s.turns)
	for _, id := range ids {
		s.visit(id, func(t *thread, v *ledger.Version) {
			if wake := round.Look(v.Ready(), t.until(now)); !wake.IsZero() {
				v.Wake = wake
			}
		})
	}
	err := round.Due(func(found checkpoint.ReadyThread) (wake time.Time, _ error) {
		s.visit(found.ID, func(t *thread, v *ledger.Version) {
			if v.Is(&found) && !t.leased(now) {
				wake = round.Reserved(&found)
				v.Wake = wake
			}
		})
		return wake, nil
	})
	return round.Result, err
}

// visit calls f with a thread and its open version, or the one that begins next, if there is one.
func (s *Saver) visit(id string, f func(t *thread, v *ledger.Version)) {
	t := s.lock(id, false)
	if t == nil {
		return
	}
	defer t.mu.Unlock()
	if v := t.current(); v != nil {
		f(t, v)
	}
}

// until returns the end of the lease of a run; zero if no lease is alive.
func (t *thread) until(now time.Time) time.Time {
	if !t.leased(now) {
		return time.Time{}
	}
	return t.renewed.Add(t.lease)
}

// Rewake sets when a thread is due, as [checkpoint.Saver] says.
func (s *Saver) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	if err := r.Check(); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	now, err := time.Now(), ledger.Missing(r.Thread, "", r.Fence, "fence", false)
	s.visit(r.Thread, func(t *thread, v *ledger.Version) {
		if err = v.AcceptRewake(&r, t.busy(now)); err == nil {
			v.Wake = *ledger.EndWake(r.Wake, now)
			s.announce(t)
		}
	})
	return err
}
