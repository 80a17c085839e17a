package subgraph

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// TestACallReportsEachUpdateOnce stores the updates of a call over the same state, and restores
// them (rules 18.4 and 18.19).
func TestACallReportsEachUpdateOnce(t *testing.T) {
	made := []string{"a", "b", "c", "d"}
	stored := make(map[string][]byte)
	c := &Call{Same: true, Part: checkpoint.Write{Task: "call", Kind: checkpoint.Result}}
	c.Begin()
	for _, row := range []struct {
		what       string
		step, kept int
		want       string
	}{
		{"the input of the call", 1, 0, ""},
		{"a superstep with two updates", 2, 2, "2: ab"},
		{"the same record again", 2, 2, ""},
		{"a superstep that changed nothing", 3, 2, "3: "},
		{"the record of a pending route, after an edit", 3, 3, "edit 3: c"},
		{"the superstep after it", 4, 4, "4: d"},
	} {
		writes, err := c.Unreported(row.step, row.kept, func(from int) ([]byte, error) {
			return []byte(strings.Join(made[from:row.kept], "")), nil
		})
		got := ""
		for _, w := range writes {
			if w.Task != "call" || w.Kind != checkpoint.Result {
				t.Errorf("%s: stored at %+v", row.what, w)
			}
			stored[w.Name], got = w.Payload, fmt.Sprintf("%s: %s", w.Name, w.Payload)
		}
		if err != nil || got != row.want {
			t.Errorf("%s: %q, %v, want %q", row.what, got, err, row.want)
		}
	}

	restore := func(last int, without string) (string, error) {
		parts, got := maps.Clone(stored), ""
		delete(parts, without)
		again := &Call{Same: true}
		err := again.Restore(last, parts, func(b []byte) error { got += string(b); return nil }, func() int { return len(got) })
		if err != nil {
			return got, err
		}
		if more, err := again.Unreported(last, len(got), nil); more != nil || err != nil {
			t.Errorf("restored at step %d, the call reports %v, %v again", last, more, err)
		}
		return got, nil
	}
	for last, want := range map[int]string{1: "", 2: "ab", 3: "abc", 4: "abcd"} {
		if got, err := restore(last, ""); err != nil || got != want {
			t.Errorf("restored up to step %d: %q, %v, want %q", last, got, err, want)
		}
	}
	var part *PartError
	if _, err := restore(4, "3"); !errors.As(err, &part) || part.Step != 3 || !errors.Is(err, checkpoint.ErrDamaged) {
		t.Errorf("without the updates of step 3: %v", err)
	}
}

// TestACallOverAnotherStateReportsNothing: its result is that of its task.
func TestACallOverAnotherStateReportsNothing(t *testing.T) {
	for _, c := range []*Call{nil, {}} {
		if writes, err := c.Unreported(2, 1, nil); writes != nil || err != nil {
			t.Errorf("%+v reports %v, %v", c, writes, err)
		}
	}
}

// due returns the head of a thread at which nodes are due, and the names of their calls.
func due(nodes ...string) (c checkpoint.Chain, calls []string) {
	c.Last.Base = checkpoint.ID{1}
	for _, node := range nodes {
		c.Due = append(c.Due, checkpoint.Task{Node: node})
		calls = append(calls, journal.DueCall(&c.Last, "", c.Due[len(c.Due)-1]))
	}
	return c, calls
}

// asked returns questions of tasks in namespaces, written "namespace:task".
func asked(in ...string) (questions []checkpoint.Write) {
	for _, q := range in {
		namespace, key, _ := strings.Cut(q, ":")
		questions = append(questions, checkpoint.Write{Namespace: namespace, Task: key, Kind: checkpoint.Question, Payload: []byte{1}})
	}
	return questions
}

// places returns writes in the notation of asked.
func places(writes []checkpoint.Write) (in []string) {
	for i := range writes {
		in = append(in, writes[i].Namespace+":"+writes[i].Task)
	}
	return in
}

// TestOnlyDueCallsHaveOpenQuestions lists questions of calls, at any depth (rules 18.7 and 18.12).
func TestOnlyDueCallsHaveOpenQuestions(t *testing.T) {
	c, calls := due("a", "b")
	c.Thread.Questions = asked(":root", calls[0]+":k", "old-call:k", calls[1]+"/inner:k", calls[0]+":"+journal.StopTask)
	want := []string{calls[0] + ":k", calls[1] + "/inner:k", calls[0] + ":" + journal.StopTask}
	if got := places(Open("", &c)); !slices.Equal(got, want) {
		t.Errorf("open: %q, want %q", got, want)
	}
	asking := Asking("", c.Thread.Questions)
	for call, want := range map[string][]string{calls[0]: {want[0], want[2]}, calls[1]: {want[1]}, "old-call": {"old-call:k"}} {
		if got := places(asking[call]); !slices.Equal(got, want) {
			t.Errorf("questions of the call %q: %q, want %q", call, got, want)
		}
	}
	inner := Asking(calls[1], asking[calls[1]])
	if len(asking) != 3 || len(inner) != 1 || !slices.Equal(places(inner["inner"]), want[1:2]) {
		t.Errorf("%d calls ask, and in the second call %v; want 3, and the inner one", len(asking), inner)
	}
}

// TestAResumeClearsTheStopsOfDueCalls: rule 18.8.
func TestAResumeClearsTheStopsOfDueCalls(t *testing.T) {
	c, calls := due("a")
	c.Thread.Questions = asked(calls[0]+":k", calls[0]+"/inner:"+journal.StopTask, "old-call:"+journal.StopTask)
	got := ClearStops(&c)
	if want := []string{calls[0] + "/inner:" + journal.StopTask}; !slices.Equal(places(got), want) || got[0].Kind != checkpoint.Answer {
		t.Errorf("cleared: %q, want answers at %q", places(got), want)
	}
}

// TestWithdrawalsReachCallsWithin withdraws the questions of calls that begin again or count no
// more (rule 18.10).
func TestWithdrawalsReachCallsWithin(t *testing.T) {
	open := asked(":k", "x:k", "x/y/z:k", "xy:k", "w/x:k")
	got := Withdrawals(open, map[string]bool{"x": true})
	if want := []string{"x:k", "x/y/z:k"}; !slices.Equal(places(got), want) {
		t.Errorf("withdrawn: %q, want %q", places(got), want)
	}
	for _, w := range got {
		if w.Kind != checkpoint.Answer {
			t.Errorf("%s has kind %v", w.Namespace, w.Kind)
		}
	}
	if open[1].Kind != checkpoint.Question {
		t.Error("the questions have changed")
	}
}

// TestReadMemory: rule 18.5, in a graph whose nodes were renamed.
func TestReadMemory(t *testing.T) {
	renamed := func(node string) string {
		return map[string]string{"old": "new", "older": "new"}[node] + map[string]string{"same": "same", "new": "new"}[node]
	}
	for _, row := range []struct {
		what   string
		stored map[string]string
		want   Memory
	}{
		{"nothing", nil, nil},
		{"a node with its id", map[string]string{"same": "1"}, Memory{"same": {Namespace: "1"}}},
		{"a renamed node", map[string]string{"old": "1"}, Memory{"new": {Namespace: "1"}}},
		{"a renamed node that has stored a call since", map[string]string{"old": "1", "new": "2"}, Memory{"new": {Namespace: "2"}}},
		{"two former ids, always in one order", map[string]string{"old": "1", "older": "2"}, Memory{"new": {Namespace: "2"}}},
	} {
		if got := ReadMemory(row.stored, renamed); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: %+v, want %+v", row.what, got, row.want)
		}
	}
}
