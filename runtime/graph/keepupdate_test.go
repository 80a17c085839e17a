package graph_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// model is a node that fails so many times. Each attempt costs a token, and logs its number.
type model struct{ fails, calls int }

func (m *model) answer(context.Context, work) (update, error) {
	m.calls++
	u := logged(fmt.Sprint("attempt ", m.calls))
	u.Count.Add(1)
	if m.calls <= m.fails {
		return u, errBroken
	}
	return u, nil
}

func TestKeepUpdateOnErrorCountsTheUpdatesOfFailedAttempts(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		m := &model{fails: 3}
		b := single(m.answer, graph.KeepUpdateOnError(), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
		th, s := newThread(t, b, d, graph.Strict())
		if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
			t.Fatalf("got %v, want errBroken", err)
		}
		th = compile(t, b, graph.Saver(s), d).Thread("t") // in another process
		var updates []string
		for e, err := range th.ResumeStream(t.Context(), graph.Events(graph.EventUpdate)) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == graph.EventUpdate {
				updates = append(updates, fmt.Sprint(e.Update.Log))
			}
		}
		snap, err := th.State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "log", snap.State.Log, []string{"attempt 1", "attempt 2", "attempt 3", "attempt 4"})
		same(t, "tokens, and the input", snap.State.Count, 5)
		same(t, "updates in the stream", len(updates), 4)
	})
}

func TestWithoutKeepUpdateOnErrorTheUpdatesOfFailedAttemptsAreDropped(t *testing.T) {
	m := &model{fails: 1}
	th, _ := newThread(t, single(m.answer, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1})))
	same(t, "log", done(t, graph.Done)(th.Invoke(t.Context(), input)).State.Log, []string{"attempt 2"})
}

func TestKeptUpdatesMergeBeforeThatOfTheFallback(t *testing.T) {
	m := &model{fails: 9}
	b := single(m.answer, graph.KeepUpdateOnError(), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
	b.Fallback("pay", func(context.Context, work, error) (update, error) { return logged("fallback"), nil })
	res := done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "log", res.State.Log, []string{"attempt 1", "attempt 2", "fallback"})
}

func TestRerunDropsKeptUpdates(t *testing.T) {
	m := &model{fails: 2}
	th, _ := newThread(t, single(m.answer, graph.KeepUpdateOnError(), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1})))
	if _, err := th.Invoke(t.Context(), input); !errors.Is(err, errBroken) {
		t.Fatalf("got %v, want errBroken", err)
	}
	res := done(t, graph.Done)(th.Resume(t.Context(), graph.Rerun("pay")))
	same(t, "log", res.State.Log, []string{"attempt 3"})
}

func TestTheUpdateOfATaskThatWaitsIsNotKept(t *testing.T) {
	b := single(func(ctx context.Context, _ work) (update, error) {
		_, err := refund.Ask(ctx, doc{Name: "shoes"})
		return logged("paid"), err
	}, graph.KeepUpdateOnError(), refund)
	th, _ := newThread(t, b)
	w := done(t, graph.Waiting)(th.Invoke(t.Context(), input)).Questions[0]
	res := done(t, graph.Done)(th.Resume(t.Context(), refund.Answer(w, true)))
	same(t, "log", res.State.Log, []string{"paid"})
}

// TestKeptUpdatesSurviveEveryCrash: at every call of the saver the process dies. Only the update
// of the attempt that was being stored can be lost, and none counts twice.
func TestKeptUpdatesSurviveEveryCrash(t *testing.T) {
	for _, after := range []bool{false, true} {
		for left := 1; ; left++ {
			m := &model{fails: 3}
			s := memory.New()
			b := single(m.answer, graph.KeepUpdateOnError(), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
			var res result
			var err error
			crashed := false
			for tries, via := 0, checkpoint.Saver(&crashing{Saver: s, left: left, after: after}); tries < 9; tries++ {
				if res, err = payUp(t, via, b, graph.Sync); errors.Is(err, errCrash) {
					crashed, via = true, s
				}
				if err == nil {
					break
				}
			}
			what := fmt.Sprintf("crash at call %d, made: %t", left, after)
			if err != nil || res.Status != graph.Done {
				t.Fatalf("%s: got %s, %v", what, res.Status, err)
			}
			if log := res.State.Log; len(log) > m.calls || len(log) < m.calls-1 || len(slices.Compact(log)) != len(res.State.Log) {
				t.Errorf("%s: got %q after %d attempts, want all but the one in progress at the crash", what, log, m.calls)
			}
			if after && len(res.State.Log) < m.calls-1 || !crashed && len(res.State.Log) != m.calls {
				t.Errorf("%s: got %q after %d attempts", what, res.State.Log, m.calls)
			}
			if !crashed {
				t.Logf("%d crash points", left-1)
				break
			}
		}
	}
}

func TestAnUpdateThatCannotBeKept(t *testing.T) {
	m := &model{fails: 1}
	b := single(m.answer, graph.KeepUpdateOnError(), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: 1}))
	b.Fallback("pay", func(context.Context, work, error) (update, error) { return logged("fallback"), nil })
	s := &refusing{Saver: memory.New(), refuse: 1, prefix: "kept:"}
	th := compile(t, b, graph.Saver(s)).Thread("t")
	_, err := th.Invoke(t.Context(), input)
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "the update that the node returned with the error is not stored") {
		t.Errorf("got %v, want both errors", err)
	}
	same(t, "attempts", m.calls, 1)
	same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"attempt 2"})
}

func TestStrictDropsAnUndeclaredUpdateOfAFailedAttempt(t *testing.T) {
	m := &model{fails: 9}
	th, _ := newThread(t, single(m.answer, graph.KeepUpdateOnError(), graph.Writes("Count")), graph.Strict())
	var undeclared *graph.UndeclaredError
	if _, err := th.Invoke(t.Context(), input); !errors.As(err, &undeclared) {
		t.Errorf("got %v, want an *UndeclaredError", err)
	}
}

// TestTheUpdateOfATaskThatSleepsIsNotKept proves rule 11.13 for a node that lists no question.
func TestTheUpdateOfATaskThatSleepsIsNotKept(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, single(func(ctx context.Context, _ work) (update, error) {
			return logged("attempt"), graph.Sleep(ctx, day)
		}, graph.KeepUpdateOnError()), d)
		done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		time.Sleep(day)
		same(t, "log", done(t, graph.Done)(th.Resume(t.Context())).State.Log, []string{"attempt"})
	})
}
