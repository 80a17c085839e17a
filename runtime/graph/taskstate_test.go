package graph_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// timeless returns the tasks without the times of their failures, and without their Attempts. Each
// failure must have a time, and be the newest of the Attempts.
func timeless(t *testing.T, tasks []graph.TaskState) []graph.TaskState {
	t.Helper()
	tasks = slices.Clone(tasks)
	for i := range tasks {
		if at := tasks[i].FailedAt; (tasks[i].Failure != "") == at.IsZero() || at.Location() != time.UTC && !at.IsZero() {
			t.Errorf("task %d has the failure %q and its time %s", i, tasks[i].Failure, at)
		}
		if n := len(tasks[i].Attempts); tasks[i].Failure != "" {
			last := graph.FailedAttempt{}
			if n > 0 {
				last = tasks[i].Attempts[n-1]
			}
			if last.Attempt != tasks[i].Attempt || !last.Failed.Equal(tasks[i].FailedAt) || !strings.Contains(tasks[i].Failure, last.Text) || last.Text == "" {
				t.Errorf("task %d failed with %q, but its newest attempt is %+v", i, tasks[i].Failure, last)
			}
		}
		tasks[i].FailedAt, tasks[i].Attempts = time.Time{}, nil
	}
	return tasks
}

// TestATaskStateHasItsLastFailedAttempt: a task fails at its second attempt, and its sibling
// returns an hour later.
func TestATaskStateHasItsLastFailedAttempt(t *testing.T) {
	eachInBubble(t, func(t *testing.T, d graph.Durability) {
		b := newWork()
		b.Node("bad", func(ctx context.Context, _ work) (update, error) {
			if graph.CurrentTask(ctx).Attempt == 1 {
				return update{}, graph.RetryAfter(errBroken, time.Second)
			}
			return update{}, graph.RetryAfter(errBroken, day)
		}, graph.Retry(graph.RetryPolicy{Attempts: 3}))
		b.Node("slow", func(context.Context, work) (update, error) { time.Sleep(time.Hour); return logged("slow"), nil })
		for _, n := range []graph.ID{"bad", "slow"} {
			b.Edge(graph.Start, n)
			b.Edge(n, graph.End)
		}
		s := memory.New()
		begun := time.Now().UTC()
		done(t, graph.Waiting)(compile(t, b, graph.Saver(s), d).Thread("t").Invoke(t.Context(), input))
		state := func() graph.TaskState {
			t.Helper()
			snap, err := compile(t, b, graph.Saver(s), d).Thread("t").State(t.Context()) // as in another process
			if err != nil {
				t.Fatal(err)
			}
			same(t, "sibling", snap.Tasks[1], graph.TaskState{Node: "slow", Finished: true})
			attempts := snap.Tasks[0].Attempts
			for i := range attempts {
				attempts[i].Worker = "" // the name of this process
			}
			return snap.Tasks[0]
		}
		want := graph.TaskState{Node: "bad", Failure: "it broke", Attempt: 2, FailedAt: begun.Add(time.Second), Attempts: []graph.FailedAttempt{
			{Number: 1, Attempt: 1, Failed: begun, Text: "it broke"}, {Number: 2, Attempt: 2, Failed: begun.Add(time.Second), Text: "it broke"},
		}}
		same(t, "a task that waits for its next attempt", state(), want)

		time.Sleep(day)
		if _, err := compile(t, b, graph.Saver(s), d).Thread("t").Resume(t.Context()); err == nil {
			t.Fatal("the third attempt did not fail")
		}
		want.Attempt, want.FailedAt = 3, begun.Add(day+time.Hour)
		want.Attempts = append(want.Attempts, graph.FailedAttempt{Number: 3, Attempt: 3, Failed: want.FailedAt, Text: "it broke"})
		same(t, "a task that failed for good", state(), want)
	})
}
