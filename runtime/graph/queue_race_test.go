package graph_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestARemovedTaskIsHandedOutAgainAfterAnHour tests rule 23.7: somebody deletes the thread of a
// task. The thread is due an hour later, and then the task is in the queue again.
func TestARemovedTaskIsHandedOutAgainAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g := queued(t, say("gpu"), s, nil)
		done(t, graph.Waiting)(g.Thread("t").Invoke(t.Context(), input))
		p := serving(g, s)
		for _, task := range p.waiting(t) {
			if err := s.Delete(t.Context(), task.thread); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour - time.Second)
		same(t, "threads due before the hour", len(ready(t, s)), 0)
		time.Sleep(time.Second)
		if run, err := resumeDue(t, g, s, graph.DueOptions{}); err != nil || run.Status != graph.Waiting {
			t.Fatalf("got %s, %v; want the thread waiting again", run.Status, err)
		}
		same(t, "tasks in the queue", p.work(t), 1)
		serve(t, g, s)
		same(t, "log", snapshot(t, g.Thread("t")).State.Log, []string{"a", "gpu", "z"})
	})
}

// TestARaceOfAQueuedTaskAndOneOfTheRun tests rule 23.7: the outcome comes while the run executes
// the other task of the race. That task wins if it succeeds. If it fails, the next run takes the
// outcome, which then wins.
func TestARaceOfAQueuedTaskAndOneOfTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want []string
	}{
		"it succeeds": {nil, []string{"local", "z"}},
		"it fails":    {errBroken, []string{"gpu", "z"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, b, runs := memory.New(), newWork(), 0
				b.Node("gpu", say("gpu"), graph.Queue("gpu"))
				b.Node("local", func(ctx context.Context, _ work) (update, error) {
					if runs++; runs > 1 {
						<-ctx.Done() // the outcome ends the race
						return update{}, ctx.Err()
					}
					time.Sleep(time.Hour)
					return logged("local"), c.err
				})
				b.Node("z", say("z"))
				for _, id := range []graph.ID{"gpu", "local"} {
					b.Edge(graph.Start, id)
				}
				b.JoinAny([]graph.ID{"gpu", "local"}, "z")
				b.Edge("z", graph.End)
				g := compile(t, b, graph.Saver(s))
				if _, err := g.Thread("t").Submit(t.Context(), input); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Minute, func() {
					if n := serving(g, s).work(t); n != 1 {
						t.Errorf("got %d tasks while the run executes another one, want 1", n)
					}
				})
				for range 3 {
					found, err := s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"g"}, Limit: 1})
					if err != nil {
						t.Fatal(err)
					}
					for _, th := range found.Threads {
						_, _ = g.ResumeDue(t.Context(), th, graph.DueOptions{})
					}
				}
				same(t, "log", snapshot(t, g.Thread("t")).State.Log, c.want)
			})
		})
	}
}
