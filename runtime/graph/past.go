package graph

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// past builds the states of stored records, oldest first. Each state is the change of the one
// before. A past that has not begun starts at a record with a snapshot.
type past struct {
	t     threadCore
	state typedState // of the last record
	begun bool
	base  checkpoint.ID // the newest record that made tasks due
	due   []checkpoint.Task
}

// step builds the state of the next record.
func (p *past) step(ctx context.Context, rec *checkpoint.Record) error {
	if err := p.t.g.owns(p.t.id, rec); err != nil {
		return err
	}
	if !p.begun {
		p.begun = true
		p.state.start(false, p.t.dropUnknown())
	}
	if err := ctx.Err(); err != nil {
		return p.t.readError(ctx, "history", err)
	}
	next := p.state.apply
	if rec.Snapshot {
		next = p.state.decode
	}
	if err := next(rec.Payload); err != nil {
		return decodeError(p.t.g.name, p.t.id, err, fmt.Sprintf("the state of checkpoint %s", rec.ID))
	}
	if rec.Base == rec.ID {
		p.base, p.due = rec.ID, rec.Due
	}
	return nil
}

// restore builds the state of the last record of a chain.
func (p *past) restore(ctx context.Context, c *checkpoint.Chain) error {
	if err := p.t.g.owns(p.t.id, &c.Last); err != nil {
		return err
	}
	p.begun = true
	p.state.start(false, p.t.dropUnknown())
	if err := fold(ctx, p.state, c); err != nil {
		if ctx.Err() != nil {
			return p.t.readError(ctx, "history", err)
		}
		return decodeError(p.t.g.name, p.t.id, err, fmt.Sprintf("the state of checkpoint %s", c.Last.ID))
	}
	p.base, p.due = c.Last.Base, c.Due
	return nil
}

// snapshot returns the Snapshot of the last record, and shows its state. The due tasks of an edit
// or a resume are in its base.
func (p *past) snapshot(ctx context.Context, rec *checkpoint.Record) (snapshot, error) {
	if rec.Base != p.base {
		c, err := loadChain(ctx, p.t.g, p.t.saver(), p.t.place(rec.ID))
		if err != nil {
			return snapshot{}, err
		}
		p.base, p.due = rec.Base, c.Due
	}
	p.state.show()
	return p.t.snapshot(rec, p.due), nil
}
