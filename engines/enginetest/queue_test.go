package enginetest_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/engines/enginetest"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

type (
	doing   = func(b *brokenQueue, ctx context.Context, t graph.QueuedTask) error
	running = func(ctx context.Context, t graph.QueuedTask) error
	serving = func(b *brokenQueue, ctx context.Context, name, queue string, slots int, run running) error
)

// brokenQueue is a queue that breaks one rule. Functions that are not nil replace the methods.
type brokenQueue struct {
	*worker.TaskQueue
	do    doing
	serve serving

	handed chan struct{} // a value for each task that was handed out
	stop   chan struct{} // closed at the end of the test

	mu    sync.Mutex
	n     int
	tasks map[string]graph.QueuedTask
	ended chan struct{} // closed and replaced after a run
}

func (b *brokenQueue) Do(ctx context.Context, t graph.QueuedTask) error {
	if b.do != nil {
		return b.do(b, ctx, t)
	}
	return b.TaskQueue.Do(ctx, t)
}

func (b *brokenQueue) Serve(ctx context.Context, name, queue string, slots int, run func(context.Context, graph.QueuedTask) error) error {
	if b.serve != nil {
		return b.serve(b, ctx, name, queue, slots, run)
	}
	return b.TaskQueue.Serve(ctx, name, queue, slots, run)
}

// handing is a saver that says when a task was handed out.
type handing struct {
	checkpoint.Saver
	handed chan<- struct{}
}

func (h handing) Post(ctx context.Context, posts ...checkpoint.Post) ([]checkpoint.Posted, error) {
	done, err := h.Saver.Post(ctx, posts...)
	h.handed <- struct{}{}
	return done, err
}

func newBrokenQueue(t *testing.T, do doing, serve serving) *brokenQueue {
	t.Helper()
	b := &brokenQueue{
		do: do, serve: serve, handed: make(chan struct{}, 1000), stop: make(chan struct{}),
		tasks: make(map[string]graph.QueuedTask), ended: make(chan struct{}),
	}
	b.TaskQueue = worker.NewTaskQueue(handing{memory.New(), b.handed}, worker.TaskQueueOptions{Poll: 10 * time.Millisecond, Silence: time.Hour})
	t.Cleanup(func() { close(b.stop) })
	return b
}

func (b *brokenQueue) place(patience time.Duration) enginetest.QueuePlace {
	return enginetest.QueuePlace{
		Open:     func(testing.TB) graph.TaskQueue { return b },
		HandOuts: func(testing.TB) func() { return func() { <-b.handed } },
		Patience: patience,
	}
}

// next counts calls.
func (b *brokenQueue) next() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.n++
	return b.n
}

// note stores a task, and returns the one that had the name before.
func (b *brokenQueue) note(name string, t graph.QueuedTask) (before graph.QueuedTask, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, known = b.tasks[name]
	b.tasks[name] = t
	return before, known
}

// doChanged hands out a changed task.
func doChanged(change func(b *brokenQueue, t *graph.QueuedTask)) doing {
	return func(b *brokenQueue, ctx context.Context, t graph.QueuedTask) error {
		change(b, &t)
		return b.TaskQueue.Do(ctx, t)
	}
}

// doJoined hands out only the first of the tasks that have one name.
func doJoined(name func(t graph.QueuedTask) string) doing {
	return func(b *brokenQueue, ctx context.Context, t graph.QueuedTask) error {
		if first, known := b.note(name(t), t); known {
			t = first
		} else {
			b.note(name(t), t)
		}
		return b.TaskQueue.Do(ctx, t)
	}
}

// runChanged serves with a changed function. left is the context of Serve.
func runChanged(change func(b *brokenQueue, left context.Context, run running) running) serving {
	return func(b *brokenQueue, ctx context.Context, name, queue string, slots int, run running) error {
		return b.TaskQueue.Serve(ctx, name, queue, slots, change(b, ctx, run))
	}
}

// queueCase returns a case of the suite.
func queueCase(t *testing.T, name string) enginetest.QueueCase {
	t.Helper()
	i := slices.IndexFunc(enginetest.QueueCases(), func(c enginetest.QueueCase) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the suite has no case %q", name)
	}
	return enginetest.QueueCases()[i]
}

var queueBreaks = []struct {
	name, breaks string
	do           doing
	serve        serving
}{
	{"Do returns when a worker of another process has returned", "returns before the worker", func(b *brokenQueue, ctx context.Context, t graph.QueuedTask) error {
		go func() { _ = b.TaskQueue.Do(context.WithoutCancel(ctx), t) }()
		return nil
	}, nil},
	{"Do returns when a worker of another process has returned", "loses the end of a task", func(b *brokenQueue, ctx context.Context, t graph.QueuedTask) error {
		_ = b.TaskQueue.Do(ctx, t)
		<-b.stop
		return nil
	}, nil},
	{"Do returns when a worker of another process has returned", "loses a task", func(b *brokenQueue, ctx context.Context, _ graph.QueuedTask) error {
		<-b.stop
		return ctx.Err()
	}, nil},
	{"Do returns when a worker of another process has returned", "takes the end of another task for that of its own", func(b *brokenQueue, ctx context.Context, t graph.QueuedTask) error {
		own := make(chan error, 1)
		b.mu.Lock()
		other := b.ended
		b.mu.Unlock()
		go func() { own <- b.TaskQueue.Do(ctx, t) }()
		select {
		case err := <-own:
			return err
		case <-other:
			return nil
		}
	}, runChanged(func(b *brokenQueue, _ context.Context, run running) running {
		return func(ctx context.Context, t graph.QueuedTask) error {
			err := run(ctx, t)
			b.mu.Lock()
			defer b.mu.Unlock()
			close(b.ended)
			b.ended = make(chan struct{})
			return err
		}
	})},
	{"Do returns when a worker of another process has returned", "forgets the attempt", doChanged(func(_ *brokenQueue, t *graph.QueuedTask) { t.Attempt = 0 }), nil},
	{"several calls for one task run it once", "hands a task out twice", doChanged(func(b *brokenQueue, t *graph.QueuedTask) { t.Execution += fmt.Sprint(b.next()) }), nil},
	{"several calls for one task run it once", "remembers tasks that have ended", func(b *brokenQueue, ctx context.Context, t graph.QueuedTask) error {
		err := b.TaskQueue.Do(ctx, t)
		if _, known := b.note("ended "+t.Task, t); known && b.next() > 1 {
			return nil
		}
		return err
	}, runChanged(func(b *brokenQueue, _ context.Context, run running) running {
		return func(ctx context.Context, t graph.QueuedTask) error {
			if _, known := b.note(t.Task, t); known {
				return nil
			}
			return run(ctx, t)
		}
	})},
	{"each execution of a task is a task of its own", "takes a late end for that of the next execution", doJoined(func(t graph.QueuedTask) string { return t.Thread + t.Task }), nil},
	{"a copy of a thread has tasks of its own", "takes a copy for the thread", doJoined(func(t graph.QueuedTask) string { return t.Base.String() + t.Task + t.Execution }), nil},
	{"names of graphs, queues and tasks are any bytes", "joins names", doChanged(func(b *brokenQueue, t *graph.QueuedTask) {
		b.note(t.Base.String(), *t)
		t.Graph, t.Queue = t.Graph+t.Queue, ""
	}), func(b *brokenQueue, ctx context.Context, name, queue string, slots int, run running) error {
		return b.TaskQueue.Serve(ctx, name+queue, "", slots, func(ctx context.Context, t graph.QueuedTask) error {
			whole, _ := b.note(t.Base.String(), t)
			return run(ctx, whole)
		})
	}},
	{"names of graphs, queues and tasks are any bytes", "has texts for names", doChanged(func(_ *brokenQueue, t *graph.QueuedTask) {
		t.Task = strings.ToValidUTF8(t.Task, "?")
	}), nil},
	{"names of graphs, queues and tasks are any bytes", "sends a task to all queues", nil, func(b *brokenQueue, ctx context.Context, name, _ string, slots int, run running) error {
		return b.TaskQueue.Serve(ctx, name, "b"+name, slots, func(ctx context.Context, t graph.QueuedTask) error {
			if err := run(ctx, t); b.next() > 1 {
				return err
			}
			return fmt.Errorf("for another queue: %w", context.Canceled)
		})
	}},
	{"a worker holds at most its slots", "gives a worker one task more", nil, func(b *brokenQueue, ctx context.Context, name, queue string, slots int, run running) error {
		return b.TaskQueue.Serve(ctx, name, queue, slots+1, run)
	}},
	{"a worker holds at most its slots", "gives a worker one task less", nil, func(b *brokenQueue, ctx context.Context, name, queue string, slots int, run running) error {
		return b.TaskQueue.Serve(ctx, name, queue, max(slots-1, 1), run)
	}},
	{"a task whose worker returns an error is handed out again", "takes an error for an outcome", nil, runChanged(func(_ *brokenQueue, _ context.Context, run running) running {
		return func(ctx context.Context, t graph.QueuedTask) error {
			_ = run(ctx, t)
			return nil
		}
	})},
	{"a task whose worker returns an error is handed out again", "drops a task after an error", nil, runChanged(func(b *brokenQueue, _ context.Context, run running) running {
		return func(ctx context.Context, t graph.QueuedTask) error {
			if err := run(ctx, t); err != nil {
				<-b.stop
			}
			return nil
		}
	})},
	{"a task whose worker ends the goroutine is handed out again", "takes an exit for an outcome", nil, runChanged(func(_ *brokenQueue, _ context.Context, run running) running {
		return func(ctx context.Context, t graph.QueuedTask) error {
			var own sync.WaitGroup
			var err error
			own.Go(func() { err = run(ctx, t) })
			own.Wait()
			return err
		}
	})},
	{"a worker that leaves finishes its tasks", "cancels the tasks of a worker that leaves", nil, runChanged(func(_ *brokenQueue, left context.Context, run running) running {
		return func(_ context.Context, t graph.QueuedTask) error { return run(left, t) }
	})},
	{"a worker that leaves finishes its tasks", "leaves before its tasks", nil, func(b *brokenQueue, ctx context.Context, name, queue string, slots int, run running) error {
		go func() { _ = b.TaskQueue.Serve(ctx, name, queue, slots, run) }()
		<-ctx.Done()
		return ctx.Err()
	}},
	{"a worker that leaves finishes its tasks", "returns no error", nil, func(b *brokenQueue, ctx context.Context, name, queue string, slots int, run running) error {
		_ = b.TaskQueue.Serve(ctx, name, queue, slots, run)
		return nil
	}},
	{"a worker that leaves returns tasks without an outcome", "ends a task with its worker", nil, runChanged(func(_ *brokenQueue, left context.Context, run running) running {
		return func(ctx context.Context, t graph.QueuedTask) error {
			if err := run(ctx, t); left.Err() == nil {
				return err
			}
			return nil
		}
	})},
	{"a worker that leaves returns tasks without an outcome", "keeps the tasks of a worker that has left", nil, func(b *brokenQueue, ctx context.Context, name, queue string, slots int, run running) error {
		go func() {
			_ = b.TaskQueue.Serve(ctx, name, queue, slots, func(ctx context.Context, t graph.QueuedTask) error {
				if err := run(ctx, t); err != nil {
					<-b.stop
				}
				return nil
			})
		}()
		<-ctx.Done()
		return ctx.Err()
	}},
	{"Do ends with its context and leaves the task", "waits without a context", func(b *brokenQueue, ctx context.Context, t graph.QueuedTask) error {
		return b.TaskQueue.Do(context.WithoutCancel(ctx), t)
	}, nil},
	{"Do ends with its context and leaves the task", "withdraws a task", func(b *brokenQueue, ctx context.Context, t graph.QueuedTask) error {
		err := b.TaskQueue.Do(ctx, t)
		if err != nil {
			b.note(t.Task, t)
		}
		return err
	}, runChanged(func(b *brokenQueue, _ context.Context, run running) running {
		return func(ctx context.Context, t graph.QueuedTask) error {
			if _, known := b.note(t.Task, t); known {
				return nil
			}
			return run(ctx, t)
		}
	})},
}

// TestBrokenQueuesFail has for each case of RunQueue a queue that fails it. Some faults are not
// seen each time, because a broken queue is a little late.
func TestBrokenQueuesFail(t *testing.T) {
	broken := make(map[string]bool)
	for _, c := range queueBreaks {
		broken[c.name] = true
		t.Run(c.name+"/"+c.breaks, func(t *testing.T) {
			t.Parallel()
			for range 20 {
				b := newBrokenQueue(t, c.do, c.serve)
				failures := record(t, func(tb testing.TB) {
					tb.Helper()
					queueCase(t, c.name).Test(tb, b.place(100*time.Millisecond))
				})
				if len(failures) > 0 {
					t.Logf("found: %.300s", failures[0])
					return
				}
			}
			t.Error("the case passes, want a failure")
		})
	}
	for _, c := range enginetest.QueueCases() {
		if !broken[c.Name] {
			t.Errorf("no broken queue fails %q", c.Name)
		}
	}
}

// A queue that breaks no rule passes.
func TestTaskQueueOfASaver(t *testing.T) {
	enginetest.RunQueue(t, func(testing.TB) enginetest.QueuePlace { return newBrokenQueue(t, nil, nil).place(0) })
}
