package graph_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// wantLabels fails unless State and Describe show a title and labels.
func wantLabels(t *testing.T, th thread, title string, labels map[string]string) {
	t.Helper()
	snap, err := th.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	listed, err := th.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if snap.Title != title || !maps.Equal(snap.Labels, labels) {
		t.Errorf("State: got title %q, labels %q; want %q, %q", snap.Title, snap.Labels, title, labels)
	}
	if listed.Title != title || !maps.Equal(listed.Labels, labels) || listed.Graph == "" || listed.Created.IsZero() {
		t.Errorf("Describe: got graph %q, created %v, title %q, labels %q; want a graph, a time, %q, %q",
			listed.Graph, listed.Created, listed.Title, listed.Labels, title, labels)
	}
}

func TestAThreadHasTheTitleAndLabelsOfItsInputs(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, saver := newThread(t, chain("a", "b"), d, graph.InterruptBefore("b"))
		done(t, graph.Paused)(th.Invoke(t.Context(), input, graph.Title("Refund of order 7"), graph.Label("user", "ada"), graph.Label("shop", "x")))
		want := map[string]string{"user": "ada", "shop": "x"}
		wantLabels(t, th, "Refund of order 7", want)
		done(t, graph.Done)(th.Resume(t.Context()))
		wantLabels(t, th, "Refund of order 7", want)
		done(t, graph.Paused)(th.Invoke(t.Context(), input, graph.Label("user", "bob"), graph.Label("shop", ""))) // from memory
		want = map[string]string{"user": "bob"}
		wantLabels(t, th, "Refund of order 7", want)
		if _, err := th.UpdateState(t.Context(), logged("edit"), graph.Title("Order 7")); err != nil {
			t.Fatal(err)
		}
		wantLabels(t, th, "Order 7", want)
		done(t, graph.Done)(th.Resume(t.Context()))
		wantLabels(t, th, "Order 7", want)
		found := 0
		for listed, err := range saver.Threads(t.Context(), checkpoint.ThreadQuery{Labels: want}) {
			if err != nil || listed.Title != "Order 7" {
				t.Errorf("by label: got %+v, %v", listed, err)
			}
			found++
		}
		same(t, "threads with the label", found, 1)
	})
}

func TestAnUpdateThatStartsAThreadGivesItLabels(t *testing.T) {
	th, _ := newThread(t, chain("a"))
	if _, err := th.UpdateState(t.Context(), logged("seed"), graph.Title("Imported"), graph.Label("user", "ada")); err != nil {
		t.Fatal(err)
	}
	wantLabels(t, th, "Imported", map[string]string{"user": "ada"})
}

func TestAThreadHasThePriorityOfItsCalls(t *testing.T) {
	eachDurability(t, func(t *testing.T, d graph.Durability) {
		th, _ := newThread(t, chain("a"), d)
		for _, step := range []struct {
			what string
			call func() error
			want checkpoint.Priority
		}{
			{"Invoke", func() error { _, err := th.Invoke(t.Context(), input); return err }, checkpoint.Normal},
			{"Invoke with High", func() error { _, err := th.Invoke(t.Context(), input, graph.Priority(checkpoint.High)); return err }, checkpoint.High},
			{"UpdateState with Low", func() error {
				_, err := th.UpdateState(t.Context(), logged("edit"), graph.Priority(checkpoint.Low))
				return err
			}, checkpoint.Low},
			{"Submit with Urgent", func() error {
				_, err := th.Submit(t.Context(), input, graph.Priority(checkpoint.Urgent))
				return err
			}, checkpoint.Urgent},
			{"Submit", func() error { _, err := th.Submit(t.Context(), input); return err }, checkpoint.Urgent},
		} {
			if err := step.call(); err != nil {
				t.Fatalf("%s: %v", step.what, err)
			}
			if listed, err := th.Describe(t.Context()); err != nil || listed.Priority != step.want {
				t.Errorf("%s: the thread has the priority %v, %v; want %v", step.what, listed.Priority, err, step.want)
			}
		}
	})
}

func TestWrongTitlesAndLabelsStoreNothing(t *testing.T) {
	th, saver := newThread(t, chain("a"))
	many := make([]graph.InvokeOption, 0, checkpoint.MaxLabels+1)
	for i := range checkpoint.MaxLabels + 1 {
		many = append(many, graph.Label(fmt.Sprint(i), "1"))
	}
	for what, opts := range map[string][]graph.InvokeOption{
		"Title is empty":              {graph.Title("")},
		"Title is given twice":        {graph.Title("a"), graph.Title("b")},
		"Title has 1025 bytes":        {graph.Title(strings.Repeat("x", 1025))},
		"Priority is 0":               {graph.Priority(0)},
		"Priority is 5":               {graph.Priority(checkpoint.Low + 1)},
		"Label has an empty name":     {graph.Label("", "x")},
		"are reserved":                {graph.Label("__parent", "x")},
		"Label has a name of 101":     {graph.Label(strings.Repeat("x", 101), "x")},
		"has a value of 201":          {graph.Label("x", strings.Repeat("x", 201))},
		`Label "user" is given twice`: {graph.Label("user", "ada"), graph.Label("user", "bob")},
		"more than 32 labels":         many,
	} {
		if _, err := th.Invoke(t.Context(), input, opts...); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want an error with %q", err, what)
		}
	}
	for thread, err := range saver.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		t.Errorf("a wrong option stored thread %+v, %v", thread, err)
	}
	for i := range checkpoint.MaxLabels {
		done(t, graph.Done)(th.Invoke(t.Context(), input, graph.Label(fmt.Sprint(i), "1")))
	}
	var invalid *checkpoint.InvalidError
	if _, err := th.Invoke(t.Context(), input, graph.Label("more", "1")); !errors.As(err, &invalid) {
		t.Errorf("one label more than a thread can have: got %v, want an *InvalidError", err)
	}
}
