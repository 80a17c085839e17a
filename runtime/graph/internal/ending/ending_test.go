package ending

import (
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// The table has rules 11.7, 12.2, 14.1, 14.7, 18.8 and 21.10 of docs/rules.md.
func TestTheFirstReasonDecidesTheStatus(t *testing.T) {
	for _, c := range []struct {
		what string
		r    Reasons
		want checkpoint.Status
	}{
		{"tasks are due", Reasons{}, 0},
		{"nothing is due", Reasons{Done: true}, checkpoint.Done},
		{"nothing is due, and the context ended", Reasons{Done: true, Interrupted: true}, checkpoint.Done},
		{"nothing is due after MaxSteps", Reasons{Done: true, Failed: true}, checkpoint.Done},
		{"a stop", Reasons{Stop: true}, checkpoint.Paused},
		{"a stop after MaxSteps", Reasons{Stop: true, Failed: true}, checkpoint.Paused},
		{"a stop, and the context ended", Reasons{Stop: true, Interrupted: true}, checkpoint.Paused},
		{"a failure", Reasons{Failed: true}, checkpoint.Failed},
		{"a failure, and the context ended", Reasons{Failed: true, Interrupted: true}, checkpoint.Failed},
		{"a failure and a question", Reasons{Failed: true, Asks: true, StopInside: true}, checkpoint.Failed},
		{"the context ended", Reasons{Interrupted: true}, checkpoint.Ready},
		{"a cancel", Reasons{Interrupted: true, Cancelled: true}, checkpoint.Cancelled},
		{"a cancel after the last task", Reasons{Done: true, Interrupted: true, Cancelled: true}, checkpoint.Done},
		{"a cancel at a stop", Reasons{Stop: true, Interrupted: true, Cancelled: true}, checkpoint.Paused},
		{"a cancel after MaxSteps", Reasons{Failed: true, Interrupted: true, Cancelled: true}, checkpoint.Failed},
		{"a drained call and a question", Reasons{Interrupted: true, Asks: true}, checkpoint.Ready},
		{"a drained call and a stopped one", Reasons{Interrupted: true, StopInside: true}, checkpoint.Ready},
		{"a question", Reasons{Asks: true}, checkpoint.Waiting},
		{"a question and a stopped call", Reasons{Asks: true, StopInside: true}, checkpoint.Waiting},
		{"a stopped call", Reasons{StopInside: true}, checkpoint.Paused},
	} {
		if got := c.r.Status(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}

func TestWake(t *testing.T) {
	var never time.Time
	later := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for _, row := range []struct {
		rule, name string
		r          Rest
		want       time.Time
	}{
		{"15.2", "a finished thread", Rest{Status: checkpoint.Done}, never},
		{"21.7", "an input waits", Rest{Status: checkpoint.Done, Inputs: journal.QueuedInputs}, Now()},
		{"21.10", "an input waits on a cancelled thread", Rest{Status: checkpoint.Cancelled, Inputs: journal.QueuedInputs}, Now()},
		{"21.10", "a cancelled thread", Rest{Status: checkpoint.Cancelled, Signal: true, Next: later, Continue: true}, never},
		{"21.2", "an input waits for due tasks", Rest{Status: checkpoint.Failed, Inputs: journal.QueuedInputs}, never},
		{"21.7", "an input drops due tasks", Rest{Status: checkpoint.Failed, Inputs: journal.DiscardingInputs}, Now()},
		{"21.7", "an input drops a stop", Rest{Status: checkpoint.Paused, Inputs: journal.DiscardingInputs}, Now()},
		{"12.2", "an answer has to come", Rest{Status: checkpoint.Waiting}, never},
		{"22.5", "a timer", Rest{Status: checkpoint.Waiting, Next: later}, later},
		{"14.9", "a deadline while an answer has to come", Rest{Status: checkpoint.Waiting, Deadline: later}, later},
		{"14.9", "a deadline after a timer", Rest{Status: checkpoint.Waiting, Next: later, Deadline: later.Add(1)}, later},
		{"14.9", "a deadline before a timer", Rest{Status: checkpoint.Waiting, Next: later.Add(1), Deadline: later}, later},
		{"14.9", "a deadline at a stop", Rest{Status: checkpoint.Paused, Deadline: later}, later},
		{"14.9", "a deadline of a run that was interrupted", Rest{Status: checkpoint.Ready, Deadline: later}, later},
		{"14.9", "a deadline of a worker's run that was interrupted", Rest{Status: checkpoint.Ready, Continue: true, Deadline: later}, Now()},
		{"14.10", "a deadline after a failure", Rest{Status: checkpoint.Failed, Deadline: later}, never},
		{"14.10", "a deadline of finished work", Rest{Status: checkpoint.Done, Deadline: later}, never},
		{"21.16", "a signal has come", Rest{Status: checkpoint.Waiting, Signal: true, Next: later}, Now()},
		{"15.8", "a run that was interrupted", Rest{Status: checkpoint.Ready}, never},
		{"15.8", "a run of a worker that was interrupted", Rest{Status: checkpoint.Ready, Continue: true}, Now()},
		{"15.9", "a stop", Rest{Status: checkpoint.Paused, Continue: true, Next: later}, never},
		{"15.5", "a failure", Rest{Status: checkpoint.Failed, Continue: true, Next: later}, never},
	} {
		if got := row.r.Wake(); !got.Equal(row.want) {
			t.Errorf("%s %s: due at %v, want %v", row.rule, row.name, got, row.want)
		}
	}
}

// TestAnIdleRunRests asks whether a run that has nothing else to do waits in memory.
func TestAnIdleRunRests(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	var none time.Time
	soon, late, past := now.Add(time.Second), now.Add(time.Minute), now.Add(-time.Second)
	for _, row := range []struct {
		rule, name string
		i          Idle
		until      time.Time
		ok         bool
	}{
		{"22.5", "nothing has a time", Idle{}, none, false},
		{"22.5", "a timer within the lease", Idle{Next: soon}, soon, true},
		{"22.5", "a timer at the end of the lease", Idle{Next: now.Add(10 * time.Second)}, now.Add(10 * time.Second), true},
		{"22.5", "a timer after the lease", Idle{Next: late}, none, false},
		{"22.5", "a question is open, which somebody may answer", Idle{Next: soon, Open: true}, none, false},
		{"22.4", "a timer whose time has come", Idle{Next: now}, none, true},
		{"22.8", "a question whose time has passed", Idle{Next: past, Open: true}, none, true},
		{"21.16", "a signal has come", Idle{Signal: true, Open: true}, none, true},
		{"21.16", "a signal has come before a timer", Idle{Signal: true, Open: true, Next: soon}, none, true},
		{"14.4", "a drain", Idle{Next: soon, Draining: true}, none, false},
		{"14.4", "a drain before a signal is received", Idle{Signal: true, Next: past, Draining: true}, none, false},
	} {
		row.i.Lease = 10 * time.Second
		if until, ok := row.i.Rest(now); !until.Equal(row.until) || ok != row.ok {
			t.Errorf("%s %s: until %v, %t, want %v, %t", row.rule, row.name, until, ok, row.until, row.ok)
		}
	}
}
