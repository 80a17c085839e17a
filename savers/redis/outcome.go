package redis

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// PutOutcome stores an outcome, as [checkpoint.Outcomes] says. It is one round trip.
func (s *Saver) PutOutcome(ctx context.Context, thread string, outcome checkpoint.Write) error {
	if err := checkpoint.CheckOutcome(thread, &outcome); err != nil {
		return err
	}
	args := writeArgs([]any{outcome.Base[:]}, thread, []checkpoint.Write{outcome})
	r, err := s.call(ctx, "put outcome", s.script.outcome, []string{s.key(thread)}, args...)
	if err != nil {
		return err
	}
	if r.text() == "norecord" {
		return ledger.NoRecord(thread, outcome.Namespace, outcome.Base)
	}
	return r.err
}

// outcomesTogether is how many outcomes one call of the script reads.
const outcomesTogether = 1000

// Outcomes returns stored outcomes, as [checkpoint.Outcomes] says. It is one round trip for each
// thousand names.
func (s *Saver) Outcomes(ctx context.Context, q checkpoint.OutcomeQuery) (found []checkpoint.Write, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	for names := q.Names; len(names) > 0; {
		n := min(len(names), outcomesTogether)
		args := []any{q.Base[:]}
		for _, name := range names[:n] {
			w := q.Write(name)
			args = append(args, writeName(&w, w.Kind))
		}
		r, err := s.call(ctx, "outcomes", s.script.outcomes, []string{s.key(q.Thread)}, args...)
		if err != nil {
			return nil, err
		}
		r.text()
		found = append(found, r.writes(q.Thread)...)
		if r.err != nil {
			return nil, fmt.Errorf("redis: outcomes: thread %q: %w", short(q.Thread), r.err)
		}
		names = names[n:]
	}
	return found, nil
}
