package ledger

import (
	"bytes"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Intake checks the order of imported items, one after the other. The zero Intake awaits the
// first.
type Intake struct {
	Thread    checkpoint.Thread // the first item
	count     int
	namespace string
	last      checkpoint.ID // of the records of namespace
	records   bool          // one has come
	writes    bool
	done      map[string]bool // namespaces that are over
	newest    uint64          // the number of the last message
	ids       map[string]bool // of messages
}

// Take checks the next item, and keeps the first. The error is an *InvalidError.
func (in *Intake) Take(item checkpoint.ExportItem) error {
	n := in.count
	in.count++
	bad := func(found, want string) error {
		return &checkpoint.InvalidError{Field: fmt.Sprintf("items[%d]", n), Found: found, Want: want}
	}
	if set(item.Thread != nil)+set(item.Record != nil)+set(item.Write != nil)+set(item.Message != nil) != 1 {
		return bad("not one field set", "exactly one of Thread, Record, Write and Message")
	}
	switch {
	case (item.Thread != nil) != (n == 0):
		return bad("a thread out of place, or none", "one thread, as the first item")
	case item.Record != nil && in.writes:
		return bad("a record after a write", "all records before the writes")
	case item.Message == nil && in.newest > 0:
		return bad("a record or a write after a message", "the messages as the last items")
	case item.Message != nil:
		return in.message(item.Message, bad)
	case item.Thread != nil:
		if item.Thread.Status > checkpoint.Cancelled {
			return bad(fmt.Sprintf("status %d", item.Thread.Status), "a status that exists")
		}
		if err := item.Thread.CheckDescription(); err != nil {
			return err
		}
		in.Thread = *item.Thread
	case item.Write != nil:
		if item.Write.Kind == checkpoint.Schema {
			if err := item.Write.Check(); err != nil {
				return bad(err.Error(), "a description as SchemaWrite makes it")
			}
		} else if !pending(item.Write.Kind) {
			return bad(fmt.Sprintf("a write of kind %d", item.Write.Kind), "a kind that is stored")
		}
		in.writes = true
	default:
		return in.record(item.Record, bad)
	}
	return nil
}

// pending reports whether a write of a kind is stored as a pending write.
func pending(kind checkpoint.Kind) bool {
	return kind >= checkpoint.Result && kind <= checkpoint.Failure || kind == checkpoint.Outcome
}

// message checks a message.
func (in *Intake) message(m *checkpoint.Message, bad func(found, want string) error) error {
	err := m.Check()
	switch {
	case err != nil:
		return bad(err.Error(), "a message that can be posted")
	case m.Kind == checkpoint.WakeMessage:
		return bad("a message of kind wake", "a kind that is stored")
	case m.Number <= in.newest || m.Number > in.Thread.Posted:
		return bad(fmt.Sprintf("message %d after message %d of %d", m.Number, in.newest, in.Thread.Posted), "messages in order of Number, up to Posted")
	case in.ids[m.ID]:
		return bad(fmt.Sprintf("the message id %q a second time", m.ID), "an id of its own")
	case m.Taken && m.Refused != "":
		return bad("a message that was taken and refused", "one of the two")
	}
	if in.ids == nil {
		in.ids = make(map[string]bool)
	}
	in.newest, in.ids[m.ID], in.writes = m.Number, true, true
	return nil
}

// record checks that the records of a namespace come together, and that their ids increase.
func (in *Intake) record(r *checkpoint.NamespaceRecord, bad func(found, want string) error) error {
	before := in.last
	in.last = r.ID
	if in.records && r.Namespace == in.namespace {
		if bytes.Compare(r.ID[:], before[:]) <= 0 {
			return bad(fmt.Sprintf("record %s after record %s", r.ID, before), "ids that increase within a namespace")
		}
		return nil
	}
	if in.done == nil {
		in.done = make(map[string]bool)
	}
	if in.done[r.Namespace] {
		return bad("a namespace for the second time", "the records of a namespace one after the other")
	}
	in.namespace, in.records, in.done[r.Namespace] = r.Namespace, true, true
	return nil
}

// End checks that the items were a thread's.
func (in *Intake) End() error {
	if in.count == 0 {
		return &checkpoint.InvalidError{Field: "items", Found: "none", Want: "a thread, its records and its writes"}
	}
	return nil
}

// Follow makes an event of imported records or writes part of v, when it can follow what v holds.
// The error is an *InvalidError.
func (v *Version) Follow(e *Event) error {
	if err := v.Verify(e); err != nil {
		return &checkpoint.InvalidError{Field: "items", Found: err.Error(), Want: "a log that loads"}
	}
	v.Apply(e)
	return nil
}

// set returns 1 for true, to count.
func set(is bool) int {
	if is {
		return 1
	}
	return 0
}
