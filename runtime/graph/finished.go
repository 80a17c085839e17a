package graph

import (
	"maps"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// An input that takes the place of due tasks keeps what these have finished (rules 10.8 to 10.11).
// The opening merges it into the state before it stores the input. It reads only what is stored,
// and runs no node. The branch that is left keeps its results, because it can be continued.

// superseded are the tasks whose place an input takes.
type superseded struct {
	ran     []string          // the nodes of those that have finished
	dropped []checkpoint.Task // the others, except those that lost a race
	taken   taken             // the tasks whose outcomes count although no run has taken them
}

// taken are tasks whose outcomes no run has taken, and which count as their results. It has the
// parts of the results, by the keys of the tasks.
type taken map[string]map[string]string

// takenOutcomes are the taken tasks, by the slot of the task or of the call that has the task.
type takenOutcomes map[int]taken

// keepFinished merges what the tasks that are due at c have finished. c is the checkpoint whose
// state the run has.
func (r *opener) keepFinished(c *checkpoint.Chain) error {
	r.left = superseded{}
	if c.Committed || len(c.Due) == 0 || c.Due[0].Node == string(Start) {
		return nil
	}
	r.tail = nil // it records only the input
	if !r.run.g.left(c) {
		r.left.dropped = c.Due
		r.run.state.endStep()
		return nil
	}
	unfit := make(map[int]bool)
	for {
		if err := r.run.restoreLeft(c); err != nil {
			return err
		}
		i := r.run.mergeFinished(unfit)
		if i < 0 {
			break
		}
		unfit[i] = true // rule 10.10
		if err := r.run.restore(c); err != nil {
			return err
		}
	}
	r.passOver(c, unfit)
	return nil
}

// restoreLeft restores what the tasks have left that are due at c. The graph need not have the
// nodes of those that have finished nothing, nor read their calls.
func (r *run) restoreLeft(c *checkpoint.Chain) error {
	missing, err := r.position(c)
	if err != nil {
		return err
	}
	results := journal.ResultsAt(c.Writes, &c.Last, "")
	for _, d := range c.Due {
		if slices.Contains(missing, d.Node) && results.Of(d) != nil {
			return r.missing([]string{d.Node})
		}
	}
	r.gather(c.Writes)
	return r.restoreFinished(r.checkFormat(&c.Last) == nil)
}

// passOver ends the superstep that is due at c, whose finished tasks were merged, and follows no
// edge. It drops the other tasks, and those in unfit, whose results did not merge.
func (r *opener) passOver(c *checkpoint.Chain, unfit map[int]bool) {
	over := make(map[string]bool) // the tasks that are not dropped, by key
	r.left.taken = make(taken)
	for i, tasks := range r.run.taken {
		if !unfit[i] {
			maps.Copy(r.left.taken, tasks)
		}
	}
	for i := range unfit {
		r.run.exec.Tasks[i].Progress = exec.Beaten
	}
	labels := r.run.stepLabels()
	for i := range r.run.exec.Tasks {
		t := &r.run.exec.Tasks[i]
		if unfit[i] || t.Progress != exec.Succeeded && t.Progress != exec.Beaten {
			t.Progress = exec.Beaten
			continue
		}
		over[r.run.taskKey(&t.Task)] = true
	}
	for _, d := range c.Due {
		if !over[journal.DueKey(&c.Last, "", d)] {
			r.left.dropped = append(r.left.dropped, d)
		}
	}
	r.left.ran = slices.Clone(r.run.ran())
	if r.run.g.remembers {
		r.run.remember()
	}
	if labels != nil {
		maps.Copy(labels, r.run.opt.labels)
		task.Relabel(r.run.ctx, labels)
		r.run.opt.labels = labels
	}
	r.run.state.endStep()
	r.run.exec.Over()
	r.run.keys.Forget()
	r.run.pending = journal.Pending{}
}

// left reports whether tasks that are due at c may have left anything that is stored.
func (g *core) left(c *checkpoint.Chain) bool {
	return slices.ContainsFunc(c.Writes, func(w checkpoint.Write) bool {
		ends := w.Kind == checkpoint.Result || w.Kind == checkpoint.Outcome && !journal.IsNote(w.Name)
		return ends && w.Base == c.Last.Base && w.Namespace == ""
	}) || slices.ContainsFunc(c.Due, func(t checkpoint.Task) bool {
		n, ok := g.find(t.Node)
		return ok && n >= start && g.nodes[n].same
	})
}

// releasedReason is the reason of the end of a run line whose version was released.
const releasedReason = "the version was released"

// untoldEnd reports whether a thread is a child whose end is not reported, as far as it says.
func untoldEnd(t *checkpoint.Thread) bool {
	return t.Labels[calledLabel] != "" && endsLine(t.Status) && !t.Wake.IsZero()
}

// tellReleased reports the end of a child before a release closes its version. Later, nothing runs
// in that version that could report it.
func (r *opener) tellReleased() error {
	c, err := r.load(checkpoint.ID{})
	if err != nil || c.Empty() || !untoldEnd(&c.Thread) {
		return err
	}
	if err := r.run.restore(&c); err != nil {
		return err
	}
	return r.run.reportLine(&c, childEnd{status: c.Thread.Status, reason: reasonIn(&c)})
}

// openReleased stores what the due tasks have finished, and releases the version in the same write
// (rule 10.12). It does neither if they have finished nothing.
func (r *opener) openReleased() error {
	c, err := r.load(checkpoint.ID{})
	if err != nil || c.Committed || len(c.Due) == 0 || c.Due[0].Node == string(Start) || !r.run.g.left(&c) {
		return err
	}
	if err := r.run.restore(&c); err != nil {
		return err
	}
	if err := r.keepFinished(&c); err != nil {
		return err
	}
	r.run.plan.Position = plan.Position{Step: c.Last.Step + 1, Joins: r.run.g.plan.NewJoins()}
	rec, err := r.forkRecord(&c)
	if err != nil {
		return err
	}
	r.noteLeft(&rec)
	rec.Meta = maps.Clone(rec.Meta)
	if rec.Meta == nil {
		rec.Meta = make(map[string]string)
	}
	if err := r.returnSignals(&c); err != nil {
		return err
	}
	reason := releasedReason
	if place := where(r.run.g.name, r.run.thread, -1); c.Thread.Status == Cancelled { // before the release
		reason, _ = inbox.CancelReason(strings.TrimPrefix(reasonIn(&c), place+": "))
	} else {
		journal.SetReleased(rec.Meta)
	}
	r.run.ending = &CancelledError{Graph: r.run.g.name, Thread: r.run.thread, Reason: reason}
	return r.opened([]checkpoint.Record{rec}, nil, journal.Change{Status: Cancelled, End: true, Closes: true})
}

// restoreFinished fills the slots with the stored results of the due tasks, and with the updates
// of failed attempts. With calls, it adds those of unfinished calls over the same state.
func (r *run) restoreFinished(calls bool) error {
	r.fill()
	r.taken = make(takenOutcomes)
	if err := r.restoreResults(); err != nil {
		return err
	}
	if err := r.takeOutcomes(); err != nil {
		return err
	}
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		if n := &r.g.nodes[t.Node]; !calls || !n.same || n.unstored || t.Progress == exec.Succeeded || t.Progress == exec.Beaten {
			continue
		}
		updates, err := r.finishedInCall(i)
		if err == nil {
			err = r.state.addMerged(i, updates)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeOutcomes makes the outcomes of successful executions results of their tasks, which workers
// of queues have stored and no run has taken.
func (r *run) takeOutcomes() error {
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		if r.g.nodes[t.Node].queue == "" || t.Progress == exec.Succeeded || t.Progress == exec.Beaten {
			continue
		}
		key, _, name := r.execution(t)
		b, found := r.pending.Outcome(key, name)
		if !found {
			continue
		}
		e, err := journal.ReadExecution(b)
		if err == nil && e.Result != nil {
			err = r.readResult(i, e.Result)
		}
		if err != nil {
			return r.resultChanged(err, "the outcome of node %q", string(r.g.nodes[t.Node].id))
		}
		if e.Result != nil && r.exec.Win(i) {
			t.Progress, t.Parts = exec.Succeeded, e.Parts
			r.taken[i] = taken{key: e.Parts}
		}
	}
	r.exec.Decide()
	return nil
}

// finishedInCall returns the encoded updates of the task in slot i, a call over the same state.
// They are those of its supersteps and edits, and of the tasks that have finished since. The
// labels of these tasks become those of the call.
func (r *run) finishedInCall(i int) ([]byte, error) {
	sub := r.g.nodes[r.exec.Tasks[i].Node].sub
	c := r.newChild(r.ctx, i, sub, sub.newState())
	chain, err := r.readCall(i, c)
	if err == nil && len(chain.Due) > 0 && !c.plan.Input() {
		if err = c.restoreFinished(true); err == nil {
			c.keepUpdates()
			r.exec.Tasks[i].Parts = make(map[string]string)
			for name, value := range c.stepLabels() {
				r.exec.Tasks[i].Parts[task.LabelPart+name] = value
			}
			for _, tasks := range c.taken {
				if r.taken[i] == nil {
					r.taken[i] = make(taken)
				}
				maps.Copy(r.taken[i], tasks)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return c.state.appendKept(0)
}

// mergeFinished merges what the tasks have left, in their order, except those in unfit. It returns
// the task whose update does not fit those before it, or a negative number.
func (r *run) mergeFinished(unfit map[int]bool) (i int) {
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		if t.Progress != exec.Beaten && !unfit[i] && r.mergeLeft(i) != nil {
			return i
		}
	}
	return -1
}

// mergeLeft merges what the task in slot i has left. The panic of a reducer is an error.
func (r *run) mergeLeft(i int) (err error) {
	defer rescue(&err)
	return r.state.merge(i, &r.g.nodes[r.exec.Tasks[i].Node])
}

// noteLeft notes the tasks whose place the input took in its record.
func (r *opener) noteLeft(rec *checkpoint.Record) {
	rec.Ran = r.left.ran
	if len(r.left.dropped) == 0 {
		return
	}
	meta := maps.Clone(rec.Meta)
	if meta == nil {
		meta = make(map[string]string)
	}
	journal.SetDropped(meta, r.left.dropped)
	rec.Meta = meta
}

// droppedAt returns the tasks that the input of a record dropped; nil for none.
func droppedAt(rec *checkpoint.Record) (dropped []TaskState) {
	tasks, err := journal.Dropped(rec.Meta)
	if err != nil {
		return nil // the record is readable without them
	}
	for _, t := range tasks {
		dropped = append(dropped, TaskState{Node: ID(t.Node), Index: int(t.Index)})
	}
	return dropped
}
