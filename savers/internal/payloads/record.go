package payloads

import (
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// record returns the place of the payload of r.
func record(thread, namespace string, r *checkpoint.Record) Place {
	p := Place{Thread: thread, Namespace: namespace, Kind: Snapshot, ID: r.ID}
	if !r.Snapshot {
		p.Kind, p.Before = Delta, r.Parent // a delta follows its parent
	}
	return p
}

// sealRecord replaces the payloads of r. It does not change the memory that r shares.
func (s *Saver) sealRecord(thread, namespace string, r *checkpoint.Record) (err error) {
	if r.Payload, err = s.codec.Seal(record(thread, namespace, r), r.Payload); err == nil {
		r.Due, err = tasks(thread, namespace, r.ID, r.Due, s.codec.Seal)
	}
	return at(thread, "record "+r.ID.String(), err)
}

// openRecordIn opens the payload of a record of a namespace, in place.
func (s *Saver) openRecordIn(thread, namespace string, r *checkpoint.Record) error {
	return s.openRecord(thread, namespace, r, false)
}

// openRecord replaces the payloads of r by the original ones. With headers r has no Payload.
func (s *Saver) openRecord(thread, namespace string, r *checkpoint.Record, headers bool) (err error) {
	if !headers {
		r.Payload, err = s.codec.Open(record(thread, namespace, r), r.Payload)
	}
	if err == nil {
		r.Due, err = tasks(thread, namespace, r.ID, r.Due, s.codec.Open)
	}
	return at(thread, "record "+r.ID.String(), err)
}

// tasks returns tasks with payloads that f changes. A task without a payload stays without one.
func tasks(thread, namespace string, base checkpoint.ID, due []checkpoint.Task, f func(Place, []byte) ([]byte, error)) ([]checkpoint.Task, error) {
	changed := due
	for i := range due {
		if due[i].Payload == nil {
			continue
		}
		if &changed[0] == &due[0] {
			changed = slices.Clone(due)
		}
		p := Place{Thread: thread, Namespace: namespace, Kind: Task, ID: base, Number: uint64(i)}
		var err error
		if changed[i].Payload, err = f(p, due[i].Payload); err != nil {
			return nil, fmt.Errorf("the payload of task %d: %w", i, err)
		}
	}
	return changed, nil
}

// openChain replaces the payloads of c by the original ones.
func (s *Saver) openChain(thread, namespace string, c *checkpoint.Chain) (err error) {
	if c.Empty() {
		return nil
	}
	links := chained{s: s, thread: thread, namespace: namespace}
	deltas := make([][]byte, len(c.Deltas))
	if c.Snapshot, err = links.open(Snapshot, c.Snapshot); err != nil {
		return at(thread, "snapshot", err)
	}
	for i := range c.Deltas {
		if deltas[i], err = links.open(Delta, c.Deltas[i]); err != nil {
			return at(thread, fmt.Sprintf("delta %d of %d", i+1, len(deltas)), err)
		}
	}
	if links.named && links.last != c.Last.ID {
		return at(thread, "the chain of "+c.Last.ID.String(), fmt.Errorf("%w: it ends at %s", checkpoint.ErrDamaged, links.last))
	}
	c.Deltas = deltas
	if len(deltas) == 0 {
		c.Deltas = nil
	}
	if c.Due, err = tasks(thread, namespace, c.Last.Base, c.Due, s.codec.Open); err != nil {
		return at(thread, "due tasks", err)
	}
	if c.Last.Payload != nil {
		return s.openRecord(thread, namespace, &c.Last, false)
	}
	c.Last.Due, err = tasks(thread, namespace, c.Last.ID, c.Last.Due, s.codec.Open)
	return at(thread, "due tasks", err)
}

// chained opens the payloads of a chain, which come without the ids of their records. The stored
// payloads name them. Each must follow the one before it.
type chained struct {
	s                 *Saver
	thread, namespace string
	named             bool
	last              checkpoint.ID
}

// open opens the next payload of a chain, and checks that it follows the one before.
func (l *chained) open(kind Kind, stored []byte) ([]byte, error) {
	p := Place{Thread: l.thread, Namespace: l.namespace, Kind: kind}
	p.ID, p.Before, l.named = l.s.codec.Record(stored)
	if l.named && kind == Delta && p.Before != l.last {
		return nil, fmt.Errorf("%w: it follows record %s, not %s", checkpoint.ErrDamaged, p.Before, l.last)
	}
	l.last = p.ID
	return l.s.codec.Open(p, stored)
}
