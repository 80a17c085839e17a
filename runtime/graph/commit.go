package graph

import (
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// recorder stores the progress of a run.
type recorder struct{ *run }

func (r *run) storing() recorder { return recorder{r} }

// commit stores the position of the run as one record, together with writes, as durable as the run
// asked for.
func (r recorder) commit(source checkpoint.Source, writes []checkpoint.Write, o journal.Outcome) error {
	if r.log == nil {
		return nil
	}
	r.log.Again = nil // it belongs to the superstep that the record commits
	rec := r.log.Next()
	if err := r.describe(rec, source); err != nil {
		return err
	}
	rec.Ran = r.ran()
	r.noteStops(rec, o)
	parts, err := r.parts()
	if err != nil {
		return err
	}
	if err := r.fillPayload(rec, false); err != nil {
		return err
	}
	writes = append(append(append(parts, writes...), r.stopQuestion(rec.ID, o)...), r.reason(rec.ID, o, r.ending)...)
	err = r.log.Commit(r.ctx, rec, writes, o)
	if tooLarge(err) {
		err = r.refusedRecord(rec, err)
	}
	return r.saving("commit", err)
}

// record returns the record of the run's position, without its payload. The record is the base of
// the due tasks.
func (r recorder) record(source checkpoint.Source) (rec checkpoint.Record, err error) {
	return rec, r.describe(&rec, source)
}

// describe makes rec, which must be zero, the record of the run's position, without its payload.
func (r recorder) describe(rec *checkpoint.Record, source checkpoint.Source) (err error) {
	if rec.ID, err = r.log.NewID(); err != nil {
		return err
	}
	if rec.Meta, err = r.meta(); err != nil {
		return err
	}
	rec.Parent, rec.Base, rec.Line, rec.Commits = r.log.Head, rec.ID, r.keys.Line(), r.log.Base
	rec.Step, rec.Source, rec.Created = r.plan.Step, source, rec.ID.Time()
	rec.Due, rec.PendingRoutes, rec.ClearedStops = r.dueTasks(), r.g.names(r.plan.Pending), r.g.names(r.plan.Cleared)
	rec.Joins, rec.Fingerprint, rec.Graph = r.g.halfJoins(&r.plan), r.g.fingerprint, r.g.name
	return nil
}

// fillPayload sets the payload of rec: the change since the last payload, or the whole state if
// that is necessary or cheaper.
func (r recorder) fillPayload(rec *checkpoint.Record, whole bool) error {
	if err := r.log.Fill(rec, r.state, whole); err != nil {
		return fmt.Errorf("%s: encode the state: %w", where(r.g.name, r.thread, r.plan.Step), err)
	}
	return nil
}

// acknowledge stores the results and the questions of the given slots.
func (r recorder) acknowledge(slots []int) error {
	writes := make([]checkpoint.Write, 0, len(slots))
	for _, i := range slots {
		sl := &r.exec.Tasks[i]
		writes = append(writes, r.questionsOf(sl)...)
		if sl.Progress != exec.Succeeded {
			continue
		}
		w, err := r.resultOf(i)
		if err != nil {
			sl.Progress, sl.Err = exec.Failed, err
			return r.nodeError(sl, err)
		}
		writes = append(writes, w)
	}
	if len(writes) == 0 {
		return nil
	}
	err := r.log.Put(r.ctx, writes, journal.Outcome{})
	switch {
	case r.log.Keeps() && err != nil: // of an earlier write
		return r.saving("put writes", err)
	case tooLarge(err) && len(slots) > 1: // at least one of them
		var all []error
		for _, i := range slots {
			all = append(all, r.acknowledge([]int{i}))
		}
		return errors.Join(all...)
	case tooLarge(err):
		return r.refusedResult(slots[0], err)
	case err != nil:
		return r.saving("put writes", err)
	}
	for _, i := range slots {
		r.exec.Tasks[i].Stored = r.exec.Tasks[i].Progress == exec.Succeeded || r.exec.Tasks[i].Progress == exec.Asking
	}
	return nil
}

// questionsOf returns the writes of the questions that a task waits for, unless they are stored.
func (r recorder) questionsOf(sl *exec.Task) []checkpoint.Write {
	if sl.Asks == nil || sl.Progress != exec.Asking || sl.Stored {
		return nil
	}
	var writes []checkpoint.Write
	for _, o := range sl.Asks.Open() {
		writes = append(writes, checkpoint.Write{
			Namespace: r.log.Namespace, Base: r.log.Base, Task: r.taskKey(&sl.Task), Kind: checkpoint.Question, Name: o.Place, Payload: journal.Complete(o.Payload, sl.Summary, o.Due),
		})
	}
	if sl.Err != nil { // another attempt begins later
		writes = append(writes, r.failureWrites(sl, sl.Err)...)
	}
	return writes
}

// resultOf returns the write of the result of the task in slot i: its update and, for a routing
// node, its choice.
func (r recorder) resultOf(i int) (w checkpoint.Write, err error) {
	sl := &r.exec.Tasks[i]
	payload, err := r.resultIn(i)
	return checkpoint.Write{Namespace: r.log.Namespace, Base: r.log.Base, Task: r.taskKey(&sl.Task), Kind: checkpoint.Result, Payload: payload}, err
}

// resultIn returns the encoded result of the task in slot i. readResult reads it.
func (r recorder) resultIn(i int) (payload []byte, err error) {
	n := &r.g.nodes[r.exec.Tasks[i].Node]
	payload, err = r.state.appendResult(i, n)
	if err == nil && n.routes {
		var targets []journal.Target
		if targets, err = encodeTargets(*r.state.choice(i)); err == nil {
			payload = journal.AppendChoice(nil, payload, targets)
		}
	}
	return payload, err
}

// results returns the writes of a superstep that cannot commit. They are results that are not
// stored yet, also of durable calls, and the errors of failed tasks. It leaves out a result that
// cannot be encoded; the node runs again.
func (r recorder) results(cause error) []checkpoint.Write {
	var writes []checkpoint.Write
	blamed := blames(cause)
	for i := range r.exec.Tasks {
		sl := &r.exec.Tasks[i]
		if sl.Progress == exec.Succeeded && !sl.Stored {
			if w, err := r.resultOf(i); err == nil {
				writes = append(writes, w)
			}
		}
		writes = append(append(writes, r.questionsOf(sl)...), r.unstoredCalls(sl)...)
		if why := r.failureOf(sl, blamed); why != nil {
			writes = append(append(writes, r.failureWrites(sl, why)...), r.endRound(sl)...)
		}
	}
	return writes
}

// failureWrites are the writes of a task that failed: why, its last attempt, and its summary.
func (r recorder) failureWrites(sl *exec.Task, why error) []checkpoint.Write {
	w := checkpoint.Write{
		Namespace: r.log.Namespace, Base: r.log.Base, Task: r.taskKey(&sl.Task), Kind: checkpoint.Failure, Payload: failureText(why.Error()),
	}
	failed := sl.FailedAt
	if failed.IsZero() {
		failed = time.Now() // it ran alone, or its update could not be merged
	}
	attempt := w
	attempt.Name, attempt.Payload = journal.AttemptName, journal.AppendAttempt(nil, sl.Attempt, failed)
	writes := []checkpoint.Write{w, attempt}
	if sl.Summary != "" {
		w.Name, w.Payload = journal.SummaryName, []byte(sl.Summary)
		writes = append(writes, w)
	}
	return writes
}

// blame assigns an error of merging or routing to a task.
type blame struct {
	cause error
	node  ID
	index int
	done  bool // only for a task that succeeded
}

// blames returns the tasks that caused an error. Several tasks may share one error.
func blames(cause error) []blame {
	var all []blame
	var node *NodeError
	var route *RouteError
	var conflict *ConflictError
	if errors.As(cause, &node) {
		all = append(all, blame{cause, node.Node, node.Index, true})
	}
	if errors.As(cause, &route) {
		all = append(all, blame{cause, route.Node, 0, false})
	}
	if errors.As(cause, &conflict) {
		all = append(all, blame{cause, conflict.Nodes[1], conflict.Indexes[1], false})
	}
	var over *OverflowError
	if errors.As(cause, &over) {
		last := len(over.Nodes) - 1
		all = append(all, blame{cause, over.Nodes[last], over.Indexes[last], false})
	}
	return all
}

// failureOf returns the error of the task in a slot: its own, or that of merging its update or
// calling its route.
func (r recorder) failureOf(sl *exec.Task, blamed []blame) error {
	if sl.Progress == exec.Failed {
		return sl.Err
	}
	id := r.g.nodes[sl.Node].id
	for _, b := range blamed {
		if b.node == id && b.index == sl.Index && (!b.done || sl.Progress == exec.Succeeded) {
			return b.cause
		}
	}
	return nil
}

// restoreResults restores the stored results of the tasks of the superstep.
func (r restorer) restoreResults() error {
	if r.log != nil && (r.g.asks || r.pending.HasAsked()) {
		for i := range r.exec.Tasks {
			r.prepareQuestions(&r.exec.Tasks[i])
		}
	}
	for i := range r.exec.Tasks {
		if !r.pending.Named() {
			break
		}
		if err := r.restoreKept(i); err != nil {
			return err
		}
	}
	if !r.pending.Results() {
		return nil
	}
	for i := range r.exec.Tasks {
		sl := &r.exec.Tasks[i]
		payload, ok := r.pending.Result(r.taskKey(&sl.Task))
		if !ok {
			continue
		}
		if err := r.readResult(i, payload); err != nil {
			return r.resultChanged(err, "the stored result of node %q", string(r.g.nodes[sl.Node].id))
		}
		sl.Progress, sl.Stored = exec.Succeeded, true
		r.exec.Win(i)
	}
	r.exec.Decide()
	return nil
}

// readResult reads a result that resultOf encoded into slot i.
func (r restorer) readResult(i int, payload []byte) (err error) {
	sl := &r.exec.Tasks[i]
	n := &r.g.nodes[sl.Node]
	if n.routes {
		if payload, *r.state.choice(i), err = r.g.readChoice(n, payload); err != nil {
			return err
		}
	}
	return r.state.decodeResult(i, n, payload)
}

// saving wraps an error of the journal.
func (r *run) saving(op string, err error) error {
	if err == nil {
		return nil
	}
	return &SaverError{Graph: r.g.name, Thread: r.thread, Step: r.plan.Step, Op: op, Err: err}
}

// end is giveUp. trimmed says that the storage has refused the last write for its size: now it
// leaves out what does not fit.
func (r recorder) end(cause error, trimmed bool) error {
	if r.status == 0 { // else an earlier attempt to store it failed
		r.status = reasonsOf(r.run, cause).Status()
	}
	if r.log == nil {
		return cause
	}
	if lost := r.log.Lost(); lost != nil {
		if r.call == nil {
			_ = r.log.Close() // another run has the thread, so queued writes are refused and no more may be sent
		}
		if !errors.Is(cause, checkpoint.ErrConflict) {
			cause = errors.Join(cause, r.saving("keep the thread", lost))
		}
		return cause
	}
	asked, messages := r.opt.listen.cancelled(r.run)
	if asked != nil {
		r.status = Cancelled
		r.opt.listen.obeyed(r.run)
	}
	o := journal.Outcome{Status: r.status, End: true, Wake: wakeAfter(r.run, r.status), Messages: messages}
	writes := r.results(cause)
	if trimmed {
		r.putFitting(writes)
		writes = nil
	}
	switch {
	case asked == nil:
	case !r.exec.Has(exec.Failed):
		cause = asked
	case !errors.Is(cause, asked):
		cause = errors.Join(asked, cause)
	}
	switch {
	case r.health == unsure:
		o.Status = 0 // if that commit is stored, it has set the status of the thread
		o.End = r.opt.due.ends(r.run)
	case r.call == nil && r.status == Failed:
		var wake time.Time
		if wake, cause = r.opt.due.again(r.run, cause, writes); o.Wake.IsZero() {
			o.Wake = wake
		}
	}
	why := cause
	if asked != nil {
		why = asked
	}
	err := r.saving("put writes", r.log.Put(r.ctx, append(writes, r.reason(r.log.Base, o, why)...), o))
	if err == nil {
		if tooLarge(cause) && r.log.Keeps() {
			r.health = max(r.health, spoiled) // it is ahead of what is stored
		}
		return cause
	}
	if tooLarge(err) && !trimmed {
		r.status = 0
		if !tooLarge(cause) {
			cause = errors.Join(cause, err)
		}
		return r.end(cause, true)
	}
	if r.call == nil && r.log.Lost() == nil {
		r.log.LetGo(r.ctx)
	}
	r.health = max(r.health, spoiled) // only the saver knows what is stored
	switch broken := r.log.Broken(); {
	case cause == nil:
		return err
	case broken != nil && errors.Is(cause, broken):
		return cause // cause already contains the error
	}
	return errors.Join(cause, err)
}
