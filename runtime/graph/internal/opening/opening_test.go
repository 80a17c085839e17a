package opening

import (
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// TestNext asks for all steps of a call. Each row names the rule that it shows.
func TestNext(t *testing.T) {
	due := Head{Due: true, Newest: true, Status: checkpoint.Failed}
	with := func(set func(*Head)) Head { h := due; set(&h); return h }
	held := with(func(h *Head) { h.Leased = true })
	cancelled := with(func(h *Head) { h.Status = checkpoint.Cancelled })
	paused := with(func(h *Head) { h.Status = checkpoint.Paused })
	done := Head{Newest: true, Status: checkpoint.Done}
	for _, row := range []struct {
		rule, name string
		facts      Facts
		want       []Step
	}{
		{"10.1", "input on a new thread", Facts{Head: Head{Empty: true}}, []Step{Load, Begin}},
		{"10.3", "input on a finished thread", Facts{Head: done}, []Step{Load, Begin}},
		{"10.4", "input while something is due", Facts{Head: due}, []Step{Load, Unfinished}},
		{"10.4", "input while a run is in progress", Facts{Head: held}, []Step{Load, Busy}},
		{"10.4", "input that takes over", Facts{Call: Call{TakeOver: true}, Head: held}, []Step{Load, Unfinished}},
		{"10.4", "input that drops the due tasks", Facts{Call: Call{Discard: true}, Head: due}, []Step{Load, Begin}},
		{"10.4", "request sent again", Facts{Call: Call{Named: true}, Head: due, Same: true}, []Step{Load, Compare, ReadMail, Continue}},
		{"10.4", "request sent again while a run is in progress", Facts{Call: Call{Named: true}, Head: held, Same: true}, []Step{Load, Compare, ReadMail, Continue}},
		{"10.4", "another request", Facts{Call: Call{Named: true}, Head: due}, []Step{Load, Compare, Unfinished}},
		{"10.4", "first request", Facts{Call: Call{Named: true}, Head: Head{Empty: true}}, []Step{Load, Begin}},
		{"21.4", "input while another waits", Facts{Head: with(func(h *Head) { *h = done; h.Mail = true })}, []Step{Load, ReadPast, Begin}},
		{"21.4", "input that is refused reads no messages", Facts{Head: with(func(h *Head) { h.Mail = true })}, []Step{Load, Unfinished}},
		{"21.10", "request sent again, and cancelled", Facts{Call: Call{Named: true}, Head: due, Same: true, Cancel: true, Ends: true}, []Step{Load, Compare, ReadMail, Judge, End}},
		{"21.11", "input on a cancelled thread", Facts{Head: cancelled}, []Step{Load, Begin}},

		{"15.1", "resume", Facts{Call: Call{Kind: Resume}, Head: due}, []Step{Load, ReadMail, Continue}},
		{"15.2", "resume of a finished thread", Facts{Call: Call{Kind: Resume}, Head: done}, []Step{Load, ReadMail, Continue}},
		{"15.1", "resume of nothing", Facts{Call: Call{Kind: Resume}, Head: Head{Empty: true}}, []Step{Load, Missing}},
		{"13.3", "resume of a stopped thread", Facts{Call: Call{Kind: Resume}, Head: paused}, []Step{Load, ReadMail, Continue}},
		{"16.2", "replay", Facts{Call: Call{Kind: Resume}, Head: Head{Due: true, Committed: true}}, []Step{Load, Replay}},
		{"16.4", "edit of an older checkpoint", Facts{Call: Call{Kind: Resume, Edit: true}, Head: Head{Due: true}}, []Step{Load, Replay}},
		{"16.1", "edit of the head", Facts{Call: Call{Kind: Resume, Edit: true}, Head: due}, []Step{Load, ReadMail, Continue}},
		{"21.19", "a replay takes no messages", Facts{Call: Call{Kind: Resume}, Head: Head{Due: true, Committed: true, Mail: true}}, []Step{Load, Replay}},
		{"16.3", "a branch that was left", Facts{Call: Call{Kind: Resume}, Head: Head{Due: true}}, []Step{Load, ReadMail, Continue}},
		{"21.10", "resume of a thread that was cancelled meanwhile", Facts{Call: Call{Kind: Resume}, Head: due, Cancel: true, Ends: true}, []Step{Load, ReadMail, Judge, End}},
		{"21.9", "resume after an older cancel", Facts{Call: Call{Kind: Resume}, Head: due, Cancel: true}, []Step{Load, ReadMail, Judge, Continue}},
		{"21.11", "resume of a cancelled thread", Facts{Call: Call{Kind: Resume}, Head: cancelled}, []Step{Load, ReadMail, Continue}},

		{"15.1", "worker: something is due", Facts{Call: Call{Kind: Due}, Head: due}, []Step{Load, ReadMail, Pick, Continue}},
		{"21.2", "worker: an input waits for the due tasks", Facts{Call: Call{Kind: Due}, Head: due, Input: true}, []Step{Load, ReadMail, Pick, Continue}},
		{"21.2", "worker: an input drops the due tasks", Facts{Call: Call{Kind: Due}, Head: due, Input: true, Drops: true}, []Step{Load, ReadMail, Pick, BeginMail}},
		{"21.2", "worker: an input on a finished thread", Facts{Call: Call{Kind: Due}, Head: done, Input: true}, []Step{Load, ReadMail, Pick, BeginMail}},
		{"21.2", "worker: an input on a cancelled thread", Facts{Call: Call{Kind: Due}, Head: cancelled, Input: true}, []Step{Load, ReadMail, Pick, BeginMail}},
		{"21.2", "worker: an input drops a stop", Facts{Call: Call{Kind: Due}, Head: paused, Input: true, Drops: true}, []Step{Load, ReadMail, Pick, BeginMail}},
		{"21.10", "worker: cancelled", Facts{Call: Call{Kind: Due}, Head: due, Cancel: true, Ends: true}, []Step{Load, ReadMail, Judge, End}},
		{"21.11", "worker: a cancelled thread", Facts{Call: Call{Kind: Due}, Head: cancelled}, []Step{Load, ReadMail, Pick, Refuse, Stay}},
		{"15.9", "worker: a stop", Facts{Call: Call{Kind: Due}, Head: paused}, []Step{Load, ReadMail, Pick, Stay}},
		{"15.9", "rehearsal: a stop", Facts{Call: Call{Kind: Due, Rehearse: true}, Head: paused}, []Step{Load, ReadMail, Pick, Continue}},
		{"21.8", "worker: nothing can be done", Facts{Call: Call{Kind: Due}, Head: done}, []Step{Load, ReadMail, Pick, Refuse, Stay}},
		{"21.6", "worker: messages that cannot take effect", Facts{Call: Call{Kind: Due}, Head: done, Noted: true}, []Step{Load, ReadMail, Pick, Refuse, Note}},
		{"21.12", "worker: cancelled before it has begun", Facts{Call: Call{Kind: Due}, Head: Head{Empty: true}, Cancel: true, Noted: true}, []Step{Load, ReadMail, Judge, Pick, Refuse, Seed}},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			var got []Step
			for len(got) == 0 || got[len(got)-1] < Begin && len(got) < 20 {
				got = append(got, row.facts.Next())
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func TestWaiting(t *testing.T) {
	for _, row := range []struct {
		rule, name string
		w          Waiting
		want       Step
	}{
		{"15.1", "a task can run", Waiting{Listed: true}, Run},
		{"12.3", "the last answer has come", Waiting{Writes: true, Listed: true}, Run},
		{"12.9", "every task waits", Waiting{Held: true, Listed: true}, Stay},
		{"12.6", "one of several answers has come", Waiting{Held: true, Writes: true, Listed: true}, Wait},
		{"16.1", "an edit, while every task waits", Waiting{Held: true, Edited: true, Listed: true}, Wait},
		{"21.6", "a message that cannot take effect", Waiting{Held: true, Noted: true, Listed: true}, Wait},
		{"12.2", "the run died before it ended as waiting", Waiting{Held: true}, Wait},
		{"13.1", "a stop", Waiting{Stops: true}, Pause},
		{"13.15", "a stop before tasks that wait", Waiting{Stops: true, Held: true}, Wait},
		{"22.6", "a resume that is too early, at a stop", Waiting{Stops: true, Held: true, Listed: true}, Stay},
	} {
		if got := row.w.Next(); got != row.want {
			t.Errorf("%s %s: got %v, want %v", row.rule, row.name, got, row.want)
		}
	}
}
