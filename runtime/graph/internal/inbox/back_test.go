package inbox

import (
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// base is that of the due tasks.
var base = checkpoint.ID{7}

// received returns the stored answer of a receive.
func received(namespace, key string, m *checkpoint.Message) checkpoint.Write {
	return Received(checkpoint.Write{Namespace: namespace, Base: base, Task: key, Name: task.SignalName("pay")}, m, base)[0]
}

// TestLosses returns the signals of tasks and calls that do not count (rule 21.17).
func TestLosses(t *testing.T) {
	m := messages("pay|pay|pay|pay|pay|pay")
	notes := []journal.Received{
		{Namespace: "x", Task: "1", Message: m[2]}, {Namespace: "x/y", Task: "2", Message: m[0]},
		{Namespace: "z", Task: "1", Message: m[1]}, {Namespace: "z", Task: "2", Message: m[3]},
	}
	l := Losses{Namespace: "z", Tasks: map[string]bool{"1": true}, Calls: map[string]bool{"x": true}}
	a, err := l.Back(notes, base, nil)
	same(t, "error", err, nil)
	same(t, "inside a call", show(&a), "return 1, return 2, return 3, drop note, drop note, drop note")

	pending := journal.Gather([]checkpoint.Write{
		received("", "1", &m[4]), received("", "2", &m[5]),
		{Base: base, Task: "1", Name: task.SignalName("pay") + "#1", Kind: checkpoint.Answer, Payload: []byte(task.Passed)},
		{Base: base, Task: "1", Name: "q", Kind: checkpoint.Answer, Payload: []byte("an answer of a person")},
	}, base, "")
	l = Losses{Tasks: map[string]bool{"1": true, "3": true, "4": true, "5": true}, Calls: map[string]bool{"x": true}}
	for range 20 { // in each order of the tasks and their answers
		a, err = l.Back(notes, base, pending.Asked)
		same(t, "error", err, nil)
		same(t, "of the thread itself", show(&a), "return 1, return 3, return 5, drop note, drop note")
	}

	pending = journal.Gather([]checkpoint.Write{{Base: base, Task: "1", Name: task.SignalName("pay"), Kind: checkpoint.Answer, Payload: []byte("?")}}, base, "")
	if _, err := l.Back(nil, base, pending.Asked); err == nil {
		t.Error("a damaged signal is no error")
	}
}

// TestLeave returns the signals of the unfinished tasks of a branch that an input leaves, also of
// those in calls (rule 21.17). It returns all signals of calls that count no more, and none of
// other calls (rule 21.27).
func TestLeave(t *testing.T) {
	m := messages("pay|pay|pay|pay|pay|pay|pay|pay")
	older := received("", "1", &m[4])
	older.Base = checkpoint.ID{6}
	asked := received("", "1", &m[4])
	asked.Kind = checkpoint.Question
	head := &checkpoint.Chain{Last: checkpoint.Record{Base: base}, Writes: []checkpoint.Write{
		received("", "2", &m[1]), {Base: base, Task: "2", Kind: checkpoint.Result},
		{Base: base, Task: "3", Name: task.SignalName("pay"), Kind: checkpoint.Answer, Payload: []byte(task.Passed)},
		{Base: base, Task: "4", Name: "q", Kind: checkpoint.Answer},
		received("x", "5", &m[0]), older, asked,
		received("", "1", &m[3]),
	}}
	inner := &checkpoint.Chain{Last: checkpoint.Record{Base: base}, Writes: []checkpoint.Write{
		received("x", "5", &m[0]), received("x", "6", &m[2]), {Namespace: "x", Base: base, Task: "6", Kind: checkpoint.Result},
	}}
	lost := &checkpoint.Chain{Last: checkpoint.Record{Base: base}, Writes: []checkpoint.Write{received("z", "8", &m[6])}}
	notes := []journal.Received{
		{Namespace: "x", Task: "5", Message: m[0]}, {Namespace: "x", Task: "6", Message: m[2]}, {Namespace: "x/ended", Task: "7", Message: m[5]},
		{Namespace: "z", Task: "8", Message: m[6]}, {Namespace: "z/y", Task: "9", Message: m[7]},
	}
	a, err := Leave(map[string]*checkpoint.Chain{"": head, "x": inner, "z": lost}, map[string]bool{"x": false, "z": true}, nil, notes, base)
	same(t, "error", err, nil)
	same(t, "Leave", show(&a),
		"return 1, return 4, return 7, return 8, drop 1//signal/pay, drop 5//signal/pay, drop 8//signal/pay, drop note, drop note, drop note")

	head.Writes[len(head.Writes)-1].Payload = []byte("?")
	if a, err := Leave(map[string]*checkpoint.Chain{"": head}, nil, nil, nil, base); err == nil || !a.Empty() {
		t.Errorf("got %q, %v; want an error for a damaged signal", show(&a), errors.Unwrap(err))
	}
}
