package ledger

import "github.com/graphgen-go/graphgen/runtime/checkpoint"

// AcceptOutcome decides about an outcome that passed its Check. It returns nil if the caller need
// not store the outcome, because one of the same name is stored or the base is committed.
func (v *Version) AcceptOutcome(w *checkpoint.Write) (*Event, error) {
	base := v.where[w.Base]
	if base == nil || !v.Released.IsZero() {
		return nil, NoRecord(v.Thread, w.Namespace, w.Base)
	}
	_, stored := v.pending[w.Base][identity{w.Namespace, w.Task, w.Name, checkpoint.Outcome}]
	if base.committed || stored {
		return nil, nil
	}
	return &Event{Writes: CloneWrites([]checkpoint.Write{*w})}, nil
}

// Outcomes returns the outcomes that q names.
func (v *Version) Outcomes(q *checkpoint.OutcomeQuery) (found []checkpoint.Write) {
	writes := v.pending[q.Base]
	if len(writes) == 0 || !v.Released.IsZero() {
		return nil
	}
	for _, n := range q.Names {
		if w := writes[identity{q.Namespace, n.Task, n.Name, checkpoint.Outcome}]; w != nil {
			found = append(found, w.Write)
		}
	}
	return found
}
