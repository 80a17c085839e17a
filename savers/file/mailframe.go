package file

import (
	"encoding/binary"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/codec"
	"github.com/graphgen-go/graphgen/savers/internal/ledger"
)

// Flags of a message in an event.
const (
	messageTaken = 1 << iota
	messageRefused
)

// appendMessages appends the number of the newest message, and new messages.
func appendMessages(b []byte, e *ledger.Event) []byte {
	b = binary.AppendUvarint(b, e.Posted)
	b = binary.AppendUvarint(b, uint64(len(e.Messages)))
	for i := range e.Messages {
		m := &e.Messages[i]
		var flags byte
		if m.Taken {
			flags |= messageTaken
		}
		if m.Refused != "" {
			flags |= messageRefused
		}
		b = append(binary.AppendUvarint(b, m.Number), byte(m.Kind), flags)
		b = codec.AppendString(codec.AppendString(codec.AppendString(b, m.ID), m.Name), m.Key)
		b = binary.AppendVarint(b, m.Posted.UnixMicro())
		b = codec.AppendBytes(b, m.Payload)
		if m.Refused != "" {
			b = codec.AppendString(b, m.Refused)
		}
	}
	return b
}

// readMessages decodes the messages of an event.
func readMessages(r *codec.Reader, e *ledger.Event) {
	e.Posted = r.Uvarint()
	for range r.Count() {
		m := checkpoint.Message{Number: r.Uvarint(), Kind: checkpoint.MessageKind(r.Byte())}
		flags := r.Byte()
		m.ID, m.Name, m.Key = r.String(), r.String(), r.String()
		m.Posted = codec.Time(r.Varint())
		m.Payload = r.Bytes()
		m.Taken = flags&messageTaken != 0
		if flags&messageRefused != 0 {
			m.Refused = r.String()
		}
		if r.Err() != nil {
			return
		}
		e.Messages = append(e.Messages, m)
	}
}

// appendHandled appends what a write does with messages, except for its replies.
func appendHandled(b []byte, h *checkpoint.Handled) []byte {
	b = binary.AppendUvarint(b, uint64(len(h.Take)))
	for _, n := range h.Take {
		b = binary.AppendUvarint(b, n)
	}
	b = binary.AppendUvarint(b, uint64(len(h.Refuse)))
	for _, r := range h.Refuse {
		b = codec.AppendString(binary.AppendUvarint(b, r.Number), r.Reason)
	}
	return appendPayloads(b, h.Return)
}

// appendPayloads appends the payloads of stored messages.
func appendPayloads(b []byte, all []checkpoint.Message) []byte {
	b = binary.AppendUvarint(b, uint64(len(all)))
	for i := range all {
		m := &all[i]
		b = codec.AppendBytes(codec.AppendString(binary.AppendUvarint(b, m.Number), m.ID), m.Payload)
	}
	return b
}

// readPayloads decodes the payloads of stored messages.
func readPayloads(r *codec.Reader) (all []checkpoint.Message) {
	for range r.Count() {
		all = append(all, checkpoint.Message{Number: r.Uvarint(), ID: r.String(), Payload: r.Bytes()})
	}
	return all
}

// readHandled decodes which messages an event takes, refuses and returns.
func readHandled(r *codec.Reader) (h checkpoint.Handled) {
	for range r.Count() {
		h.Take = append(h.Take, r.Uvarint())
	}
	for range r.Count() {
		h.Refuse = append(h.Refuse, checkpoint.Refusal{Number: r.Uvarint(), Reason: r.String()})
	}
	h.Return = readPayloads(r)
	return h
}
