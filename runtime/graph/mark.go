package graph

import (
	"context"
	"fmt"
	"maps"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// mark notes in the record that begins a run line which cancels are older than the line.
func (r looker) mark(rec *checkpoint.Record) {
	newest, _ := r.log.Looked()
	least := rec.Source == checkpoint.Input
	if r.mail.began > 0 {
		newest, least = r.mail.began, false
	}
	r.markBy(rec, newest, least)
}

// markBy is mark with the number of the newest message that is known to be older than the run
// line. With least, newer ones that were posted before the opening are older as well.
func (r looker) markBy(rec *checkpoint.Record, newest uint64, least bool) {
	if newest == 0 {
		return
	}
	meta := make(map[string]string, len(rec.Meta)+1)
	maps.Copy(meta, rec.Meta)
	journal.SetMark(meta, newest, least)
	rec.Meta = meta
}

// markNewest asks for the newest message, and marks rec by it. It serves a run that ends with its
// opening, which began a run line and has not read the inbox: lookAfter cannot take older cancels.
func (r looker) markNewest(rec *checkpoint.Record) error {
	if r.mail.looked || r.opt.rehearse {
		return nil
	}
	call, cancel := context.WithTimeout(r.ctx, r.g.opt.saverTimeout)
	defer cancel()
	newest, err := r.g.opt.saver.News(call, []string{r.thread})
	if err != nil && r.ctx.Err() != nil {
		return r.cancelled()
	}
	if err == nil && len(newest) != 1 {
		err = fmt.Errorf("the call of News answered for %d threads; want 1", len(newest))
	}
	if err != nil {
		return r.saving("news", err)
	}
	r.markBy(rec, newest[0], false)
	return nil
}

// lookPast looks into the inbox for a new run line that takes no input from there. It refuses the
// messages that cannot count any more. The inputs wait, but the end of the run makes the thread
// due if the first one drops what is due.
func (r looker) lookPast(c *checkpoint.Chain) error {
	if c.Thread.Inputs+c.Thread.Others == 0 {
		return nil
	}
	r.mail.past = true
	if err := r.look(c); err != nil {
		return err
	}
	r.refuseStray(nil)
	if r.mail.cancel != nil && c.Thread.Inputs > 0 {
		r.mail.take(append(r.mail.older, r.mail.cancel.Number)...)
	}
	return nil
}

// lookAfter looks into the inbox after an opening that began a run line in person and did not
// know of the newest message. Cancels that came before the opening are older than the run line.
func (r looker) lookAfter(o journal.Outcome) error {
	looked, _ := r.log.Looked()
	posted := r.log.Opened()
	r.mail.opened = posted
	if o.End || r.mail.looked && !r.mail.past || posted <= looked {
		return nil
	}
	r.mail = mail{began: r.mail.began, opened: posted} // the opening stored what lookPast made of the others
	if err := r.look(&checkpoint.Chain{Thread: checkpoint.Thread{Posted: posted, Inputs: 1}}); err != nil {
		return err
	}
	r.refuseStray(nil) // nothing has run, so the run line has not asked anything
	if r.mail.cancel != nil && r.mail.cancel.Number <= posted {
		r.mail.take(append(r.mail.older, r.mail.cancel.Number)...)
	}
	if r.mail.handled.Empty() {
		return nil
	}
	return r.saving("put writes", r.log.Put(r.ctx, nil, journal.Outcome{Messages: r.mail.handled}))
}

// opens reports whether the newest run of c has begun its line, whose first record is begun, and
// has stored no further record. Then the thread was updated last when that run opened it.
func opens(c *checkpoint.Chain, begun *checkpoint.Record) bool {
	return c.Thread.Status == checkpoint.Running && c.Last.Source == checkpoint.Input &&
		(c.Last.ID == begun.ID || c.Last.Parent == begun.ID)
}

// older returns the number of the newest message that is older than the run.
func (r looker) older() uint64 {
	if newest, _ := r.log.Looked(); r.mail.looked {
		return newest
	}
	return r.mail.opened
}
