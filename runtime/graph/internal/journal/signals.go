package journal

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

// ReceivedTask is the task of the notes about the signals that the tasks of subgraph calls have
// taken. A task key is longer.
const ReceivedTask = "received"

// Received is a note that a task of a subgraph call has taken a signal. It belongs to the base of
// the thread itself, so it outlives the supersteps of the call. If the call does not count, its
// notes tell which messages go back.
type Received struct {
	Namespace string // of the call
	Task      string // that took the message
	Message   checkpoint.Message
}

// AppendSignal appends the answer to a receive: a message that the task has taken.
func AppendSignal(b []byte, m *checkpoint.Message) []byte {
	return appendMessage(wire.AppendArrayLen(b, messageFields), m)
}

// messageFields is how many fields of a message are stored.
const messageFields = 6

func appendMessage(b []byte, m *checkpoint.Message) []byte {
	b = wire.AppendString(wire.AppendUint(b, m.Number), m.ID)
	b = wire.AppendString(wire.AppendString(b, m.Name), m.Key)
	b = wire.AppendTime(b, m.Posted)
	if m.Payload == nil {
		return wire.AppendBytes(b, []byte{})
	}
	return wire.AppendBytes(b, m.Payload)
}

// ReadSignal reads what AppendSignal wrote.
func ReadSignal(b []byte) (m checkpoint.Message, err error) {
	r := wire.NewReader("signal", b)
	r.FixedArray(messageFields)
	m = readMessage(&r)
	err = r.End()
	if !r.Framed() {
		return checkpoint.Message{}, err
	}
	return m, err
}

// ReplyPart begins the name of the part of a result that is a reply. The number of the message
// follows. The part is the message, in the form of AppendSignal, with the reply as its payload.
const ReplyPart = "reply:"

// Replies returns the replies among the parts of a result, without an order.
func Replies[T []byte | string](parts map[string]T) (replies []checkpoint.Message, err error) {
	for name, part := range parts {
		if !strings.HasPrefix(name, ReplyPart) {
			continue
		}
		m, err := ReadSignal([]byte(part))
		if err != nil {
			return nil, err
		}
		replies = append(replies, m)
	}
	return replies, nil
}

func readMessage(r *wire.Reader) checkpoint.Message {
	m := checkpoint.Message{Kind: checkpoint.SignalMessage, Number: r.Uint64(), ID: r.Str(), Name: r.Str(), Key: r.Str()}
	m.Posted, m.Payload = r.Time(), r.Bytes()
	if m.Number == 0 || m.ID == "" {
		r.Damage(0, fmt.Errorf("got the message %d with id %q; want a number above 0, and an id", m.Number, m.ID))
	}
	return m
}

// Write returns the note as a pending write of the base of the thread itself.
func (n *Received) Write(base checkpoint.ID) checkpoint.Write {
	b := wire.AppendString(wire.AppendString(wire.AppendArrayLen(nil, 2+messageFields), n.Namespace), n.Task)
	return checkpoint.Write{
		Base: base, Task: ReceivedTask, Kind: checkpoint.Result, Payload: appendMessage(b, &n.Message),
		Name: strconv.FormatUint(n.Message.Number, 10) + ":" + n.Task, // another task may take it again after it went back
	}
}

// Notes returns the notes among the pending writes of a base of the thread itself.
func Notes(writes []checkpoint.Write, base checkpoint.ID) (notes []Received, err error) {
	for i := range writes {
		w := &writes[i]
		if w.Task != ReceivedTask || w.Kind != checkpoint.Result || w.Base != base || w.Namespace != "" {
			continue
		}
		r := wire.NewReader("received", w.Payload)
		r.FixedArray(2 + messageFields)
		n := Received{Namespace: r.Str(), Task: r.Str()}
		n.Message = readMessage(&r)
		if err := r.End(); err != nil {
			return nil, err
		}
		notes = append(notes, n)
	}
	return notes, nil
}

// In reports whether the note is of a task in a call with one of the given namespaces, or in a
// call within that one.
func (n *Received) In(namespaces map[string]bool) bool {
	for at := n.Namespace; at != ""; at = at[:max(strings.LastIndexByte(at, '/'), 0)] {
		if namespaces[at] {
			return true
		}
	}
	return false
}

// numberOf returns the number of the message that a note is about.
func numberOf(note *checkpoint.Write) uint64 {
	digits, _, _ := strings.Cut(note.Name, ":")
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0 // there is no error: Write made the name
	}
	return n
}

// own notes which namespaces take the signals of an entry.
func (l *OnExit) own(e *Entry) {
	if len(e.Messages.Take) == 0 {
		return
	}
	if l.owners == nil {
		l.owners = make(map[uint64]string)
	}
	for i := range e.Writes {
		if w := &e.Writes[i]; w.Kind == checkpoint.Answer {
			if m, err := ReadSignal(w.Payload); err == nil {
				l.owners[m.Number] = w.Namespace
			}
		}
	}
}

// share has each signal taken by the entry that stores the receive, or what followed from it. The
// last entry takes the others. at has the indexes of entries, by namespace.
func (l *OnExit) share(entries []Entry, at map[string]int) {
	root := &entries[len(entries)-1]
	root.Messages.Take = slices.DeleteFunc(slices.Clone(root.Messages.Take), func(n uint64) bool {
		owner := l.owners[n]
		i, ok := at[l.actOf(heldWrite{checkpoint.Write{Namespace: owner}, owner})]
		if ok {
			entries[i].Messages.Take = append(entries[i].Messages.Take, n)
		}
		return ok
	})
}
