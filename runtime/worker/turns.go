package worker

import (
	"cmp"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// round distributes the slots that are free when a poll begins, so that graphs with due threads
// have equally many runs in progress. Slots that become free meanwhile are for the next poll, so
// that a poll ends however short the runs are. Only the loop uses a round.
type round struct {
	open []*turn // the apps that may have further due threads
	free int     // slots of graphs
}

// newRound returns the round of a poll.
func (w *Worker) newRound() *round {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &round{free: w.free()}
	for _, t := range w.turns {
		t.idle, t.counted, t.none = time.Time{}, t.running, false
		if !t.draining && !w.pauses.paused(t) {
			r.open = append(r.open, t)
		}
	}
	return r
}

// next returns the apps of the next call of Ready, and its Limit; 0 at the end of the round.
// Queues are first, and have slots of their own. Of the graphs, those with the fewest runs are
// first.
func (r *round) next() (turns []*turn, limit int) {
	r.open = slices.DeleteFunc(r.open, func(t *turn) bool { return t.max > 0 && t.counted >= t.max || !t.tasks && r.free < 1 })
	slices.SortStableFunc(r.open, func(a, b *turn) int { return cmp.Compare(a.rank(), b.rank()) })
	if len(r.open) == 0 {
		return nil, 0
	}
	first, graphs := r.open[0], 0
	if first.tasks {
		return r.open[:1], first.max - first.counted
	}
	for _, t := range r.open {
		if !t.none {
			graphs++
		}
	}
	limit = (r.free + graphs - 1) / max(graphs, 1)
	switch n := slices.IndexFunc(r.open, func(t *turn) bool { return t.max > 0 }); n {
	case 0:
		return r.open[:1], min(limit, first.max-first.counted)
	case -1:
		return r.open, limit
	default:
		return r.open[:n], limit
	}
}

// rank returns the place of an app in a round.
func (t *turn) rank() int {
	if t.tasks {
		return -1
	}
	return t.counted
}

// took notes the due threads of a call for turns, which next has returned with limit. It reports
// whether the call has left none.
func (w *Worker) took(r *round, turns []*turn, limit int, got *checkpoint.ReadyThreads) (drained bool) {
	due := got.Threads
	w.mu.Lock()
	defer w.mu.Unlock()
	var last *turn
	for i := range due {
		last = w.apps[due[i].Graph]
		last.counted++
		if !last.tasks {
			r.free--
		}
	}
	if len(due) == limit && !got.Next.IsZero() && !got.Next.After(got.Now) {
		for _, t := range turns[:slices.Index(turns, last)] {
			t.none = true
		}
		return false
	}
	r.open = r.open[len(turns):]
	for _, t := range turns {
		t.idle = time.Now()
	}
	return true
}
