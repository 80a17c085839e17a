package savertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// submitted posts an input with a priority, and returns when the clock has moved on.
func submitted(tb testing.TB, s checkpoint.Saver, thread string, priority checkpoint.Priority, id string) {
	tb.Helper()
	p := checkpoint.Post{Thread: thread, Graph: "g", Messages: []checkpoint.Message{input(id)}, Priority: priority}
	if done := tryPost(tb, s, p); done.Err != nil {
		tb.Fatal(done.Err)
	}
	after := ready(tb, s, checkpoint.ReadyQuery{}).Now
	until(tb, "the clock moves on", func() bool { return ready(tb, s, checkpoint.ReadyQuery{}).Now.After(after) })
}

// wantPriority fails unless a thread has a priority, however it is read.
func wantPriority(tb testing.TB, s checkpoint.Saver, what, thread string, want checkpoint.Priority) {
	tb.Helper()
	got := map[string]checkpoint.Priority{"Threads": listed(tb, s, thread).Priority}
	if load(tb, s, checkpoint.Ref{Thread: thread}).Version > 0 {
		got["Load"] = load(tb, s, checkpoint.Ref{Thread: thread}).Thread.Priority
	}
	for _, t := range ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}}).Threads {
		if t.ID == thread {
			got["Ready"] = t.Priority
		}
	}
	for by, p := range got {
		if p != want {
			tb.Errorf("%s, by %s: thread %q has the priority %v, want %v", what, by, thread, p, want)
		}
	}
}

// testPriority sets priorities by posts, openings and imports.
func testPriority(tb testing.TB, place Storage) {
	tb.Helper()
	s, ctx := open(tb, place), tb.Context()
	submitted(tb, s, "low", checkpoint.Low, "in")
	ended(tb, s, "normal", "g", checkpoint.Ready, atOnce)
	submitted(tb, s, "urgent", checkpoint.Urgent, "in")
	a := about(tb, "high", checkpoint.ID{}, "g", "", nil)
	a.Records[0].Payload, a.Open.Priority = logSnapshot("first"), checkpoint.High
	r, _ := tryBegin(tb, s, a)
	r.putWith(checkpoint.PutWrites{End: true, Status: checkpoint.Ready, Wake: atOnce})
	wantReady(tb, s, "by priority", "g", "urgent high normal low")
	for thread, want := range map[string]checkpoint.Priority{
		"urgent": checkpoint.Urgent, "high": checkpoint.High, "normal": checkpoint.Normal, "low": checkpoint.Low,
	} {
		wantPriority(tb, s, "new", thread, want)
	}
	if got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 2, Reserve: time.Hour}); readyIDs(got) != "urgent high" {
		tb.Errorf("a reservation of two: got %q, want those of the highest priorities", readyIDs(got))
	}
	wantReady(tb, s, "after a reservation", "g", "normal low")

	submitted(tb, s, "low", checkpoint.High, "again") // it stays due
	wantReady(tb, s, "after a post with a priority", "g", "low normal")
	wantPriority(tb, s, "after a post with a priority", "low", checkpoint.High)
	submitted(tb, s, "low", 0, "a third time")
	submitted(tb, s, "low", checkpoint.Low, "again")
	wantPriority(tb, s, "after a post without a priority, and one of a known message", "low", checkpoint.High)
	next := about(tb, "high", r.fence, "g", "", nil)
	next.End, next.Status, next.Wake = true, checkpoint.Ready, atOnce
	second, _ := tryBegin(tb, s, next)
	wantPriority(tb, s, "after an opening without a priority", "high", checkpoint.High)
	next = about(tb, "high", second.fence, "g", "", nil)
	next.End, next.Status, next.Wake, next.Open.Priority = true, checkpoint.Ready, atOnce, checkpoint.Low
	tryBegin(tb, s, next)
	wantPriority(tb, s, "after an opening with a priority", "high", checkpoint.Low)
	wantReady(tb, s, "after an opening with a priority", "g", "low normal high")

	if err := checkpoint.Copy(ctx, s, "high", 0, s, "copy"); err != nil {
		tb.Fatal(err)
	}
	wantPriority(tb, s, "a copy", "copy", checkpoint.Low)
	submitted(tb, s, "high", 0, "in")
	mustRelease(tb, s, "high")
	wantPriority(tb, s, "after a release", "high", checkpoint.Low)
	_, err := s.Post(ctx, checkpoint.Post{Thread: "t", Messages: []checkpoint.Message{input("in")}, Priority: checkpoint.Low + 1})
	wantInvalid(tb, "a post with an unknown priority", err)
	bad := about(tb, "t", checkpoint.ID{}, "g", "", nil)
	bad.Open.Priority = checkpoint.Low + 1
	_, err = s.Append(ctx, bad)
	wantInvalid(tb, "an opening with an unknown priority", err)
}

// testPriorityHeld lets posts change the priority of a thread that a run holds.
func testPriorityHeld(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	submitted(tb, s, "other", 0, "in")
	short := about(tb, "held", checkpoint.ID{}, "g", "", nil)
	short.Lease = time.Millisecond
	tryBegin(tb, s, short)
	submitted(tb, s, "held", checkpoint.High, "in")
	until(tb, "the lease ends", func() bool { return len(ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}}).Threads) == 2 })
	wantReady(tb, s, "after the end of a lease", "g", "held other")
	for _, want := range []string{"held", "other", ""} {
		got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1, Reserve: time.Hour})
		if readyIDs(got) != want {
			tb.Errorf("reserved: got %q, want %q", readyIDs(got), want)
		}
	}
}

// testPostNamesGraph gives a graph to a held thread that has none. The thread becomes due under
// that graph when its lease ends.
func testPostNamesGraph(tb testing.TB, place Storage) {
	tb.Helper()
	s, other := openTwo(tb, place)
	ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}}) // the first call for a graph may prepare an index
	a := opening(tb, "t", checkpoint.ID{})
	a.Open.Priority = checkpoint.High
	tryBegin(tb, s, a)
	post(tb, other, "t", signal("m")) // it does not know the priority
	got := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Reserve: 2 * time.Hour})
	if len(got.Threads) > 0 || got.Next.IsZero() || got.Next.After(got.Now.Add(time.Hour+time.Minute)) {
		tb.Errorf("at %v: got %d threads, and the next at %v; want none, and the next when its lease ends, in an hour", got.Now, len(got.Threads), got.Next)
	}
}

// testPriorityBeforeAge reserves threads of a high priority before older ones of a low priority,
// in many calls and in one.
func testPriorityBeforeAge(tb testing.TB, place Storage) {
	tb.Helper()
	s := open(tb, place)
	const n = 12
	var want, got []string
	for _, p := range []checkpoint.Priority{checkpoint.Low, checkpoint.High} {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("%v %02d", p, i))
			submitted(tb, s, all[i], p, "in")
		}
		want = append(all, want...)
	}
	for _, limit := range []int{1, 1, 2, 3, n} {
		ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: limit + 2}) // changes nothing
		found := ready(tb, s, checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: limit, Reserve: time.Hour})
		for _, t := range found.Threads {
			got = append(got, t.ID)
		}
	}
	if want = want[:1+1+2+3+n]; !slices.Equal(got, want) {
		tb.Errorf("got %q, want those of high priority first, and of each those that have been due for longest: %q", got, want)
	}
}
