package sqlsaver

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// PutOutcome stores an outcome, as [checkpoint.Outcomes] says. One statement stores it, and does
// not change the thread's row. If that stores nothing, a transaction finds the reason.
func (s *Saver) PutOutcome(ctx context.Context, thread string, outcome checkpoint.Write) error {
	if err := checkpoint.CheckOutcome(thread, &outcome); err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	defer s.end()
	var stored bool
	err := s.try(ctx, Lost, func() error {
		rows, err := s.exec(ctx, s.db, stPutOutcome, key(thread), outcome.Base[:], writeKey(&outcome, outcome.Kind),
			int64(outcome.Kind), dataOf(thread, &outcome))
		stored = rows > 0
		return err
	})
	if err == nil && !stored {
		err = s.share(ctx, Lost, func(tx Tx) error { return s.putOutcomeIn(ctx, tx, thread, &outcome) })
	}
	return s.wrapWrite(ctx, "put outcome", err, len(outcome.Payload))
}

// putOutcomeIn stores an outcome in a transaction.
func (s *Saver) putOutcomeIn(ctx context.Context, tx Tx, thread string, w *checkpoint.Write) error {
	t, err := s.thread(ctx, tx, stLockThread, thread)
	if err != nil {
		return err
	}
	if t == nil || t.open == 0 {
		return ledger.NoRecord(thread, w.Namespace, w.Base)
	}
	if err := s.unpack(ctx, tx, t, t.open, t.root, w.Base); err != nil {
		return err
	}
	b, err := s.base(ctx, tx, t.root, w.Base)
	if err != nil {
		return err
	}
	if b.log == unknown {
		return ledger.NoRecord(thread, w.Namespace, w.Base)
	}
	_, err = s.putWrites(ctx, tx, t, []checkpoint.Write{*w})
	return err
}

// Outcomes returns stored outcomes, as [checkpoint.Outcomes] says.
func (s *Saver) Outcomes(ctx context.Context, q checkpoint.OutcomeQuery) (found []checkpoint.Write, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	if len(q.Names) == 0 {
		return nil, nil
	}
	keys := make([]string, len(q.Names))
	for i, n := range q.Names {
		w := q.Write(n)
		keys[i] = hex.EncodeToString(writeKey(&w, w.Kind))
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	err = s.try(ctx, Lost, func() error {
		found = nil
		rows, err := s.query(ctx, s.db, stOutcomes, []byte(q.Thread), q.Base[:], string(list))
		if err != nil {
			return err
		}
		return each(rows, func(rows Rows) error {
			var data []byte
			if err := rows.Scan(&data); err != nil {
				return err
			}
			w, err := decodeWrite(q.Thread, data)
			found = append(found, w)
			return err
		})
	})
	if err != nil {
		return nil, s.wrap(ctx, "outcomes", err)
	}
	return found, nil
}
