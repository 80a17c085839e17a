package graph

import (
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// replay runs what was due at an older checkpoint again, as a branch: a fork that changes nothing, taken up at
// once.
func (r *opening) replay(c *checkpoint.Chain) error {
	if len(r.opt.answers) > 0 {
		return r.answerError(r.opt.answers[0].id, "a replay asks anew; answer what it asks")
	}
	if err := r.restoring().restore(c); err != nil {
		return err
	}
	if err := r.restoring().place(c); err != nil {
		return err
	}
	fork, err := r.forkRecord(c)
	if err != nil {
		return err
	}
	if len(r.plan.Due) == 0 && len(r.plan.Pending) == 0 {
		return r.opened([]checkpoint.Record{fork}, nil, journal.Outcome{Status: checkpoint.Done, End: true})
	}
	o := journal.Outcome{Status: checkpoint.Running}
	if r.plan.Stops() { // a stop at that checkpoint holds the replay too
		o = journal.Outcome{Status: checkpoint.Paused, End: true}
	}
	return r.opened([]checkpoint.Record{fork}, nil, o)
}

// forkRecord is a record that goes on from c's checkpoint on a line of its own.
func (r *opening) forkRecord(c *checkpoint.Chain) (checkpoint.Record, error) {
	if len(r.plan.Due) > 0 && r.plan.Input() {
		return checkpoint.Record{}, fmt.Errorf("%s: the input was not merged yet at that checkpoint, and is not kept: go on from the next one, or give another input by UpdateState as graph.Start",
			where(r.g.name, r.thread, r.plan.Step))
	}
	r.log.Again = nil
	r.plan.Cleared = nil // a stop that was answered on the line left behind holds the new one
	rec, err := r.storing().record(checkpoint.Fork)
	if err != nil {
		return rec, err
	}
	parent := c.Last.ID
	rec.Parent, rec.Line, rec.Commits = parent, rec.ID, checkpoint.ID{}
	r.keys.SetLine(rec.ID)
	r.log.Base = rec.ID
	return rec, r.storing().fillPayload(&rec, parent != c.Head)
}

// openUpdate stores an edit: at the head, from an older checkpoint, or as node n.
func (r *opening) openUpdate(at checkpoint.ID, n int, asNode bool) (err error) {
	defer rescueReducer(r.run, &err)
	c, err := r.load(at)
	if err != nil {
		return err
	}
	if c.Empty() {
		return fmt.Errorf("%s: %w; begin it with Invoke", where(r.g.name, r.thread, -1), checkpoint.ErrNotFound)
	}
	if err := r.restoring().restore(&c); err != nil {
		return err
	}
	if asNode {
		return r.updateAs(&c, n)
	}
	if err := r.restoring().place(&c); err != nil {
		return err
	}
	r.edit(start)
	if err := r.merge(); err != nil {
		return err
	}
	r.exec.Over()
	if !at.IsZero() && at != c.Head {
		rec, err := r.forkRecord(&c)
		if err != nil {
			return err
		}
		return r.opened([]checkpoint.Record{rec}, nil, r.forkOutcome())
	}
	rec, err := r.storing().record(checkpoint.Update)
	if err != nil {
		return err
	}
	rec.Base, rec.Commits, rec.Due = r.log.Base, checkpoint.ID{}, nil
	if err := r.storing().fillPayload(&rec, false); err != nil {
		return err
	}
	return r.opened([]checkpoint.Record{rec}, nil, journal.Outcome{End: true})
}

// edit puts the update of the caller into a slot, as what node n returned.
func (r *opening) edit(n int) {
	r.exec.Edit(exec.Task{Task: plan.Task{Node: n}, Progress: exec.Succeeded})
	r.state.reset(1)
	r.state.enter(0)
}

// alsoDue returns the nodes that are due or whose routes are pending, in addition to one task of node n. It returns nothing
// if n is not due.
func (r *opening) alsoDue(c *checkpoint.Chain, n int) []string {
	var names []string
	for _, t := range c.Due {
		names = append(names, t.Node)
	}
	names = append(names, c.Last.PendingRoutes...)
	i := slices.IndexFunc(names, func(name string) bool { m, ok := r.g.find(name); return ok && m == n })
	if i < 0 {
		return nil
	}
	return slices.Compact(slices.Delete(names, i, i+1))
}

// updateAs stores the update as what node n came to: a superstep of its own, with all joins empty.
func (r *opening) updateAs(c *checkpoint.Chain, n int) error {
	if r.g.nodes[n].routes {
		return fmt.Errorf("%s: UpdateState as node %q: it chooses itself what follows it, which an update does not say; edit as another node",
			where(r.g.name, r.thread, r.plan.Step), string(r.g.nodes[n].id))
	}
	if others := r.alsoDue(c, n); len(others) > 0 && !r.opt.abandon {
		return fmt.Errorf("%s: UpdateState as node %q: %w: %v is due as well, and would be dropped; "+
			"resume the thread first, edit it without a node, which leaves all that is due, or pass graph.DiscardPending to drop the rest",
			where(r.g.name, r.thread, r.plan.Step), string(r.g.nodes[n].id), ErrUnfinished, ids(others))
	}
	r.plan.Place(r.plan.Step, n)
	r.edit(n)
	if _, err := r.settle(); err != nil {
		return err
	}
	r.exec.Over()
	rec, err := r.forkRecord(c)
	if err != nil {
		return err
	}
	rec.Node = string(r.g.nodes[n].id)
	return r.opened([]checkpoint.Record{rec}, nil, r.forkOutcome())
}

// forkOutcome is the outcome of a fork: nothing runs.
func (r *opening) forkOutcome() journal.Outcome {
	if len(r.plan.Due) == 0 && len(r.plan.Pending) == 0 {
		return journal.Outcome{Status: checkpoint.Done, End: true}
	}
	return journal.Outcome{Status: checkpoint.Ready, End: true}
}
