// Package payloads wraps a saver and changes every payload on its way in and out. Packages encrypt
// and compress use it.
//
// Names, ids, titles, labels, metadata and descriptions of schemas stay as they are: savers index
// them, or tools read them.
package payloads

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Codec changes payloads. It is safe for concurrent use. It must not modify its arguments.
type Codec interface {
	// Seal returns a payload in its stored form.
	Seal(p Place, payload []byte) ([]byte, error)
	// Open returns a payload from what Seal returned. Its error is an ErrDamaged if the bytes are
	// not those of the place.
	Open(p Place, stored []byte) ([]byte, error)
	// Record returns the record that the stored payload of a snapshot or a delta names, and the
	// record before it. ok is false if stored payloads do not name their records.
	Record(stored []byte) (id, before checkpoint.ID, ok bool)
}

// Kind says what a payload belongs to.
type Kind uint8

// The kinds of payloads. The numbers are stored by package encrypt.
const (
	Snapshot Kind = iota + 1 // of a record
	Delta                    // of a record
	Task                     // of a task that is due
	Write                    // a pending write
	Message                  // a message to a thread
)

// Place names a payload. Two payloads with the same Place are versions of one value.
type Place struct {
	Thread    string
	Namespace string
	Kind      Kind
	ID        checkpoint.ID // of the record, or of the base
	Before    checkpoint.ID // of a delta: the record that it follows
	Number    uint64        // of a task: its index among those of the record; else the kind of the write or message
	Task      string        // of a write
	Name      string        // of a write; of a message: its id
}

// Saver is a saver that stores changed payloads in another one.
type Saver struct {
	checkpoint.Saver

	codec Codec
}

// New returns a saver that stores payloads in inner as codec changes them. Close closes inner.
func New(inner checkpoint.Saver, codec Codec) *Saver { return &Saver{inner, codec} }

// Append stores records with changed payloads, as [checkpoint.Saver] says.
func (s *Saver) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	if err := a.Check(); err != nil { // names the caller's argument, and a delta has a record before it
		return checkpoint.AppendResult{}, err
	}
	var err error
	a.Records = slices.Clone(a.Records)
	for i := range a.Records {
		if err = s.sealRecord(a.Thread, a.Namespace, &a.Records[i]); err != nil {
			return checkpoint.AppendResult{}, err
		}
	}
	if a.Writes, err = s.sealWrites(a.Thread, a.Writes); err != nil {
		return checkpoint.AppendResult{}, err
	}
	if a.Messages, err = s.sealHandled(a.Thread, a.Messages); err != nil {
		return checkpoint.AppendResult{}, err
	}
	res, err := s.Saver.Append(ctx, a)
	if err != nil {
		return res, err
	}
	res.Writes, err = s.openWrites(a.Thread, res.Writes)
	return res, err
}

// Load returns the data that restores a checkpoint, as [checkpoint.Saver] says.
func (s *Saver) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := s.Saver.Load(ctx, p)
	if err != nil {
		return c, err
	}
	if err := s.openChain(p.Thread, p.Namespace, &c); err != nil {
		return checkpoint.Chain{}, err
	}
	if c.Writes, err = s.openWrites(p.Thread, c.Writes); err != nil {
		return checkpoint.Chain{}, err
	}
	if c.Thread.Questions, err = s.openWrites(p.Thread, c.Thread.Questions); err != nil {
		return checkpoint.Chain{}, err
	}
	return c, nil
}

// History yields records, as [checkpoint.Saver] says.
func (s *Saver) History(ctx context.Context, p checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		for r, err := range s.Saver.History(ctx, p, q) {
			if err == nil {
				err = s.openRecord(p.Thread, p.Namespace, &r, q.Headers)
			}
			if err != nil {
				yield(checkpoint.Record{}, err)
				return
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Threads yields open versions, as [checkpoint.Saver] says. A thread whose questions cannot be
// opened is damaged.
func (s *Saver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range s.Saver.Threads(ctx, q) {
			if err == nil {
				if t.Questions, err = s.openWrites(t.ID, t.Questions); err != nil {
					t = checkpoint.Thread{ID: t.ID}
				}
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// Prune removes old records and versions, as [checkpoint.Saver] says.
func (s *Saver) Prune(ctx context.Context, thread string, keep checkpoint.Retention) (checkpoint.PruneResult, error) {
	fold := keep.Fold
	if fold == nil {
		fold = func(_ string, chain []checkpoint.Record) ([]byte, error) { return ledger.FoldChain(chain) }
	}
	keep.Fold = func(namespace string, chain []checkpoint.Record) ([]byte, error) {
		chain = slices.Clone(chain)
		for i := range chain {
			if err := s.openRecord(thread, namespace, &chain[i], false); err != nil {
				return nil, err
			}
		}
		snapshot, err := fold(namespace, chain)
		if err != nil {
			return nil, err
		}
		return s.codec.Seal(Place{Thread: thread, Namespace: namespace, Kind: Snapshot, ID: chain[len(chain)-1].ID}, snapshot)
	}
	return s.Saver.Prune(ctx, thread, keep)
}

// Export yields a version with its original payloads, as [checkpoint.Saver] says.
func (s *Saver) Export(ctx context.Context, thread string, version int) iter.Seq2[checkpoint.ExportItem, error] {
	return s.items(s.Saver.Export(ctx, thread, version), func(item *checkpoint.ExportItem) error {
		return change(thread, item, changes{s.openRecordIn, s.openWrites, s.codec.Open})
	})
}

// Import creates a version, as [checkpoint.Saver] says. items have original payloads.
func (s *Saver) Import(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	return s.Saver.Import(ctx, thread, s.items(items, func(item *checkpoint.ExportItem) error {
		return change(thread, item, changes{s.sealRecord, s.sealWrites, s.codec.Seal})
	}))
}

// items yields items after f has changed them.
func (s *Saver) items(items iter.Seq2[checkpoint.ExportItem, error], f func(*checkpoint.ExportItem) error) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for item, err := range items {
			if err == nil {
				err = f(&item)
			}
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// changes are what an Export or an Import does with payloads.
type changes struct {
	record  func(thread, namespace string, r *checkpoint.Record) error
	writes  func(thread string, writes []checkpoint.Write) ([]checkpoint.Write, error)
	message func(p Place, payload []byte) ([]byte, error)
}

// change replaces the payloads of an item by new ones.
func change(thread string, item *checkpoint.ExportItem, by changes) error {
	switch {
	case item.Record != nil:
		r := *item.Record
		item.Record = &r
		return by.record(thread, r.Namespace, &r.Record)
	case item.Write != nil:
		changed, err := by.writes(thread, []checkpoint.Write{*item.Write})
		if err != nil {
			return err
		}
		item.Write = &changed[0]
	case item.Message != nil:
		changed, err := changeMessages(thread, []checkpoint.Message{*item.Message}, by.message)
		if err != nil {
			return err
		}
		item.Message = &changed[0]
	case item.Thread != nil:
		t := *item.Thread
		item.Thread = &t
		var err error
		t.Questions, err = by.writes(thread, t.Questions)
		return err
	}
	return nil
}

// at completes the error of a codec.
func at(thread, what string, err error) error {
	if err == nil {
		return nil
	}
	if len(thread) > 64 {
		thread = thread[:64] + "..."
	}
	return fmt.Errorf("thread %q: %s: %w", thread, what, err)
}
