package worker_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// skewed is a saver whose clock differs from the clock of the worker.
type skewed struct {
	checkpoint.Saver
	by time.Duration
}

// shifted returns a time on the other clock; zero stays zero.
func shifted(t time.Time, by time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(by)
}

func (s skewed) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	a.Wake = shifted(a.Wake, -s.by)
	done, err := s.Saver.Append(ctx, a)
	done.Now = shifted(done.Now, s.by)
	return done, err
}

func (s skewed) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	w.Wake = shifted(w.Wake, -s.by)
	return s.Saver.PutWrites(ctx, w)
}

func (s skewed) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	r.Wake = shifted(r.Wake, -s.by)
	return s.Saver.Rewake(ctx, r)
}

func (s skewed) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	got, err := s.Saver.Ready(ctx, q)
	got.Now, got.Next = shifted(got.Now, s.by), shifted(got.Next, s.by)
	for i := range got.Threads {
		got.Threads[i].Wake = shifted(got.Threads[i].Wake, s.by)
	}
	return got, err
}

func (s skewed) thread(t checkpoint.Thread) checkpoint.Thread {
	t.Wake, t.Lease = shifted(t.Wake, s.by), shifted(t.Lease, s.by)
	t.Updated, t.Created = shifted(t.Updated, s.by), shifted(t.Created, s.by)
	return t
}

func (s skewed) Load(ctx context.Context, p checkpoint.Ref) (checkpoint.Chain, error) {
	c, err := s.Saver.Load(ctx, p)
	c.Thread = s.thread(c.Thread)
	return c, err
}

func (s skewed) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range s.Saver.Threads(ctx, q) {
			if !yield(s.thread(t), err) {
				return
			}
		}
	}
}

func (s skewed) Mail(ctx context.Context, q checkpoint.MailQuery) ([]checkpoint.Message, error) {
	found, err := s.Saver.Mail(ctx, q)
	found = slices.Clone(found)
	for i := range found {
		found[i].Posted = shifted(found[i].Posted, s.by)
	}
	return found, err
}

// TestAWorkerWhoseClockIsWrong runs a sleep, a retry after a pause and a question that expires, on
// a saver whose clock is years ahead or behind. All take the time that they take otherwise.
func TestAWorkerWhoseClockIsWrong(t *testing.T) {
	const year, day, poll = 365 * 24 * time.Hour, 24 * time.Hour, time.Minute
	approve := graph.NewQuestion[wire.String, wire.Int]("approve")
	for name, by := range map[string]time.Duration{"right": 0, "ahead": -10 * year, "behind": 10 * year, "a minute behind": time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := skewed{memory.New(), by}
				begin := time.Now()
				var took []time.Duration // until each step
				fails := 1
				b := graph.New("late", JobSchema)
				sleep := b.Node("sleep", func(ctx context.Context, _ Job) (JobUpdate, error) {
					if err := graph.Sleep(ctx, day); err != nil {
						return JobUpdate{}, err
					}
					took = append(took, time.Since(begin))
					return said("slept"), nil
				})
				fail := b.Node("fail", func(context.Context, Job) (JobUpdate, error) {
					if fails--; fails >= 0 {
						return JobUpdate{}, errBroken
					}
					took = append(took, time.Since(begin))
					return said("tried again"), nil
				})
				ask := b.Node("ask", func(ctx context.Context, _ Job) (JobUpdate, error) {
					_, err := approve.Ask(ctx, "?", graph.ExpireAfter(day))
					if !errors.Is(err, graph.ErrExpired) {
						return JobUpdate{}, err
					}
					took = append(took, time.Since(begin))
					return said("expired"), nil
				}, approve)
				b.Edge(graph.Start, sleep)
				b.Edge(sleep, fail)
				b.Edge(fail, ask)
				b.Edge(ask, graph.End)
				g, err := b.Compile(graph.Saver(s))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := g.Thread("t").Submit(t.Context(), said("in")); err != nil {
					t.Fatal(err)
				}
				pause := time.Hour
				w := start(t, s, worker.Options{Poll: poll, Retry: graph.RetryPolicy{Attempts: 3, Base: pause, Max: pause, Jitter: full}}, g)
				time.Sleep(3 * day)
				if err := w.stop(); err != nil {
					t.Error(err)
				}
				snap, err := g.Thread("t").State(t.Context())
				if want := []string{"in", "slept", "tried again", "expired"}; err != nil || snap.Status != graph.Done || !slices.Equal(snap.State.Log, want) {
					t.Fatalf("got the thread %s with the log %q, %v; want it done with %q", snap.Status, snap.State.Log, err, want)
				}
				for i, want := range []time.Duration{day, day + pause, 2*day + pause} {
					// A poll is up to twice its mean apart, and there were up to i+2 of them.
					if got := took[i]; got < want || got > want+time.Duration(i+2)*2*poll {
						t.Errorf("step %d: took %v, want %v, and the time of the polls", i+1, got, want)
					}
				}
			})
		})
	}
}
