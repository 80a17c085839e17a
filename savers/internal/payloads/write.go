package payloads

import (
	"context"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// PutWrites stores writes with changed payloads, as [checkpoint.Saver] says.
func (s *Saver) PutWrites(ctx context.Context, w checkpoint.PutWrites) (_ checkpoint.PutResult, err error) {
	if err := w.Check(); err != nil {
		return checkpoint.PutResult{}, err
	}
	if w.Writes, err = s.sealWrites(w.Thread, w.Writes); err != nil {
		return checkpoint.PutResult{}, err
	}
	if w.Messages, err = s.sealHandled(w.Thread, w.Messages); err != nil {
		return checkpoint.PutResult{}, err
	}
	return s.Saver.PutWrites(ctx, w)
}

// sealWrites returns writes with sealed payloads.
func (s *Saver) sealWrites(thread string, writes []checkpoint.Write) ([]checkpoint.Write, error) {
	return changeWrites(thread, writes, s.codec.Seal)
}

// openWrites returns writes with opened payloads.
func (s *Saver) openWrites(thread string, writes []checkpoint.Write) ([]checkpoint.Write, error) {
	return changeWrites(thread, writes, s.codec.Open)
}

// changeWrites returns writes with payloads that f changes. A write without a payload stays
// without one. Descriptions of schemas stay as they are, for tools.
func changeWrites(thread string, writes []checkpoint.Write, f func(Place, []byte) ([]byte, error)) ([]checkpoint.Write, error) {
	changed := slices.Clone(writes)
	for i := range changed {
		w := &changed[i]
		if w.Payload == nil || w.Kind == checkpoint.Schema {
			continue
		}
		p := Place{
			Thread: thread, Namespace: w.Namespace, Kind: Write,
			ID: w.Base, Number: uint64(w.Kind), Task: w.Task, Name: w.Name,
		}
		var err error
		if w.Payload, err = f(p, w.Payload); err != nil {
			return nil, at(thread, fmt.Sprintf("the %s of task %q", w.Kind, w.Task), err)
		}
	}
	return changed, nil
}
