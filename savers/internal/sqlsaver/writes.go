package sqlsaver

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// PutWrites stores pending writes, as [checkpoint.Saver] says.
func (s *Saver) PutWrites(ctx context.Context, w checkpoint.PutWrites) (done checkpoint.PutResult, err error) {
	if err := w.Check(); err != nil {
		return done, err
	}
	if err := s.begin(ctx); err != nil {
		return done, err
	}
	defer s.end()
	done.Posted = w.Messages.Seen // what the single statements check
	stored, err := s.renew(ctx, &w)
	if err == nil && !stored {
		stored, err = s.putOne(ctx, &w)
	}
	if !stored && (err == nil || s.uncertain(err)) {
		err = s.share(ctx, Lost, func(tx Tx) error {
			done.Posted, err = s.putIn(ctx, tx, &w)
			return err
		})
	}
	if err == nil && w.End {
		s.finish(w.Fence)
	}
	if err != nil {
		s.lose(w.Fence, err)
		return checkpoint.PutResult{}, s.wrapWrite(ctx, "put writes", err, ledger.Largest(nil, w.Writes))
	}
	return done, nil
}

// renew stores a PutWrites without writes by one statement: it renews or ends the lease, and sets
// the status. It reports whether the run still had the thread.
func (s *Saver) renew(ctx context.Context, w *checkpoint.PutWrites) (renewed bool, err error) {
	if len(w.Writes) > 0 || w.Progress || !w.Messages.Empty() || w.End && s.readable {
		return false, nil
	}
	st, args := stRenewLease, []any{optionalStatus(w.Status), micro(w.Lease), []byte(w.Thread), w.Fence[:], seen(&w.Messages)}
	if w.End {
		st, args = stEndRun, []any{optionalStatus(w.Status), wakeColumn(w.Wake), []byte(w.Thread), w.Fence[:], seen(&w.Messages)}
	}
	err = s.try(ctx, Lost, func() error {
		rows, err := s.exec(ctx, s.db, st, args...)
		renewed = rows > 0
		return err
	})
	return renewed, err
}

// putOne stores a single write by one statement, if the thread's row need not change. It reports
// whether it did.
func (s *Saver) putOne(ctx context.Context, p *checkpoint.PutWrites) (stored bool, err error) {
	if len(p.Writes) != 1 || p.End || p.Progress || !p.Messages.Empty() || p.Writes[0].Kind == checkpoint.Discard {
		return false, nil
	}
	w, st := &p.Writes[0], stPutWriteFenced
	if w.Kind == checkpoint.Result || w.Kind == checkpoint.Schema || w.Kind == checkpoint.Outcome {
		st = stKeepWriteFenced // the first wins
	}
	lease := micro(p.Lease)
	rows, err := s.exec(ctx, s.db, st, writeKey(w, w.Kind), int64(w.Kind), dataOf(p.Thread, w), w.Base[:],
		[]byte(p.Thread), p.Fence[:], optionalStatus(p.Status), w.Kind == checkpoint.Question, lease-lease/4, lease,
		seen(&p.Messages))
	return rows > 0, err
}

// putIn stores w in a transaction, and returns the number of the newest message.
func (s *Saver) putIn(ctx context.Context, tx Tx, w *checkpoint.PutWrites) (posted uint64, err error) {
	t, err := s.thread(ctx, tx, stLockThread, w.Thread)
	switch {
	case err != nil:
		return 0, err
	case t == nil || t.open == 0:
		return 0, ledger.Missing(w.Thread, "", w.Fence, "fence", t != nil && t.versions > 0)
	case t.fence != w.Fence:
		return 0, t.conflict("fence", "", w.Fence, t.fence)
	}
	asked, err := s.putWrites(ctx, tx, t, w.Writes)
	if err == nil {
		_, err = s.handle(ctx, tx, t, &w.Messages)
	}
	if err != nil {
		return 0, err
	}
	t.asked = t.asked || asked
	if w.Status != 0 {
		t.status = w.Status
	}
	if t.until != 0 {
		t.until = t.now + micro(w.Lease)
	}
	if w.Progress {
		t.attempts = 0
	}
	if w.End {
		t.end(w.Wake, w.Messages.Seen)
		if err := s.endState(ctx, tx, t); err != nil {
			return 0, err
		}
	}
	return uint64(t.posted), s.store(ctx, tx, t)
}

// endState stores the readable state of a run that ends without an Append.
func (s *Saver) endState(ctx context.Context, tx Tx, t *thread) error {
	if !s.readable {
		return nil
	}
	l := log{s: s, tx: tx, t: t}
	if err := l.find(ctx, ""); err != nil {
		return err
	}
	return l.putState(ctx, l.head.id, nil)
}

// putWrites stores pending writes, and reports whether a question is among them. It leaves out
// those whose base is committed.
func (s *Saver) putWrites(ctx context.Context, tx Tx, t *thread, writes []checkpoint.Write) (asked bool, err error) {
	committed := map[checkpoint.ID]bool{{}: false} // the zero base has descriptions of schemas
	b := batch{s: s, tx: tx}
	for i := range writes {
		w := &writes[i]
		over, known := committed[w.Base]
		if !known {
			if err := s.unpack(ctx, tx, t, t.open, t.root, w.Base); err != nil {
				return false, err
			}
			b, err := s.base(ctx, tx, t.root, w.Base)
			if err != nil {
				return false, err
			}
			over = b.committed
			committed[w.Base] = over
		}
		if over {
			continue
		}
		if err := s.putWrite(ctx, &b, t, w); err != nil {
			return false, err
		}
		asked = asked || w.Kind == checkpoint.Question
	}
	return asked, b.flush(ctx)
}

func (s *Saver) putWrite(ctx context.Context, b *batch, t *thread, w *checkpoint.Write) error {
	st := stPutWrite
	switch w.Kind {
	case checkpoint.Discard:
		if err := b.flush(ctx); err != nil {
			return err
		}
		return s.later(ctx, b.tx, stDiscardWrite, t.root, w.Base[:], writeKey(w, checkpoint.Result), writeKey(w, checkpoint.Failure), writeKey(w, checkpoint.Answer))
	case checkpoint.Result, checkpoint.Schema, checkpoint.Outcome:
		st = stKeepWrite // the first wins
	}
	return b.add(ctx, st, t.root, w.Base[:], writeKey(w, w.Kind), int64(w.Kind), dataOf(t.id, w))
}

// batch holds rows of graph_write that are stored together, where a statement costs a round trip.
type batch struct {
	s    *Saver
	tx   Tx
	st   statement
	args []any
	size int // of the data
}

const (
	writeValues = 5       // of a row; the last is the data
	maxTogether = 1 << 18 // bytes of data in a batch: a statement must fit where its longest row does
)

// add adds a row. It stores the rows before it first if it cannot be stored with them.
func (b *batch) add(ctx context.Context, st statement, args ...any) error {
	data, _ := args[writeValues-1].([]byte)
	if b.st != st || b.size+len(data) > maxTogether {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	b.st, b.args, b.size = st, append(b.args, args...), b.size+len(data)
	return nil
}

// flush stores the rows.
func (b *batch) flush(ctx context.Context) error {
	args := b.args
	for len(args) > 0 {
		st, rows := b.together(len(args) / writeValues)
		if err := b.s.later(ctx, b.tx, st, args[:rows*writeValues]...); err != nil {
			return err
		}
		args = args[rows*writeValues:]
	}
	b.args, b.size = nil, 0
	return nil
}

// together returns the statement that stores most of n rows, and how many it stores.
func (b *batch) together(n int) (st statement, rows int) {
	four, sixteen := stPutWrites4, stPutWrites16
	if b.st == stKeepWrite {
		four, sixteen = stKeepWrites4, stKeepWrites16
	}
	switch {
	case n >= 16 && b.s.has(sixteen):
		return sixteen, 16
	case n >= 4 && b.s.has(four):
		return four, 4
	}
	return b.st, 1
}

// writeKey returns the key, within its base, of a write with the names of w and a kind. It is a
// hash, because names may be longer than a key.
func writeKey(w *checkpoint.Write, kind checkpoint.Kind) []byte {
	b := append(make([]byte, 0, 256), byte(kind))
	for _, name := range [...]string{w.Namespace, w.Task, w.Name} {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	}
	sum := sha256.Sum256(b)
	return sum[:16]
}

// writes returns the pending writes of a version, by its root, in every namespace, in the order
// first stored.
func (s *Saver) writes(ctx context.Context, db Runner, thread string, root int64) ([]checkpoint.Write, error) {
	writes, _, err := s.pending(ctx, db, thread, root)
	return writes, err
}

// schemas returns the descriptions of schemas of a version, by its root, in the order first
// stored.
func (s *Saver) schemas(ctx context.Context, db Runner, thread string, root int64) ([]checkpoint.Write, error) {
	schemas, _, err := s.writeRows(ctx, db, stSchemas, thread, root)
	return schemas, err
}

// pending returns the pending writes of a version, and whether there are rows of writes whose base
// is committed.
func (s *Saver) pending(ctx context.Context, db Runner, thread string, root int64) (all []checkpoint.Write, dead bool, err error) {
	return s.writeRows(ctx, db, stWrites, thread, root)
}

// writeRows reads rows of graph_write by a statement. It reports whether some of them are NULL.
func (s *Saver) writeRows(
	ctx context.Context, db Runner, st statement, thread string, root int64,
) (all []checkpoint.Write, null bool, err error) {
	rows, err := s.query(ctx, db, st, root)
	if err != nil {
		return nil, false, err
	}
	err = each(rows, func(rows Rows) error {
		var b []byte
		if err := rows.Scan(&b); err != nil {
			return err
		}
		if b == nil {
			null = true
			return nil
		}
		w, err := decodeWrite(thread, b)
		all = append(all, w)
		return err
	})
	return all, null, err
}

// isPending reports whether w belongs to a base. The description of a schema belongs to the
// version.
func isPending(w checkpoint.Write) bool { return w.Kind != checkpoint.Schema }

// dataOf encodes a pending write of a thread, with its checksum.
func dataOf(thread string, w *checkpoint.Write) []byte {
	b := make([]byte, 0, 64+len(w.Namespace)+len(w.Task)+len(w.Name)+len(w.Payload))
	return codec.AppendWriteSum(codec.AppendWrite(b, w, nil), thread)
}

// decodeWrite decodes the bytes that dataOf returned.
func decodeWrite(thread string, b []byte) (w checkpoint.Write, err error) {
	b, ok := codec.CutWriteSum(b, thread)
	if !ok {
		return w, fmt.Errorf("thread %.64q: a pending write: %w: %w", thread, checkpoint.ErrDamaged, errSum)
	}
	r := codec.NewReader(b)
	w = r.Write(nil)
	if err := r.End(); err != nil {
		return w, fmt.Errorf("thread %.64q: a pending write: %w: %w", thread, checkpoint.ErrDamaged, err)
	}
	return w, nil
}
