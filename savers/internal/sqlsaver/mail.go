package sqlsaver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
)

// mailState is the column state of graph_mail.
type mailState int64

const (
	untaken mailState = iota
	taken
	refused
)

// seen returns the number of the newest message that a run knows, as a value to bind.
func seen(h *checkpoint.Handled) int64 { return int64(min(h.Seen, math.MaxInt64)) }

// Mail returns messages of a thread, as [checkpoint.Inbox] says.
func (s *Saver) Mail(ctx context.Context, q checkpoint.MailQuery) (all []checkpoint.Message, err error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	st, limit := stMail, int64(math.MaxInt64)
	if q.Refused {
		st = stRefusedMail
	}
	if q.Limit > 0 {
		limit = int64(q.Limit)
	}
	err = s.try(ctx, Lost, func() error {
		all, err = s.mail(ctx, s.db, st, q.Thread, []byte(q.Thread), int64(min(q.After, math.MaxInt64)), limit)
		return err
	})
	if err != nil {
		return nil, s.wrap(ctx, "mail", err)
	}
	return all, nil
}

// mail reads rows of graph_mail.
func (s *Saver) mail(ctx context.Context, db Runner, st statement, thread string, args ...any) (all []checkpoint.Message, err error) {
	rows, err := s.query(ctx, db, st, args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func(rows Rows) error {
		m, err := scanMail(rows, thread)
		all = append(all, m)
		return err
	})
	return all, err
}

func scanMail(rows Rows, thread string) (m checkpoint.Message, err error) {
	var number, kind, state, posted int64
	var reason, head, payload []byte
	if err := rows.Scan(&number, &kind, &state, &posted, &reason, &head, &payload); err != nil {
		return m, err
	}
	m = checkpoint.Message{
		Number: uint64(number), Kind: checkpoint.MessageKind(kind), Posted: time.UnixMicro(posted).UTC(),
		Taken: mailState(state) == taken, Refused: string(reason),
	}
	if err = setMailHead(&m, thread, head); err == nil {
		err = setMailPayload(&m, thread, payload)
	}
	return m, err
}

// News returns the numbers of the newest messages of threads, as [checkpoint.Inbox] says.
func (s *Saver) News(ctx context.Context, threads []string) ([]uint64, error) {
	keys, at := make([]string, len(threads)), make(map[string][]int, len(threads))
	for i, id := range threads {
		if err := checkpoint.CheckThread(id); err != nil {
			return nil, err
		}
		keys[i], at[id] = hex.EncodeToString([]byte(id)), append(at[id], i)
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.end()
	numbers := make([]uint64, len(threads))
	if len(threads) == 0 {
		return numbers, nil
	}
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, err
	}
	err = s.try(ctx, Lost, func() error {
		rows, err := s.query(ctx, s.db, stNews, string(list))
		if err != nil {
			return err
		}
		return each(rows, func(rows Rows) error {
			var k []byte
			var posted int64
			err := rows.Scan(&k, &posted)
			for _, i := range at[string(k)] {
				numbers[i] = uint64(posted)
			}
			return err
		})
	})
	if err != nil {
		return nil, s.wrap(ctx, "news", err)
	}
	return numbers, nil
}

// mailID returns the key of a message within its thread. It is a hash, because ids may be longer
// than a key.
func mailID(id string) []byte {
	sum := sha256.Sum256([]byte(id))
	return sum[:16]
}

// scope returns the part of a payload's checksum that names the message.
func scope(thread, id string) string { return thread + "\x00" + id }

// mailHead encodes the names of a message, with their checksum.
func mailHead(thread string, m *checkpoint.Message) []byte {
	b := make([]byte, 0, 16+len(m.ID)+len(m.Name)+len(m.Key))
	b = codec.AppendString(codec.AppendString(codec.AppendString(b, m.ID), m.Name), m.Key)
	return codec.AppendWriteSum(b, thread)
}

// mailPayload encodes the payload of a message, with its checksum.
func mailPayload(thread, id string, payload []byte) []byte {
	b := append(make([]byte, 0, len(payload)+8), payload...)
	return codec.AppendWriteSum(b, scope(thread, id))
}

// setMailHead decodes what mailHead returned.
func setMailHead(m *checkpoint.Message, thread string, b []byte) error {
	b, ok := codec.CutWriteSum(b, thread)
	if !ok {
		return damagedMail(thread, m.Number, errSum)
	}
	r := codec.NewReader(b)
	m.ID, m.Name, m.Key = r.String(), r.String(), r.String()
	if err := r.End(); err != nil {
		return damagedMail(thread, m.Number, err)
	}
	return nil
}

// setMailPayload decodes what mailPayload returned, nil for a message that was taken.
func setMailPayload(m *checkpoint.Message, thread string, b []byte) error {
	if b == nil {
		return nil
	}
	payload, ok := codec.CutWriteSum(b, scope(thread, m.ID))
	if !ok {
		return damagedMail(thread, m.Number, errSum)
	}
	if len(payload) > 0 {
		m.Payload = payload
	}
	return nil
}

func damagedMail(thread string, number uint64, err error) error {
	return fmt.Errorf("thread %.64q: message %d: %w: %w", thread, number, checkpoint.ErrDamaged, err)
}
