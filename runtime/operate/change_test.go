package operate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/internal/fixtures"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestActionsFitThreadsThatTheyCanChange has a row for each status.
func TestActionsFitThreadsThatTheyCanChange(t *testing.T) {
	for _, c := range []struct {
		status       checkpoint.Status
		inputs       int
		wake, cancel bool
	}{
		{checkpoint.Running, 0, true, true},
		{checkpoint.Waiting, 0, true, true},
		{checkpoint.Paused, 0, false, true},
		{checkpoint.Failed, 0, true, true},
		{checkpoint.Done, 0, false, false},
		{checkpoint.Done, 1, true, true}, // an imported thread, which no worker runs by itself
		{checkpoint.Ready, 1, true, true},
		{checkpoint.Cancelled, 0, false, false},
	} {
		th := &checkpoint.Thread{Status: c.status, Inputs: c.inputs}
		for a, want := range map[operate.Action]bool{operate.Wake: c.wake, operate.Cancel: c.cancel, operate.Release: true, operate.Delete: true} {
			if got := a.Fits(th); got != want {
				t.Errorf("%s of a thread that is %v with %d inputs: got %t, want %t", a, c.status, c.inputs, got, want)
			}
		}
	}
}

// TestDoChangesAThreadOnlyWithoutADryRun does each action to a thread twice: dry, and then.
func TestDoChangesAThreadOnlyWithoutADryRun(t *testing.T) {
	for _, c := range []struct {
		op   operate.Operation
		want operate.Changed
	}{
		{operate.Operation{Action: operate.Wake}, operate.Changed{}},
		{operate.Operation{Action: operate.Cancel, Reason: "late"}, operate.Changed{}},
		{operate.Operation{Action: operate.Release, IfHead: "head"}, operate.Changed{Version: 1, Records: 2}},
		{operate.Operation{Action: operate.Delete}, operate.Changed{Versions: 1}},
		{operate.Operation{Action: operate.Signal, Signal: "paid", JSON: operate.JSON(`{"Card": "1"}`)}, operate.Changed{}},
		{operate.Operation{Action: operate.Replay, To: "due:work", Metadata: map[string]string{"actor": "ann"}}, operate.Changed{}},
		{operate.Operation{Action: operate.Replay, To: "head~0"}, operate.Changed{}},
	} {
		s := memory.New()
		app := newApp(t, s, func(context.Context) error { return errors.New("broken") })
		if _, err := app.Thread("t").Invoke(t.Context(), fixtures.ParcelUpdate{}); err == nil {
			t.Fatal("the node did not fail")
		}
		o := &operate.Operator{Saver: s}
		if c.op.Action == operate.Replay {
			o.Graphs = map[string]graph.Untyped{"parcels": app.Untyped()}
		}
		stand := func() string {
			th, err := o.Find(t.Context(), "t")
			return fmt.Sprint(th.Version, th.Versions, th.Others, th.Wake.IsZero(), err)
		}
		before := stand()
		th, err := o.Find(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		dry := c.op
		dry.DryRun = true
		if _, err := o.Do(t.Context(), dry, &th); err != nil || stand() != before {
			t.Errorf("%s, dry: got %v, %s; want %s", c.op.Action, err, stand(), before)
		}
		got, err := o.Do(t.Context(), c.op, &th)
		if replayed := !got.At.IsZero(); replayed != (c.op.Action == operate.Replay) {
			t.Errorf("%s: got the checkpoint %s", c.op.Action, got.At)
		}
		if got.At = (checkpoint.ID{}); err != nil || got != c.want || stand() == before {
			t.Errorf("%s: got %+v, %v, %s; want %+v and a change", c.op.Action, got, err, stand(), c.want)
		}
	}
	var wrong *operate.RequestError
	o := &operate.Operator{Saver: memory.New()}
	if _, err := o.Do(t.Context(), operate.Operation{Action: operate.Signal, Signal: "paid", JSON: operate.JSON("{"), DryRun: true}, &checkpoint.Thread{ID: "t"}); err == nil {
		t.Error("a dry run of a signal took a payload that is no JSON")
	}
	if _, err := o.Do(t.Context(), operate.Operation{Action: "shake"}, &checkpoint.Thread{ID: "t"}); !errors.As(err, &wrong) {
		t.Errorf("an unknown action: got %v, want a RequestError", err)
	}
}

// TestASelectionHasTheWordsOfItsUser selects threads by a text, and hides some.
func TestASelectionHasTheWordsOfItsUser(t *testing.T) {
	s := memory.New()
	app := newApp(t, s, func(context.Context) error { return nil })
	for _, id := range []string{"red-1", "red-2", "blue-1"} {
		if _, err := app.Thread(id).Invoke(t.Context(), fixtures.ParcelUpdate{}); err != nil {
			t.Fatal(err)
		}
	}
	o := &operate.Operator{Saver: s, Sees: func(t *checkpoint.Thread) bool { return t.ID != "red-2" }}
	sel := operate.Selection{Status: "done", Order: "newest", Filter: operate.Filter{Text: "RED"}}
	q, err := sel.Query(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for th, err := range o.Threads(t.Context(), q, sel.Filter) {
		if ids = append(ids, th.ID); err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(ids) != "[red-1]" {
		t.Errorf("got %q", ids)
	}
	for text, sel := range map[string]operate.Selection{
		`there is no status "asleep"; want one of running, waiting, paused, failed, done, ready, cancelled`: {Status: "asleep"},
		`there is no order "size"; want one of newest, id`:                                                  {Order: "size"},
		`the label "x" is not name=value`:                                                                   {Labels: []string{"x"}},
	} {
		var wrong *operate.RequestError
		if _, err := sel.Query(time.Now()); !errors.As(err, &wrong) || err.Error() != text {
			t.Errorf("got %v, want %s", err, text)
		}
	}
}
