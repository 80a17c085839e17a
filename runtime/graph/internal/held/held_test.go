package held

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// due makes tasks from a text such as "free done race1 race1+done asks inside inside+held
// inside+waits fallback+done". Their keys are "0", "1" and so on, and their calls "call 0" and so
// on.
func due(text string) (tasks []Task) {
	for i, word := range strings.FieldsFunc(text, between) {
		t := Task{Key: fmt.Sprint(i)}
		for _, is := range strings.Split(word, "+") {
			if number, ok := strings.CutPrefix(is, "race"); ok {
				t.Race = int(number[0] - '0')
			}
			switch is {
			case "done":
				t.Done = true
			case "asks":
				t.Asks = true
			case "call":
				t.Call = "call " + t.Key
			case "fallback":
				t.Call, t.Fallback = "call "+t.Key, true
			case "alone":
				t.Fallback = true
			case "inside":
				t.Call, t.AsksInside = "call "+t.Key, true
			case "runs":
				t.Inside = &Verdict{}
			case "stops":
				t.Inside = &Verdict{Held: true}
			case "waits":
				t.Inside = &Verdict{Held: true, Waits: true}
			}
		}
		tasks = append(tasks, t)
	}
	return tasks
}

func TestDecide(t *testing.T) {
	free, stops, waits := Verdict{}, Verdict{Held: true}, Verdict{Held: true, Waits: true}
	for _, row := range []struct {
		rule, name, tasks string
		want              Verdict
		read              int
	}{
		{"15.1", "a task can run", "free", free, -1},
		{"12.9", "a task waits", "asks", waits, -1},
		{"12.9", "the others have results", "done asks done", waits, -1},
		{"12.9", "another task can run", "asks free", free, -1},
		{"12.9", "another task can run, and is first", "free asks", free, -1},
		{"15.1", "all have results, so the superstep can be committed", "done|done", free, -1},
		{"6.3", "the race is decided", "race1+done race1 asks", waits, -1},
		{"6.3", "another race is not", "race1+done race2 asks", free, -1},
		{"6.3", "a task that has lost its race waits", "race1+done race1+asks", free, -1},
		{"6.6", "a task of a race waits", "race1+asks|race1+asks", waits, -1},
		{"6.6", "a sibling in the race can run", "race1+asks race1", free, -1},
		{"12.9", "a call asks nothing", "call asks", free, -1},
		{"12.9", "a call has to be read", "asks inside", free, 1},
		{"12.9", "a call in which a task can run", "asks inside+runs", free, -1},
		{"12.9", "a call in which every task waits", "inside+waits done", waits, -1},
		{"13.15", "a call that only stops hold", "inside+stops", stops, -1},
		{"13.15", "one that stops hold, and one that waits", "inside+stops inside+waits", waits, -1},
		{"13.15", "one that waits, and one that stops hold", "inside+waits inside+stops", waits, -1},
		{"13.15", "a task waits, and stops hold a call", "asks inside+stops", waits, -1},
		{"12.9", "calls are read one after the other", "inside+waits inside", free, 1},
		{"12.9", "no call is read after a task that can run", "free inside", free, -1},
		{"6.3", "the call of a task that has lost its race is not read", "race1+done race1+inside asks", waits, -1},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			if got, read := Decide(due(row.tasks)); got != row.want || read != row.read {
				t.Errorf("got %+v %d, want %+v %d", got, read, row.want, row.read)
			}
		})
	}
}

func TestLost(t *testing.T) {
	for _, row := range []struct{ rule, name, tasks, want string }{
		{"21.17", "nothing", "free done asks call", "[] []"},
		{"21.17", "a race that is not decided", "race1 race1+call", "[] []"},
		{"21.17", "a task that has lost its race", "race1+done race1 race2", "[1] []"},
		{"21.17", "its call", "race1+call race1+done+call", "[0] []"},
		{"21.17", "a fallback has perhaps handled the failure of a call", "fallback+done fallback", "[] [0]"},
		{"21.17", "a call with a fallback that has lost its race", "fallback+race1 race1+done", "[0] []"},
		{"21.16", "a call without a fallback has ended", "call+done", "[] []"},
		{"21.17", "a fallback of a node without a call", "done+alone", "[] []"},
	} {
		lost, handled := Lost(due(row.tasks))
		if got := fmt.Sprint(lost, " ", handled); got != row.want {
			t.Errorf("%s %s: got %s, want %s", row.rule, row.name, got, row.want)
		}
	}
}

// TestOver tells the tasks that count from those that have ended. A task that waits in a decided
// race has ended, too (rule 22.4).
func TestOver(t *testing.T) {
	got := Over(due("free done race1+done race1+asks race2 race2+inside"))
	if want := []bool{false, true, true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// between reports whether r is between two words of the texts of tests.
func between(r rune) bool { return r == ' ' || r == '|' }
