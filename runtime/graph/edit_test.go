package graph_test

import (
	"errors"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestAResumeBeginsWithAnEdit: the node that runs again sees it, and the history has it (rule
// 16.15).
func TestAResumeBeginsWithAnEdit(t *testing.T) {
	var ran counter
	th, _ := newThread(t, asker(&ran))
	w := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
	res := done(t, graph.Waiting)(th.Edit(logged("first")).Resume(t.Context()))
	same(t, "questions after an edit alone", len(res.Questions), 1)
	for e, err := range th.Edit(logged("edit")).ResumeStream(t.Context(), refund.Answer(w, true)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Result != nil {
			res = *e.Result
		}
	}
	same(t, "log", res.State.Log, []string{"first", "edit", "answer true", "sibling"})
	same(t, "runs", ran.counts(), map[string]int{"ask": 2, "sibling": 1})
	res = done(t, graph.Done)(th.Edit(logged("last")).Resume(t.Context()))
	same(t, "steps on a finished thread", res.Steps, 0)
	same(t, "log on a finished thread", res.State.Log[4:], []string{"last"})
	var sources []checkpoint.Source
	for _, snap := range collect(t, th.History(t.Context(), checkpoint.Query{})) {
		sources = append(sources, snap.Source)
	}
	same(t, "sources, newest first", sources, []checkpoint.Source{
		checkpoint.Update, checkpoint.Loop, checkpoint.Update, checkpoint.Update, checkpoint.Input, checkpoint.Input,
	})
	next := done(t, graph.Waiting)(th.Invoke(t.Context(), input))
	same(t, "log of the next run", next.State.Log[4:], []string{"last"})
}

// TestAnEditedReplayIsAFork: what was due there runs on the edited state (rule 16.15).
func TestAnEditedReplayIsAFork(t *testing.T) {
	th, _ := newThread(t, chain("a", "b"), graph.InterruptBefore("b"))
	at := done(t, graph.Paused)(th.Invoke(t.Context(), input)).Checkpoint
	done(t, graph.Done)(th.Resume(t.Context()))
	done(t, graph.Paused)(th.At(at).Edit(logged("edit")).Resume(t.Context()))
	same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"a", "edit", "b"})
}

func TestAnEditThatCannotBeMergedStoresNoAnswer(t *testing.T) {
	var ran counter
	th, _ := newThread(t, asker(&ran))
	before := done(t, graph.Waiting)(th.Invoke(t.Context(), update{Count: state.Add(1 << 62)}))
	_, err := th.Edit(update{Count: state.Add(1 << 62)}).Resume(t.Context(), refund.Answer(before.Questions[0], true))
	var over *graph.OverflowError
	if !errors.As(err, &over) {
		t.Errorf("got %v, want an OverflowError", err)
	}
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "head", snap.Checkpoint, before.Checkpoint)
	same(t, "open questions", len(snap.Questions), 1)
}

// TestNoCrashSeparatesAnAnswerFromItsEdit: whichever call of the saver dies, both are stored or
// neither.
func TestNoCrashSeparatesAnAnswerFromItsEdit(t *testing.T) {
	stored, left := 0, 0
	for ; stored < 2; left++ {
		for _, after := range []bool{false, true} {
			var ran counter
			inner := memory.New()
			g := asker(&ran)
			w := done(t, graph.Waiting)(compile(t, g, graph.Saver(inner)).Thread("t").Invoke(t.Context(), input)).Questions[0]
			dying := compile(t, g, graph.Saver(&crashing{Saver: inner, left: left, after: after})).Thread("t")
			if _, err := dying.Edit(logged("edit")).Resume(t.Context(), refund.Answer(w, true)); err == nil {
				t.Fatalf("the run survives %d calls", left)
			}
			snap, err := compile(t, g, graph.Saver(inner)).Thread("t").State(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			edited, answered := len(snap.State.Log) > 0, len(snap.Questions) == 0
			if edited != answered {
				t.Errorf("crash at call %d, after it was made %t: edited %t, answered %t", left, after, edited, answered)
			}
			if edited {
				stored++
			}
		}
	}
}

// TestACancelEndsAResumeAfterItsEdit: the edit is stored, and the answer is not (rule 16.15).
func TestACancelEndsAResumeAfterItsEdit(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		var ran counter
		th, _ := newThread(t, asker(&ran), d)
		w := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
		if err := th.Cancel(t.Context(), "no stock"); err != nil {
			t.Fatal(err)
		}
		res, err := th.Edit(logged("edit")).Resume(t.Context(), refund.Answer(w, true))
		var cancelled *graph.CancelledError
		if !errors.As(err, &cancelled) {
			t.Errorf("got %v, want a CancelledError", err)
		}
		same(t, "status", res.Status, graph.Cancelled)
		same(t, "log of the result", res.State.Log, []string{"edit"})
		snap := snapshot(t, th)
		same(t, "stored log", snap.State.Log, []string{"edit"})
		same(t, "open questions", len(snap.Questions), 1)
		res = done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(w, true)))
		same(t, "log at the end", res.State.Log, []string{"edit", "answer true", "sibling"})
	})
}
