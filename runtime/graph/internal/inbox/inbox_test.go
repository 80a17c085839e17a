package inbox

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// at returns a time by its minute.
func at(minute int) time.Time {
	return time.Date(2026, 1, 2, 15, minute, 0, 0, time.UTC)
}

// messages makes messages from a text such as "in cancel in:drop|pay pay:7 answer:k/q". Their
// numbers begin with 1. Each was posted at the minute of its number.
func messages(text string) (all []checkpoint.Message) {
	for i, word := range strings.FieldsFunc(text, between) {
		kind, of, _ := strings.Cut(word, ":")
		m := checkpoint.Message{Number: uint64(i + 1), ID: fmt.Sprintf("m%d", i+1), Posted: at(i + 1)}
		switch kind {
		case "in":
			m.Kind, m.Payload = checkpoint.InputMessage, journal.AppendInput(nil, &journal.Input{Discard: of == "drop"})
		case "cancel":
			m.Kind, m.Payload = checkpoint.CancelMessage, []byte(of)
		case "answer":
			m.Kind, m.Name = checkpoint.AnswerMessage, of
		case "wake":
			m.Kind = checkpoint.WakeMessage
		default:
			m.Kind, m.Name, m.Key, m.Payload = checkpoint.SignalMessage, kind, of, []byte(of)
		}
		all = append(all, m)
	}
	return all
}

// boxOf returns a Box that has read the messages of a text.
func boxOf(text string) *Box {
	b := new(Box)
	b.Read(messages(text), 0)
	return b
}

// show writes an act, such as "take [1 2], refuse 3 (why), k//signal/pay".
func show(a *Act) string {
	var parts []string
	if len(a.Messages.Take) > 0 {
		parts = append(parts, fmt.Sprint("take ", a.Messages.Take))
	}
	for _, r := range a.Messages.Refuse {
		parts = append(parts, fmt.Sprintf("refuse %d (%s)", r.Number, r.Reason))
	}
	for i := range a.Messages.Return {
		parts = append(parts, fmt.Sprintf("return %d", a.Messages.Return[i].Number))
	}
	for i := range a.Writes {
		w := &a.Writes[i]
		s := QuestionID(w)
		switch {
		case w.Task == journal.ReceivedTask:
			s = "note"
		case string(w.Payload) == task.Passed:
			s += " passed"
		}
		if w.Kind == checkpoint.Discard {
			s = "drop " + s
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func accept([]byte) error { return nil }

// TestReadAgain reads all messages again after each decision. One that an act has handled does not
// come back, so that it has one effect (rule 21.1).
func TestReadAgain(t *testing.T) {
	all := messages("in pay cancel answer:k/q pay in:drop answer:k/r")
	b := new(Box)
	b.Read(all, 0)
	_, a, _ := b.ObeyAll()
	b.Read(all, 9)
	same(t, "the cancel", show(&a), "take [3], refuse 1 (cancelled)")
	if b.Cancel() != nil || b.Input() == nil || b.Input().Number != 6 {
		t.Errorf("cancel %v, input %v; want no cancel and input 6", b.Cancel(), b.Input())
	}
	same(t, "known", b.Known, 9)
	a = b.TakeInput()
	b.Read(all, 0)
	same(t, "the input", show(&a), "take [6]")
	if b.Input() != nil {
		t.Errorf("input %d waits again", b.Input().Number)
	}
	a = b.RefuseAnswers(nil)
	b.Read(all, 0)
	same(t, "the answers", show(&a), "refuse 4 ("+NotAsked+"), refuse 7 ("+NotAsked+")")
	a = b.RefuseAnswers(nil)
	same(t, "the answers again", show(&a), "")
	same(t, "nothing to store", a.Empty(), true)
	a.Writes = make([]checkpoint.Write, 1)
	same(t, "a write to store", a.Empty(), false)
	pay := task.Awaited{Signal: "pay"}
	m, _, ok := b.Next(pay, accept)
	b.ReadLate(all, 0)
	if !ok || m.Number != 2 {
		t.Fatalf("took %d %v, want 2", m.Number, ok)
	}
	b.Return([]checkpoint.Message{m})
	if m, _, ok = b.Next(pay, accept); !ok || m.Number != 2 {
		t.Errorf("took %d %v, want 2 again, with its old number (rule 21.17)", m.Number, ok)
	}
}

// TestRefuse refuses a message with which the thread does not fit (rule 21.6).
func TestRefuse(t *testing.T) {
	b := boxOf("in in:drop")
	m := b.Input()
	a := b.Refuse(&checkpoint.Message{Number: m.Number}, "it is too large")
	same(t, "Refuse", show(&a), "refuse 1 (it is too large)")
	same(t, "the next one", b.Input().Number, 2)
	a = b.Refuse(&checkpoint.Message{Number: 1}, "again")
	same(t, "once", a.Empty(), true)
}

// TestReadLate reads while a run is in progress: it takes no input (rule 21.4), and its listener
// obeys cancels (rule 21.10).
func TestReadLate(t *testing.T) {
	b := new(Box)
	b.ReadLate(messages("in cancel pay answer:k/q wake"), 0)
	same(t, "known", b.Known, 5)
	if b.Input() != nil || b.Cancel() != nil {
		t.Errorf("input %v, cancel %v; want none", b.Input(), b.Cancel())
	}
	m, a, ok := b.Next(task.Awaited{Signal: "pay"}, accept)
	same(t, "the signal", fmt.Sprint(m.Number, " ", show(&a), " ", ok), "3 take [3] true")
	a = b.RefuseAnswers(nil)
	same(t, "the answer", show(&a), "refuse 4 ("+NotAsked+")")
}

// TestBegin opens the run: its end makes the thread due for inputs and cancels that have come.
func TestBegin(t *testing.T) {
	b := boxOf("in cancel in pay")
	b.Begin()
	if b.Input() != nil || b.Cancel() != nil {
		t.Errorf("input %v, cancel %v; want none", b.Input(), b.Cancel())
	}
	_, _, ok := b.Next(task.Awaited{Signal: "pay"}, accept)
	same(t, "a signal is left", ok, true)
}

// TestOlder tells the messages that are older than a run from those that its listener reads.
func TestOlder(t *testing.T) {
	same(t, "of a run that read the inbox", (&Box{Checked: true, Opened: 7}).Older(5), 5)
	same(t, "of one that did not", (&Box{Opened: 7}).Older(5), 7)
}

// TestMark tells cancels that are older than a run line from those that end it (rule 21.9).
func TestMark(t *testing.T) {
	for _, row := range []struct {
		name        string
		began, seen uint64
		input       bool
		want        string
	}{
		{"nothing was posted", 0, 0, true, "0 true"},
		{"an Invoke: a newer message can be older than the line", 0, 7, true, "7 true"},
		{"a fork", 0, 7, false, "7 false"},
		{"an input from the inbox: by its own number", 5, 7, true, "5 false"},
	} {
		b := Box{Began: row.began}
		number, least := b.Mark(row.seen, row.input)
		same(t, row.name, fmt.Sprint(number, least), row.want)
	}
}

// TestReasonsAreCut stores no reason that is longer than a saver accepts.
func TestReasonsAreCut(t *testing.T) {
	b := boxOf("in")
	a := b.RefuseInput(strings.Repeat("ä", checkpoint.MaxReason))
	same(t, "bytes", len(a.Messages.Refuse[0].Reason), checkpoint.MaxReason)
}

// between reports whether r is between two words of the texts of tests.
func between(r rune) bool { return r == ' ' || r == '|' }
