package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

func TestEventKindsPrint(t *testing.T) {
	for want, kind := range map[string]graph.EventKind{
		"task started":              graph.EventTaskStarted,
		"task stuck":                graph.EventTaskStuck,
		"update|custom":             graph.EventUpdate | graph.EventCustom,
		"unknown event 0":           0,
		"state|unknown event 32768": graph.EventState | 1<<15,
		"update|state|task started|task ended|custom|checkpoint|question|run ended|run started|task retry|task stuck|task update|task fallback|task cached|prune failed": graph.EventAll,
	} {
		if got := kind.String(); got != want {
			t.Errorf("kind %b: got %q, want %q", uint16(kind), got, want)
		}
	}
}

// A stream shows each attempt of a task, and an observer sees the same.
func TestAStreamShowsFailedAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newWork()
		b.Node("a", func(ctx context.Context, _ work) (update, error) {
			if graph.CurrentTask(ctx).Attempt < 3 {
				return update{}, errBroken
			}
			return logged("a"), nil
		}, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: 100, Jitter: whole}))
		b.Edge(graph.Start, "a")
		b.Edge("a", graph.End)
		var observed, streamed []string
		note := func(lines *[]string, e graph.RunEvent) {
			switch e.Kind {
			case graph.EventTaskStarted, graph.EventTaskEnded, graph.EventTaskRetry:
				line := fmt.Sprint(e.Graph, " ", e.Thread, " ", e.Kind, " ", e.Node, " ", e.Attempt)
				if e.Delay > 0 {
					line += fmt.Sprint(" after ", e.Delay)
				}
				if errors.Is(e.Err, errBroken) {
					line += " it broke"
				}
				*lines = append(*lines, line)
			}
		}
		th, _ := newThread(t, b, graph.Observe(observer(func(e graph.RunEvent) { note(&observed, e) })))
		for e, err := range th.Stream(t.Context(), input, graph.Events(graph.EventAll)) {
			if err != nil {
				t.Fatal(err)
			}
			note(&streamed, e.RunEvent)
		}
		want := []string{
			"g t task started a 1", "g t task ended a 1 it broke", "g t task retry a 1 after 100ns it broke",
			"g t task started a 2", "g t task ended a 2 it broke", "g t task retry a 2 after 200ns it broke",
			"g t task started a 3", "g t task ended a 3",
		}
		same(t, "stream", streamed, want)
		same(t, "observer", observed, want)
	})
}
