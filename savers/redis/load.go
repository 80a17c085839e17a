package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Load returns the data to restore a checkpoint, as [checkpoint.Saver] says. It is one round trip.
// If the checkpoint is in a pack and its base is another record, Load takes two round trips.
func (s *Saver) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	if err := p.Check(); err != nil {
		return checkpoint.Chain{}, err
	}
	chain, err := s.load(ctx, p, checkpoint.ID{})
	if base := new(baseError); errors.As(err, &base) {
		chain, err = s.load(ctx, p, base.id)
	}
	if base := new(baseError); errors.As(err, &base) {
		err = fmt.Errorf("redis: load: thread %q, namespace %q: %w: %w", short(p.Thread), short(p.Namespace), err, checkpoint.ErrDamaged)
	}
	return chain, err
}

// baseError is the error of a checkpoint with another base than the server assumed.
type baseError struct{ id checkpoint.ID }

func (e *baseError) Error() string {
	return fmt.Sprintf("the entry of the checkpoint has not its base %s", e.id)
}

// load loads a checkpoint. base is its base if the checkpoint is in a pack. A zero base means the
// checkpoint itself.
func (s *Saver) load(ctx context.Context, p checkpoint.Ref, base checkpoint.ID) (checkpoint.Chain, error) {
	r, err := s.call(ctx, "load", s.script.load, []string{s.key(p.Thread)}, p.Version, p.Namespace, p.At[:], base[:])
	if err != nil {
		return checkpoint.Chain{}, err
	}
	switch r.text() {
	case "absent":
		return checkpoint.Chain{}, ledger.Absent(p)
	case "norecord":
		if p.At.IsZero() {
			return checkpoint.Chain{}, fmt.Errorf("redis: load: thread %q: the head has no entry: %w", short(p.Thread), checkpoint.ErrDamaged)
		}
		return checkpoint.Chain{}, ledger.NoRecord(p.Thread, p.Namespace, p.At)
	}
	chain := checkpoint.Chain{Version: r.int(), Head: r.id()}
	l := stretch{place: place{p.Thread, p.Namespace}, first: r.seq(), next: r.seq(), items: r.items(), base: r.id(), due: r.items(), chain: &chain}
	chain.Committed = r.text() == "1"
	chain.Writes = r.writes(p.Thread)
	d := r.thread(p.Thread)
	chain.Thread, chain.Birth = d.Thread, d.birth
	if r.err != nil {
		return checkpoint.Chain{}, fmt.Errorf("redis: load: thread %q: %w", short(p.Thread), r.err)
	}
	l.id = p.At
	if l.id.IsZero() {
		l.id = chain.Head
	}
	if err := l.restore(); err != nil {
		if base := new(baseError); errors.As(err, &base) {
			return checkpoint.Chain{}, err
		}
		return checkpoint.Chain{}, fmt.Errorf("redis: load: thread %q, namespace %q: %w: %w",
			short(p.Thread), short(p.Namespace), err, checkpoint.ErrDamaged)
	}
	return chain, nil
}

// stretch is an encoded part of a log, from a snapshot to the requested checkpoint. It is read
// backwards.
type stretch struct {
	place
	first uint64 // the seq of the first record
	items []item
	base  checkpoint.ID // of the checkpoint, as the server has it
	due   []item        // the record of that base if it is not among the items
	chain *checkpoint.Chain

	next   uint64        // the seq of the record that is read next
	id     checkpoint.ID // its id
	deltas [][]byte      // newest first
	baseIn *item         // the item with the base, if it is not the checkpoint itself
}

// restore sets Last, Due and what restores the state of the chain.
func (l *stretch) restore() error {
	if len(l.items) == 0 {
		return nil
	}
	last, final := l.next, len(l.items)-1
	if err := l.restoreLast(&l.items[final], final == 0); err != nil {
		return err
	}
	for i := final - 1; i >= 0; i-- {
		if err := l.add(&l.items[i], i == 0); err != nil {
			return err
		}
	}
	if l.next+1 != l.first {
		return fmt.Errorf("record %d: it has gone", l.next)
	}
	l.chain.Chained = int(last - l.first)
	if len(l.deltas) > 0 {
		slices.Reverse(l.deltas)
		l.chain.Deltas = l.deltas
	}
	return l.setDue()
}

// restoreLast adds the item that has the checkpoint, and sets Last.
func (l *stretch) restoreLast(it *item, whole bool) error {
	if !it.isPack() {
		last, err := decodeRecord(l.place, it.value, l.next)
		if err != nil {
			return err
		}
		l.chain.Last = last
		if last.Base != l.base {
			return &baseError{last.Base}
		}
		return l.add(it, whole)
	}
	records, err := it.records(l.place)
	if err != nil {
		return err
	}
	if l.next < it.first || l.next > it.last || records[l.next-it.first].ID != l.id {
		return it.wrap(fmt.Errorf("it has not %s as record %d", l.id, l.next))
	}
	l.chain.Last = records[l.next-it.first].Record
	if l.chain.Last.Base != l.base {
		return &baseError{l.chain.Last.Base}
	}
	for i := int(l.next - it.first); i >= 0; i-- {
		r := &records[i].Record
		if err := l.link(r.ID, r.Parent, r.Snapshot, whole && i == 0, r.Payload); err != nil {
			return err
		}
		if r.ID == l.base {
			l.baseIn = it
		}
	}
	return nil
}

// add adds an item before those that were added. whole says that it begins with the snapshot.
func (l *stretch) add(it *item, whole bool) error {
	if !it.isPack() {
		r, payload, err := decodeLink(l.place, it.value, l.next)
		if err != nil {
			return err
		}
		if r.id == l.base {
			l.baseIn = it
		}
		return l.link(r.id, r.parent, r.snapshot, whole, payload)
	}
	p, err := it.open(l.place)
	if err != nil {
		return err
	}
	if it.last != l.next || p.ID(p.Len()-1) != l.id || p.Whole != whole {
		return it.wrap(fmt.Errorf("record %d, %s, does not end it, or its snapshot is not that of the chain: %t", l.next, l.id, p.Whole))
	}
	if l.chain.Last.Base == l.base && l.baseIn == nil && p.Index(l.base) >= 0 {
		l.baseIn = it
	}
	for _, d := range slices.Backward(p.Deltas) {
		l.deltas = append(l.deltas, d)
	}
	if whole {
		l.chain.Snapshot = p.Snapshot
	}
	l.next, l.id = it.first-1, p.Parent
	return nil
}

// link adds a record before the records added so far. Checksums do not tell a record's place in
// the log; ids and parents do.
func (l *stretch) link(id, parent checkpoint.ID, snapshot, whole bool, payload []byte) error {
	switch {
	case id != l.id:
		return fmt.Errorf("record %d: it is %s, want %s", l.next, id, l.id)
	case snapshot != whole:
		return fmt.Errorf("record %d: the restored state does not begin with it", l.next)
	case whole:
		l.chain.Snapshot = payload
	default:
		l.deltas = append(l.deltas, payload)
	}
	l.next, l.id = l.next-1, parent // of a delta it is the record before
	return nil
}

// setDue sets the tasks of the checkpoint's base.
func (l *stretch) setDue() (err error) {
	last := &l.chain.Last
	if last.Base == last.ID {
		l.chain.Due = last.Due
		return nil
	}
	it := l.baseIn
	if it == nil && len(l.due) > 0 {
		it = &l.due[0]
	}
	if it == nil {
		return nil
	}
	var r checkpoint.Record
	if it.isPack() {
		r, err = it.record(l.place, last.Base)
	} else {
		r, err = decodeRecord(l.place, it.value, 0)
	}
	l.chain.Due = r.Due
	return err
}
