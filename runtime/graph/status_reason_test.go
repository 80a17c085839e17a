package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A resume that fails again, or stops elsewhere, replaces the reason.
func TestAReasonIsOfTheNewestRun(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		fails := errors.New("first")
		th, _ := newThread(t, threeNodes(func(ctx context.Context, _ work) (update, error) {
			if fails != nil {
				return update{}, fails
			}
			_, err := amount.Ask(ctx, "how much?")
			return update{}, err
		}, amount), d)
		reason := func() string {
			snap, err := th.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return snap.Reason
		}
		wantEnding(t, graph.Failed, fails)(th.Invoke(t.Context(), input))
		if got := reason(); !strings.HasSuffix(got, "first") {
			t.Errorf("after a failure: got %q, want the first", got)
		}
		fails = errors.New("second")
		wantEnding(t, graph.Failed, fails)(th.Resume(t.Context()))
		if got := reason(); !strings.HasSuffix(got, "second") {
			t.Errorf("after another failure: got %q, want the second", got)
		}
		fails = nil
		done(t, graph.Waiting)(th.Resume(t.Context()))
		same(t, "reason of a thread that waits", reason(), "")
	})
}

// The stops of a thread are known to other processes, in results and in histories, also after an
// edit and in subgraphs.
func TestASnapshotNamesTheStopsThatHoldTheThread(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		inner := compile(t, chain("x", "y"), graph.SubgraphOnly(), graph.InterruptBefore("y"))
		b := newWork()
		b.Node("a", say("a"))
		b.Subgraph("sub", inner)
		b.Edge(graph.Start, "a")
		b.Edge("a", "sub")
		b.Edge("sub", graph.End)
		th, s := newThread(t, b, graph.InterruptAfter("a"), graph.InterruptBefore("sub"), d)
		other := compile(t, b, graph.Saver(s)).Thread("t") // without the stops
		check := func(what, want string) {
			t.Helper()
			snap, err := other.State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, what, fmt.Sprint(snap.Stops), want)
		}
		res := done(t, graph.Paused)(th.Invoke(t.Context(), input))
		same(t, "result", fmt.Sprint(res.Stops), "[after a before sub]")
		check("snapshot", "[after a before sub]")
		if _, err := th.UpdateState(t.Context(), update{}); err != nil {
			t.Fatal(err)
		}
		check("snapshot of an edit", "[after a before sub]")
		res = done(t, graph.Paused)(th.Resume(t.Context()))
		same(t, "result of a stop in a subgraph", fmt.Sprint(res.Stops), "[before sub/y]")
		check("snapshot of a stop in a subgraph", "[before sub/y]")
		res = done(t, graph.Done)(th.Resume(t.Context()))
		same(t, "result at the end", len(res.Stops), 0)
		check("snapshot at the end", "[]")
		var past []string
		for snap, err := range other.History(t.Context(), checkpoint.Query{Sources: []checkpoint.Source{checkpoint.Loop}, Headers: true}) {
			if err != nil {
				t.Fatal(err)
			}
			past = append(past, fmt.Sprint(snap.Step, snap.Stops))
		}
		if d != graph.OnExit {
			same(t, "history", past, []string{"3 []", "2 [after a before sub]"})
		}
	})
}

// TestAResumeNamesAStopAfterANodeThatARunBeforeItReached: a sibling fails in the run in which a
// subgraph stops after a node. The next run restores the call at the stop, without running the
// node.
func TestAResumeNamesAStopAfterANodeThatARunBeforeItReached(t *testing.T) {
	fails := true
	b := newWork()
	b.Subgraph("sub", compile(t, chain("a", "b"), graph.SubgraphOnly(), graph.InterruptAfter("a")))
	b.Node("flaky", func(context.Context, work) (update, error) {
		if fails {
			return update{}, errBroken
		}
		return update{}, nil
	})
	for _, id := range []graph.ID{"sub", "flaky"} {
		b.Edge(graph.Start, id)
		b.Edge(id, graph.End)
	}
	th := compile(t, b, graph.Saver(memory.New()), graph.Concurrency(1)).Thread("t")
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want %v", err, errBroken)
	}
	fails = false
	res := done(t, graph.Paused)(th.Resume(t.Context()))
	same(t, "stops", fmt.Sprint(res.Stops), "[after sub/a]")
	done(t, graph.Done)(th.Resume(t.Context()))
}

// Snapshots and questions print as one line for logs, which says where the thread stands and why.
func TestSnapshotsAndQuestionsPrintAsOneLine(t *testing.T) {
	ctx, errMoney := t.Context(), errors.New("no money")
	inner := newWork()
	inner.Node("review", func(ctx context.Context, _ work) (update, error) {
		graph.Summary(ctx, "customer 42")
		_, err := amount.Ask(ctx, "how much?")
		return update{}, err
	}, amount)
	inner.Chain(graph.Start, "review", graph.End)
	b := newWork()
	b.Subgraph("sub", compile(t, inner, graph.SubgraphOnly()))
	b.Node("pay", func(context.Context, work) (update, error) { return update{}, errMoney })
	b.Chain(graph.Start, "sub", "pay", graph.End)
	th, _ := newThread(t, b, graph.InterruptBefore("pay"))
	line := func() string {
		t.Helper()
		snap, err := th.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(snap)
	}
	done(t, graph.Waiting)(th.Invoke(ctx, input))
	same(t, "waiting", line(), "t, step 1, waiting; due: sub; questions: amount at sub/review (customer 42)")
	questions, err := th.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	done(t, graph.Paused)(th.Resume(ctx, amount.Answer(questions.Questions[0], 7)))
	same(t, "paused", line(), "t, step 2, paused; due: pay; stops: before pay")
	wantEnding(t, graph.Failed, errMoney)(th.Resume(ctx))
	same(t, "failed", line(), `t, step 2, failed; due: pay; reason: graph: g: thread "t": step 3: node "pay": no money`)
	question := graph.OpenQuestion{Question: "approve", Node: "review", Index: 3, Summary: "x"}
	same(t, "the question of a send", question.String(), "approve at review[3] (x)")
}

func TestASnapshotIsOneLine(t *testing.T) {
	snap := graph.Snapshot[work]{Thread: "t", Step: 2, Status: graph.Failed, Reason: "no x\nno y\r\nno z"}
	same(t, "text", snap.String(), "t, step 2, failed; reason: no x; no y; no z")
}
