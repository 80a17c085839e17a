package graph

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// An opening leaves the branch of the head if it begins a run line, or continues a branch that was
// left before. The questions, receives and timers of the old branch stay stored, because it can be
// continued, but they are not listed any more. If an input leaves the branch, the signals that its
// unfinished tasks have received go back to the inbox.

// leaveFor leaves the branch of the head if c, at which the run continues, is not the head. open
// is what the tasks wait for that are due at c.
func (r *opener) leaveFor(c *checkpoint.Chain, open []checkpoint.Write) {
	if c.Last.ID != c.Head {
		r.leaving = inbox.Relist(c.Thread.Questions, open)
	}
}

// leaveForInput leaves the branch of the head, and returns the signals of its unfinished tasks to
// the inbox. c is the loaded checkpoint. The results of its finished tasks stay in the state.
func (r *opener) leaveForInput(c *checkpoint.Chain) error {
	if err := r.leaveFamily(c); err != nil {
		return err
	}
	if err := r.keepFinished(c); err != nil {
		return err
	}
	r.leaving = inbox.Relist(c.Thread.Questions, nil)
	if len(r.g.signals) == 0 {
		return nil
	}
	head := *c
	if c.Last.ID != c.Head {
		var err error
		if head, err = loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread}); err != nil {
			return err
		}
	}
	notes, err := journal.Notes(head.Writes, head.Last.Base)
	if err != nil {
		return r.changed(err, "a received signal")
	}
	heads := map[string]*checkpoint.Chain{"": &head}
	for i := range notes {
		in := notes[i].Namespace
		if heads[in] != nil {
			continue
		}
		inner, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: in})
		if err != nil {
			return err
		}
		heads[in] = &inner
	}
	a, err := inbox.Leave(heads, notes, head.Last.Base)
	if err != nil {
		return r.changed(err, "a received signal")
	}
	r.leaving = append(r.adopt(a), r.leaving...)
	return nil
}
