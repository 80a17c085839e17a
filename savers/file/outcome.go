package file

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// PutOutcome stores an outcome, as [checkpoint.Outcomes] says. An outcome is one frame of the
// thread's file.
func (s *Saver) PutOutcome(ctx context.Context, thread string, outcome checkpoint.Write) error {
	if err := checkpoint.CheckOutcome(thread, &outcome); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.calls.Done()
	v := s.use(thread, baseName(thread), 0)
	defer s.done(v)
	return v.counting(func() error { return v.putOutcome(ctx, thread, &outcome) })
}

func (v *volume) putOutcome(ctx context.Context, thread string, w *checkpoint.Write) error {
	err := v.enter(ctx, false)
	if errors.Is(err, errAbsent) {
		return ledger.NoRecord(thread, w.Namespace, w.Base)
	}
	if err != nil {
		return err
	}
	defer v.unlock()
	e, err := v.version().AcceptOutcome(w)
	if e != nil {
		err = v.write(e, nil)
	}
	if err != nil {
		return err
	}
	return v.confirm()
}

// Outcomes returns stored outcomes, as [checkpoint.Outcomes] says. It reads a file only if the
// file has changed since the Saver last read or wrote it.
func (s *Saver) Outcomes(ctx context.Context, q checkpoint.OutcomeQuery) (found []checkpoint.Write, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.calls.Done()
	err = s.glance(ctx, q.Thread, func(v *ledger.Version) { found = v.Outcomes(&q) })
	return found, err
}
