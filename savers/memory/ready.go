package memory

import (
	"context"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Ready returns threads that are due, as [checkpoint.Saver] says. It looks at few more threads
// than it returns.
func (s *Saver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	got, _, err := s.ready(ctx, &q)
	return got, err
}

// ready is Ready, and counts the threads that it offers to its rounds.
func (s *Saver) ready(ctx context.Context, q *checkpoint.ReadyQuery) (got checkpoint.ReadyThreads, offered int, err error) {
	if err := s.begin(ctx, q.Check()); err != nil {
		return got, 0, err
	}
	defer s.end()
	now := time.Now()
	for size, enough := q.Limit+len(q.Except)+1, false; !enough; size *= 2 {
		round := ledger.NewRound(q, now)
		var n int
		n, enough = s.offer(round, size, now)
		offered += n
		if enough {
			err = round.Due(func(found *checkpoint.ReadyThread) (time.Time, error) {
				wake := s.reserve(round, found, now)
				if wake.IsZero() { // another call took it, so this call may leave out threads that are due after it
					round.Later(found.Wake)
				}
				return wake, nil
			})
			got = round.Result
		}
	}
	return got, offered, err
}

// offer offers a round up to size threads of each graph and priority. It returns how many these
// are, and whether they are enough: others are not due, or are due after more than the limit.
func (s *Saver) offer(round *ledger.Round, size int, now time.Time) (offered int, enough bool) {
	enough = true
	for i, graph := range round.Query.Graphs {
		if slices.Index(round.Query.Graphs, graph) < i {
			continue
		}
		for p := checkpoint.Urgent; p <= checkpoint.Low; p++ {
			ids, all := s.wakes.first(queue{graph, p}, size, now)
			due := len(round.Candidates())
			for _, id := range ids {
				s.visit(id, func(t *thread, v *ledger.Version) {
					if wake := round.Offer(v.Ready(), t.until(now)); !wake.IsZero() {
						v.Wake = wake
						s.noteWake(t)
					}
				})
			}
			offered += len(ids)
			enough = enough && (all || len(round.Candidates())-due > round.Query.Limit)
		}
	}
	return offered, enough
}

// reserve returns the Wake of a thread after the call; zero if the thread is not due any more.
func (s *Saver) reserve(round *ledger.Round, found *checkpoint.ReadyThread, now time.Time) (wake time.Time) {
	s.visit(found.ID, func(t *thread, v *ledger.Version) {
		if v.Is(found) && !t.leased(now) {
			wake = round.Reserved(found)
			v.Wake = wake
			s.noteWake(t)
			if round.Query.Reserve > 0 {
				round.AddMail(found, v)
			}
		}
	})
	return wake
}

// noteWake makes the index know when a thread is due. The caller holds the thread.
func (s *Saver) noteWake(t *thread) {
	var now waking
	if v := t.current(); v != nil && !t.gone && !v.Wake.IsZero() {
		now = waking{queue: queue{t.about.Graph, t.about.Rank()}, id: v.Thread, wake: v.Wake}
	}
	s.wakes.note(&t.waking, now)
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
	if err := s.begin(ctx, r.Check()); err != nil {
		return err
	}
	defer s.end()
	now, err := time.Now(), ledger.Missing(r.Thread, "", r.Fence, "fence", false)
	s.visit(r.Thread, func(t *thread, v *ledger.Version) {
		if err = v.AcceptRewake(&r, t.busy(now)); err == nil {
			v.Wake = *ledger.EndWake(r.Wake, now)
			s.changed(t)
		}
	})
	return err
}
