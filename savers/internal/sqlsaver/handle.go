package sqlsaver

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// mailRow is a message that a write handles, without its payload.
type mailRow struct {
	checkpoint.Message
	state mailState
}

// count adds n to the number of the thread's untaken messages of this kind.
func (t *thread) count(kind checkpoint.MessageKind, n int64) {
	if kind == checkpoint.InputMessage {
		t.inputs += n
	} else {
		t.others += n
	}
	if kind == checkpoint.CancelMessage {
		t.cancels += n
	}
}

// handle returns, takes and refuses messages of a thread, whose row the transaction has locked.
// all reports whether each message that it takes or refuses was untaken. The caller stores the
// row.
func (s *Saver) handle(ctx context.Context, tx Tx, t *thread, h *checkpoint.Handled) (all bool, err error) {
	if h.Empty() || t.posted == 0 {
		return len(h.Take)+len(h.Refuse) == 0, nil
	}
	rows, err := s.handled(ctx, tx, t, h)
	if err != nil {
		return false, err
	}
	for i := range h.Return {
		r := rows[h.Return[i].Number]
		if r == nil || r.state == untaken {
			continue
		}
		r.state = untaken
		t.count(r.Kind, 1)
		payload := mailPayload(t.id, r.ID, h.Return[i].Payload)
		if err := s.later(ctx, tx, stReturnMail, payload, t.no, int64(r.Number)); err != nil {
			return false, err
		}
	}
	all = true
	isUntaken := func(number uint64) bool { return rows[number] != nil && rows[number].state == untaken }
	for _, number := range h.Take {
		all = all && isUntaken(number)
	}
	for _, r := range h.Refuse {
		all = all && isUntaken(r.Number)
	}
	return all, s.takeMail(ctx, tx, t, h, rows)
}

// handled reads the messages that h names, by number.
func (s *Saver) handled(ctx context.Context, tx Tx, t *thread, h *checkpoint.Handled) (map[uint64]*mailRow, error) {
	numbers := append([]uint64(nil), h.Take...)
	for i := range h.Refuse {
		numbers = append(numbers, h.Refuse[i].Number)
	}
	for i := range h.Return {
		numbers = append(numbers, h.Return[i].Number)
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return nil, err
	}
	rows, err := s.query(ctx, tx, stFindMail, t.no, string(list))
	if err != nil {
		return nil, err
	}
	all := make(map[uint64]*mailRow)
	return all, each(rows, func(rows Rows) error {
		r, head := new(mailRow), []byte(nil)
		if err := rows.Scan(&r.Number, &r.Kind, &r.state, &head); err != nil {
			return err
		}
		all[r.Number] = r
		return setMailHead(&r.Message, t.id, head)
	})
}

// keepEvery is how many numbers of messages lie between two removals of old ones.
const keepEvery = 64

// forgets reports whether the saver removes old messages when it takes this one.
func forgets(number uint64) bool { return number > checkpoint.KeepTaken && number%keepEvery == 0 }

// takeMail takes and refuses untaken messages by one statement. Now and then, it removes old ones.
func (s *Saver) takeMail(ctx context.Context, tx Tx, t *thread, h *checkpoint.Handled, rows map[uint64]*mailRow) error {
	var changes [][3]any
	forget := false
	change := func(number uint64, state mailState, reason string) {
		if r := rows[number]; r != nil && r.state == untaken {
			r.state = state
			t.count(r.Kind, -1)
			changes = append(changes, [3]any{number, state, hex.EncodeToString([]byte(reason))})
			forget = forget || forgets(number)
		}
	}
	for _, number := range h.Take {
		change(number, taken, "")
	}
	for _, r := range h.Refuse {
		change(r.Number, refused, r.Reason)
	}
	if len(changes) == 0 {
		return nil
	}
	list, err := json.Marshal(changes)
	if err == nil {
		err = s.later(ctx, tx, stHandleMail, t.no, string(list), t.posted)
	}
	if err == nil && forget {
		err = s.later(ctx, tx, stForgetMail, t.no, int64(checkpoint.KeepTaken-1))
	}
	return err
}

// releaseMail refuses the messages that were for the version that ends, and makes the thread due
// if there are inputs for the next. The caller stores the row.
func (s *Saver) releaseMail(ctx context.Context, tx Tx, t *thread) error {
	if t.inputs > 0 {
		t.status, t.wake = checkpoint.Ready, t.now
	} else {
		t.updated = never
	}
	if t.others == 0 {
		return nil
	}
	t.others, t.cancels = 0, 0
	return s.later(ctx, tx, stRefuseOthers, []byte(ledger.Released), t.no, t.posted)
}
