//nolint:thelper // a case is a test, not a helper: its lines are those a failure points to
package savertest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// testWrites stores pending writes of a task.
func testWrites(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	want := []checkpoint.Write{
		r.write("a", checkpoint.Result, "", "update"),
		r.write("b", checkpoint.Question, "first", "q1"),
		r.write("b", checkpoint.Question, "second", "q2"),
		r.write("b", checkpoint.Answer, "first", "a1"),
		r.write("c", checkpoint.Failure, "", "it broke"),
		r.write("a\x00\xff", checkpoint.Result, "n\x00", "\x00\xff"),
		{Namespace: "", Base: r.heads[""], Task: "nothing", Kind: checkpoint.Result},
	}
	r.put(want[:2]...)
	r.put(want[2:]...)
	r.put()
	chain := load(tb, s, checkpoint.Ref{Thread: "t"})
	wantWrites(tb, "writes", chain.Writes, want...)
	wantHead(tb, s, "t", "", r.fence)
	if chain.Committed {
		tb.Error("the base of pending writes is committed, want not")
	}

	// A resume record names the same base, so it has the same writes and pending tasks.
	a := r.next("")
	a.Records[0].Base, a.Records[0].Commits, a.Records[0].Source = r.fence, checkpoint.ID{}, checkpoint.Resume
	r.append(a)
	chain = load(tb, s, checkpoint.Ref{Thread: "t"})
	wantWrites(tb, "writes after a resume record", chain.Writes, want...)
	if len(chain.Due) != 1 || chain.Due[0].Node != "first" {
		tb.Errorf("due after a resume record: got %v, want that of its base", chain.Due)
	}
}

// testEarly checks that a write can precede its base.
func testEarly(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	r.commit("child")
	a := r.next("child")
	early := checkpoint.Write{Namespace: "child", Base: a.Records[0].ID, Task: "early", Kind: checkpoint.Answer, Payload: []byte("yes")}
	r.put(early)
	r.append(a)
	wantWrites(tb, "writes after the record of their base", load(tb, s, checkpoint.Ref{Thread: "t", Namespace: "child"}).Writes, early)
	r.commit("child")
	wantWrites(tb, "writes after the commit of their base", load(tb, s, checkpoint.Ref{Thread: "t", Namespace: "child"}).Writes)
	r.put(early)
	wantWrites(tb, "a write of a committed base", load(tb, s, checkpoint.Ref{Thread: "t", Namespace: "child"}).Writes)
}

// testReplace checks that a result is final and the rest is replaced.
func testReplace(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	for n := range 3 {
		payload := fmt.Sprint(n)
		r.put(
			r.write("a", checkpoint.Result, "", payload),
			r.write("b", checkpoint.Question, "q", payload),
			r.write("b", checkpoint.Answer, "q", payload),
			r.write("c", checkpoint.Failure, "", payload),
		)
	}
	wantWrites(tb, "writes put three times", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes,
		r.write("a", checkpoint.Result, "", "0"),
		r.write("b", checkpoint.Question, "q", "2"),
		r.write("b", checkpoint.Answer, "q", "2"),
		r.write("c", checkpoint.Failure, "", "2"))
}

// testDiscard checks that a discard drops the results of a task.
func testDiscard(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	r.commit("child")
	inChild := checkpoint.Write{Namespace: "child", Base: r.heads["child"], Task: "a", Kind: checkpoint.Result, Payload: []byte("child")}
	question := r.write("a", checkpoint.Question, "", "q")
	other := r.write("other", checkpoint.Result, "", "r")
	part := r.write("a", checkpoint.Result, "2", "part")
	r.put(r.write("a", checkpoint.Result, "", "old"), r.write("a", checkpoint.Failure, "", "f"), question, other, inChild, part)
	r.put(r.write("a", checkpoint.Discard, "", ""))
	wantWrites(tb, "writes after a discard without a name", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes, question, other, part)
	r.put(r.write("a", checkpoint.Discard, "2", ""))
	wantWrites(tb, "writes after a discard", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes, question, other)
	wantWrites(tb, "a child's writes after a discard in the root", load(tb, s, checkpoint.Ref{Thread: "t", Namespace: "child"}).Writes, inChild)

	result := r.write("a", checkpoint.Result, "", "new")
	r.put(result)
	r.put(r.write("nobody", checkpoint.Discard, "", ""))
	wantWrites(tb, "a result after a discard", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes, question, other, result)

	r.end()
	a := opening(tb, "t", r.heads[""])
	a.Records[0].Base, a.Records[0].Source = r.heads[""], checkpoint.Resume
	newest := r.write("a", checkpoint.Result, "", "newest")
	a.Writes = []checkpoint.Write{
		r.write("a", checkpoint.Discard, "", ""), newest, r.write("other", checkpoint.Discard, "", ""),
	}
	_, done := tryBegin(tb, s, a)
	for _, w := range []checkpoint.Write{question, newest, inChild} {
		if !contains(done.Writes, w) {
			tb.Errorf("writes of an opening that discards: got\n%swant among them\n%s", names(done.Writes), names([]checkpoint.Write{w}))
		}
	}
	if len(done.Writes) != 3 {
		tb.Errorf("writes of an opening that discards: got\n%swant 3", names(done.Writes))
	}
}

// testDiscardAnswer opens a question again: a discard drops its answer.
func testDiscardAnswer(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	question, other := r.write("a", checkpoint.Question, "q", "?"), r.write("a", checkpoint.Question, "other", "?")
	answer, kept := r.write("a", checkpoint.Answer, "q", "!"), r.write("a", checkpoint.Answer, "other", "!")
	r.put(question, answer, other, kept)
	wantWrites(tb, "open questions", load(tb, s, checkpoint.Ref{Thread: "t"}).Thread.Questions)
	r.put(r.write("a", checkpoint.Discard, "q", ""))
	chain := load(tb, s, checkpoint.Ref{Thread: "t"})
	wantWrites(tb, "writes after a discard of an answer", chain.Writes, question, other, kept)
	wantWrites(tb, "open questions after it", chain.Thread.Questions, question)
	wantWrites(tb, "listed questions after it", listed(tb, s, "t").Questions, question)
	if chain.Thread.Now.IsZero() || listed(tb, s, "t").Now.Before(chain.Thread.Now) {
		tb.Errorf("got the times %v and then %v, want those of the calls", chain.Thread.Now, listed(tb, s, "t").Now)
	}
	if now := listed(tb, s, "t").Now; !now.Equal(now.Truncate(time.Microsecond)) || now.Location() != time.UTC {
		tb.Errorf("got the time %v; want it in UTC and to the microsecond, as those of messages are", now)
	}
	r.put(answer)
	wantWrites(tb, "open questions after another answer", load(tb, s, checkpoint.Ref{Thread: "t"}).Thread.Questions)
}

// testCommit checks that pending writes go with the commit.
func testCommit(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	old := r.write("a", checkpoint.Result, "", "r")
	question := r.write("b", checkpoint.Question, "", "q")
	r.put(old, question)

	// A fork leaves the writes of the other branch unchanged.
	fork := r.next("")
	fork.Records[0].Source, fork.Records[0].Commits, fork.Records[0].Snapshot = checkpoint.Fork, checkpoint.ID{}, true
	r.append(fork)
	wantWrites(tb, "writes of the fork", load(tb, s, checkpoint.Ref{Thread: "t"}).Writes)
	wantWrites(tb, "writes of the line left", load(tb, s, checkpoint.Ref{Thread: "t", At: r.fence}).Writes, old, question)
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread.Questions; len(got) != 1 {
		tb.Errorf("open questions: got %d, want 1", len(got))
	}

	r.put(r.write("a", checkpoint.Result, "", "of the fork"))
	back := r.next("")
	back.Records[0].Parent, back.Records[0].Commits, back.Records[0].Snapshot = r.fence, r.fence, true
	r.append(back)
	chain := load(tb, s, checkpoint.Ref{Thread: "t", At: r.fence})
	wantWrites(tb, "writes of a committed base", chain.Writes)
	if !chain.Committed {
		tb.Error("a base that a record commits is not committed")
	}
	forked := load(tb, s, checkpoint.Ref{Thread: "t", At: fork.Records[0].ID})
	if len(forked.Writes) != 1 || forked.Committed {
		tb.Errorf("the fork: got %d writes, committed %t; want 1, false", len(forked.Writes), forked.Committed)
	}
	r.put(old, question) // too late: accepted without effect
	wantWrites(tb, "writes put to a committed base", load(tb, s, checkpoint.Ref{Thread: "t", At: r.fence}).Writes)
	if got := load(tb, s, checkpoint.Ref{Thread: "t"}).Thread.Questions; len(got) != 0 {
		tb.Errorf("open questions of a committed base: got %d, want none", len(got))
	}
	r.end()
	_, done := tryBegin(tb, s, opening(tb, "t", r.heads[""]))
	wantWrites(tb, "writes of the next opening", done.Writes, forked.Writes...)
}

// testOpeningWrites checks that an opening returns the pending writes.
func testOpeningWrites(tb testing.TB, place Storage) {
	s := open(tb, place)
	r := begin(tb, s, "t", checkpoint.ID{})
	r.commit("child")
	r.commit("child/of child")
	stands := []checkpoint.Write{
		r.write("a", checkpoint.Result, "", "r"),
		{Namespace: "child", Base: r.heads["child"], Task: "c", Kind: checkpoint.Question, Payload: []byte("q")},
		{Namespace: "child/of child", Base: r.heads["child/of child"], Task: "d", Kind: checkpoint.Failure, Payload: []byte("f")},
	}
	for _, w := range stands {
		r.put(w)
	}
	r.end()
	a := opening(tb, "t", r.heads[""])
	a.Records[0].Base, a.Records[0].Source = r.fence, checkpoint.Resume
	answer := checkpoint.Write{Namespace: "child", Base: r.heads["child"], Task: "c", Kind: checkpoint.Answer, Payload: []byte("yes")}
	a.Writes = []checkpoint.Write{answer}
	_, done := tryBegin(tb, s, a)
	if done.Head != 2 || done.Version != 1 {
		tb.Errorf("opening: got head %d of version %d, want 2 of 1", done.Head, done.Version)
	}
	wantWrites(tb, "writes of an opening", done.Writes, append(stands, answer)...)
	wantWrites(tb, "a child's writes", load(tb, s, checkpoint.Ref{Thread: "t", Namespace: "child"}).Writes, stands[1], answer)
}

// testTakeOverRace stores results while another run takes the fence. The new run's first Append
// must return every acknowledged result.
func testTakeOverRace(tb testing.TB, place Storage) {
	s := open(tb, place)
	rounds := 50
	if testing.Short() {
		rounds = 10
	}
	for round := range rounds {
		thread := fmt.Sprint("race ", round)
		r := begin(tb, s, thread, checkpoint.ID{})
		started, acked := make(chan bool, 1), 0
		var writer sync.WaitGroup
		writer.Go(func() {
			defer close(started)
			for i := range 100_000 {
				_, err := s.PutWrites(tb.Context(), checkpoint.PutWrites{
					Thread: thread, Fence: r.fence, Lease: time.Hour,
					Writes: []checkpoint.Write{r.write(fmt.Sprint(i), checkpoint.Result, "", "r")},
				})
				if errors.Is(err, checkpoint.ErrConflict) {
					return
				}
				if err != nil {
					tb.Errorf("put: %v", err)
					return
				}
				if acked++; acked == 3 {
					started <- true
				}
			}
			tb.Error("the writer was never refused, want a conflict after the take-over")
		})
		<-started
		a := opening(tb, thread, r.fence)
		a.Open.TakeOver = true
		a.Records[0].Base, a.Records[0].Source = r.fence, checkpoint.Resume
		_, done := tryBegin(tb, s, a)
		writer.Wait()
		if len(done.Writes) != acked {
			tb.Errorf("round %d: the opening returned %d writes, %d had been acknowledged", round, len(done.Writes), acked)
		}
		if got := len(load(tb, s, checkpoint.Ref{Thread: thread}).Writes); got != len(done.Writes) {
			tb.Errorf("round %d: %d writes stand, the opening returned %d", round, got, len(done.Writes))
		}
	}
}
