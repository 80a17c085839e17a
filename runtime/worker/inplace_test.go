package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// handouts counts the tasks that are handed out, and the writes of threads.
type handouts struct {
	*memory.Saver
	tasks, writes atomic.Int32
}

func (h *handouts) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	for i := range posts {
		if strings.HasPrefix(posts[i].Thread, checkpoint.TaskPrefix) {
			h.tasks.Add(1)
		}
	}
	return h.Saver.Post(ctx, posts...)
}

func (h *handouts) Append(ctx context.Context, a checkpoint.Append) (checkpoint.AppendResult, error) {
	h.writes.Add(1)
	return h.Saver.Append(ctx, a)
}

// chain compiles a graph of n nodes in a line, which have the given options.
func chain(tb testing.TB, s checkpoint.Saver, n int, f node, opts ...graph.NodeOption) *app {
	tb.Helper()
	b := graph.New("chain", JobSchema)
	path := []graph.ID{graph.Start}
	for i := range n {
		path = append(path, b.Node(graph.ID(fmt.Sprint("n", i)), f, opts...))
	}
	b.Chain(append(path, graph.End)...)
	g, err := b.Compile(graph.Saver(s))
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// TestAWorkerWithAFreeSlotOfTheQueueHandsNothingOut compares a line of nodes with a queue with
// the same line without one.
func TestAWorkerWithAFreeSlotOfTheQueueHandsNothingOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var writes []int32
		for _, opts := range [][]graph.NodeOption{nil, {graph.Queue("gpu")}} {
			s := &handouts{Saver: memory.New()}
			g := chain(t, s, 9, say("n"), opts...)
			o := worker.Options{}
			if opts != nil {
				o.Queues = map[string]int{"gpu": 1}
			}
			stop := running(worker.New(s, o, g))
			synctest.Wait()
			if _, err := g.Thread("t").Submit(t.Context(), said("in")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			snap, err := g.Thread("t").State(t.Context())
			if err != nil || snap.Status != graph.Done || len(snap.State.Log) != 10 || s.tasks.Load() > 0 {
				t.Errorf("got %v, %v, %v, and %d tasks handed out; want the thread done, and none", snap.State.Log, snap.Status, err, s.tasks.Load())
			}
			writes = append(writes, s.writes.Load())
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
		if writes[0] != writes[1] {
			t.Errorf("the line took %d writes, and %d with a queue; want the same", writes[0], writes[1])
		}
	})
}

// TestTasksInPlaceTakeTheSlotsOfTheirQueue has more threads than slots.
func TestTasksInPlaceTakeTheSlotsOfTheirQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &handouts{Saver: memory.New()}
		var busy, most atomic.Int32
		g := chain(t, s, 5, func(context.Context, Job) (JobUpdate, error) {
			most.Store(max(most.Load(), busy.Add(1)))
			time.Sleep(time.Minute)
			busy.Add(-1)
			return said("n"), nil
		}, graph.Queue("gpu"))
		stop := running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": 2}}, g))
		synctest.Wait()
		for _, id := range ids("t", 6) {
			if _, err := g.Thread(id).Submit(t.Context(), said("in")); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(20 * time.Minute)
		for _, id := range ids("t", 6) {
			if th := listed(t, s, id); th.Status != graph.Done {
				t.Errorf("thread %s: got %s; want all done in the time that two slots need", id, th.Status)
			}
		}
		if most.Load() != 2 || s.tasks.Load() == 0 || len(leftTasks(t, s)) > 0 {
			t.Errorf("got %d tasks at the same time, %d handed out, %d left; want 2, some and none", most.Load(), s.tasks.Load(), len(leftTasks(t, s)))
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestATaskInPlaceYieldsToThoseThatWait has one slot, a thread that needs it again and again, and
// a task of another thread that waits for it.
func TestATaskInPlaceYieldsToThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		var order []string
		g := chain(t, s, 20, func(ctx context.Context, _ Job) (JobUpdate, error) {
			order = append(order, graph.CurrentTask(ctx).Thread)
			time.Sleep(time.Minute)
			return said("n"), nil
		}, graph.Queue("gpu"))
		stop := running(worker.New(s, worker.Options{Queues: map[string]int{"gpu": 1}}, g))
		synctest.Wait()
		if _, err := g.Thread("long").Submit(t.Context(), said("in")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if res, err := g.Thread("other").Invoke(t.Context(), said("in")); err != nil || res.Status != graph.Waiting {
			t.Fatalf("got %s, %v; want the task handed out", res.Status, err)
		}
		time.Sleep(time.Hour)
		if err := stop(); err != nil {
			t.Error(err)
		}
		if at := slices.Index(order, "other"); at != 1 || len(order) != 40 {
			t.Errorf("the task of the other thread came at %d of %v; want it at 1 of 40", at, order)
		}
	})
}

// TestATaskInPlaceEndsAsInAnotherWorker runs nodes in the worker of their thread, and in a worker
// of their queue.
func TestATaskInPlaceEndsAsInAnotherWorker(t *testing.T) {
	ask := graph.NewQuestion[wire.String, wire.Bool]("sure")
	tries := func(ctx context.Context) int { return graph.CurrentTask(ctx).Attempt }
	broken := func(context.Context, Job) (JobUpdate, error) {
		return JobUpdate{}, fmt.Errorf("no luck: %w", errBroken)
	}
	for name, of := range map[string]struct {
		node     node
		opts     []graph.NodeOption
		fallback bool
		answers  bool
		waits    bool // a later run continues the task, and need not execute it (rule 23.11)
	}{
		"result": {node: say("n")},
		"error":  {node: broken},
		"retry": {opts: []graph.NodeOption{graph.Retry(graph.RetryPolicy{Attempts: 3, If: func(err error) bool { return errors.Is(err, errBroken) }})},
			node: func(ctx context.Context, s Job) (JobUpdate, error) {
				if tries(ctx) < 3 {
					return broken(ctx, s)
				}
				return said("at last"), nil
			}},
		"retry of others": {opts: []graph.NodeOption{graph.Retry(graph.RetryPolicy{Attempts: 3, If: func(err error) bool { return errors.Is(err, context.Canceled) }})},
			node: broken},
		"retry after": {waits: true, opts: []graph.NodeOption{graph.Retry(graph.RetryPolicy{Attempts: 2})},
			node: func(ctx context.Context, _ Job) (JobUpdate, error) {
				if tries(ctx) < 2 {
					return JobUpdate{}, graph.RetryAfter(errBroken, time.Hour)
				}
				return said("later"), nil
			}},
		"panic": {node: func(context.Context, Job) (JobUpdate, error) { panic("at the disco") }},
		"timeout": {opts: []graph.NodeOption{graph.Timeout(time.Minute)}, node: func(ctx context.Context, _ Job) (JobUpdate, error) {
			<-ctx.Done()
			return JobUpdate{}, errors.New("too slow")
		}},
		"fallback":            {node: broken, fallback: true},
		"fallback of a panic": {node: func(context.Context, Job) (JobUpdate, error) { panic("at the disco") }, fallback: true},
		"fallback of a timeout": {opts: []graph.NodeOption{graph.Timeout(time.Minute)}, fallback: true,
			node: func(ctx context.Context, _ Job) (JobUpdate, error) {
				<-ctx.Done()
				return JobUpdate{}, ctx.Err()
			}},
		"call": {opts: []graph.NodeOption{graph.Retry(graph.RetryPolicy{Attempts: 2})}, node: func(ctx context.Context, _ Job) (JobUpdate, error) {
			got, err := graph.Do(ctx, "pay", func(context.Context) (wire.Int, error) { return wire.Int(tries(ctx)), nil })
			if err != nil || tries(ctx) < 2 {
				return JobUpdate{}, errors.Join(err, errBroken)
			}
			return said(fmt.Sprint("paid at attempt ", int(got))), nil
		}},
		"question": {opts: []graph.NodeOption{ask}, answers: true, waits: true, node: func(ctx context.Context, _ Job) (JobUpdate, error) {
			yes, err := ask.Ask(ctx, "?")
			return said(fmt.Sprint("answer ", bool(yes))), err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := func(inPlace bool) string {
					s := &handouts{Saver: memory.New()}
					var calls atomic.Int32
					b := graph.New("one", JobSchema)
					b.Node("n", func(ctx context.Context, s Job) (JobUpdate, error) {
						calls.Add(1)
						return of.node(ctx, s)
					}, append([]graph.NodeOption{graph.Queue("gpu")}, of.opts...)...)
					b.Chain(graph.Start, "n", graph.End)
					if of.fallback {
						b.Fallback("n", func(_ context.Context, _ Job, err error) (JobUpdate, error) {
							var q *graph.QueueError
							var p *graph.PanicError
							return said(fmt.Sprint(err, errors.As(err, &q), errors.As(err, &p), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errBroken))), nil
						})
					}
					g, err := b.Compile(graph.Saver(s))
					if err != nil {
						t.Fatal(err)
					}
					queues := map[string]int{"gpu": 1}
					o := worker.Options{Retry: graph.RetryPolicy{Attempts: 1}}
					stops := []func() error{}
					if inPlace {
						o.Queues = queues
					} else {
						stops = append(stops, running(worker.New(s, worker.Options{Queues: queues, QueuesOnly: true}, g)))
					}
					stops = append(stops, running(worker.New(s, o, g)))
					synctest.Wait()
					if _, err := g.Thread("t").Submit(t.Context(), said("in")); err != nil {
						t.Fatal(err)
					}
					time.Sleep(3 * time.Hour)
					if of.answers {
						snap, err := g.Thread("t").State(t.Context())
						if err != nil || len(snap.Questions) != 1 {
							t.Fatalf("got %d questions and %v; want one", len(snap.Questions), err)
						}
						if err := g.Thread("t").Answer(t.Context(), ask.Answer(snap.Questions[0], true)); err != nil {
							t.Fatal(err)
						}
						time.Sleep(time.Hour)
					}
					snap, err := g.Thread("t").State(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					for _, stop := range stops {
						if err := stop(); err != nil {
							t.Error(err)
						}
					}
					executions := int32(1)
					if of.waits {
						executions = 2
					}
					handed := s.tasks.Load()
					if inPlace && handed != executions-1 || !inPlace && handed < executions {
						t.Errorf("in place %t: %d tasks are handed out of %d", inPlace, handed, executions)
					}
					return fmt.Sprintf("%v %s %q, %d calls", snap.State.Log, snap.Status, snap.Reason, calls.Load())
				}
				there, here := run(false), run(true)
				if there != here {
					t.Errorf("in another worker: %s\nin place:          %s", there, here)
				}
				t.Log(here)
			})
		})
	}
}
