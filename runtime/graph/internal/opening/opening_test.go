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
	late := with(func(h *Head) { h.Late = true; h.Status = checkpoint.Waiting })
	done := Head{Newest: true, Status: checkpoint.Done}
	for _, row := range []struct {
		rule, name string
		facts      Facts
		want       []Move
	}{
		{"10.1", "input on a new thread", Facts{Head: Head{Empty: true}}, []Move{Load, Begin}},
		{"10.3", "input on a finished thread", Facts{Head: done}, []Move{Load, Begin}},
		{"10.4", "input while something is due", Facts{Head: due}, []Move{Load, Unfinished}},
		{"10.4", "input while a run is in progress", Facts{Head: held}, []Move{Load, Busy}},
		{"10.4", "input that takes over", Facts{Request: Request{TakeOver: true}, Head: held}, []Move{Load, Unfinished}},
		{"10.4", "input that drops the due tasks", Facts{Request: Request{Discard: true}, Head: due}, []Move{Load, Begin}},
		{"10.4", "request sent again", Facts{Request: Request{Named: true}, Head: due, Same: true}, []Move{Load, Compare, ReadMail, Continue}},
		{"10.4", "request sent again while a run is in progress", Facts{Request: Request{Named: true}, Head: held, Same: true}, []Move{Load, Compare, ReadMail, Continue}},
		{"10.4", "another request", Facts{Request: Request{Named: true}, Head: due}, []Move{Load, Compare, Unfinished}},
		{"10.4", "first request", Facts{Request: Request{Named: true}, Head: Head{Empty: true}}, []Move{Load, Begin}},
		{"21.4", "input while another waits", Facts{Head: with(func(h *Head) { *h = done; h.Mail = true })}, []Move{Load, ReadPast, Begin}},
		{"21.4", "input that is refused reads no messages", Facts{Head: with(func(h *Head) { h.Mail = true })}, []Move{Load, Unfinished}},
		{"21.10", "request sent again, and cancelled", Facts{Request: Request{Named: true}, Head: due, Same: true, Cancel: true, Ends: true}, []Move{Load, Compare, ReadMail, Judge, End}},
		{"21.11", "input on a cancelled thread", Facts{Head: cancelled}, []Move{Load, Begin}},

		{"14.9", "input behind a deadline", Facts{Head: late}, []Move{Load, Begin}},
		{"14.9", "resume behind a deadline", Facts{Request: Request{Kind: Resume}, Head: late}, []Move{Load, ReadMail, End}},
		{"14.9", "resume behind a deadline, after an older cancel", Facts{Request: Request{Kind: Resume}, Head: late, Cancel: true}, []Move{Load, ReadMail, Judge, End}},
		{"14.9", "worker: a deadline", Facts{Request: Request{Kind: Due}, Head: late}, []Move{Load, ReadMail, End}},
		{"14.9", "worker: a deadline at a stop", Facts{Request: Request{Kind: Due}, Head: with(func(h *Head) { *h = paused; h.Late = true })}, []Move{Load, ReadMail, End}},
		{"14.9", "worker: an input waits behind a deadline", Facts{Request: Request{Kind: Due}, Head: late, Input: true}, []Move{Load, ReadMail, End}},

		{"15.1", "resume", Facts{Request: Request{Kind: Resume}, Head: due}, []Move{Load, ReadMail, Continue}},
		{"15.2", "resume of a finished thread", Facts{Request: Request{Kind: Resume}, Head: done}, []Move{Load, ReadMail, Continue}},
		{"15.1", "resume of nothing", Facts{Request: Request{Kind: Resume}, Head: Head{Empty: true}}, []Move{Load, Missing}},
		{"13.3", "resume of a stopped thread", Facts{Request: Request{Kind: Resume}, Head: paused}, []Move{Load, ReadMail, Continue}},
		{"16.2", "replay", Facts{Request: Request{Kind: Resume}, Head: Head{Due: true, Committed: true}}, []Move{Load, Replay}},
		{"16.4", "edit of an older checkpoint", Facts{Request: Request{Kind: Resume, Edit: true}, Head: Head{Due: true}}, []Move{Load, Replay}},
		{"16.1", "edit of the head", Facts{Request: Request{Kind: Resume, Edit: true}, Head: due}, []Move{Load, ReadMail, Continue}},
		{"21.19", "a replay takes no messages", Facts{Request: Request{Kind: Resume}, Head: Head{Due: true, Committed: true, Mail: true}}, []Move{Load, Replay}},
		{"16.3", "a branch that was left", Facts{Request: Request{Kind: Resume}, Head: Head{Due: true}}, []Move{Load, ReadMail, Continue}},
		{"21.10", "resume of a thread that was cancelled meanwhile", Facts{Request: Request{Kind: Resume}, Head: due, Cancel: true, Ends: true}, []Move{Load, ReadMail, Judge, End}},
		{"21.9", "resume after an older cancel", Facts{Request: Request{Kind: Resume}, Head: due, Cancel: true}, []Move{Load, ReadMail, Judge, Continue}},
		{"21.11", "resume of a cancelled thread", Facts{Request: Request{Kind: Resume}, Head: cancelled}, []Move{Load, ReadMail, Continue}},

		{"15.1", "worker: something is due", Facts{Request: Request{Kind: Due}, Head: due}, []Move{Load, ReadMail, Pick, Continue}},
		{"21.2", "worker: an input waits for the due tasks", Facts{Request: Request{Kind: Due}, Head: due, Input: true}, []Move{Load, ReadMail, Pick, Continue}},
		{"21.2", "worker: an input drops the due tasks", Facts{Request: Request{Kind: Due}, Head: due, Input: true, Drops: true}, []Move{Load, ReadMail, Pick, BeginMail}},
		{"21.2", "worker: an input on a finished thread", Facts{Request: Request{Kind: Due}, Head: done, Input: true}, []Move{Load, ReadMail, Pick, BeginMail}},
		{"21.2", "worker: an input on a cancelled thread", Facts{Request: Request{Kind: Due}, Head: cancelled, Input: true}, []Move{Load, ReadMail, Pick, BeginMail}},
		{"21.2", "worker: an input drops a stop", Facts{Request: Request{Kind: Due}, Head: paused, Input: true, Drops: true}, []Move{Load, ReadMail, Pick, BeginMail}},
		{"21.10", "worker: cancelled", Facts{Request: Request{Kind: Due}, Head: due, Cancel: true, Ends: true}, []Move{Load, ReadMail, Judge, End}},
		{"21.11", "worker: a cancelled thread", Facts{Request: Request{Kind: Due}, Head: cancelled}, []Move{Load, ReadMail, Pick, Refuse, Stay}},
		{"15.9", "worker: a stop", Facts{Request: Request{Kind: Due}, Head: paused}, []Move{Load, ReadMail, Pick, Stay}},
		{"15.9", "rehearsal: a stop", Facts{Request: Request{Kind: Due, Rehearse: true}, Head: paused}, []Move{Load, ReadMail, Pick, Continue}},
		{"21.8", "worker: nothing can be done", Facts{Request: Request{Kind: Due}, Head: done}, []Move{Load, ReadMail, Pick, Refuse, Stay}},
		{"21.6", "worker: messages that cannot take effect", Facts{Request: Request{Kind: Due}, Head: done, Noted: true}, []Move{Load, ReadMail, Pick, Refuse, Note}},
		{"21.12", "worker: cancelled before it has begun", Facts{Request: Request{Kind: Due}, Head: Head{Empty: true}, Cancel: true, Noted: true}, []Move{Load, ReadMail, Judge, Pick, Refuse, Seed}},
	} {
		t.Run(row.rule+" "+row.name, func(t *testing.T) {
			var got []Move
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
		want       Move
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
