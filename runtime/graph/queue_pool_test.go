package graph_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// pool runs the tasks of the queue gpu of a graph, when a test says so. Package worker does the
// same in a process.
type pool struct {
	s   checkpoint.Saver
	run func(ctx context.Context, task []byte) error // of a task
}

// serving returns a pool of the graph g, whose saver is s.
func serving(g *app, s checkpoint.Saver) *pool {
	return &pool{s: s, run: func(ctx context.Context, task []byte) error { return g.RunQueued(ctx, task, false) }}
}

// queuedTask is a task that waits in a queue.
type queuedTask struct {
	thread  string // of the task
	payload []byte
}

// waiting returns the tasks that wait in the queue. Others do not get them for a minute.
func (p *pool) waiting(t *testing.T) (tasks []queuedTask) {
	t.Helper()
	due, err := p.s.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{graph.QueueGraph("g", "gpu")}, Limit: 20_000, Reserve: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range due.Threads {
		mail, err := p.s.Mail(t.Context(), checkpoint.MailQuery{Thread: found.ID})
		if err != nil || len(mail) != 1 {
			t.Fatalf("task %s: got %d messages and %v, want one", found.ID, len(mail), err)
		}
		tasks = append(tasks, queuedTask{found.ID, mail[0].Payload})
	}
	return tasks
}

// only returns the task that waits in the queue.
func (p *pool) only(t *testing.T) []byte {
	t.Helper()
	tasks := p.waiting(t)
	if len(tasks) != 1 {
		t.Fatalf("got %d tasks in the queue, want one", len(tasks))
	}
	return tasks[0].payload
}

// work runs the tasks that wait, all at the same time, and returns how many there were. A task
// whose run fails waits again.
func (p *pool) work(t *testing.T) int {
	t.Helper()
	tasks := p.waiting(t)
	var all sync.WaitGroup
	for _, task := range tasks {
		all.Go(func() {
			if p.run(context.Background(), task.payload) != nil {
				p.back(t, task)
			} else if err := p.s.Delete(context.Background(), task.thread); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return len(tasks)
}

// back makes a task wait again.
func (p *pool) back(t *testing.T, task queuedTask) {
	t.Helper()
	if err := p.s.Rewake(context.Background(), checkpoint.Rewake{Thread: task.thread, Posted: 1, Wake: time.Unix(1, 0)}); err != nil {
		t.Error(err)
	}
}

// drive continues a thread in person after a run, as long as the run waits for tasks of the pool.
func (p *pool) drive(t *testing.T, th thread) func(result, error) (result, error) {
	t.Helper()
	return func(res result, err error) (result, error) {
		t.Helper()
		for err == nil && res.Status == graph.Waiting && p.work(t) > 0 {
			res, err = th.Resume(t.Context())
		}
		return res, err
	}
}

// invoke gives a thread an input, and continues the thread as drive does.
func (p *pool) invoke(t *testing.T, th thread) (result, error) {
	t.Helper()
	return p.drive(t, th)(th.Invoke(t.Context(), input))
}

// resume is drive for a Resume.
func (p *pool) resume(t *testing.T, th thread, opts ...graph.ResumeOption) (result, error) {
	t.Helper()
	return p.drive(t, th)(th.Resume(t.Context(), opts...))
}
