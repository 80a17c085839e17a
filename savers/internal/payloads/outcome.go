package payloads

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// PutOutcome stores an outcome with a changed payload, as [checkpoint.Outcomes] says.
func (s *Saver) PutOutcome(ctx context.Context, thread string, outcome checkpoint.Write) error {
	if err := checkpoint.CheckOutcome(thread, &outcome); err != nil {
		return err
	}
	sealed, err := s.sealWrites(thread, []checkpoint.Write{outcome})
	if err != nil {
		return err
	}
	return s.Saver.PutOutcome(ctx, thread, sealed[0])
}

// Outcomes returns stored outcomes with their original payloads, as [checkpoint.Outcomes] says.
func (s *Saver) Outcomes(ctx context.Context, q checkpoint.OutcomeQuery) ([]checkpoint.Write, error) {
	found, err := s.Saver.Outcomes(ctx, q)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return s.openWrites(q.Thread, found)
}
