package graph

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/internal/live"
)

// past builds the states of stored records, oldest first. Each state is the change of the one
// before. The zero past with a Thread starts at a record with a snapshot.
type past[S, U any] struct {
	t    Thread[S, U]
	live live.Live[S, U] // the state of the last record
	base checkpoint.ID   // the newest record that made tasks due
	due  []checkpoint.Task
}

// step builds the state of the next record.
func (p *past[S, U]) step(ctx context.Context, rec *checkpoint.Record) error {
	if err := p.t.g.owns(p.t.id, rec); err != nil {
		return err
	}
	if p.live == nil {
		p.live = p.t.g.schema.New(live.Options{DropUnknown: p.t.dropUnknown()})
	}
	if err := ctx.Err(); err != nil {
		return p.t.readError(ctx, "history", err)
	}
	next := apply[S, U]
	if rec.Snapshot {
		next = decode[S, U]
	}
	if err := next(p.live, rec.Payload); err != nil {
		return decodeError(p.t.g.name, p.t.id, err, fmt.Sprintf("the state of checkpoint %s", rec.ID))
	}
	if rec.Base == rec.ID {
		p.base, p.due = rec.ID, rec.Due
	}
	return nil
}

// restore builds the state of the last record of a chain.
func (p *past[S, U]) restore(ctx context.Context, c *checkpoint.Chain) error {
	if err := p.t.g.owns(p.t.id, &c.Last); err != nil {
		return err
	}
	p.live = p.t.g.schema.New(live.Options{DropUnknown: p.t.dropUnknown()})
	if err := fold(ctx, foldedLive[S, U]{p.live}, c); err != nil {
		if ctx.Err() != nil {
			return p.t.readError(ctx, "history", err)
		}
		return decodeError(p.t.g.name, p.t.id, err, fmt.Sprintf("the state of checkpoint %s", c.Last.ID))
	}
	p.base, p.due = c.Last.Base, c.Due
	return nil
}

// snapshot returns the Snapshot of the last record. The due tasks of an edit or a resume are in
// its base.
func (p *past[S, U]) snapshot(ctx context.Context, rec *checkpoint.Record) (Snapshot[S], error) {
	if rec.Base != p.base {
		c, err := loadChain(ctx, &p.t.g.core, p.t.saver(), p.t.place(rec.ID))
		if err != nil {
			return Snapshot[S]{}, err
		}
		p.base, p.due = rec.Base, c.Due
	}
	s := p.t.snapshot(rec, p.due)
	s.State = p.live.View()
	return s, nil
}
