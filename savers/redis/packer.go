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

// job is a log in which a run has appended records, or all logs of a thread.
type job struct {
	thread, namespace string
	all               bool  // all logs
	opened, head      int64 // seqs: of the log's head when the run opened, and when it ended
}

// closePatience is how long Close waits for packing, and then for the server.
const closePatience = 10 * time.Second

// pack packs the old records of a log, or of all logs of a thread's open version.
func (s *Saver) pack(ctx context.Context, j job) error {
	if !j.all {
		return s.packLog(ctx, place{j.thread, j.namespace}, pack.First(j.opened, j.head))
	}
	w, err := s.whole(ctx, j.thread, 0, false, false)
	if err != nil || !w.found {
		return err
	}
	for _, l := range w.logs {
		if err := s.packLog(ctx, place{j.thread, l.namespace}, 1); err != nil {
			return err
		}
	}
	return nil
}

// packLog packs the old records of a log from a seq on, a window at a time. It gives up when
// others keep changing them.
func (s *Saver) packLog(ctx context.Context, in place, from int64) error {
	for conflicts := 0; from > 0 && conflicts < 3; {
		next, changed, err := s.packWindow(ctx, in, from)
		if err != nil {
			return err
		}
		if changed {
			conflicts++
			continue
		}
		from = next
	}
	return nil
}

// oldLog is a window of a log, to be packed.
type oldLog struct {
	place
	version, uid, pruner string
	index                string // of packs
	number               uint64 // of the log
	from, head           uint64 // the seqs of the first record and of the log's head
	records              []oldRecord
}

// oldRecord is a record of a window.
type oldRecord struct {
	pack.Record
	stored string // its entry
	entry  entry
	pinned bool // it has pending writes, or is too large for a pack
}

// packWindow packs records from a seq on, and returns from where on to continue, 0 for the end.
// changed says that others changed the records meanwhile, and nothing happened.
func (s *Saver) packWindow(ctx context.Context, in place, from int64) (next int64, changed bool, err error) {
	r, err := s.call(ctx, "pack", s.script.old, []string{s.key(in.thread)}, in.namespace, from, s.packing.Keep, pack.Window, pack.MaxBytes)
	if err != nil || r.text() == "none" {
		return 0, false, err
	}
	w := oldLog{place: in, version: r.text(), uid: r.text(), pruner: r.text(), index: r.text()}
	w.number, w.from, w.head = r.seq(), r.seq(), r.seq()
	w.read(r)
	if r.err != nil {
		return 0, false, fmt.Errorf("redis: pack: thread %q, namespace %q: %w", short(in.thread), short(in.namespace), r.err)
	}
	next = int64(w.from) + int64(len(w.records))
	if next+int64(s.packing.Keep) > int64(w.head) {
		next = 0
	}
	packs, left := w.fill(&s.packing)
	if next > 0 && left > 0 && left < len(w.records) {
		next -= int64(left)
	}
	if len(packs) == 0 {
		return next, false, nil
	}
	args, err := w.args(packs)
	if err != nil {
		return 0, false, err
	}
	r, err = s.call(ctx, "pack", s.script.pack, []string{s.key(in.thread)}, args...)
	if err != nil {
		return 0, false, err
	}
	return next, r.text() != "ok", r.err
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
func (w *oldLog) args(packs []newPack) ([]any, error) {
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
	args := []any{w.version, w.uid, w.pruner, w.index, formatPacks(index), newest, len(packs)}
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
