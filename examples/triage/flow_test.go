package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// testFlow returns the graph on a memory saver. It checks that no node modifies its state.
func testFlow(t *testing.T) (*flow, outbox) {
	t.Helper()
	out := outbox{t.TempDir()}
	d, err := newDesk(out, 0)
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFlow(d, memory.New(), graph.Strict())
	if err != nil {
		t.Fatal(err)
	}
	return f, out
}

// builtIn returns the tickets that are part of the program.
func builtIn(t *testing.T) []Line {
	t.Helper()
	lines, err := readTickets("")
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// ticket returns one of the built-in tickets.
func ticket(t *testing.T, id string) Line {
	t.Helper()
	lines := builtIn(t)
	i := slices.IndexFunc(lines, func(l Line) bool { return l.ID == id })
	if i < 0 {
		t.Fatalf("no ticket %s", id)
	}
	return lines[i]
}

// verdict is a person's assessment of a ticket in testdata/verdicts.txt.
type verdict struct {
	category Category
	end      string
	tries    int
}

func verdicts(t *testing.T, in []byte) map[string]verdict {
	t.Helper()
	all := make(map[string]verdict)
	lines := bufio.NewScanner(bytes.NewReader(in))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		var id string
		var v verdict
		if _, err := fmt.Sscan(lines.Text(), &id, &v.category, &v.end, &v.tries); err != nil {
			t.Fatalf("verdicts.txt: %q: %v", lines.Text(), err)
		}
		all[id] = v
	}
	return all
}

// ended returns the outcome of a run in the words of the verdicts.
func ended(res graph.Result[State]) string {
	if res.Status == graph.Paused {
		return "approval"
	}
	switch res.State.Outcome {
	case HandedOver:
		return "handover"
	case Discarded:
		return "discard"
	}
	return "reply"
}

func TestEveryTicketEndsAsAPersonWouldHaveIt(t *testing.T) {
	f, out := testFlow(t)
	want := verdicts(t, verdictsTXT)
	lines := builtIn(t)
	if len(lines) < 50 || len(lines) != len(want) {
		t.Fatalf("%d tickets and %d verdicts; want at least 50, and as many", len(lines), len(want))
	}
	for _, l := range lines {
		res, err := f.Thread(l.ID).Invoke(t.Context(), StateUpdate{Raw: state.Set(l.Raw)})
		if err != nil {
			t.Errorf("%s: %v", l.ID, err)
			continue
		}
		got := verdict{res.State.Category, ended(res), res.State.Tries}
		if got != want[l.ID] {
			t.Errorf("%s: got %+v, want %+v; log:\n%s", l.ID, got, want[l.ID], strings.Join(res.State.Log, "\n"))
		}
		if _, err := out.letter(l.ID); (err == nil) != (got.end != "approval") {
			t.Errorf("%s ended with %s, and its letter: %v", l.ID, got.end, err)
		}
	}
}

func TestNothingIsPaidBeforeAPersonApproves(t *testing.T) {
	f, out := testFlow(t)
	th := f.Thread("T-1001")
	res, err := th.Invoke(t.Context(), StateUpdate{Raw: state.Set(ticket(t, "T-1001").Raw)})
	if err != nil || res.Status != graph.Paused || !slices.Equal(res.Next, []graph.ID{NodeRefund}) {
		t.Fatalf("status %v, next %v, error %v; want paused before the refund", res.Status, res.Next, err)
	}
	if _, err := th.Resume(t.Context()); !errors.Is(err, errUndecided) {
		t.Errorf("resumed without a decision: %v, want errUndecided", err)
	}
	if got, err := out.tickets(); err != nil || len(got) != 0 {
		t.Fatalf("the outbox holds %q, %v; want nothing", got, err)
	}
	if _, err := th.UpdateState(t.Context(), StateUpdate{Decision: state.Set(Approved)}); err != nil {
		t.Fatal(err)
	}
	if res, err = th.Resume(t.Context()); err != nil || res.Status != graph.Done || res.State.Outcome != Refunded {
		t.Fatalf("status %v, outcome %q, error %v; want finished and refunded", res.Status, res.State.Outcome, err)
	}
	l, err := out.letter("T-1001")
	if err != nil || l.Refund != "USD 129.00" || !strings.Contains(l.Text, l.Refund) {
		t.Errorf("the letter is %+v, %v; want one that refunds USD 129.00", l, err)
	}
}

func TestBothSourcesAnswerInOneSuperstep(t *testing.T) {
	f, _ := testFlow(t)
	th := f.Thread("T")
	if _, err := th.Invoke(t.Context(), StateUpdate{Raw: state.Set(ticket(t, "T-1001").Raw)}); err != nil {
		t.Fatal(err)
	}
	var steps []string // oldest first
	for snap, err := range th.History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, join(snap.Next))
	}
	slices.Reverse(steps)
	want := []string{graph.Start.String(), "parse", "classify", "policy, customer", "assess", "draft", "check", "draft", "check", "refund"}
	if !slices.Equal(steps, want) {
		t.Errorf("what was due, step by step:\n got %q\nwant %q", steps, want)
	}
}

func TestAProblemIsForgottenOnceTheNextDraftIsMade(t *testing.T) {
	f, _ := testFlow(t)
	th := f.Thread("T")
	if _, err := th.Invoke(t.Context(), StateUpdate{Raw: state.Set(ticket(t, "T-1001").Raw)}); err != nil {
		t.Fatal(err)
	}
	for snap, err := range th.History(t.Context(), checkpoint.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		afterFirstCheck := snap.State.Tries == 1 && slices.Equal(snap.Next, []graph.ID{NodeDraft})
		if got := len(snap.State.Problems) > 0; got != afterFirstCheck {
			t.Errorf("step %d: problems %v, next %v", snap.Step, snap.State.Problems, snap.Next)
		}
	}
}

func TestTheCustomersAdviserGoesBeforeThePolicysDesk(t *testing.T) {
	f, _ := testFlow(t)
	res, err := f.Run(context.Background(), StateUpdate{Raw: state.Set([]byte(
		`{"id":"T-1","from":"grace.nakamura@example.com","subject":"Idea","body":"a feature request: it would be great","received":"2026-11-02T08:14:09Z"}`))})
	if err != nil {
		t.Fatal(err)
	}
	s := res.State
	if s.Desk != "advisers" || s.Priority != 4 || s.ReplyHours != 4 || !s.Urgent || s.Refundable {
		t.Errorf("desk %q, priority %d, %d h, urgent %t, refundable %t; want advisers, 4, 4 h, true, false",
			s.Desk, s.Priority, s.ReplyHours, s.Urgent, s.Refundable)
	}
	if want := map[string]string{"desk": "product", "customer": "Grace Nakamura, guide"}; fmt.Sprint(s.Facts) != fmt.Sprint(want) {
		t.Errorf("facts %v, want %v", s.Facts, want)
	}
}

func TestABadTicketFailsAloneAndSaysWhy(t *testing.T) {
	f, _ := testFlow(t)
	_, err := f.Thread("T-9").Invoke(t.Context(), StateUpdate{Raw: state.Set([]byte(`{"id":"T-9","body":"x"}`))})
	var node *graph.NodeError
	if !errors.As(err, &node) || node.Node != NodeParse || !strings.Contains(err.Error(), "received: missing") {
		t.Errorf("got %v, want a failure of parse that misses the time", err)
	}
}
