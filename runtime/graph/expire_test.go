package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// expiring is a node that asks a question, which expires, and logs the answer or that there was
// none.
func expiring(after time.Duration) func(context.Context, work) (update, error) {
	return func(ctx context.Context, _ work) (update, error) {
		ok, err := refund.Ask(ctx, doc{Name: "shoes"}, graph.ExpireAfter(after))
		if errors.Is(err, graph.ErrExpired) {
			return logged("expired"), nil
		}
		return logged(fmt.Sprint("answer ", ok)), err
	}
}

// expiringIn builds a graph of that node, in a subgraph or not.
func expiringIn(t *testing.T, nested bool, after time.Duration) *graph.Builder[work, update] {
	t.Helper()
	b := newWork()
	b.Node("ask", expiring(after), refund)
	b.Edge(graph.Start, "ask")
	b.Edge("ask", graph.End)
	if !nested {
		return b
	}
	outer := newWork()
	outer.Subgraph("sub", compile(t, b, graph.SubgraphOnly()))
	outer.Edge(graph.Start, "sub")
	outer.Edge("sub", graph.End)
	return outer
}

// eachExpiring runs test for each durability, and with a question in the graph and in a subgraph
// that expires after a day.
func eachExpiring(t *testing.T, test func(t *testing.T, s checkpoint.Saver, th thread)) {
	t.Helper()
	eachAfter(t, day, test)
}

// eachExpiringSoon is eachExpiring for a question that expires within the lease.
func eachExpiringSoon(t *testing.T, test func(t *testing.T, s checkpoint.Saver, th thread)) {
	t.Helper()
	eachAfter(t, time.Second, test)
}

func eachAfter(t *testing.T, after time.Duration, test func(t *testing.T, s checkpoint.Saver, th thread)) {
	t.Helper()
	for _, nested := range []bool{false, true} {
		eachInBubble(t, func(t *testing.T, d graph.Durability) {
			s := memory.New()
			test(t, s, compile(t, expiringIn(t, nested, after), graph.Saver(s), d).Thread("t"))
		})
	}
}

func TestAQuestionExpires(t *testing.T) {
	eachExpiring(t, func(t *testing.T, s checkpoint.Saver, th thread) {
		began := time.Now()
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		same(t, "questions", len(res.Questions), 1)
		same(t, "timers", len(res.Timers), 0)
		same(t, "when the question expires", res.Questions[0].Expires, began.Add(day).UTC())
		listed := described(t, th)
		if asked, err := graph.OpenQuestions(listed); err != nil || len(asked) != 1 || !asked[0].Expires.Equal(began.Add(day)) {
			t.Errorf("listed: got the questions %+v, %v; want one with its time", asked, err)
		}
		same(t, "wake", listed.Wake.Sub(began), day)
		time.Sleep(day)
		same(t, "ready", readyNow(t, s), "t")
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "expired"})
	})
}

func TestAnAnswerInTimeCounts(t *testing.T) {
	eachExpiring(t, func(t *testing.T, _ checkpoint.Saver, th thread) {
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		time.Sleep(day)
		res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
		same(t, "log", res.State.Log, []string{"in", "answer true"})
	})
}

func TestALateAnswerIsRefused(t *testing.T) {
	eachExpiring(t, func(t *testing.T, _ checkpoint.Saver, th thread) {
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		q := res.Questions[0]
		time.Sleep(day + time.Second)
		head := described(t, th).Head
		_, err := th.Resume(t.Context(), refund.Answer(q, true))
		if !errors.Is(err, graph.ErrExpired) || !errors.Is(err, graph.ErrNotAsked) {
			t.Errorf("a late answer: got %v, want ErrNotAsked and ErrExpired", err)
		}
		same(t, "head after a late answer", described(t, th).Head, head)
		if err := th.Answer(t.Context(), refund.Answer(q, true)); !errors.Is(err, graph.ErrNotAsked) {
			t.Errorf("a late posted answer: got %v, want ErrNotAsked", err)
		}
		same(t, "questions that are listed", listedWaits(t, th), [3]int{})
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "expired"})
		if _, err := th.Resume(t.Context(), refund.Answer(q, true)); !errors.Is(err, graph.ErrNotAsked) {
			t.Errorf("an answer after the end: got %v, want ErrNotAsked", err)
		}
	})
}

// TestASnapshotLeavesOutWhatHasExpired asks and receives until a time. Resume accepts
// what snapshots show (rule 21.25).
func TestASnapshotLeavesOutWhatHasExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		b := newWork()
		b.Node("ask", expiring(day), refund)
		b.Node("receive", func(ctx context.Context, _ work) (update, error) {
			_, err := payment.Receive(ctx, graph.ExpireAfter(day))
			return update{}, err
		}, payment)
		b.Node("sleep", sleeper("nap", day))
		for _, id := range []graph.ID{"ask", "receive", "sleep"} {
			b.Edge(graph.Start, id)
			b.Edge(id, graph.End)
		}
		th := compile(t, b, graph.Saver(s)).Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		time.Sleep(day)
		for _, want := range [][3]int{{1, 1, 1}, {0, 0, 1}} {
			snap := snapshot(t, th)
			same(t, "waits of the snapshot", [3]int{len(snap.Questions), len(snap.Signals), len(snap.Timers)}, want)
			c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
			if err != nil {
				t.Fatal(err)
			}
			stored, err := graph.Stored{Ref: checkpoint.Ref{Thread: "t"}}.Read(&c)
			same(t, "waits that a tool reads", [3]int{len(stored.Questions), len(stored.Signals), len(stored.Timers)}, want)
			if err != nil {
				t.Fatal(err)
			}
			same(t, "listed waits", listedWaits(t, th), want)
			same(t, "due tasks", len(snap.Tasks), 3)
			time.Sleep(time.Second)
		}
	})
}

// TestAnExpiredQuestionStaysExpired fails the node after its question has expired, and gives an
// answer then.
func TestAnExpiredQuestionStaysExpired(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		failed := false
		b := newWork()
		b.Node("ask", func(ctx context.Context, w work) (update, error) {
			u, err := expiring(day)(ctx, w)
			if err == nil && !failed {
				failed = true
				return u, errBroken
			}
			return u, err
		}, refund)
		b.Edge(graph.Start, "ask")
		b.Edge("ask", graph.End)
		th := compile(t, b, graph.Saver(memory.New()), d).Thread("t")
		q := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in"))).Questions[0]
		time.Sleep(2 * day)
		if _, err := th.Resume(t.Context()); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want the node to fail", err)
		}
		if _, err := th.Resume(t.Context(), refund.Answer(q, true)); !errors.Is(err, graph.ErrExpired) {
			t.Errorf("an answer to an expired question: got %v, want ErrExpired", err)
		}
		res := done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "expired"})
	})
}

// TestAnOpenQuestionIsNeverHeldInMemory has a question that expires within the lease: nobody could
// answer it while the run held the thread.
func TestAnOpenQuestionIsNeverHeldInMemory(t *testing.T) {
	eachExpiringSoon(t, func(t *testing.T, _ checkpoint.Saver, th thread) {
		began := time.Now()
		res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
		same(t, "time", time.Since(began), time.Duration(0))
		res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(res.Questions[0], true)))
		same(t, "log", res.State.Log, []string{"in", "answer true"})
	})
}

func TestExpireAfterIsChecked(t *testing.T) {
	for want, opts := range map[string][]graph.AskOption{
		`graph: question "refund": ExpireAfter(0s): give it more than 0`: {graph.ExpireAfter(0)},
		`graph: question "refund": ExpireAfter is given twice; give it once`: {
			graph.ExpireAfter(day), graph.ExpireAfter(day),
		},
		`graph: question "refund": As is given twice; give it once`: {graph.As("one"), graph.As("two")},
	} {
		if _, err := refund.Ask(t.Context(), doc{}, opts...); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestAnswersAndTimersOfOneTask has a node that asks and sleeps at the same time. It runs again
// when both are over.
func TestAnswersAndTimersOfOneTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWork()
		b.Node("both", func(ctx context.Context, _ work) (update, error) {
			ok, err := refund.Ask(ctx, doc{Name: "shoes"})
			if err := errors.Join(err, graph.Sleep(ctx, day)); err != nil {
				return update{}, err
			}
			return logged(fmt.Sprint("answer ", ok)), nil
		}, refund)
		b.Edge(graph.Start, "both")
		b.Edge("both", graph.End)
		th := compile(t, b, graph.Saver(memory.New())).Thread("t")
		q := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in"))).Questions[0]
		res := done(t, graph.Waiting)(th.Resume(t.Context(), refund.Answer(q, true)))
		same(t, "open questions and timers after the answer", []int{len(res.Questions), len(res.Timers)}, []int{0, 1})
		time.Sleep(day)
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "log", res.State.Log, []string{"in", "answer true"})
	})
}

// TestAPostedAnswerCountsByTheTimeOfItsPost posts answers, and lets a worker look much later. The
// question of a late one is not listed, and Answer refuses it. The clock of a saver counts
// microseconds (rules 21.25 and 22.8).
func TestAPostedAnswerCountsByTheTimeOfItsPost(t *testing.T) {
	for after, want := range map[time.Duration]string{
		day: "answer true", day + 5*time.Nanosecond: "answer true", day + time.Microsecond: "expired", day + time.Second: "expired",
	} {
		eachExpiring(t, func(t *testing.T, s checkpoint.Saver, th thread) {
			res := done(t, graph.Waiting)(th.Invoke(t.Context(), logged("in")))
			time.Sleep(after)
			asked, err := graph.OpenQuestions(described(t, th))
			if err != nil {
				t.Fatal(err)
			}
			late := want == "expired"
			same(t, "listed", len(asked) == 0, late)
			if err := th.Answer(t.Context(), refund.Answer(res.Questions[0], true)); late != (errors.Is(err, graph.ErrExpired) && errors.Is(err, graph.ErrNotAsked)) || !late && err != nil {
				t.Fatalf("late %t: got %v, want ErrNotAsked and ErrExpired if it is", late, err)
			}
			if late { // a tool does not know that it is
				if _, err := s.Post(t.Context(), graph.Stored{Graph: "g", Ref: checkpoint.Ref{Thread: "t"}}.AnswerPost(res.Questions[0].ID, wire.AppendBool(nil, true), nil)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(day)
			same(t, "ready", readyNow(t, s), "t")
			res = done(t, graph.Done)(th.Resume(t.Context()))
			same(t, "log", res.State.Log, []string{"in", want})
		})
	}
}

// TestAWorkerResumesASleeper runs a thread as a worker does, each time that it is due.
func TestAWorkerResumesASleeper(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		s := memory.New()
		b := newWork()
		b.Node("nap", sleeper("nap", day, day))
		b.Edge(graph.Start, "nap")
		b.Edge("nap", graph.End)
		g := compile(t, b, graph.Saver(s), d)
		done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), logged("in")))
		for _, want := range []graph.Status{graph.Waiting, graph.Done} {
			time.Sleep(time.Until(described(t, g.Thread("t")).Wake))
			got, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{described(t, g.Thread("t")).Graph}, Limit: 1})
			if err != nil || len(got.Threads) != 1 {
				t.Fatalf("got %+v, %v; want the thread ready", got, err)
			}
			run, err := g.ResumeDue(t.Context(), got.Threads[0], graph.DueOptions{})
			if err != nil || !run.Opened || run.Status != want {
				t.Errorf("got %+v, %v; want the thread %s", run, err, want)
			}
		}
	})
}
