package memory

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// slab allocates the entries of a thread and their payloads, several at a time. A removed record
// stays in memory as long as any record that was allocated with it. Therefore only a few small
// records share memory.
type slab struct {
	entries []entry
	bytes   []byte // its capacity is free
}

// entry is an entry with room for a due task and a node that ran: most records have one of each.
type entry struct {
	ledger.Entry
	due [1]checkpoint.Task
	ran [1]string
}

const (
	smallPayload = 512
	mostEntries  = 8
	mostBytes    = 4 << 10
)

// entry returns a copy of rec with the given Seq. The longer the log is, the more entries are
// allocated at a time.
func (s *slab) entry(rec *checkpoint.Record, seq uint64) *ledger.Entry {
	var e *entry
	switch {
	case len(rec.Payload) > smallPayload:
		e = new(entry)
	case len(s.entries) == 0:
		s.entries = make([]entry, min(seq, mostEntries))
		fallthrough
	default:
		e, s.entries = &s.entries[0], s.entries[1:]
	}
	e.Record = *rec
	e.Seq = seq
	e.Payload = nil
	ledger.Detach(&e.Record, ledger.Room{Due: e.due[:], Ran: e.ran[:]})
	e.Payload = s.copy(rec.Payload, seq)
	return &e.Entry
}

// copy returns a copy of a payload of record seq.
func (s *slab) copy(payload []byte, seq uint64) []byte {
	n := len(payload)
	if n == 0 || n > smallPayload {
		return ledger.CloneBytes(payload)
	}
	if n > cap(s.bytes)-len(s.bytes) {
		s.bytes = make([]byte, 0, max(uint64(n), min(32*seq, mostBytes)))
	}
	from := len(s.bytes)
	s.bytes = append(s.bytes, payload...)
	return s.bytes[from:len(s.bytes):len(s.bytes)]
}
