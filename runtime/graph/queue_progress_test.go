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
	"github.com/graphgen-go/graphgen/savers/memory"
)

// TestProgressOfAQueueIsShownAndKept tests rule 11.18 in the worker of a queue. The note is shown
// while the node runs, and each later attempt gets the newest one.
func TestProgressOfAQueueIsShownAndKept(t *testing.T) {
	atDepths(t, func(t *testing.T, build func(checkpoint.Saver, func(*graph.Builder[work, update]), ...graph.Option) *app) {
		t.Helper()
		s := memory.New()
		var got []string
		var die context.CancelFunc // the process of the worker
		g := build(s, func(b *graph.Builder[work, update]) {
			b.Node("gpu", func(ctx context.Context, _ work) (update, error) {
				note, ok := graph.LastProgress(ctx)
				attempt := len(got) + 1
				got = append(got, fmt.Sprint(note, ok))
				for page := range 3 {
					if err := graph.Progress(ctx, fmt.Sprintf("attempt %d, page %d", attempt, page)); err != nil {
						return update{}, err
					}
					time.Sleep(6 * time.Second)
				}
				switch attempt {
				case 1: // the process dies: it stores nothing more
					die()
					return update{}, ctx.Err()
				case 2, 3:
					return update{}, errBroken
				}
				return logged("gpu"), nil
			}, graph.Queue("gpu"), graph.Retry(graph.RetryPolicy{Attempts: 2, Base: time.Millisecond}), graph.IdleTimeout(8*time.Second))
		})
		th := g.Thread("t")
		done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		p := serving(g, s)
		task := p.only(t)
		var ctx context.Context
		ctx, die = context.WithCancel(t.Context())
		defer die()
		over := make(chan error)
		go func() { over <- g.RunQueued(ctx, task, false) }()
		time.Sleep(11 * time.Second)
		if note := noteOf(t, s, "t"); note != "attempt 1, page 1" {
			t.Errorf("while the node runs: got the note %q", note)
		}
		if err := <-over; err == nil {
			t.Error("got no error of the worker that dies")
		}
		if err := g.RunQueued(t.Context(), task, true); err != nil { // another worker
			t.Fatal(err)
		}
		if note := noteOf(t, s, "t"); note != "attempt 2, page 2" {
			t.Errorf("after the failure: got the note %q", note)
		}
		if _, err := p.resume(t, th); !brokenIn(err) {
			t.Fatalf("got %v, want %v", err, errBroken)
		}
		if note := noteOf(t, s, "t"); note != "attempt 3, page 2" {
			t.Errorf("after the failure of the run: got the note %q", note)
		}
		res := done(t, graph.Done)(p.resume(t, th))
		same(t, "log", res.State.Log, []string{"gpu"})
		same(t, "notes that the attempts got", got, []string{
			"false", "attempt 1, page 2true", "attempt 2, page 2true", "attempt 3, page 2true",
		})
	})
}

// brokenIn reports whether err is errBroken of a worker of a queue.
func brokenIn(err error) bool {
	var queued *graph.QueueError
	return errors.As(err, &queued) && queued.Text == errBroken.Error()
}

// noteOf returns the note of the only task of a thread, at any depth.
func noteOf(t *testing.T, s checkpoint.Saver, thread string) string {
	t.Helper()
	for ref := (checkpoint.Ref{Thread: thread}); ; {
		c, err := s.Load(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := graph.Stored{Ref: ref}.Read(&c)
		if err != nil {
			t.Fatal(err)
		}
		if len(snap.Calls) == 0 {
			return snap.Tasks[0].Progress
		}
		ref.Namespace = snap.Calls[0].Namespace
		if inner, err := s.Load(t.Context(), ref); err != nil || inner.Empty() {
			return snap.Tasks[0].Progress
		}
	}
}

// TestRerunDropsTheProgressOfAQueue tests rule 11.18.
func TestRerunDropsTheProgressOfAQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		var got []string
		g := queued(t, func(ctx context.Context, _ work) (update, error) {
			note, _ := graph.LastProgress(ctx)
			got = append(got, note)
			return update{}, errors.Join(graph.Progress(ctx, "half"), errBroken)
		}, s, nil)
		th, p := g.Thread("t"), serving(g, s)
		if _, err := p.invoke(t, th); !brokenIn(err) {
			t.Fatal(err)
		}
		if _, err := p.resume(t, th); !brokenIn(err) {
			t.Fatal(err)
		}
		if _, err := p.resume(t, th, graph.Rerun("gpu")); !brokenIn(err) {
			t.Fatal(err)
		}
		same(t, "notes", got, []string{"", "half", ""})
	})
}

// TestTheNotesOfALongTaskAreFew counts the stored notes of a task that changes its note each
// second for a day.
func TestTheNotesOfALongTaskAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		g := queued(t, func(ctx context.Context, _ work) (update, error) {
			for n := range 24 * 3600 {
				if err := graph.Progress(ctx, fmt.Sprint("second ", n)); err != nil {
					return update{}, err
				}
				time.Sleep(time.Second)
			}
			return logged("gpu"), nil
		}, s, nil)
		th, p := g.Thread("t"), serving(g, s)
		done(t, graph.Waiting)(th.Invoke(t.Context(), input))
		if err := g.RunQueued(t.Context(), p.only(t), false); err != nil {
			t.Fatal(err)
		}
		c, err := s.Load(t.Context(), checkpoint.Ref{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.Writes); n < 20 || n > 100 {
			t.Errorf("got %d stored writes of the task, want less than 100", n)
		}
	})
}
