package graph

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// store stores the position of the run as one record, together with writes, as durable as the run
// asked for.
func (r *run) store(source checkpoint.Source, writes []checkpoint.Write, o journal.Change) error {
	if r.log == nil {
		return nil
	}
	r.log.Again = nil // it belongs to the superstep that the record commits
	rec := r.log.Next()
	if err := r.describe(rec, source); err != nil {
		return err
	}
	rec.Ran = r.ran()
	r.noteStops(rec, o.Status)
	parts, err := r.partWrites()
	if err != nil {
		return err
	}
	if err := r.fillPayload(rec, false); err != nil {
		return err
	}
	writes = append(append(append(parts, writes...), r.stopQuestion(rec.ID, o.Status)...), r.reasonWrite(rec.ID, o.Status, r.ending)...)
	err = r.log.Commit(r.ctx, rec, writes, o)
	if tooLarge(err) {
		err = r.refusedRecord(rec, err)
	}
	return r.saving("commit", err)
}

// record returns the record of the run's position, without its payload. The record is the base of
// the due tasks.
func (r *run) record(source checkpoint.Source) (rec checkpoint.Record, err error) {
	return rec, r.describe(&rec, source)
}

// describe makes rec, which must be zero, the record of the run's position, without its payload.
func (r *run) describe(rec *checkpoint.Record, source checkpoint.Source) (err error) {
	if rec.ID, err = r.log.NewID(); err != nil {
		return err
	}
	if rec.Meta, err = r.meta(); err != nil {
		return err
	}
	rec.Parent, rec.Base, rec.Line, rec.Commits = r.log.Head, rec.ID, r.keys.Line(), r.log.Base
	rec.Source, rec.Created, rec.Fingerprint, rec.Graph = source, rec.ID.Time(), r.g.fingerprint, r.g.name
	r.g.names.Store(rec, &r.plan.Position, r.log.Due(len(r.plan.Due)))
	return nil
}

// meta returns the entries that a record stores in addition to the position of the run; nil for
// none.
func (r *run) meta() (map[string]string, error) {
	goesUp := r.call != nil && r.state.up().first.id != "" && r.plan.Ended()
	nests := r.call == nil && r.g.hash != r.g.fingerprint
	calls := r.g.callsDue(&r.plan)
	if len(r.memory) == 0 && len(r.log.Again) == 0 && !goesUp && !nests && !calls && len(r.opt.metadata) == 0 {
		return nil, nil
	}
	meta := make(map[string]string, len(r.memory)+len(r.opt.metadata)+1)
	for key, value := range r.opt.metadata {
		journal.SetMetadata(meta, key, value)
	}
	if nests {
		journal.SetSchemas(meta, r.g.hash)
	}
	if calls {
		journal.SetFormat(meta)
	}
	for node, m := range r.memory {
		journal.SetMemory(meta, node, m.Namespace)
	}
	for key, resume := range r.log.Again {
		journal.SetAgain(meta, key, resume)
	}
	if goesUp {
		targets, err := encodeTargets(*r.state.up())
		if err != nil {
			return nil, fmt.Errorf("%s: the choice for Parent cannot be stored: %w", where(r.g.name, r.thread, r.plan.Step), err)
		}
		journal.SetNext(meta, journal.AppendTargets(nil, targets))
	}
	return meta, nil
}

// ran returns the stored names of the nodes that ran in this superstep.
func (r *run) ran() []string {
	n := 0
	for range r.exec.Ran {
		n++
	}
	names := r.log.Names(n)[:0]
	for node := range r.exec.Ran {
		names = append(names, r.g.names.IDs[node])
	}
	return names
}

// fillPayload sets the payload of rec: the change since the last payload, or the whole state if
// that is necessary or cheaper.
func (r *run) fillPayload(rec *checkpoint.Record, whole bool) error {
	if err := r.log.Fill(rec, r.state, whole); err != nil {
		return fmt.Errorf("%s: encode the state: %w", where(r.g.name, r.thread, r.plan.Step), err)
	}
	return nil
}

// acknowledge stores the results and the questions of the given slots.
func (r *run) acknowledge(slots []int) error {
	writes := make([]checkpoint.Write, 0, len(slots))
	for _, i := range slots {
		sl := &r.exec.Tasks[i]
		writes = append(writes, r.questionWrites(r.writeOf(&sl.Task), sl)...)
		if sl.Progress != exec.Succeeded {
			continue
		}
		w, err := r.resultWrite(i)
		if err != nil {
			sl.Progress, sl.Err = exec.Failed, err
			return r.nodeError(sl, err)
		}
		writes = append(append(writes, w), partsWrites(r.writeOf(&sl.Task), sl)...)
	}
	if len(writes) == 0 {
		return nil
	}
	err := r.log.Put(r.ctx, writes, journal.Change{})
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

// writeOf returns a write about a task, without its kind, name and payload.
func (r *run) writeOf(t *plan.Task) checkpoint.Write { return r.log.About(r.taskKey(t)) }

// resultWrite returns the write of the result of the task in slot i.
func (r *run) resultWrite(i int) (w checkpoint.Write, err error) {
	w = r.writeOf(&r.exec.Tasks[i].Task)
	w.Kind = checkpoint.Result
	w.Payload, err = r.encodeResult(i)
	return w, err
}

// encodeResult returns the result of the task in slot i as readResult reads it: its update and,
// for a routing node, its choice.
func (r *run) encodeResult(i int) (payload []byte, err error) {
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

// writesAtEnd returns what a run stores of a superstep that it cannot commit. These are results
// that are not stored yet, also of durable calls, open questions, and errors of tasks. It leaves
// out a result that cannot be encoded; the node runs again.
func (r *run) writesAtEnd(cause error) []checkpoint.Write {
	var writes []checkpoint.Write
	blamed := blames(cause)
	for i := range r.exec.Tasks {
		sl := &r.exec.Tasks[i]
		of := r.writeOf(&sl.Task)
		if sl.Progress == exec.Succeeded && !sl.Stored {
			if w, err := r.resultWrite(i); err == nil {
				writes = append(append(writes, w), partsWrites(of, sl)...)
			}
		}
		writes = append(append(append(writes, r.questionWrites(of, sl)...), callWrites(of, sl)...), r.handedOutWrites(i)...)
		if w, ok := r.opt.beats.Write(of.Task); ok && sl.Progress != exec.Succeeded && !r.log.Eager() { // else the write stores them
			writes = append(writes, w)
		}
		if why := failureOf(r.g.nodes[sl.Node].id, sl, blamed); why != nil {
			writes = append(append(writes, r.failureWrites(of, sl, why)...), r.endRound(sl)...)
		}
	}
	return writes
}

// saving wraps an error of the journal.
func (r *run) saving(op string, err error) error {
	if err == nil {
		return nil
	}
	return &SaverError{Graph: r.g.name, Thread: r.thread, Step: r.plan.Step, Op: op, Err: err}
}

// end gives up the run, see giveUp. trimmed says that the storage has refused the last write for
// its size: now it leaves out what does not fit.
func (r *run) end(cause error, trimmed bool) error {
	if r.status == 0 { // else an earlier attempt to store it failed
		r.status = reasonsOf(r, cause).Status()
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
	asked, messages := r.opt.listen.cancelled(r)
	if asked != nil {
		r.status = Cancelled
		r.opt.listen.obeyed(r)
	}
	o := journal.Change{Status: r.status, End: true, Wake: wakeAfter(r, r.status), Messages: messages}
	writes := r.writesAtEnd(cause)
	if trimmed {
		r.putFitting(writes)
		writes = nil
	}
	if asked != nil && r.call == nil {
		var open []checkpoint.Write
		for _, a := range r.asked() {
			open = append(open, checkpoint.Write{Payload: a.Question})
		}
		if err := cmp.Or(r.cancelChildren(open, asked.Reason), r.opt.listen.reportRefused(r)); err != nil {
			cause = errors.Join(cause, err)
		}
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
		o.End = r.opt.due.ends(r)
	case r.call == nil && r.status == Failed:
		var wake time.Time
		if wake, cause = r.opt.due.again(r, cause, writes); o.Wake.IsZero() {
			o.Wake = wake
		}
		r.failsFinally(&o)
	}
	why := cause
	if asked != nil {
		why = asked
	}
	err := r.saving("put writes", r.log.Put(r.ctx, append(writes, r.reasonWrite(r.log.Base, o.Status, why)...), o))
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
