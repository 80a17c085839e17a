package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// noted keeps all messages and outcomes.
type noted struct {
	*memory.Saver
	mu  sync.Mutex
	all strings.Builder
}

func (n *noted) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	n.mu.Lock()
	for i := range posts {
		for _, m := range posts[i].Messages {
			n.all.Write(m.Payload)
		}
		for _, o := range posts[i].Outcomes {
			n.all.Write(o.Payload)
		}
	}
	n.mu.Unlock()
	return n.Saver.Post(ctx, posts...)
}

// TestOutcomesOfQueuesAreRedacted fails a task in the worker of its thread, and in another one.
func TestOutcomesOfQueuesAreRedacted(t *testing.T) {
	for name, queuesOnly := range map[string]bool{"in place": false, "elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &noted{Saver: memory.New()}
				b := graph.New("one", JobSchema)
				b.Node("n", func(context.Context, Job) (JobUpdate, error) { return JobUpdate{}, errors.New("no s3cret") }, graph.Queue("gpu"))
				b.Chain(graph.Start, "n", graph.End)
				g, err := b.Compile(graph.Saver(s), graph.RedactErrors(func(text string) string { return strings.ReplaceAll(text, "s3cret", "***") }))
				if err != nil {
					t.Fatal(err)
				}
				queues := map[string]int{"gpu": 1}
				workers := []*started{start(t, s, worker.Options{Queues: queues, QueuesOnly: queuesOnly}, g)}
				if queuesOnly {
					workers = append(workers, start(t, s, worker.Options{Retry: graph.RetryPolicy{Attempts: 1}}, g))
				}
				synctest.Wait()
				if _, err := g.Thread("t").Submit(t.Context(), said("in")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				snap, err := g.Thread("t").State(t.Context())
				if err != nil || len(snap.Tasks) != 1 || !strings.Contains(snap.Tasks[0].Failure, "no ***") || strings.Contains(snap.Reason, "s3cret") {
					t.Errorf("got %+v, %q, %v; want the error without the secret", snap.Tasks, snap.Reason, err)
				}
				for _, w := range workers {
					if err := w.stop(); err != nil {
						t.Error(err)
					}
				}
				if text := s.all.String(); strings.Contains(text, "s3cret") || queuesOnly && !strings.Contains(text, "no ***") {
					t.Errorf("got the messages %s", text)
				}
			})
		})
	}
}
