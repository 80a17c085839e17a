package journal_test

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// The table has rules 11.7, 12.2, 14.1, 14.7 and 18.8 of docs/rules.md.
func TestTheFirstReasonDecidesTheStatus(t *testing.T) {
	for _, c := range []struct {
		what string
		r    journal.Reasons
		want checkpoint.Status
	}{
		{"tasks are due", journal.Reasons{}, 0},
		{"nothing is due", journal.Reasons{Done: true}, checkpoint.Done},
		{"nothing is due, and the context ended", journal.Reasons{Done: true, Interrupted: true}, checkpoint.Done},
		{"nothing is due after MaxSteps", journal.Reasons{Done: true, Failed: true}, checkpoint.Done},
		{"a stop", journal.Reasons{Stop: true}, checkpoint.Paused},
		{"a stop after MaxSteps", journal.Reasons{Stop: true, Failed: true}, checkpoint.Paused},
		{"a stop, and the context ended", journal.Reasons{Stop: true, Interrupted: true}, checkpoint.Paused},
		{"a failure", journal.Reasons{Failed: true}, checkpoint.Failed},
		{"a failure, and the context ended", journal.Reasons{Failed: true, Interrupted: true}, checkpoint.Failed},
		{"a failure and a question", journal.Reasons{Failed: true, Asks: true, StopInside: true}, checkpoint.Failed},
		{"the context ended", journal.Reasons{Interrupted: true}, checkpoint.Ready},
		{"a drained call and a question", journal.Reasons{Interrupted: true, Asks: true}, checkpoint.Ready},
		{"a drained call and a stopped one", journal.Reasons{Interrupted: true, StopInside: true}, checkpoint.Ready},
		{"a question", journal.Reasons{Asks: true}, checkpoint.Waiting},
		{"a question and a stopped call", journal.Reasons{Asks: true, StopInside: true}, checkpoint.Waiting},
		{"a stopped call", journal.Reasons{StopInside: true}, checkpoint.Paused},
	} {
		if got := c.r.Status(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.what, got, c.want)
		}
	}
}
