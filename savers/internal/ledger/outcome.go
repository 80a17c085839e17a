package ledger

import (
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// OutcomeWake returns the Wake of a thread after a Post with new outcomes and a WakeMessage. It
// reports false if the WakeMessage has no effect. until is the end of a live lease, zero for none.
// The Wake of a run that began at the time opened is later, unless an outcome has moved it there.
func OutcomeWake(status checkpoint.Status, wake, opened, until, now time.Time) (time.Time, bool) {
	to := now
	if !until.IsZero() {
		to = opened
	}
	to = Micro(to)
	due := !wake.IsZero() && !wake.After(to)
	return to, !due && (status == checkpoint.Running || status == checkpoint.Waiting || status == checkpoint.Ready)
}

// outcomes decides about a Post with outcomes, as Post does.
func (v *Version) outcomes(p *checkpoint.Post, open bool, until, now time.Time) (*Event, checkpoint.Posted) {
	done := checkpoint.Posted{Messages: make([]checkpoint.PostedMessage, len(p.Messages))}
	e := new(Event)
	for i := range p.Outcomes {
		w := &p.Outcomes[i]
		base := v.where[w.Base]
		if base == nil || !open {
			return nil, checkpoint.Posted{Err: NoRecord(v.Thread, w.Namespace, w.Base)}
		}
		_, stored := v.pending[w.Base][identity{w.Namespace, w.Task, w.Name, checkpoint.Outcome}]
		if !base.committed && !stored {
			e.Writes = append(e.Writes, *w)
		}
	}
	if len(e.Writes) == 0 {
		return nil, done
	}
	e.Writes = CloneWrites(e.Writes)
	if wake, wakes := OutcomeWake(v.Status, v.Wake, v.Updated, until, now); wakes && len(p.Messages) > 0 {
		e.Posted, e.Wake, e.Progress = v.Mail.Posted+1, &wake, true
		done.Messages[0].Number = e.Posted
	}
	return e, done
}
