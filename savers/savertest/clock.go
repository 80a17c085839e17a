package savertest

import (
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// testOpeningTime compares the time that openings return with that of Ready, which is by the same
// clock.
func testOpeningTime(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	now := func() time.Time { return ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}}).Now }
	opened := func(what string, a checkpoint.Append) *run {
		tb.Helper()
		before := now()
		r, done := tryBegin(tb, s, a)
		if after := now(); done.Now.Before(before) || done.Now.After(after) {
			tb.Errorf("%s: the opening returns the time %v, want one from %v to %v", what, done.Now, before, after)
		}
		return r
	}
	first := about(tb, "t", checkpoint.ID{}, "g", "", nil)
	r := opened("a new thread", first)
	opened("the same call again", first)
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Waiting})
	again := about(tb, "t", r.heads[""], "g", "", nil)
	again.End, again.Status = true, checkpoint.Done
	opened("an opening that ends the run", again)
}
