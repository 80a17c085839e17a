package graph

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// replay runs the tasks that were due at an older checkpoint again, on a new run line: a fork
// without a change, resumed immediately.
func (r *opener) replay(c *checkpoint.Chain) error {
	if len(r.run.opt.answers) > 0 {
		return r.run.answerError(r.run.opt.answers[0].id, "a replay asks its questions again; answer those")
	}
	if err := r.run.continueAt(c); err != nil {
		return err
	}
	if err := r.run.place(c); err != nil {
		return err
	}
	if r.edited {
		if err := r.run.mergeEdit(); err != nil {
			return err
		}
	}
	fork, err := r.forkRecord(c)
	if err != nil {
		return err
	}
	if len(r.run.plan.Due) == 0 && len(r.run.plan.Pending) == 0 {
		return r.opened([]checkpoint.Record{fork}, nil, journal.Change{Status: checkpoint.Done, End: true})
	}
	o := journal.Change{Status: checkpoint.Running}
	if r.run.plan.Stops() { // a stop at that checkpoint holds the replay too
		o = journal.Change{Status: checkpoint.Paused, End: true}
	}
	return r.opened([]checkpoint.Record{fork}, nil, o)
}

// forkRecord returns a record that continues from c's checkpoint on a new run line.
func (r *opener) forkRecord(c *checkpoint.Chain) (checkpoint.Record, error) {
	if len(r.run.plan.Due) > 0 && r.run.plan.Input() {
		return checkpoint.Record{}, fmt.Errorf("%s: the input was not merged yet at that checkpoint, and is not kept: continue from the next one, or give another input by UpdateState as graph.Start",
			where(r.run.g.name, r.run.thread, r.run.plan.Step))
	}
	if err := r.readPast(c); err != nil {
		return checkpoint.Record{}, err
	}
	r.leaving = inbox.Relist(c.Thread.Questions, nil)
	r.run.limit(time.Time{})
	r.run.log.Again = nil
	r.run.plan.Cleared = nil // a stop that was passed on the old line applies to the new one
	rec, err := r.run.record(checkpoint.Fork)
	if err != nil {
		return rec, err
	}
	parent := c.Last.ID
	r.mark(&rec)
	rec.Parent, rec.Line, rec.Commits = parent, rec.ID, checkpoint.ID{}
	r.run.keys.SetLine(rec.ID)
	r.run.log.Base = rec.ID
	return rec, r.run.fillPayload(&rec, parent != c.Head || c.Empty())
}

// edit is an edit of a thread, in addition to its updates.
type edit struct {
	nodes []plan.Task // the nodes of the updates; none for an edit without a node
	next  *Next       // the tasks due afterwards; nil for the successors of the nodes, or for the tasks that were due
}

// openUpdate stores an edit of the head, or a fork.
func (r *opener) openUpdate(at checkpoint.ID, e edit) (err error) {
	defer rescueReducer(r.run, &err)
	c, err := r.load(at)
	if err != nil {
		return err
	}
	if c.Empty() {
		if err := mayBegin(r.run.g.name, r.run.thread); err != nil {
			return err
		}
	}
	r.run.carry(&c)
	if err := r.run.restore(&c); err != nil {
		return err
	}
	switch {
	case len(e.nodes) > 0:
		return r.updateAs(&c, e)
	case e.next != nil:
		return r.updateGoto(&c, e.next)
	case c.Empty():
		return r.seed()
	}
	if err := r.run.place(&c); err != nil {
		return err
	}
	if err := r.run.mergeEdit(); err != nil {
		return err
	}
	if !at.IsZero() && at != c.Head {
		return r.fork(&c, nil)
	}
	rec, err := r.run.editRecord(&c)
	if err != nil {
		return err
	}
	writes, err := r.run.editCalls(&c, rec.ID)
	if err != nil {
		return err
	}
	wake, err := r.run.wakeOf(&c, writes)
	if err != nil {
		return err
	}
	return r.opened([]checkpoint.Record{rec}, writes, journal.Change{End: true, Wake: wake})
}

// editRecord returns the record of an edit at the head, after its merge.
func (r *run) editRecord(c *checkpoint.Chain) (checkpoint.Record, error) {
	rec, err := r.record(checkpoint.Update)
	if err != nil {
		return rec, err
	}
	rec.Base, rec.Commits, rec.Due = r.log.Base, checkpoint.ID{}, nil
	rec.Meta = journal.KeepStops(rec.Meta, c.Last.Meta)
	return rec, r.fillPayload(&rec, false)
}

// editRecords merges the edit of a Resume. It returns the record of the edit, and its writes in
// subgraph calls. It returns nothing without an edit.
func (r *opener) editRecords(c *checkpoint.Chain) ([]checkpoint.Record, []checkpoint.Write, error) {
	if !r.edited {
		return nil, nil, nil
	}
	if err := r.run.mergeEdit(); err != nil {
		return nil, nil, err
	}
	rec, err := r.run.editRecord(c)
	if err != nil {
		return nil, nil, err
	}
	r.run.log.Keep() // the next record gets memory of its own
	writes, err := r.run.editCalls(c, rec.ID)
	return []checkpoint.Record{rec}, writes, err
}

// mergeEdit merges an update without a node.
func (r *run) mergeEdit() (err error) {
	defer rescueReducer(r, &err)
	r.exec.Edit([]plan.Task{{Node: start}})
	r.state.edit()
	if err := r.merge(); err != nil {
		return err
	}
	r.exec.Over()
	return nil
}

// seed stores the first checkpoint of a thread, whose state is that of the edit. Nothing is due.
func (r *opener) seed() error {
	if err := r.run.mergeEdit(); err != nil {
		return err
	}
	rec, err := r.run.firstRecord()
	if err != nil {
		return err
	}
	return r.opened([]checkpoint.Record{rec}, nil, journal.Change{Status: checkpoint.Done, End: true, Keep: true})
}

// firstRecord returns the record of the first checkpoint of an empty thread. Nothing is due there.
func (r *run) firstRecord() (checkpoint.Record, error) {
	r.plan.Step++
	rec, err := r.record(checkpoint.Update)
	if err != nil {
		return rec, err
	}
	rec.Line = rec.ID
	r.keys.SetLine(rec.ID)
	return rec, r.fillPayload(&rec, true)
}

// fork stores the position of the run on a new run line, after c's checkpoint.
func (r *opener) fork(c *checkpoint.Chain, as []string) error {
	rec, err := r.forkRecord(c)
	if err != nil {
		return err
	}
	rec.Ran = as
	return r.opened([]checkpoint.Record{rec}, nil, r.run.forkChange())
}

// alsoDue returns the nodes that are due or whose routes are pending, in addition to one task for
// each of nodes. It returns nothing if none of nodes is due.
func (r *run) alsoDue(c *checkpoint.Chain, nodes []plan.Task) []string {
	var names []string
	for _, t := range c.Due {
		names = append(names, t.Node)
	}
	names = append(names, c.Last.PendingRoutes...)
	due := false
	for _, t := range nodes {
		i := slices.IndexFunc(names, func(name string) bool { m, ok := r.g.find(name); return ok && m == t.Node })
		if i >= 0 {
			names, due = slices.Delete(names, i, i+1), true
		}
	}
	if !due {
		return nil
	}
	return distinct(names)
}

// updateAs stores the updates as the results of nodes: a superstep of its own, which starts with
// empty joins.
func (r *opener) updateAs(c *checkpoint.Chain, e edit) error {
	names := r.run.g.names.Of(nodesOf(e.nodes))
	if others := r.run.alsoDue(c, e.nodes); len(others) > 0 && e.next == nil && !r.run.opt.abandon {
		return fmt.Errorf("%s: an update as %s: %w: %v is due as well, and would be dropped; "+
			"resume the thread first, edit it without a node, which leaves all that is due, or pass graph.DiscardPending to drop the rest",
			where(r.run.g.name, r.run.thread, r.run.plan.Step), asNodes(slices.Clone(names)), ErrUnfinished, ids(others))
	}
	r.run.plan.Position = plan.Position{Step: r.run.plan.Step, Joins: r.run.g.plan.NewJoins()}
	r.run.exec.Edit(e.nodes)
	r.run.state.edit()
	if err := r.run.settleEdit(e.next); err != nil {
		return err
	}
	r.run.exec.Over()
	return r.fork(c, distinct(names))
}

// settleEdit merges the updates of nodes and makes next due, or the successors of the nodes if
// next is nil.
func (r *run) settleEdit(next *Next) error {
	if next == nil {
		_, err := r.settle()
		return err
	}
	if err := r.merge(); err != nil {
		return err
	}
	r.state.endStep()
	r.plan.Begin()
	return r.makeDue(next)
}

// updateGoto stores an update without a node, after which next is due.
func (r *opener) updateGoto(c *checkpoint.Chain, next *Next) error {
	if err := r.run.mergeEdit(); err != nil {
		return err
	}
	if c.Empty() {
		r.run.plan.Step++
	}
	r.run.g.names.PlaceJoins(&r.run.plan.Position, c.Last.Joins) // those that the graph does not have are dropped
	r.run.plan.Reopen()
	if err := r.run.makeDue(next); err != nil {
		return err
	}
	return r.fork(c, nil)
}

// makeDue makes exactly the tasks of next due. Goto has checked them.
func (r *run) makeDue(next *Next) error {
	for t := range next.targets {
		n := r.g.index[t.id]
		if t.sent == nil {
			r.plan.Choose(n)
			continue
		}
		raw, err := appendSent(t.sent)
		if err != nil {
			return fmt.Errorf("%s: Goto: the payload for node %s cannot be stored: %w", where(r.g.name, r.thread, r.plan.Step), quoted(t.id), err)
		}
		r.plan.Send(n, t.sent, raw)
	}
	r.plan.Turn()
	return nil
}

// nodesOf returns the numbers of the nodes of tasks.
func nodesOf(tasks []plan.Task) []int {
	var numbers []int
	for i := range tasks {
		numbers = append(numbers, tasks[i].Node)
	}
	return numbers
}

// forkChange returns the outcome of a fork. Nothing runs.
func (r *run) forkChange() journal.Change {
	if len(r.plan.Due) == 0 && len(r.plan.Pending) == 0 {
		return journal.Change{Status: checkpoint.Done, End: true}
	}
	return journal.Change{Status: checkpoint.Ready, End: true}
}
