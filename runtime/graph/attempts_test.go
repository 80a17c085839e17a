package graph_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// attemptWrites counts the writes that keep failed attempts.
type attemptWrites struct {
	checkpoint.Saver
	n int
}

func (s *attemptWrites) count(writes []checkpoint.Write) {
	for _, w := range writes {
		if w.Kind == checkpoint.Failure && strings.HasPrefix(w.Name, "attempt#") {
			s.n++
		}
	}
}

func (s *attemptWrites) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	s.count(a.Writes)
	return s.Saver.Append(ctx, a)
}

func (s *attemptWrites) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	s.count(p.Writes)
	return s.Saver.PutWrites(ctx, p)
}

// TestFailedAttemptsAreKept fails a task in several runs, with pauses in memory and with stored
// ones, by rule 11.21. Each failed attempt costs one write.
func TestFailedAttemptsAreKept(t *testing.T) {
	for name, base := range map[string]time.Duration{"pauses in memory": time.Second, "stored pauses": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ran atomic.Int32
				s := &attemptWrites{Saver: memory.New()}
				b := newWork()
				b.Node("n", func(context.Context, work) (update, error) {
					switch n := ran.Add(1); {
					case n == 24:
						panic("bang")
					case n <= 24:
						return update{}, fmt.Errorf("broken %d", n)
					}
					return update{}, nil
				}, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: base, Max: base}))
				th := compile(t, line(b, "n"), graph.Saver(s), graph.Holder("host-7")).Thread("t")
				attempts := func() []graph.FailedAttempt {
					snap, err := th.State(t.Context())
					if err != nil || len(snap.Tasks) != 1 {
						t.Fatalf("got %+v, %v; want one task", snap.Tasks, err)
					}
					return snap.Tasks[0].Attempts
				}
				run := func(in func() (result, error)) {
					t.Helper()
					res, err := in()
					for res.Status == graph.Waiting && err == nil {
						time.Sleep(base)
						res, err = th.Resume(t.Context())
					}
					if err == nil {
						t.Fatal("the node did not fail")
					}
				}
				run(func() (result, error) { return th.Invoke(t.Context(), input) })
				got := attempts()
				same(t, "attempts of one run", len(got), 3)
				for i, a := range got {
					want := graph.FailedAttempt{Number: i + 1, Attempt: i + 1, Failed: a.Failed, Worker: "host-7", Text: fmt.Sprintf("broken %d", i+1)}
					same(t, "an attempt", a, want)
					if i > 0 && a.Failed.Sub(got[i-1].Failed) < base/2 {
						t.Errorf("attempts %d and %d failed at %s and %s, without the pause", i, i+1, got[i-1].Failed, a.Failed)
					}
				}
				for ran.Load() < 24 {
					run(func() (result, error) { return th.Resume(t.Context()) })
				}
				got = attempts()
				same(t, "attempts of many runs", len(got), 20)
				same(t, "the first one", got[0].Number, 5)
				same(t, "the last one", got[19].Text, "panic: bang")
				if !strings.Contains(got[19].Stack, "attempts_test.go") {
					t.Errorf("the stack of the panic is %q", got[19].Stack)
				}
				same(t, "writes", s.n, 24)
			})
		})
	}
}
