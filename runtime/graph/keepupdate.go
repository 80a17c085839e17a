package graph

import (
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// errNotKept is the error of an attempt whose update could not be kept or stored. The task is not
// tried again in the run, so that the stored updates stay numbered without gaps.
var errNotKept = errors.New("the update that the node returned with the error is not stored")

// keepUpdate keeps the update of the task in slot i, whose attempt failed with err, and stores it.
// It returns err, with the error of storing.
func (r *run) keepUpdate(i int, n *node, err error) error {
	var mutation *MutationError
	if errors.As(err, &mutation) {
		return err
	}
	if r.opt.strict {
		if undeclared := r.keepsToWrites(i, n); undeclared != nil {
			return errors.Join(err, undeclared)
		}
	}
	update, number, broken := r.state.keepFailed(i)
	if broken != nil {
		return fmt.Errorf("%w; %w: %w", err, errNotKept, broken)
	}
	if update == nil || r.log == nil {
		return err
	}
	w := r.writeOf(&r.exec.Tasks[i].Task)
	w.Kind, w.Name, w.Payload = checkpoint.Result, journal.KeptName(number), update
	if failed := r.log.Put(r.ctx, []checkpoint.Write{w}, journal.Change{}); failed != nil {
		return fmt.Errorf("%w; %w: %w", err, errNotKept, r.saving("put writes", failed))
	}
	return err
}

// restoreKept restores the stored updates of the failed attempts of the task in slot i.
func (r *run) restoreKept(i int) error {
	t := &r.exec.Tasks[i]
	for _, b := range journal.Kept(r.pending.Parts(r.taskKey(&t.Task))) {
		if err := r.state.restoreFailed(i, b); err != nil {
			return r.resultChanged(err, "the update of a failed attempt of node %q", string(r.g.nodes[t.Node].id))
		}
	}
	return nil
}

// failedIn returns the updates of failed attempts in slot i; nil for none.
func (a *adapter[S, U]) failedIn(i int) []U {
	if a.failed == nil {
		return nil
	}
	return a.failed[i]
}

func (a *adapter[S, U]) keepFailed(i int) (update []byte, n int, err error) {
	update, err = unlessEmpty(appendUpdate(a.g.schema, &a.updates[i]))
	if update != nil && err == nil {
		a.failed[i] = append(a.failed[i], a.updates[i])
	}
	return update, len(a.failed[i]), err
}

func (a *adapter[S, U]) restoreFailed(i int, update []byte) (err error) {
	defer rescue(&err)
	if a.failed == nil { // the node has lost its option since
		a.failed = make([][]U, len(a.updates))
	}
	var u U
	err = a.g.schema.DecodeUpdate(update, &u)
	a.failed[i] = append(a.failed[i], u)
	return err
}
