package inbox

import (
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// Cancel returns the newest cancel; nil for none.
func (b *Box) Cancel() *checkpoint.Message {
	if len(b.cancels) == 0 {
		return nil
	}
	return &b.cancels[len(b.cancels)-1]
}

// Line is the run line that a cancel may end.
type Line struct {
	Due    bool      // something is due at the head of the thread, and the thread is not cancelled
	Pruned bool      // the record that began the line is not kept
	Mark   uint64    // of that record: messages up to this number are older than the line
	Least  bool      // newer messages that were posted before Opened are older, too
	Opened time.Time // when the run that began the line opened the thread; zero if it has stored more since
}

// Ends reports whether the newest cancel ends the tasks that are due on a line: it was posted
// after the input of the line.
func (b *Box) Ends(l *Line) bool {
	m := b.Cancel()
	switch {
	case m == nil || !l.Due:
		return false
	case l.Pruned:
		return true
	case l.Least && !l.Opened.IsZero() && m.Posted.Before(l.Opened):
		return false
	}
	return m.Number > l.Mark
}

// Obey takes the cancels, and refuses the inputs that they end. ends is the result of Ends. If the
// newest cancel ends nothing, Obey refuses that cancel.
func (b *Box) Obey(ends bool) (a Act) {
	m := b.Cancel()
	if m == nil {
		return a
	}
	for _, older := range b.cancels[:len(b.cancels)-1] {
		a.take(older.Number)
	}
	b.endInputs(&a)
	if ends || len(a.Messages.Refuse) > 0 {
		a.take(m.Number)
	} else {
		a.refuse(m.Number, "the thread had no unfinished work before the cancel")
	}
	b.forgetCancels()
	return a
}

// ObeyAll takes all cancels, and refuses the inputs that they end. reason is that of the newest
// cancel. It returns false if no cancel waits.
func (b *Box) ObeyAll() (reason string, a Act, ok bool) {
	m := b.Cancel()
	if m == nil {
		return "", a, false
	}
	b.endInputs(&a)
	for _, one := range b.cancels {
		a.take(one.Number)
	}
	reason = string(m.Payload)
	b.forgetCancels()
	return reason, a, true
}

// forgetCancels removes the cancels, about which an act has decided.
func (b *Box) forgetCancels() {
	for len(b.cancels) > 0 {
		b.remove(&b.cancels, len(b.cancels)-1)
	}
}

// endInputs refuses the inputs that were posted before the newest cancel.
func (b *Box) endInputs(a *Act) {
	m := b.Cancel()
	for len(b.inputs) > 0 && b.inputs[0].Number < m.Number {
		a.refuse(b.inputs[0].Number, CancelText(string(m.Payload)))
		b.remove(&b.inputs, 0)
	}
}

// CancelText returns the text of an error or of a refusal by a cancel with a reason.
func CancelText(reason string) string {
	if reason == "" {
		return "cancelled"
	}
	return "cancelled: " + reason
}

// CancelReason returns the reason in a text of CancelText. It reports false for any other text.
func CancelReason(text string) (reason string, ok bool) {
	if text == CancelText("") {
		return "", true
	}
	return strings.CutPrefix(text, CancelText("")+": ")
}

// Input returns the oldest input that no cancel ends; nil for none.
func (b *Box) Input() *checkpoint.Message {
	m := b.Cancel()
	for i := range b.inputs {
		if m == nil || b.inputs[i].Number > m.Number {
			return &b.inputs[i]
		}
	}
	return nil
}

// Waits returns which inputs wait that no cancel ends.
func (b *Box) Waits() journal.Inputs {
	m := b.Input()
	if m == nil {
		return journal.NoInputs
	}
	if in, err := journal.ReadInput(m.Payload); err == nil && in.Discard {
		return journal.DiscardingInputs
	}
	return journal.QueuedInputs
}

// TakeInput takes the oldest input, with which the run begins. The caller has obeyed the cancels.
func (b *Box) TakeInput() (a Act) {
	b.Began = b.inputs[0].Number
	a.take(b.Began)
	b.remove(&b.inputs, 0)
	return a
}

// RefuseInput refuses the oldest input. The caller has obeyed the cancels.
func (b *Box) RefuseInput(reason string) (a Act) {
	a.refuse(b.inputs[0].Number, reason)
	b.remove(&b.inputs, 0)
	return a
}
