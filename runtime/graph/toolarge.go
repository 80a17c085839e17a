package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// A storage refuses some values for their size, at each try. So a run with such a value fails, and
// no retry, fallback or worker repeats it. It stores all its other results. The run of a worker
// that cannot be opened with a posted message refuses the message instead.

// tooLarge reports whether a storage has refused a value for its size.
func tooLarge(err error) bool { return errors.Is(err, checkpoint.ErrTooLarge) }

// blameField adds to err the largest field of payload, which the storage has refused. payload is a
// state, a change of it, or the result of a node.
func (r *run) blameField(err error, payload []byte) error {
	in, name, size := wire.NewSharedReader("payload", payload), "", 0
	if wire.IsArray(in.Peek()) { // a change begins with a number
		in.ArrayLen()
		in.Skip()
	}
	for range in.MapLen() {
		field := in.Str()
		if n := len(in.Raw()); n > size {
			name, size = field, n
		}
	}
	for _, f := range r.g.shape().Fields {
		if f.Wire == name {
			name = f.Name
		}
	}
	if size == 0 {
		return err
	}
	return fmt.Errorf("the largest field is %s, with %d bytes: %w", name, size, err)
}

// refusedResult makes the task in a slot fail because the storage has refused its result or its
// questions. It returns the error of the task.
func (r *run) refusedResult(i int, err error) error {
	sl := &r.exec.Tasks[i]
	if sl.Progress == exec.Succeeded {
		if payload, broken := r.state.appendResult(i, &r.g.nodes[sl.Node]); broken == nil {
			err = r.blameField(err, payload)
		}
	}
	sl.Progress, sl.Err = exec.Failed, fmt.Errorf("its result cannot be stored: %w", err)
	return r.nodeError(sl, sl.Err)
}

// refusedRecord stores the results of a superstep whose record the storage has refused, so that
// their nodes do not run again. It returns the error of the superstep.
func (r *run) refusedRecord(rec *checkpoint.Record, err error) error {
	var writes []checkpoint.Write
	for i := range r.exec.Tasks {
		if sl := &r.exec.Tasks[i]; sl.Progress == exec.Succeeded && !sl.Stored {
			if w, err := r.resultWrite(i); err == nil {
				w.Task = r.keys.Task(r.plan.Step, string(r.g.nodes[sl.Node].id), sl.Index) // the step has been counted
				writes = append(writes, w)
			}
		}
	}
	r.putFitting(writes)
	if r.log.Keeps() { // it may have refused an earlier record
		if whole, broken := r.state.AppendSnapshot(nil); broken == nil {
			return r.blameField(err, whole)
		}
		return err
	}
	due, most := 0, 0
	for i := range rec.Due {
		if size := len(rec.Due[i].Payload); size > most {
			due, most = i, size
		}
	}
	if most > len(rec.Payload) {
		return fmt.Errorf("the largest send is to node %q, with %d bytes: %w", rec.Due[due].Node, most, err)
	}
	return r.blameField(err, rec.Payload)
}

// dropUnfit notes the largest message that an opening takes, if err says that the storage has
// refused the opening for its size. The next try refuses that message. dropUnfit returns false if
// there is none.
func (r *opener) dropUnfit(err error) bool {
	if !tooLarge(err) {
		return false
	}
	largest := &checkpoint.Message{}
	for i := range r.read {
		m := &r.read[i]
		if slices.Contains(r.act.Messages.Take, m.Number) && m.Kind != checkpoint.CancelMessage && len(m.Payload) >= len(largest.Payload) {
			largest = m
		}
	}
	if largest.Number == 0 {
		return false
	}
	if saver := (*SaverError)(nil); errors.As(err, &saver) {
		err = saver.Err
	}
	d := r.run.opt.due
	if d.unfits == nil {
		d.unfits = make(map[uint64]error)
	}
	d.unfits[largest.Number] = fmt.Errorf("the checkpoint with this message cannot be stored: %w", err)
	return true
}

// putFitting stores each of the writes that the storage takes. The last write of the run reports
// other errors.
func (r *run) putFitting(writes []checkpoint.Write) {
	for i := range writes {
		_ = r.log.Put(r.ctx, writes[i:i+1], journal.Change{})
	}
}
