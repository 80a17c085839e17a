package graph

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// A race is the tasks of one superstep that lead to one any-of join: the first whose result is acknowledged wins, and
// the others count for nothing. It is decided by the run's goroutine. A result that is stored decides it for ever, so only
// the winner's is.

// errBeaten cancels the tasks that lost a race.
var errBeaten = errors.New("another node of the any-of join was faster")

// lane is the context that the tasks of one race run under.
type lane struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

func newLane(parent context.Context) lane {
	ctx, cancel := context.WithCancelCause(parent)
	return lane{ctx, cancel}
}

// startRaces forgets who won in the superstep before.
func (r *run) startRaces() {
	if r.g.plan.Races == 0 {
		return
	}
	if r.winners == nil {
		r.winners = make([]int, r.g.plan.Races)
	}
	for i := range r.winners {
		r.winners[i] = -1
	}
}

// finish takes note that the task in slot i has succeeded. It reports whether its result counts.
func (r *run) finish(i int) bool {
	race := r.g.plan.Nodes[r.slots[i].Node].Race
	if race == 0 {
		return true
	}
	if w := &r.winners[race-1]; *w < 0 {
		*w = i
	}
	return r.winners[race-1] == i
}

// endRaces makes all that lost count for nothing.
func (r *run) endRaces() {
	if r.g.plan.Races == 0 {
		return
	}
	for i := range r.slots {
		sl := &r.slots[i]
		race := r.g.plan.Nodes[sl.Node].Race
		if race > 0 && r.winners[race-1] >= 0 && r.winners[race-1] != i {
			r.silence(sl)
			sl.progress, sl.err, sl.call = beaten, nil, nil
		}
	}
}

// silence takes note of a subgraph that is to count for nothing, and may have asked or stopped.
func (r *run) silence(sl *slot) {
	if r.log == nil || r.g.nodes[sl.Node].sub == nil {
		return
	}
	if r.resumed || sl.call != nil && sl.call.open {
		r.silenced = append(r.silenced, journal.Within(r.log.Namespace, r.callName(r.slotKey(sl))))
	}
}

// startLanes makes the contexts of the races of a superstep.
func (f *fanOut) startLanes() {
	if f.r.g.plan.Races == 0 {
		return
	}
	f.lanes = make([]lane, f.r.g.plan.Races)
	for i := range f.lanes {
		f.lanes[i] = newLane(f.ctx)
	}
}

// sift decides the races among tasks that have just ended, the first in task order before the others.
func (f *fanOut) sift(batch []int) {
	if f.r.g.plan.Races == 0 {
		return
	}
	for _, i := range batch {
		if sl := &f.r.slots[i]; sl.progress == succeeded && !f.r.finish(i) {
			sl.progress = beaten
		}
	}
}

// callOff cancels the tasks of races that are decided; the winners are acknowledged.
func (f *fanOut) callOff() {
	for i := range f.lanes {
		if f.r.winners[i] >= 0 {
			f.lanes[i].cancel(errBeaten)
		}
	}
}
