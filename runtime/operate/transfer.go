package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/checkpoint/archive"
)

// Totals counts what an operation on stored data has read or stored. Its names in JSON are stable.
type Totals struct {
	Threads  int   `json:"threads"`
	Versions int   `json:"versions"`
	Already  int   `json:"versions_already_there,omitempty"`
	Records  int   `json:"records"`
	Messages int   `json:"messages"`
	Bytes    int64 `json:"payload_bytes"`

	Each func() `json:"-"` // called after each item; may be nil
}

// count counts an item.
func (t *Totals) count(item *checkpoint.ExportItem) {
	switch {
	case item.Record != nil:
		t.Records++
		t.Bytes += int64(len(item.Record.Payload))
	case item.Write != nil:
		t.Bytes += int64(len(item.Write.Payload))
	case item.Message != nil:
		t.Messages++
		t.Bytes += int64(len(item.Message.Payload))
	}
	if t.Each != nil {
		t.Each()
	}
}

// Items yields the items of a version, and counts them.
func (t *Totals) Items(items iter.Seq2[checkpoint.ExportItem, error]) iter.Seq2[checkpoint.ExportItem, error] {
	return func(yield func(checkpoint.ExportItem, error) bool) {
		for item, err := range items {
			if err == nil {
				t.count(&item)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// Importer stores versions in a saver. A version that is there already is left out, so an
// interrupted import can be repeated. An Importer must not be used concurrently.
type Importer struct {
	To     checkpoint.Saver
	Totals *Totals // counts what is stored

	thread string // whose versions are known
	there  []checkpoint.Version
}

// Version stores one version. Its error is checkpoint.ErrConflict if the version is there already,
// and has changed since. A version with the number 0 has the inputs of a thread without an open
// one.
func (i *Importer) Version(ctx context.Context, v checkpoint.Version, items iter.Seq2[checkpoint.ExportItem, error]) error {
	if v.Number == 0 {
		return i.inputs(ctx, v.Thread, items)
	}
	there, err := i.stored(ctx, v)
	if err != nil {
		return err
	}
	if there == nil {
		if err := i.To.Import(ctx, v.Thread, i.Totals.Items(items)); err != nil {
			return err
		}
		i.Totals.Versions++
	} else {
		i.Totals.Already++
	}
	if v.Released.IsZero() || there != nil && !there.Released.IsZero() {
		return nil
	}
	i.there = nil
	_, err = i.To.Release(ctx, v.Thread, v.Head)
	return err
}

// stored returns the version with the same head in the target, or nil. It returns an error if the
// version has changed since it was stored.
func (i *Importer) stored(ctx context.Context, v checkpoint.Version) (*checkpoint.Version, error) {
	if i.there == nil || i.thread != v.Thread {
		there, err := i.To.Versions(ctx, v.Thread)
		if err != nil {
			return nil, err
		}
		i.thread, i.there = v.Thread, there
	}
	for n := range i.there {
		t := &i.there[n]
		if v.Head.IsZero() || t.Head != v.Head {
			continue
		}
		if v.Released.IsZero() && (t.Records != v.Records || t.Status != v.Status || !t.Released.IsZero()) {
			return nil, &changedError{v.Thread, t.Number}
		}
		return t, nil
	}
	i.there = nil
	return nil, nil
}

// inputs posts the inputs of a thread without an open version. A message that is there already has
// no effect.
func (i *Importer) inputs(ctx context.Context, thread string, items iter.Seq2[checkpoint.ExportItem, error]) error {
	p := checkpoint.Post{Thread: thread, MaxInputs: checkpoint.DefaultMaxInputs, MaxOthers: checkpoint.DefaultMaxOthers}
	for item, err := range items {
		switch {
		case err != nil:
			return err
		case item.Thread != nil:
			p.Graph, p.Title, p.Labels, p.Priority = item.Thread.Graph, item.Thread.Title, item.Thread.Labels, item.Thread.Priority
		case item.Message != nil:
			p.Messages = append(p.Messages, *item.Message)
		}
	}
	if len(p.Messages) == 0 {
		return nil
	}
	p.MaxInputs, p.MaxOthers = max(p.MaxInputs, 2*len(p.Messages)), max(p.MaxOthers, 2*len(p.Messages))
	posted, err := i.To.Post(ctx, p)
	if err == nil {
		err = posted[0].Err
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(posted[0].Messages, func(m checkpoint.PostedMessage) bool { return !m.Known }) {
		i.Totals.Already++
		return nil
	}
	i.Totals.Versions++
	for n := range p.Messages {
		i.Totals.count(&checkpoint.ExportItem{Message: &p.Messages[n]})
	}
	return nil
}

// changedError reports a version that is not the same in two savers.
type changedError struct {
	thread  string
	version int
}

func (e *changedError) Error() string {
	return fmt.Sprintf("thread %q has version %d in the target, and one of the two has changed since; delete the thread in the target to copy it again",
		e.thread, e.version)
}

// Is reports whether target is ErrConflict.
func (e *changedError) Is(target error) bool { return target == checkpoint.ErrConflict }

// Archive stores the versions of an archive. If a version fails, Archive reports the error to
// failed. It skips the later versions of the thread, because they would get wrong numbers. An
// error of failed ends the import, and so does one of the archive.
func (i *Importer) Archive(ctx context.Context, r *archive.Reader, failed func(thread string, err error) error) error {
	thread, begun, bad := "", false, false
	for {
		v, err := r.Next()
		if begun && !bad && (err != nil || v.Thread != thread) {
			i.Totals.Threads++
			if i.Totals.Each != nil {
				i.Totals.Each()
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if begun && bad && v.Thread == thread {
			continue
		}
		thread, begun, bad = v.Thread, true, false
		if err := i.Version(ctx, v, r.Items()); err != nil {
			bad = true
			if damaged := (*archive.DamagedError)(nil); errors.As(err, &damaged) {
				continue // Next returns it, too
			}
			if err := failed(thread, err); err != nil {
				return err
			}
		}
	}
}
