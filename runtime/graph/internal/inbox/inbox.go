// Package inbox decides what a run does with the messages of its thread. The run takes inputs,
// answers, signals and cancels, refuses others, and returns signals that had no effect.
//
// A run reads messages and passes them to a [Box]. It asks the Box for decisions. Each decision is
// an [Act], which the run stores by one write.
//
// Invariants:
//   - The package does no I/O, holds no lock and starts nothing. It calls only the functions that
//     check payloads, and the result of these depends only on the payload.
//   - A message is in one place: it waits in the Box, or one Act has taken or refused it. A signal
//     that went back waits again.
//   - A message that is read again changes nothing.
//   - An Act has all effects of its messages, so that each message takes effect once.
//   - Messages are given in the order of their numbers, to receives in task order.
package inbox

import (
	"cmp"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// Act is a decision about messages, as one write stores it.
type Act struct {
	Writes   []checkpoint.Write // the effects of the messages
	Messages checkpoint.Handled // the journal sets Seen
}

// take adds messages that take effect by this act.
func (a *Act) take(numbers ...uint64) { a.Messages.Take = append(a.Messages.Take, numbers...) }

// refuse adds a message that cannot take effect, with the reason that the inbox lists.
func (a *Act) refuse(number uint64, reason string) {
	a.Messages.Refuse = append(a.Messages.Refuse, checkpoint.Refusal{Number: number, Reason: journal.Cut(reason, checkpoint.MaxReason)})
}

// Add adds another decision, which the same write stores.
func (a *Act) Add(b Act) {
	a.Writes = append(a.Writes, b.Writes...)
	a.Messages.Take = append(a.Messages.Take, b.Messages.Take...)
	a.Messages.Refuse = append(a.Messages.Refuse, b.Messages.Refuse...)
	a.Messages.Return = append(a.Messages.Return, b.Messages.Return...)
	a.Messages.Reply = append(a.Messages.Reply, b.Messages.Reply...)
}

// Empty reports whether there is nothing to store.
func (a *Act) Empty() bool { return len(a.Writes) == 0 && a.Messages.Empty() }

// Box is the untaken messages of a thread, as far as its run has read them. The zero Box is that
// of a run that has read none.
type Box struct {
	Checked bool   // the opening has checked whether messages wait
	Past    bool   // it did so for a run line that takes no input from the inbox
	Known   uint64 // every message up to this number was read
	Began   uint64 // the input with which the run begins; 0 for none
	Opened  uint64 // the newest message when the run opened the thread

	inputs, answers, signals []checkpoint.Message // in the order of their numbers
	cancels                  []checkpoint.Message // in the order of their numbers; the newest one counts
	gone                     map[uint64]bool      // taken or refused
}

// Read adds messages of the thread. newest is the number of its newest message, as far as it was
// known before the messages were read.
func (b *Box) Read(all []checkpoint.Message, newest uint64) {
	b.Known = max(b.Known, newest)
	for i := range all {
		b.Known = max(b.Known, all[i].Number)
		b.add(&all[i])
	}
}

// ReadLate is Read after the opening has decided about cancels and inputs. It adds only answers
// and signals: a run in progress takes no input, and the listener of the run obeys cancels.
func (b *Box) ReadLate(all []checkpoint.Message, newest uint64) {
	b.Known = max(b.Known, newest)
	for i := range all {
		m := &all[i]
		b.Known = max(b.Known, m.Number)
		if m.Kind == checkpoint.AnswerMessage || m.Kind == checkpoint.SignalMessage {
			b.add(m)
		}
	}
}

// add adds a message to the others of its kind, unless it is there or gone.
func (b *Box) add(m *checkpoint.Message) {
	if b.gone[m.Number] {
		return
	}
	var list *[]checkpoint.Message
	switch m.Kind {
	case checkpoint.InputMessage:
		list = &b.inputs
	case checkpoint.AnswerMessage:
		list = &b.answers
	case checkpoint.SignalMessage:
		list = &b.signals
	case checkpoint.CancelMessage:
		list = &b.cancels
	default:
		return // a wake has no effect on a run
	}
	at, found := slices.BinarySearchFunc(*list, m.Number, func(m checkpoint.Message, n uint64) int { return cmp.Compare(m.Number, n) })
	if !found {
		*list = slices.Insert(*list, at, *m)
	}
}

// Refuse refuses a message that waits, whatever its kind.
func (b *Box) Refuse(m *checkpoint.Message, reason string) (a Act) {
	for _, list := range []*[]checkpoint.Message{&b.inputs, &b.answers, &b.signals, &b.cancels} {
		at := slices.IndexFunc(*list, func(one checkpoint.Message) bool { return one.Number == m.Number })
		if at >= 0 {
			b.remove(list, at)
			a.refuse(m.Number, reason)
		}
	}
	return a
}

// Return adds signals that went back to the inbox.
func (b *Box) Return(all []checkpoint.Message) {
	for i := range all {
		delete(b.gone, all[i].Number)
		b.add(&all[i])
	}
}

// remove removes the message at an index of a list, which an act takes or refuses.
func (b *Box) remove(list *[]checkpoint.Message, at int) {
	if b.gone == nil {
		b.gone = make(map[uint64]bool)
	}
	b.gone[(*list)[at].Number] = true
	*list = slices.Delete(*list, at, at+1)
}

// Begin forgets the inputs and the cancels, about which only the opening decides.
func (b *Box) Begin() { b.inputs, b.cancels = nil, nil }

// Older returns the number of the newest message that is older than the run. seen is the newest
// message that the run has seen.
func (b *Box) Older(seen uint64) uint64 {
	if b.Checked {
		return seen
	}
	return b.Opened
}

// Mark returns the mark of the record that begins a run line. It is the number of the newest
// message that is known to be older than the line; 0 for none. With least, newer ones that were
// posted before the opening are older as well. seen is the newest message that the run has seen.
// input says that the line begins with an input.
func (b *Box) Mark(seen uint64, input bool) (number uint64, least bool) {
	if b.Began > 0 {
		return b.Began, false
	}
	return seen, input
}
