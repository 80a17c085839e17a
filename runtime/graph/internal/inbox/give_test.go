package inbox

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// open makes questions from a text such as "k/pay k/pay:7<5 k@sub/q? k/sleep<3 k/pause<4": a
// receive, one with a key that is due at minute 5, a question of a call, a sleep and a pause.
func open(text string) (all []Question) {
	for _, word := range strings.Fields(text) {
		word, due, _ := strings.Cut(word, "<")
		key, name, _ := strings.Cut(word, "/")
		var q Question
		if minute, err := strconv.Atoi(due); err == nil {
			q.Of.Due = at(minute)
		}
		q.Stored = checkpoint.Write{Task: key, Kind: checkpoint.Question}
		if of, ok := strings.CutSuffix(key, "@sub"); ok {
			q.Stored.Task, q.Stored.Namespace = of, "sub"
		}
		asked, question := strings.CutSuffix(name, "?")
		switch {
		case question:
			q.Stored.Name = asked
		case name == "sleep":
			q.Stored.Name = "/sleep"
		case name == "pause":
			q.Stored.Name = pauseName
		default:
			signal, of, _ := strings.Cut(name, ":")
			q.Of.Name, q.Of.Payload = task.SignalName(signal), []byte(of)
			q.Stored.Name = q.Of.Name
			q.Check = func(b []byte) error {
				if string(b) == "bad" {
					return errors.New("bad")
				}
				return nil
			}
		}
		q.Of.Name = q.Stored.Name
		all = append(all, q)
	}
	return all
}

// pauseName is the place of the pause before the second attempt of a task.
const pauseName = "/retry#2"

// provide calls Provide for a row. It returns the act, and the minute of the wake; 0 for never.
func (r *provided) provide(b *Box) (string, int) {
	o := Resumed{Graph: "g", Signals: map[string]bool{"pay": true}, Open: open(r.open), Now: at(r.now)}
	o.Check = func(_ *Question, m *checkpoint.Message) error {
		if m.Posted.Equal(at(9)) {
			return errors.New("the answer is of another type")
		}
		return nil
	}
	o.Counts = slices.DeleteFunc(slices.Clone(o.Open), func(q Question) bool { return strings.HasPrefix(q.Stored.Task, "lost") })
	if key, name, ok := strings.Cut(r.given, "/"); ok {
		o.Given = []checkpoint.Write{{Task: key, Name: name, Kind: checkpoint.Answer}}
	}
	if key, ok := strings.CutPrefix(r.given, "rerun "); ok {
		o.Given, o.Skipped = nil, EndPauses(o.Counts, "", key)
	}
	a, wake := b.Provide(&o)
	minute := 0
	if !wake.IsZero() {
		minute = wake.Minute()
	}
	return show(&a), minute
}

// provided is a row of TestProvide.
type provided struct {
	rule, name, box, open, given string
	now                          int // the minute
	want                         string
	wake                         int // the minute; 0 for never
}

func TestProvide(t *testing.T) {
	const late = "wake|wake|wake|wake|wake|wake|wake|wake "
	for _, row := range []provided{
		{rule: "21.16", name: "nothing"},
		{rule: "22.6", name: "a question that never expires, and a timer", open: "a/q? k/sleep<3", now: 3, want: "k//sleep passed"},
		{rule: "21.25", name: "one answer of two is to an open question", box: "answer:k/q answer:k/r", open: "k/q?", want: "take [1], refuse 2 (" + NotAsked + "), k/q"},
		{rule: "21.16", name: "a signal for a task that waits", box: "pay", open: "k/pay", want: "take [1], k//signal/pay"},
		{rule: "21.13", name: "of a call, with a note", box: "pay", open: "k@sub/pay", want: "take [1], k//signal/pay, note"},
		{rule: "21.13", name: "the oldest goes to the first", box: "pay|pay", open: "a/pay b/pay", want: "take [1 2], a//signal/pay, b//signal/pay"},
		{rule: "21.13", name: "each goes to one task", box: "pay", open: "a/pay b/pay", want: "take [1], a//signal/pay"},
		{rule: "21.13", name: "of another key", box: "pay:7", open: "k/pay:8"},
		{rule: "21.16", name: "a task that counts no more gets none", box: "pay", open: "lost/pay"},
		{rule: "21.20", name: "no task waits for it", box: "pay"},
		{rule: "21.20", name: "it cannot be decoded", box: "pay:bad|pay:bad", open: "k/pay:bad",
			want: `refuse 1 (the payload of signal "pay" is of another type: bad), refuse 2 (the payload of signal "pay" is of another type: bad)`},
		{rule: "21.6", name: "one that is refused does not delay the next", box: "pay:bad pay", open: "k/pay:bad a/pay",
			want: `take [2], refuse 1 (the payload of signal "pay" is of another type: bad), a//signal/pay`},
		{rule: "21.20", name: "no node lists it", box: "pay old", want: `refuse 2 (no node of graph "g" lists signal "old")`},
		{rule: "21.4", name: "an answer", box: "answer:k/q", open: "k/q?", want: "take [1], k/q"},
		{rule: "21.5", name: "the first answer counts", box: "answer:k/q|answer:k/q", open: "k/q?", want: "take [1], refuse 2 (it was answered by a Resume), k/q"},
		{rule: "21.5", name: "that of a Resume counts", box: "answer:k/q", open: "k/q?", given: "k/q", want: "refuse 1 (it was answered by a Resume)"},
		{rule: "21.5", name: "that of a Resume, and one to another question", box: "answer:k/q answer:a/q", open: "k/q? a/q?", given: "k/q",
			want: "take [2], refuse 1 (it was answered by a Resume), a/q"},
		{rule: "21.5", name: "after a refused one, the next counts", box: late + "answer:k/q|answer:k/q", open: "k/q?",
			want: "take [10], refuse 9 (the answer is of another type), k/q"},
		{rule: "21.25", name: "the question is not open in the branch", box: "answer:k/other", open: "k/q?", want: "refuse 1 (" + NotAsked + ")"},
		{rule: "21.25", name: "a Resume answers another question", box: "answer:k/q", open: "a/q?", given: "k/q", want: "refuse 1 (" + NotAsked + ")"},
		{rule: "22.6", name: "a timer whose time has come", open: "k/sleep<3", now: 3, want: "k//sleep passed"},
		{rule: "22.6", name: "a timer that is too early", open: "k/sleep<3 k/q?<5", now: 2, wake: 3},
		{rule: "22.5", name: "the earliest of the others", open: "a/sleep<5 b/sleep<4 c/sleep<2", now: 2, want: "c//sleep passed", wake: 4},
		{rule: "22.4", name: "of a task that lost its race", open: "lost/sleep<3", now: 5},
		{rule: "22.8", name: "a question whose time has come", open: "k/q?<3", now: 3, want: "k/q passed"},
		{rule: "22.8", name: "an answer counts that was posted by then", box: "answer:k/q", open: "k/q?<3", now: 9, want: "take [1], k/q"},
		{rule: "22.8", name: "a Resume answers it", open: "k/q?<3", given: "k/q", now: 3},
		{rule: "21.18", name: "a signal that was posted by then", box: "wake|wake pay", open: "k/pay<3", now: 9, want: "take [3], k//signal/pay"},
		{rule: "21.18", name: "a later signal", box: "wake|wake|wake pay", open: "k/pay<3", now: 9, want: "k//signal/pay passed"},
		{rule: "22.11", name: "Rerun ends a pause", open: "k/pause<9 a/pause<9", given: "rerun k", now: 2, want: "k/" + pauseName + " passed", wake: 9},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			b := boxOf(row.box)
			got, wake := row.provide(b)
			same(t, "Provide", got, row.want)
			same(t, "wake", wake, row.wake)
		})
	}
}

// TestANodeThatListsNoSignal leaves the signal in the inbox: a program of another version of the
// graph may list it (rule 21.20).
func TestANodeThatListsNoSignal(t *testing.T) {
	all := open("k/pay")
	all[0].Check = nil
	b := boxOf("pay")
	a := b.Give(all, checkpoint.ID{})
	same(t, "Give", show(&a), "")
	same(t, "Has", b.Has(all), false)
	same(t, "Has, for another task", b.Has(open("a/pay")), true)
	same(t, "Has, for a question", b.Has(open("a/pay?")), false)
	same(t, "Has, of another key", b.Has(open("a/pay:7")), false)
}

// TestNext takes signals for a task that runs.
func TestNext(t *testing.T) {
	b := boxOf("pay:7 other pay|pay")
	refuse := func(payload []byte) error {
		if len(payload) > 0 {
			return errors.New("bad")
		}
		return nil
	}
	for _, row := range []struct {
		rule, name string
		w          task.Awaited
		want       string
	}{
		{"21.13", "the oldest of a name and a key", task.Awaited{Signal: "pay"}, "3 take [3] true"},
		{"21.18", "it was posted too late", task.Awaited{Signal: "pay", Due: at(3)}, "0  false"},
		{"21.20", "it cannot be decoded", task.Awaited{Signal: "pay", Key: "7"}, `1 refuse 1 (the payload of signal "pay" is of another type: bad) false`},
		{"21.13", "the next one", task.Awaited{Signal: "pay"}, "4 take [4] true"},
		{"21.13", "there is none", task.Awaited{Signal: "pay"}, "0  false"},
	} {
		m, a, ok := b.Next(row.w, refuse)
		same(t, row.rule+" "+row.name, fmt.Sprint(m.Number, " ", show(&a), " ", ok), row.want)
	}
}

// TestWake is about a run that has nothing else to do.
func TestWake(t *testing.T) {
	for _, row := range []struct{ rule, name, box, open, want string }{
		{"21.16", "a signal for a receive that is not due", "pay", "a/q? k/pay<9", "take [1], k//signal/pay"},
		{"22.4", "a timer", "", "k/sleep<5 k/other?<6", "k//sleep passed"},
		{"22.8", "an answer was posted by then, which the next run takes", "answer:k/q", "k/q?<5", ""},
		{"22.8", "an answer was posted too late", "wake|wake answer:k/q", "k/q?<2", "k/q passed"},
		{"21.18", "a signal was posted by then", "wake pay", "k/pay<2", "take [2], k//signal/pay"},
	} {
		a := boxOf(row.box).Wake(open(row.open), checkpoint.ID{}, at(5))
		same(t, row.rule+" "+row.name, show(&a), row.want)
	}
}

// TestTaskOrder gives the oldest signal to the first of several tasks (rule 21.16).
func TestTaskOrder(t *testing.T) {
	all := open("c/pay a/pay b/pay")
	for i, position := range [][]int{{2, 0}, {1, 1}, {1, 0, 3, 0}} {
		all[i].At = position
	}
	b := boxOf("pay|pay|pay")
	a, _ := b.Provide(&Resumed{Signals: map[string]bool{"pay": true}, Open: all, Counts: all})
	same(t, "the receives", show(&a), "take [1 2 3], b//signal/pay, a//signal/pay, c//signal/pay")
	same(t, "the caller's order", all[0].Stored.Task, "c")
}
