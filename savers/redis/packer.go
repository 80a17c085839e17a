package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/pack"
)

// job is a log to pack, or all logs of a thread.
type job struct {
	thread, namespace string
	all               bool // all logs
}

// closePatience is how long Close waits for packing, and then for the server.
const closePatience = 10 * time.Second

// pack packs the old records of a log, or of all logs of a thread's open version.
func (s *Saver) pack(ctx context.Context, j job) error {
	if !j.all {
		return s.packLog(ctx, place{j.thread, j.namespace})
	}
	w, err := s.whole(ctx, j.thread, 0, false, false)
	if err != nil || !w.found {
		return err
	}
	for _, l := range w.logs {
		if err := s.packLog(ctx, place{j.thread, l.namespace}); err != nil {
			return err
		}
	}
	return nil
}

// packLog packs the old records of a log, a window at a time. The server knows where the first
// window begins: a Prune that moves records out of a pack sets that seq back. packLog gives up
// when others keep changing the records.
func (s *Saver) packLog(ctx context.Context, in place) error {
	for conflicts, more := 0, true; more && conflicts < 3; {
		var changed bool
		var err error
		if more, changed, err = s.packWindow(ctx, in); err != nil {
			return err
		}
		if changed {
			conflicts++
		}
	}
	return nil
}

// oldLog is a window of a log, to be packed.
type oldLog struct {
	place
	version, uid, pruner string
	index                string // of packs
	number               uint64 // of the log
	from                 uint64 // the seq of the first record
	closed               bool   // the record after the window is in a pack
	records              []oldRecord
}

// oldRecord is a record of a window.
type oldRecord struct {
	pack.Record
	stored string // its entry
	entry  entry
	pinned bool // it has pending writes, or is too large for a pack
}

// packWindow packs the oldest records that packing has not looked at yet, and reports whether
// there may be more. changed says that others changed the records meanwhile, and nothing happened.
func (s *Saver) packWindow(ctx context.Context, in place) (more, changed bool, err error) {
	r, err := s.call(ctx, "pack", s.script.old, []string{s.key(in.thread)}, in.namespace, s.packing.Keep, pack.Window, pack.MaxBytes)
	if err != nil || r.text() == "none" {
		return false, false, err
	}
	w := oldLog{place: in, version: r.text(), uid: r.text(), pruner: r.text(), index: r.text()}
	w.number, w.from, w.closed = r.seq(), r.seq(), r.text() == "1"
	w.read(r)
	if r.err != nil {
		return false, false, fmt.Errorf("redis: pack: thread %q, namespace %q: %w", short(in.thread), short(in.namespace), r.err)
	}
	packs, left := w.fill(&s.packing)
	if w.closed {
		left = 0 // no record will join them
	}
	settled := w.from + uint64(len(w.records)-left) - 1
	if settled < w.from {
		return false, false, nil
	}
	args, err := w.args(packs, settled)
	if err != nil {
		return false, false, err
	}
	r, err = s.call(ctx, "pack", s.script.pack, []string{s.key(in.thread)}, args...)
	if err != nil {
		return false, false, err
	}
	return true, r.text() != "ok", r.err
}

// read reads the records of old.lua.
func (w *oldLog) read(r *reply) {
	l := r.list()
	for l.more() {
		seq := w.from + uint64(len(w.records))
		id, stored, pending, value := l.id(), l.text(), l.text(), l.text()
		o := oldRecord{stored: stored, pinned: pending == "1" || value == ""}
		if !o.pinned {
			var err error
			o.Record.Record, err = decodeRecord(w.place, value, seq)
			l.check(err)
			o.entry, err = parseEntry(stored)
			l.check(err)
			if l.err == nil && (o.ID != id || o.entry.base != o.Base || o.entry.seq != seq || o.entry.number != w.number) {
				l.fail("record %d: its entry is that of another", seq)
			}
			o.Committed = o.entry.committed
		}
		w.records = append(w.records, o)
	}
	r.join(l)
}

// fill puts the records into packs. left is how many at the end are too few for a pack.
func (w *oldLog) fill(policy *pack.Policy) (packs []newPack, left int) {
	for i := 0; i < len(w.records); {
		var run []pack.Record
		for _, o := range w.records[i:] {
			if o.pinned {
				break
			}
			run = append(run, o.Record)
		}
		n := pack.Fill(run)
		switch {
		case n >= policy.Fewest():
			packs = append(packs, newPackOf(w.place, w.number, w.records[i].entry.chain, run[:n]))
		case n > 0 && i+n == len(w.records):
			left = n
		}
		i += max(n, 1)
	}
	return packs, left
}

// args returns the arguments of pack.lua.
func (w *oldLog) args(packs []newPack, settled uint64) ([]any, error) {
	index, err := parsePacks(w.index)
	if err != nil {
		return nil, fmt.Errorf("redis: pack: thread %q: %w: %w", short(w.thread), err, checkpoint.ErrDamaged)
	}
	newest := uint64(0)
	var fields, records []any
	for i := range packs {
		p := &packs[i]
		index, newest = append(index, p.packed), max(newest, p.to)
		fields = append(fields, p.field(), p.bytes)
		for seq := p.first; seq <= p.last; seq++ {
			o := &w.records[seq-w.from]
			records = append(records, fmt.Sprintf("%d:%d", w.number, seq), o.ID[:], o.stored)
		}
	}
	args := []any{w.version, w.uid, w.pruner, w.index, formatPacks(index), newest, w.number, settled, len(packs)}
	return append(append(args, fields...), records...), nil
}

// packAtOnce packs a log that was just written to, if tests want that. Close may come between the
// two.
func (s *Saver) packAtOnce(ctx context.Context, j job) error {
	if !s.packing.AtOnce {
		return nil
	}
	if err := s.pack(context.WithoutCancel(ctx), j); !errors.Is(err, checkpoint.ErrClosed) {
		return err
	}
	return nil
}

// packImported packs the records of an import, if there are enough of them.
func (s *Saver) packImported(ctx context.Context, thread string, records int) error {
	j := job{thread: strings.Clone(thread), all: true}
	if records >= s.packing.Every && !s.packing.AtOnce {
		s.packer.Add(j)
	}
	return s.packAtOnce(ctx, j)
}
