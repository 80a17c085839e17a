package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Serving says how ServeQueue serves a queue.
type Serving struct {
	Queue string
	Slots int // the maximum number of tasks that run at the same time
	// Cancel ends the contexts of running tasks. nil is never.
	Cancel <-chan struct{}
	// Failed is called with the error of each task that has no outcome, concurrently. nil is
	// nobody.
	Failed func(t QueuedTask, err error)
}

// Queues returns the queues of the graph's nodes, sorted.
func (g *Graph[S, U]) Queues() (names []string) {
	for i := range g.nodes {
		if q := g.nodes[i].queue; q != "" && !slices.Contains(names, q) {
			names = append(names, q)
		}
	}
	slices.Sort(names)
	return names
}

// ServeQueue runs tasks of a queue until ctx ends. Then it returns nil when the running tasks have
// ended. Package worker calls it. It returns an error if the TaskQueue cannot receive tasks any
// longer.
func (g *Graph[S, U]) ServeQueue(ctx context.Context, s Serving) error {
	err := g.opt.queues.Serve(ctx, g.name, s.Queue, s.Slots, func(held context.Context, t QueuedTask) error {
		run, cancel := context.WithCancel(held)
		defer cancel()
		over := make(chan struct{})
		defer close(over)
		go func() {
			select {
			case <-s.Cancel:
				cancel()
			case <-over:
			}
		}()
		err := g.RunQueued(run, t)
		if err != nil && s.Failed != nil {
			s.Failed(t, err)
		}
		return err
	})
	if ctx.Err() != nil {
		return nil //nolint:nilerr // as the caller asked
	}
	return err
}

// RunQueued runs a task that a TaskQueue has handed out, and stores its outcome. It returns nil if
// there is nothing to do, because the thread has continued without the task. It returns an error
// if the task has no outcome: the saver failed, ctx ended, or the code does not fit the stored
// thread. The task must then be handed out again. An error of the node is an outcome.
func (g *Graph[S, U]) RunQueued(ctx context.Context, t QueuedTask) error {
	if g.opt.saver == nil {
		return fmt.Errorf("graph: %s: %w; compile it with graph.Saver", g.name, ErrNoSaver)
	}
	a := newAdapter(g, g.opt.strict)
	r := &run{g: &g.core, thread: t.Thread, plan: plan.New(&g.plan, true), state: a, ctx: ctx, opt: runOptions{limits: g.opt.limits}}
	r.opt.strict = g.opt.strict
	return pooled{r}.perform(&t)
}

// pooled is a run that executes one task in a worker of a queue. It holds no thread.
type pooled struct{ *run }

func (r pooled) perform(q *QueuedTask) error {
	c, err := loadChain(r.ctx, r.g, r.g.opt.saver, checkpoint.Ref{Thread: q.Thread, At: q.At})
	switch {
	case errors.Is(err, checkpoint.ErrNotFound): // released, deleted or pruned since
		return nil
	case err != nil:
		return err
	case c.Committed || c.Last.Base != q.Base:
		return nil
	}
	if err := r.g.owns(q.Thread, &c.Last); err != nil {
		return err
	}
	i, err := r.restore(&c, q)
	if err != nil || i < 0 {
		return err
	}
	e, err := r.execute(i, q)
	if err != nil {
		return err
	}
	return r.store(q, e)
}

// restore makes the state and the tasks of the run those of c. It returns the slot of the task, or
// -1 if the task need not run.
func (r pooled) restore(c *checkpoint.Chain, q *QueuedTask) (slot int, err error) {
	r.ctx = task.WithLabels(r.ctx, labelsOf(r.g, r.thread, c))
	config := journal.Config{
		Saver: r.g.opt.saver, ThreadID: q.Thread, Lease: r.g.opt.lease, Timeout: r.g.opt.saverTimeout,
		Panicked: func(v any) error { return newPanic(v) },
	}
	r.log = journal.NewBranch(journal.NewElsewhere(config, q.Task, q.Round, r.clock()))
	r.exec = exec.New(host(r), r.elsewhereNodes(), 0, Task{Graph: r.g.name, Thread: r.thread})
	if err := r.restoring().restore(c); err != nil {
		return -1, err
	}
	if err := r.restoring().place(c); err != nil {
		return -1, err
	}
	r.log.Head = c.Last.ID
	r.restoring().gather(c.Writes)
	if _, done := r.pending.Outcome(q.Task, q.Execution); done || r.pending.Round(q.Task) != q.Round {
		return -1, nil
	}
	r.pending.TakeCalls(q.Task, q.Round, task.IsCall)
	r.fill()
	if err := r.restoring().restoreResults(); err != nil {
		return -1, err
	}
	slot = -1
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		if r.taskKey(&t.Task) == q.Task && t.Progress == exec.Waiting {
			slot = i
		} else {
			t.Progress = exec.Beaten
		}
	}
	return slot, nil
}

// elsewhereNodes returns the nodes as a worker runs them: once, under their Timeout. The process
// of the thread does the rest.
func (r pooled) elsewhereNodes() []exec.Node {
	nodes := make([]exec.Node, len(r.g.nodes))
	for i := range nodes {
		nodes[i] = exec.Node{ID: string(r.g.nodes[i].id), Timeout: r.g.nodes[i].timeout}
	}
	return nodes
}

// clock returns the saver's clock. The first use reads it.
func (r pooled) clock() func() time.Time {
	start := sync.OnceValues(func() (time.Time, time.Time) {
		call, cancel := context.WithTimeout(r.ctx, r.g.opt.saverTimeout)
		defer cancel()
		got, err := r.g.opt.saver.Ready(call, checkpoint.ReadyQuery{Limit: 1}) // of no graph: only the time
		if err != nil {
			return time.Now(), time.Now()
		}
		return got.Now, time.Now()
	})
	return func() time.Time {
		now, since := start()
		return now.Add(time.Since(since))
	}
}

// execute runs the task in a slot once, and returns the outcome.
func (r pooled) execute(i int, q *QueuedTask) (*journal.Execution, error) {
	r.exec.Options = exec.Options{Workers: 1, First: q.Attempt}
	r.exec.Left()
	if err := r.exec.Run(r.ctx, r.plan.Step+1); err != nil {
		return nil, err
	}
	t := &r.exec.Tasks[i]
	e := &journal.Execution{Summary: t.Summary}
	switch t.Progress {
	case exec.Succeeded:
		var err error
		if e.Result, err = r.storing().resultIn(i); err != nil {
			return r.failed(t, e, err), nil // the update cannot be encoded
		}
	case exec.Asking:
		for _, a := range t.Asks.Open() {
			e.Asked = append(e.Asked, journal.AskedElsewhere(a))
		}
	case exec.Failed:
		if r.ctx.Err() != nil || t.Calls.Failed() && ofStorage(t.Err) {
			return nil, t.Err
		}
		return r.failed(t, e, t.Err), nil
	default:
		return nil, stoppedBy(r.ctx, where(r.g.name, r.thread, r.plan.Step+1))
	}
	return e, nil
}

// failed makes e the outcome of a task that failed.
func (r pooled) failed(t *exec.Task, e *journal.Execution, err error) *journal.Execution {
	var panicked *PanicError
	var mutation *MutationError
	var undeclared *UndeclaredError
	var carrier interface{ RetryAfter() time.Duration }
	if e.Policy, e.Failure = 0, err.Error(); errors.As(err, &carrier) {
		e.Delay = max(carrier.RetryAfter(), 0)
	}
	policy, broke := r.g.nodes[t.Node].policyFor(err)
	switch {
	case errors.As(err, &panicked):
		e.Class, e.Failure = uint64(classPanic), fmt.Sprint(panicked.Value)
	case errors.As(err, &mutation), errors.As(err, &undeclared):
		e.Class = uint64(classFault)
	case broke != nil:
		e.Failure = fmt.Sprintf("%s; its Retry: %s", e.Failure, broke)
	default:
		e.Policy = policy
	}
	if errors.Is(err, context.DeadlineExceeded) && e.Class == 0 {
		e.Class = uint64(classTimeout)
	}
	return e
}

// store stores the outcome. If the thread has gone meanwhile, nothing is left to do.
func (r pooled) store(q *QueuedTask, e *journal.Execution) error {
	call, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), r.g.opt.saverTimeout)
	defer cancel()
	err := r.g.opt.saver.PutOutcome(call, q.Thread, checkpoint.Write{
		Base: q.Base, Task: q.Task, Kind: checkpoint.Outcome, Name: q.Execution, Payload: journal.AppendExecution(nil, e),
	})
	if err == nil || errors.Is(err, checkpoint.ErrNotFound) {
		return nil
	}
	return &SaverError{Graph: r.g.name, Thread: q.Thread, Step: r.plan.Step, Op: "put outcome", Err: err}
}
