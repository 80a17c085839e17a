package graph_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// hanging is a node of a queue whose first execution of each task hangs.
type hanging struct {
	mu       sync.Mutex
	attempts map[string][]int // by task key
}

func (h *hanging) node(ctx context.Context, _ work, name wire.String) (update, error) {
	task := graph.CurrentTask(ctx)
	h.mu.Lock()
	h.attempts[task.Key] = append(h.attempts[task.Key], task.Attempt)
	first := len(h.attempts[task.Key]) == 1
	h.mu.Unlock()
	if first {
		<-ctx.Done()
		return update{}, ctx.Err()
	}
	return logged(string(name)), nil
}

// same checks that each task has had the same attempts.
func (h *hanging) same(t *testing.T, want ...int) {
	t.Helper()
	if len(h.attempts) < 2 {
		t.Errorf("got %d tasks, want at least two", len(h.attempts))
	}
	for key, got := range h.attempts {
		if !slices.Equal(got, want) {
			t.Errorf("task %s: got the attempts %v, want %v", key, got, want)
		}
	}
}

// eachSend runs test with sends of a graph to a queue, and with those of its subgraphs.
func eachSend(t *testing.T, test func(t *testing.T, build func(sentNode, ...graph.NodeOption) (*app, *pool), log []string)) {
	t.Helper()
	t.Run("no subgraph", func(t *testing.T) {
		test(t, func(node sentNode, o ...graph.NodeOption) (*app, *pool) {
			b := newWork()
			each := graph.TaskNode(b, "each", node, append(o, graph.Queue("gpu"))...)
			b.Route(graph.Start, func(context.Context, work) (graph.Next, error) {
				next := each.Send("x")
				next.Add(each.Send("y"))
				return next, nil
			}, "each")
			b.Edge("each", graph.End)
			s := memory.New()
			g := compile(t, b, graph.Saver(s))
			return g, serving(g, s)
		}, []string{"x", "y"})
	})
	eachQueueNesting(t, func(t *testing.T, build func(checkpoint.Saver, sentNode, ...graph.NodeOption) *app, log []string) {
		test(t, func(node sentNode, o ...graph.NodeOption) (*app, *pool) {
			s := memory.New()
			g := build(s, node, o...)
			return g, serving(g, s)
		}, log)
	})
}

// TestASendToAQueueThatTimesOutIsRetried: the timeout is that of each attempt, and an error that
// Retry knows (rules 11.4 and 23.1).
func TestASendToAQueueThatTimesOutIsRetried(t *testing.T) {
	eachSend(t, func(t *testing.T, build func(sentNode, ...graph.NodeOption) (*app, *pool), log []string) {
		synctest.Test(t, func(t *testing.T) {
			h := &hanging{attempts: make(map[string][]int)}
			late := func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
			g, p := build(h.node, graph.Timeout(time.Minute), graph.Retry(graph.RetryPolicy{If: late, Attempts: 2}))
			res := done(t, graph.Done)(p.invoke(t, g.Thread("t")))
			same(t, "log", res.State.Log, log)
			h.same(t, 1, 2)
		})
	})
}

// TestASendToAQueueThatTimesOutFails without a Retry. The resume runs it again.
func TestASendToAQueueThatTimesOutFails(t *testing.T) {
	eachSend(t, func(t *testing.T, build func(sentNode, ...graph.NodeOption) (*app, *pool), log []string) {
		synctest.Test(t, func(t *testing.T) {
			h := &hanging{attempts: make(map[string][]int)}
			g, p := build(h.node, graph.Timeout(time.Minute))
			var failed *graph.NodeError
			res, err := p.invoke(t, g.Thread("t"))
			if !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &failed) || res.Status != graph.Failed {
				t.Errorf("got %s, %v; want a NodeError with the end of the time", res.Status, err)
			}
			res = done(t, graph.Done)(p.resume(t, g.Thread("t")))
			same(t, "log", res.State.Log, log)
			h.same(t, 1, 1)
		})
	})
}

// TestANodeOfAQueueThatCallsGoexitFails instead of being handed out for ever (rules 11.1 and
// 23.1).
func TestANodeOfAQueueThatCallsGoexitFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		s := memory.New()
		g := queued(t, countedRuns(&calls, func(context.Context, work) (update, error) {
			if calls.Load() < 5 { // so that the test ends
				runtime.Goexit()
			}
			return update{}, nil
		}), s, nil)
		res, err := serving(g, s).invoke(t, g.Thread("t"))
		if err == nil || !strings.Contains(err.Error(), graph.ErrGoexit.Error()) || res.Status != graph.Failed {
			t.Errorf("got %s, %v; want a failure because of Goexit", res.Status, err)
		}
		same(t, "calls", int(calls.Load()), 1)
	})
}

// TestRunKeepsTheTimesOfANodeWithAQueue runs the node and its Fallback in the process itself.
func TestRunKeepsTheTimesOfANodeWithAQueue(t *testing.T) {
	slow := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Hour):
			return nil
		}
	}
	for name, fails := range map[string]bool{"node": false, "fallback": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newWork()
				b.Node("heavy", func(ctx context.Context, _ work) (update, error) {
					if fails {
						return update{}, errBroken
					}
					return update{}, slow(ctx)
				}, graph.Queue("gpu"), graph.Timeout(time.Minute))
				b.Chain(graph.Start, "heavy", graph.End)
				if fails {
					b.Fallback("heavy", func(ctx context.Context, _ work, _ error) (update, error) { return update{}, slow(ctx) })
				}
				g := compile(t, b, graph.Saver(memory.New()))
				began := time.Now()
				if _, err := g.Run(t.Context(), input); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
					t.Errorf("after %s: got %v; want the Timeout of a minute", time.Since(began), err)
				}
			})
		})
	}
}
