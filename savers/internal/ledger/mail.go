package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Mail is the inbox of a thread. The zero Mail is empty.
type Mail struct {
	Posted  uint64 // the number of the newest message
	Inputs  int    // the number of untaken inputs
	Others  int    // the number of untaken answers, signals and cancels
	Cancels int    // how many of Others are cancels
	Replies uint64 // how many replies were given

	untaken []*checkpoint.Message // in order of their numbers
	handled []*checkpoint.Message // the taken and refused ones, in the order in which that happened
	ids     map[string]uint64     // the numbers of all
}

// Empty reports whether the thread never got a message.
func (b *Mail) Empty() bool { return b.Posted == 0 }

// Add stores a message with its Number. That of an untaken message must be greater than those of
// all untaken messages before. The inbox owns m.
func (b *Mail) Add(m *checkpoint.Message) {
	if b.ids == nil {
		b.ids = make(map[string]uint64)
	}
	b.ids[m.ID] = m.Number
	b.Posted = max(b.Posted, m.Number)
	if m.Taken || m.Refused != "" {
		b.handled = append(b.handled, m)
		b.forget()
		return
	}
	b.untaken = append(b.untaken, m)
	b.count(m, 1)
}

// count adds n to the number of untaken messages of the kind of m.
func (b *Mail) count(m *checkpoint.Message, n int) {
	if m.Kind == checkpoint.InputMessage {
		b.Inputs += n
	} else {
		b.Others += n
	}
	if m.Kind == checkpoint.CancelMessage {
		b.Cancels += n
	}
}

// forget drops the ids of the messages that were handled first.
func (b *Mail) forget() {
	const slack = checkpoint.KeepTaken / 4 // so that messages move rarely
	if len(b.handled) <= checkpoint.KeepTaken+slack {
		return
	}
	n := len(b.handled) - checkpoint.KeepTaken
	for _, m := range b.handled[:n] {
		delete(b.ids, m.ID)
	}
	b.handled = append(b.handled[:0:0], b.handled[n:]...)
}

// Handle does with the messages what a write says.
func (b *Mail) Handle(h *checkpoint.Handled) {
	for i := range h.Reply {
		if r := &h.Reply[i]; !h.Returns(r.Number, r.ID) {
			b.reply(r)
		}
	}
	for i := range h.Return {
		b.giveBack(&h.Return[i])
	}
	for _, number := range h.Take {
		b.handle(number, "")
	}
	for _, r := range h.Refuse {
		b.handle(r.Number, r.Reason)
	}
}

// holds reports whether the messages that a write takes and refuses are untaken once it has
// returned others.
func (b *Mail) holds(h *checkpoint.Handled) bool {
	untaken := func(number uint64) bool {
		_, found := b.find(number)
		back := slices.ContainsFunc(h.Return, func(m checkpoint.Message) bool { return m.Number == number && b.handledAt(&m) >= 0 })
		return found || back
	}
	for _, number := range h.Take {
		if !untaken(number) {
			return false
		}
	}
	for _, r := range h.Refuse {
		if !untaken(r.Number) {
			return false
		}
	}
	return true
}

// handle takes an untaken message, or refuses it for a reason.
func (b *Mail) handle(number uint64, reason string) {
	i, found := b.find(number)
	if !found {
		return
	}
	m := b.untaken[i]
	b.untaken = slices.Delete(b.untaken, i, i+1)
	b.count(m, -1)
	if m.Refused = reason; reason == "" {
		m.Taken, m.Payload = true, nil
	}
	b.handled = append(b.handled, m)
	b.forget()
}

// giveBack makes a taken message untaken again, with the payload that r gives.
func (b *Mail) giveBack(r *checkpoint.Message) {
	i := b.handledAt(r)
	if i < 0 {
		return
	}
	m := b.handled[i]
	b.handled = slices.Delete(b.handled, i, i+1)
	m.Taken, m.Refused, m.Payload = false, "", CloneBytes(r.Payload)
	i, _ = b.find(m.Number)
	b.untaken = slices.Insert(b.untaken, i, m)
	b.count(m, 1)
}

// reply gives a taken message the reply that r has as its payload.
func (b *Mail) reply(r *checkpoint.Message) {
	i := b.handledAt(r)
	if i < 0 || !b.handled[i].Taken {
		return
	}
	m := b.handled[i]
	m.Payload = CloneBytes(r.Payload)
	b.Replies++
}

// handledAt returns the index of a message that was taken or refused, or -1. r has its number and
// its id.
func (b *Mail) handledAt(r *checkpoint.Message) int {
	return slices.IndexFunc(b.handled, func(m *checkpoint.Message) bool { return m.Number == r.Number && m.ID == r.ID })
}

// find returns the index of an untaken message.
func (b *Mail) find(number uint64) (i int, found bool) {
	return slices.BinarySearchFunc(b.untaken, number, func(m *checkpoint.Message, n uint64) int { return cmp.Compare(m.Number, n) })
}

// refuseOthers refuses all untaken messages except inputs.
func (b *Mail) refuseOthers(reason string) {
	for _, m := range slices.Clone(b.untaken) {
		if m.Kind != checkpoint.InputMessage {
			b.handle(m.Number, reason)
		}
	}
}

// Newest returns when the newest untaken message was posted; zero for none.
func (b *Mail) Newest() time.Time {
	if len(b.untaken) == 0 {
		return time.Time{}
	}
	return b.untaken[len(b.untaken)-1].Posted
}

// Select returns the messages that q selects.
func (b *Mail) Select(q *checkpoint.MailQuery) []checkpoint.Message {
	from := b.untaken
	switch {
	case q.ID != "":
		return b.byID(q.ID)
	case q.Handled:
		from = nil
		for _, m := range b.handled {
			if m.Refused != "" || m.Replied() {
				from = append(from, m)
			}
		}
		byNumber(from)
	}
	var all []checkpoint.Message
	for _, m := range from {
		if m.Number > q.After {
			all = append(all, *m)
		}
		if len(all) == q.Limit && q.Limit > 0 {
			break
		}
	}
	return all
}

// byID returns the message with an id, if it is kept.
func (b *Mail) byID(id string) []checkpoint.Message {
	number, known := b.ids[id]
	if !known {
		return nil
	}
	if i, untaken := b.find(number); untaken {
		return []checkpoint.Message{*b.untaken[i]}
	}
	return []checkpoint.Message{*b.handled[b.handledAt(&checkpoint.Message{Number: number, ID: id})]}
}

// All returns all messages that are kept, in order of their numbers.
func (b *Mail) All() []checkpoint.Message {
	kept := slices.Concat(b.untaken, b.handled)
	byNumber(kept)
	all := make([]checkpoint.Message, len(kept))
	for i, m := range kept {
		all[i] = *m
	}
	return all
}

// CloneMessage returns a copy of m that shares no memory with it.
func CloneMessage(m *checkpoint.Message) *checkpoint.Message {
	c := *m
	c.Payload = CloneBytes(m.Payload)
	return &c
}

// byNumber sorts messages by their numbers.
func byNumber(messages []*checkpoint.Message) {
	slices.SortFunc(messages, func(a, c *checkpoint.Message) int { return cmp.Compare(a.Number, c.Number) })
}

// With returns an inbox with the messages of both. Those of other whose id b has are left out.
func (b *Mail) With(other *Mail) Mail {
	both := *b
	for _, m := range other.All() {
		if _, known := both.ids[m.ID]; known {
			continue
		}
		m.Number = max(m.Number, both.Posted+1)
		both.Add(&m)
	}
	return both
}
