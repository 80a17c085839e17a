package graph

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/held"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// An edit of a stopped subgraph call is stored as a pending write of the call. The same act stores
// the record of the edit in the log of the thread. Code that restores the call merges the write.
// The next record of the call contains the change and retires the write.

// callEdit is an edit of a subgraph call.
type callEdit struct {
	namespace string
	child     *core  // the graph of the call
	update    []byte // nil if it changes nothing
}

// updateInside is UpdateState inside a subgraph call, with the edit of s.
func (t threadCore) updateInside(ctx context.Context, s typedState, set func(*runOptions)) (id checkpoint.ID, err error) {
	if err := t.usable(); err != nil {
		return id, err
	}
	o, err := t.options(set)
	switch {
	case err != nil:
		return id, err
	case len(o.as) > 0 || o.choice != nil || o.abandon:
		return id, t.fail("%w: an edit takes no AsNode, Goto or DiscardPending there; the due tasks of a call stay due", ErrInside)
	case !t.at.IsZero():
		return id, t.fail("%w: an edit changes the newest checkpoint of the call; leave At out", ErrInside)
	case t.version != 0:
		return id, t.fail("%w; only a call of the open version can be edited", ErrReleased)
	}
	update, err := s.encodeEdit()
	if err != nil {
		return id, t.fail("encode the update: %w", err)
	}
	return t.inside.edit(ctx, o, callEdit{namespace: t.namespace(), child: t.g, update: update})
}

// openInside stores an edit of a subgraph call in t, which is not inside a call itself.
func (t threadCore) openInside(ctx context.Context, o runOptions, e callEdit) (checkpoint.ID, error) {
	return t.openEdit(ctx, o, t.g.newState(), func(r *opener) error { return r.openInside(e) })
}

// openInside stores an edit of a subgraph call, with a record of the thread that changes nothing.
func (r *opener) openInside(e callEdit) error {
	c, err := r.load(checkpoint.ID{})
	if err != nil {
		return err
	}
	call, err := r.run.callAt(c, e.namespace)
	if err != nil {
		return err
	}
	r.run.carry(&c)
	if err := r.run.restore(&c); err != nil {
		return err
	}
	if err := r.run.place(&c); err != nil {
		return err
	}
	rec, err := r.run.editRecord(&c)
	if err != nil {
		return err
	}
	reach := r.run.reach(rec.ID, e.update)
	if err := reach.call(r.run.ctx, e.child, &call, e.namespace, journal.EditTask); err != nil {
		return err
	}
	if err := r.run.idle(&c); err != nil {
		return err
	}
	wake, err := r.run.wakeOf(&c, reach.writes)
	if err != nil {
		return err
	}
	return r.opened([]checkpoint.Record{rec}, reach.writes, journal.Change{End: true, Wake: wake})
}

// callAt returns the newest checkpoint of the due call that has a namespace. c is that of the
// thread.
func (r *run) callAt(c checkpoint.Chain, namespace string) (checkpoint.Chain, error) {
	p, err := findCall(r.g, c, namespace, func(namespace string) (checkpoint.Chain, error) {
		return loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: namespace})
	})
	switch {
	case err != nil:
		return c, err
	case p.chain.Empty():
		return c, fmt.Errorf("%s: the subgraph call: %w", where(r.g.name, r.thread, -1), checkpoint.ErrNotFound)
	case p.ended:
		return c, fmt.Errorf("%s: %w, lost a race, or is not due any more; State of the thread lists the calls that are due",
			where(r.g.name, r.thread, -1), ErrCallEnded)
	}
	return p.chain, nil
}

// callPlace is the place of a subgraph call in a thread, or of the thread itself.
type callPlace struct {
	g           *core                 // of the call; nil if it is not known
	path        []journal.PathElement // the tasks that lead to the call
	chain       checkpoint.Chain      // its newest checkpoint; empty if it has none
	ended       bool                  // it or a call around it has ended, has lost a race, or is not due
	strict      bool                  // an option of its graph, or of one around it
	dropUnknown bool                  // the same

	interceptors interceptors // of its graph, after those of the graphs around it
}

// findCall returns the place of the call that has a namespace. g is the graph of the thread, and c
// its newest checkpoint. load returns the newest checkpoint of a namespace.
func findCall(g *core, c checkpoint.Chain, namespace string, load func(string) (checkpoint.Chain, error)) (p callPlace, err error) {
	p = callPlace{g: g, chain: c}
	p.take(g)
	for at := ""; at != namespace; {
		name := journal.CallIn(at, namespace)
		i := slices.IndexFunc(p.chain.Due, func(d checkpoint.Task) bool { return journal.DueCall(&p.chain.Last, at, d) == name })
		p.ended = p.ended || i < 0 || held.Over(p.g.dueIn(&p.chain, at))[i]
		if i >= 0 {
			p.enter(p.chain.Due[i])
		}
		at = journal.Within(at, name)
		if p.chain, err = load(at); err != nil || p.chain.Empty() {
			return p, err
		}
		p.ended = p.ended || !p.chain.Unfinished()
	}
	return p, nil
}

// enter makes p the place of the call that a due task makes, without the checkpoint of the call.
func (p *callPlace) enter(t checkpoint.Task) {
	node := t.Node
	if p.g != nil {
		if n, ok := p.g.find(node); ok && n > start {
			node = string(p.g.nodes[n].id)
		}
	}
	p.path = append(p.path, journal.PathElement{Node: node, Index: int(t.Index)})
	p.g = p.g.subgraphOf(t.Node)
	p.take(p.g)
}

// take takes the options of a graph.
func (p *callPlace) take(g *core) {
	if g != nil {
		p.strict, p.dropUnknown = p.strict || g.opt.strict, p.dropUnknown || g.opt.dropUnknown
		p.interceptors = p.interceptors.and(g.opt.interceptors)
	}
}

// subgraphOf returns the graph of a subgraph node; nil if there is none.
func (g *core) subgraphOf(node string) *core {
	if g == nil {
		return nil
	}
	if n, ok := g.find(node); ok && n > start {
		return g.nodes[n].sub
	}
	return nil
}

// raceOf returns the any-of join that a node leads to, from 1; 0 for none.
func (g *core) raceOf(node string) int {
	if g == nil {
		return 0
	}
	if n, ok := g.find(node); ok && n > start {
		return g.plan.Nodes[n].Race
	}
	return 0
}

// editCalls returns the writes of an edit of the thread in the calls that are due over its state.
// edit is its record, and c is the head before it.
func (r *run) editCalls(c *checkpoint.Chain, edit checkpoint.ID) ([]checkpoint.Write, error) {
	rounds := endRounds(r.g, c, "")
	if !r.g.nests {
		return rounds, nil
	}
	update, err := r.state.encodeEdit()
	if err != nil || update == nil {
		return rounds, err
	}
	reach := r.reach(edit, update)
	if err := reach.below(r.ctx, r.g, c, ""); err != nil || len(reach.writes) == 0 {
		return rounds, err
	}
	return append(reach.writes, rounds...), r.idle(c)
}

// idle returns an error if a run held the thread when c was read. The run may have committed in a
// call since then, so that the call would miss the edit.
func (r *run) idle(c *checkpoint.Chain) error {
	if c.Thread.Holder == "" {
		return nil
	}
	err := r.saving("open", &checkpoint.BusyError{Thread: r.thread, Holder: c.Thread.Holder, Until: c.Thread.Lease})
	if r.opt.takeOver {
		return fmt.Errorf("%w; the edit of a subgraph call cannot take over: Resume with TakeOver first", err)
	}
	return err
}

// reach gathers the writes of an edit in subgraph calls.
type reach struct {
	log         loader
	thread      string
	dropUnknown bool // the graph of the thread drops unknown fields
	edit        checkpoint.ID
	update      []byte // nil if it changes nothing
	writes      []checkpoint.Write
}

// reach returns a reach that has gathered no writes yet, for an edit whose record has the given
// id.
func (r *run) reach(edit checkpoint.ID, update []byte) *reach {
	return &reach{log: r.log, thread: r.thread, dropUnknown: r.dropUnknown(), edit: edit, update: update}
}

// call adds the writes for a call of g, and for the calls that are due in it over its state. It
// returns an error if the update cannot be merged there.
func (r *reach) call(ctx context.Context, g *core, c *checkpoint.Chain, namespace, task string) error {
	if err := g.owns(r.thread, &c.Last); err != nil || r.update == nil {
		return err
	}
	s := g.newState()
	s.start(true, r.dropUnknown)
	if err := fold(ctx, s, c); err != nil {
		return decodeError(g.name, r.thread, err, "the state of a subgraph call")
	}
	if err := mergeEdits(g, s, c, r.thread, namespace); err != nil {
		return err
	}
	if err := s.mergeStored(r.update, false); err != nil {
		return fmt.Errorf("%s: the edit cannot be merged into the state of a subgraph call: %w", where(g.name, r.thread, c.Last.Step), err)
	}
	r.writes = append(r.writes, journal.EditOf(r.edit, namespace, c.Last.Base, task, r.update))
	r.writes = append(r.writes, endRounds(g, c, namespace)...)
	return r.below(ctx, g, c, namespace)
}

// below adds the writes for the calls over the same state that are due at c, in a namespace of
// graph g.
func (r *reach) below(ctx context.Context, g *core, c *checkpoint.Chain, namespace string) error {
	results := journal.ResultsAt(c.Writes, &c.Last, namespace)
	for _, d := range c.Due {
		n, ok := g.find(d.Node)
		if !ok || n <= start || !g.nodes[n].same || results.Of(d) != nil {
			continue
		}
		inner := journal.Within(namespace, journal.DueCall(&c.Last, namespace, d))
		call, err := loadChain(ctx, g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: inner})
		if err != nil {
			return err
		}
		if call.Empty() || !call.Unfinished() {
			continue
		}
		if err := r.call(ctx, g.nodes[n].sub, &call, inner, journal.AboveTask); err != nil {
			return err
		}
	}
	return nil
}

// mergeEdits merges the stored edits of a restored call, in the order in which they were made. It
// keeps the edits of the call itself for the parent graph.
func mergeEdits(g *core, s typedState, c *checkpoint.Chain, thread, namespace string) error {
	for _, w := range journal.Edits(c.Writes, namespace, c.Last.Base) {
		if err := s.mergeStored(w.Payload, w.Task == journal.EditTask); err != nil {
			return decodeError(g.name, thread, err, "an edit of a subgraph call")
		}
	}
	return nil
}
