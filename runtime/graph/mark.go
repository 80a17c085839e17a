package graph

import (
	"context"
	"maps"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// mark notes in the record that begins a run line which cancels are older than the line.
func (r looker) mark(rec *checkpoint.Record) {
	newest, _ := r.log.Looked()
	if r.mail.began > 0 {
		newest = r.mail.began
	}
	r.markBy(rec, newest)
}

// markBy is mark with the number of the newest message that is older than the run line.
func (r looker) markBy(rec *checkpoint.Record, newest uint64) {
	if newest == 0 {
		return
	}
	meta := make(map[string]string, len(rec.Meta)+1)
	maps.Copy(meta, rec.Meta)
	journal.SetMark(meta, newest)
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
	if err != nil {
		return r.saving("news", err)
	}
	r.markBy(rec, newest[0])
	return nil
}

// older returns the number of the newest message that is older than the run.
func (r looker) older() uint64 {
	if newest, _ := r.log.Looked(); r.mail.looked {
		return newest
	}
	return r.mail.opened
}
