package memory

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// PutOutcome stores an outcome, as [checkpoint.Outcomes] says.
func (s *Saver) PutOutcome(ctx context.Context, thread string, outcome checkpoint.Write) error {
	if err := checkpoint.CheckOutcome(thread, &outcome); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	t := s.lock(thread, false)
	if t == nil {
		return ledger.NoRecord(thread, outcome.Namespace, outcome.Base)
	}
	defer t.mu.Unlock()
	v := t.open()
	if v == nil {
		return ledger.NoRecord(thread, outcome.Namespace, outcome.Base)
	}
	e, err := v.AcceptOutcome(&outcome)
	if e != nil {
		v.Apply(e)
	}
	return err
}

// Outcomes returns stored outcomes, as [checkpoint.Outcomes] says.
func (s *Saver) Outcomes(ctx context.Context, q checkpoint.OutcomeQuery) ([]checkpoint.Write, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	t := s.lock(q.Thread, false)
	if t == nil {
		return nil, nil
	}
	defer t.mu.Unlock()
	if v := t.open(); v != nil {
		return v.Outcomes(&q), nil
	}
	return nil, nil
}
