package concluded

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// TestEnded states the rules 26.1 to 26.5 as a table.
func TestEnded(t *testing.T) {
	for _, row := range []struct {
		rule string
		f    Facts
		want bool
	}{
		{"26.1 done", Facts{Status: checkpoint.Done}, true},
		{"26.1 done, and due because another input waits", Facts{Status: checkpoint.Done, Wake: true, Now: true}, true},
		{"26.1 done, before the input begins", Facts{Status: checkpoint.Done, Queued: true}, false},
		{"26.1 cancelled", Facts{Status: checkpoint.Cancelled}, true},
		{"26.1 cancelled, before the input begins", Facts{Status: checkpoint.Cancelled, Queued: true}, false},
		{"26.1 a run in progress", Facts{Status: checkpoint.Running, Wake: true}, false},
		{"26.1 a run that was interrupted", Facts{Status: checkpoint.Ready}, false},
		{"26.1 no version is open", Facts{Queued: true, Wake: true}, false},
		{"26.3 failed", Facts{Status: checkpoint.Failed}, true},
		{"26.3 failed, and no input begins", Facts{Status: checkpoint.Failed, Queued: true}, true},
		{"26.3 failed, before the next attempt", Facts{Status: checkpoint.Failed, Wake: true}, false},
		{"26.2 a later input has begun", Facts{Status: checkpoint.Running, Wake: true, Passed: true}, true},
		{"26.5 waiting", Facts{Status: checkpoint.Waiting}, false},
		{"26.5 waiting, and that is enough", Facts{Status: checkpoint.Waiting, UntilWaiting: true}, true},
		{"26.5 waiting for a time, and that is enough", Facts{Status: checkpoint.Waiting, Wake: true, UntilWaiting: true}, true},
		{"26.5 waiting, and an answer has come", Facts{Status: checkpoint.Waiting, Now: true, UntilWaiting: true}, false},
		{"26.5 waiting, so that the input cannot begin", Facts{Status: checkpoint.Waiting, Queued: true, UntilWaiting: true}, true},
		{"26.5 paused", Facts{Status: checkpoint.Paused}, false},
		{"26.5 paused, and that is enough", Facts{Status: checkpoint.Paused, UntilWaiting: true}, true},
	} {
		if got := row.f.Ended(); got != row.want {
			t.Errorf("%s: got %t, want %t", row.rule, got, row.want)
		}
	}
}
