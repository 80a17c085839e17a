package graph

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Queues returns the queues of the nodes of the graph and of its subgraphs, sorted.
func (g *Graph[S, U]) Queues() []string { return g.core.queues() }

// queues is Graph.Queues.
func (g *core) queues() []string {
	names := make(map[string]bool)
	addQueues(g, names)
	return slices.Sorted(maps.Keys(names))
}

// addQueues adds the queues of a graph and of its subgraphs.
func addQueues(g *core, names map[string]bool) {
	for i := range g.nodes {
		if q := g.nodes[i].queue; q != "" {
			names[q] = true
		}
		if sub := g.nodes[i].sub; sub != nil && sub.queued {
			addQueues(sub, names)
		}
	}
}

// RunQueued runs a task of a queue of the graph, and stores its outcome. b is the payload of the
// input of a thread of QueueGraph; the caller holds that thread, and deletes it after RunQueued
// has returned nil. again says that somebody has held the thread before, so that the task may have
// an outcome. Package worker calls RunQueued.
//
// RunQueued also returns nil if there is nothing to do, because the thread of the task has
// continued without it, or was cancelled. It ends the context of the node if that happens while
// the node runs. It returns an error if the task has no outcome: the saver failed, ctx ended, or
// the code does not fit the stored thread. The task must then run again. An error of the node is
// an outcome.
func (g *Graph[S, U]) RunQueued(ctx context.Context, b []byte, again bool) error {
	return g.core.runQueued(ctx, b, again)
}

// runQueued is Graph.RunQueued.
func (g *core) runQueued(ctx context.Context, b []byte, again bool) error {
	if g.opt.saver == nil {
		return fmt.Errorf("graph: %s: %w; compile it with graph.Saver", g.name, ErrNoSaver)
	}
	q, err := readQueued(b)
	if err != nil {
		return err
	}
	r := newPooled(ctx, g, &q)
	err = r.perform(&q, again)
	if renamed := (*renamedError)(nil); errors.As(err, &renamed) && renamed.former {
		id, failed := checkpoint.NewID()
		if failed == nil { // a run of this version hands the task out by the new id
			failed = r.post(&checkpoint.Post{
				Thread: q.Thread, Graph: g.name, Messages: []checkpoint.Message{{ID: id.String(), Kind: checkpoint.WakeMessage}},
			})
		}
		err = errors.Join(err, failed)
	}
	return err
}

// renamedError says that the node of a queued task has another id in this graph.
type renamedError struct {
	where   string
	was, is ID
	former  bool // this graph has the node under a newer id
}

func (e *renamedError) Error() string {
	return fmt.Sprintf("%s: %v: a queued task is of node %q, which is node %q in this version; let a worker run it that has the "+
		"version of the process that handed it out", e.where, ErrGraphChanged, string(e.was), string(e.is))
}

func (e *renamedError) Unwrap() error { return ErrGraphChanged }

// pooled is a run that executes one task in a worker of a queue. It holds no thread. Its graph is
// that of the task: the graph of the thread, or of a subgraph in it.
type pooled struct {
	run  *run
	root *core
}

// newPooled returns the run of a task of a queue of the graph root.
func newPooled(ctx context.Context, root *core, q *queuedTask) pooled {
	return pooled{&run{thread: q.Thread, ctx: ctx}, root}
}

// perform runs a task of a queue: it takes the task, executes it and stores its outcome. It stores
// none if the task need not run, or if the thread stops waiting for it. If the storage refuses the
// outcome for its size, perform stores a failure instead.
func (r pooled) perform(q *queuedTask, again bool) error {
	step, err := r.step(q, again)
	if err != nil || step == nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(r.run.ctx)
	defer cancel(nil)
	notes := &queueNotes{q: q, of: new(journal.Heartbeats), n: journal.ProgressNotes(step.writes[q.Task]), began: time.Now()}
	stop := r.watch(q, notes, func() { cancel(errUnwanted) })
	defer stop()
	r.run.ctx, r.run.opt.beats = ctx, notes.of
	if due, err := r.take(step, q); err != nil || !due {
		return err
	}
	e, err := r.execute(q)
	stop()
	if err != nil && errors.Is(context.Cause(ctx), errUnwanted) {
		if s, failed := newPooled(context.WithoutCancel(ctx), r.root, q).step(q, false); s == nil {
			return failed
		}
	}
	note := notes.last() // the next execution gets it
	if err != nil {
		if note != nil {
			err = errors.Join(err, r.post(&checkpoint.Post{Thread: q.Thread, Outcomes: note}))
		}
		return err
	}
	if e.Result != nil {
		note = nil
	}
	err = r.store(q, e, note)
	if tooLarge(err) {
		e = r.failed(&r.run.exec.Tasks[0], &journal.Execution{Summary: e.Summary}, r.run.refusedResult(0, err))
		err = r.store(q, e, note)
	}
	return err
}

// enter makes the run one of the graph at a place.
func (r pooled) enter(p *callPlace, q *queuedTask) {
	config := journal.Config{
		Saver: r.root.opt.saver, ThreadID: q.Thread, Lease: r.root.opt.lease, Timeout: r.root.opt.saverTimeout,
		Panicked: func(v any) error { return newPanic(v) },
	}
	r.run.g, r.run.plan = p.g, plan.New(&p.g.plan, true)
	r.run.opt.limits, r.run.opt.strict, r.run.opt.interceptors = p.g.opt.limits, p.strict, p.interceptors
	if r.run.watchers == nil {
		r.run.watchers = &watchers{observing: new(observing)}
	}
	r.run.log = journal.NewWriter(journal.NewElsewhere(config, q.Task, q.Round, r.clock())).Child(q.Namespace)
	if q.Namespace != "" {
		r.run.call = &subgraph.Call{Path: p.path, DropUnknown: p.dropUnknown}
		r.run.keys.Scope = journal.Scope(q.Namespace)
	}
}

// take makes the task the only one of the run. It reports whether the task has to run.
func (r pooled) take(step *queuedStep, q *queuedTask) (bool, error) {
	c, found := step.of(q.Task)
	if !found {
		return false, nil
	}
	r.enter(&step.place, q)
	r.run.state = r.run.g.share(step.state, r.run.opt.strict)
	r.run.stand(&c.Last, c.Chained)
	if err := r.run.place(&c); err != nil {
		return false, err
	}
	r.run.log.Head = c.Last.ID
	r.run.gather(c.Writes)
	r.run.pending.TakeCalls(q.Task, q.Round, task.IsCall)
	r.run.ctx = task.WithLabels(r.run.ctx, labelsOf(r.root, r.run.thread, &c))
	var err error
	if r.run.ctx, err = r.root.opt.propagators.extract(r.run.ctx, journal.Metadata(c.Last.Meta)); err != nil {
		return false, fmt.Errorf("%s: %w", where(r.run.g.name, r.run.thread, -1), err)
	}
	r.run.exec = exec.New(r.run, r.elsewhereNodes(), 0, Task{Graph: r.run.g.name, Thread: r.run.thread})
	r.run.fill()
	if err := r.run.restoreResults(); err != nil || r.run.exec.Tasks[0].Progress != exec.Waiting {
		return false, err
	}
	return true, r.sameNode(q)
}

// sameNode returns an error if the node of the task has another id in this graph. A version of the
// graph that has the former id may continue the thread, and does not know what the renamed node
// does. If this version is the newer one, RunQueued wakes the thread. A run of this version then
// hands the task out by the new id.
func (r pooled) sameNode(q *queuedTask) error {
	node := r.run.exec.Tasks[0].Node
	if id := r.run.g.nodes[node].id; id != q.Node {
		newer, former := r.run.g.former[q.Node]
		return &renamedError{where(r.root.name, r.run.thread, -1), q.Node, id, former && newer == node}
	}
	return nil
}

// elsewhereNodes returns the nodes as a worker runs them: once, under their timeouts. The process
// of the thread does the rest.
func (r pooled) elsewhereNodes() []exec.Node {
	nodes := make([]exec.Node, len(r.run.g.nodes))
	for i, n := range r.run.g.exec {
		nodes[i] = exec.Node{ID: n.ID, Timeout: n.Timeout, Idle: n.Idle}
	}
	return nodes
}

// clock returns the saver's clock. The first use reads it.
func (r pooled) clock() func() time.Time {
	start := sync.OnceValues(func() (time.Time, time.Time) {
		call, cancel := context.WithTimeout(r.run.ctx, r.root.opt.saverTimeout)
		defer cancel()
		got, err := r.root.opt.saver.Ready(call, checkpoint.ReadyQuery{Limit: 1}) // of no graph: only the time
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

// execute runs the task once, and returns the outcome.
func (r pooled) execute(q *queuedTask) (*journal.Execution, error) {
	r.run.exec.Options = exec.Options{
		Workers: 1, First: q.Attempt, Apart: true, Intercepted: len(r.run.opt.interceptors) > 0,
	}
	r.run.exec.Left()
	if err := r.run.exec.Run(r.run.ctx, r.run.plan.Step+1); err != nil {
		return nil, err
	}
	t := &r.run.exec.Tasks[0]
	e := &journal.Execution{Summary: t.Summary}
	if err := r.run.watchers.failed(); err != nil { // an interceptor of a task that waits
		return r.failed(t, e, err), nil
	}
	switch t.Progress {
	case exec.Succeeded:
		var err error
		e.Parts = t.Parts
		if e.Result, err = r.run.encodeResult(0); err != nil {
			return r.failed(t, e, err), nil // the update cannot be encoded
		}
	case exec.Asking:
		for _, a := range t.Asks.Open() {
			e.Asked = append(e.Asked, journal.AskedElsewhere(a))
		}
	case exec.Failed:
		if r.run.ctx.Err() != nil || t.Calls.Failed() && ofStorage(t.Err) && !tooLarge(t.Err) {
			return nil, t.Err
		}
		return r.failed(t, e, t.Err), nil
	default:
		return nil, stoppedBy(r.run.ctx, where(r.run.g.name, r.run.thread, r.run.plan.Step+1))
	}
	return e, nil
}

// failed makes e the outcome of a task that failed.
func (r pooled) failed(t *exec.Task, e *journal.Execution, err error) *journal.Execution {
	r.run.g.nodes[t.Node].setFailure(e, err)
	e.Failure = r.root.redacted(e.Failure)
	return e
}

// store stores the outcome of a task, with a note of Progress, and makes its thread due.
func (r pooled) store(q *queuedTask, e *journal.Execution, note []checkpoint.Write) error {
	return r.post(&checkpoint.Post{
		Thread: q.Thread, Graph: r.root.name, Outcomes: append(note, q.outcome(q.Execution, journal.AppendExecution(nil, e))),
		Messages: []checkpoint.Message{{ID: q.Execution, Kind: checkpoint.WakeMessage}},
	})
}

// drop ends the round of a task of a cancelled thread. So a Resume hands the task out again.
func (r pooled) drop(q *queuedTask) error {
	return r.post(&checkpoint.Post{Thread: q.Thread, Outcomes: []checkpoint.Write{q.outcome(journal.RoundName(q.Round), nil)}})
}

// outcome returns an outcome of the task.
func (q *queuedTask) outcome(name string, payload []byte) checkpoint.Write {
	return checkpoint.Write{Namespace: q.Namespace, Base: q.Base, Task: q.Task, Kind: checkpoint.Outcome, Name: name, Payload: payload}
}

// post stores p. It returns nil if the thread was deleted meanwhile. Outcomes for one thread share
// calls, because each call may change the thread.
func (r pooled) post(p *checkpoint.Post) error {
	add := func(all *checkpoint.Post) {
		same := func(w checkpoint.Write) bool {
			return slices.ContainsFunc(all.Outcomes, func(o checkpoint.Write) bool {
				return o.Namespace == w.Namespace && o.Base == w.Base && o.Task == w.Task && o.Name == w.Name
			})
		}
		all.Thread, all.Graph = p.Thread, cmp.Or(all.Graph, p.Graph)
		if len(all.Messages) == 0 {
			all.Messages = p.Messages
		}
		all.Outcomes = append(all.Outcomes, slices.DeleteFunc(slices.Clone(p.Outcomes), same)...) // the first one counts
	}
	store := func(all checkpoint.Post) (struct{}, error) {
		call, cancel := context.WithTimeout(context.WithoutCancel(r.run.ctx), r.root.opt.saverTimeout)
		defer cancel()
		done, err := r.root.opt.saver.Post(call, all)
		if err == nil {
			err = done[0].Err
		}
		return struct{}{}, err
	}
	var err error
	if len(p.Outcomes) == 0 { // its WakeMessage counts without an outcome
		_, err = store(*p)
	} else {
		_, err = r.root.steps.outcomes.Do(p.Thread, add, store)
	}
	if err == nil || errors.Is(err, checkpoint.ErrNotFound) {
		return nil
	}
	return r.failing("post", err)
}

// failing returns the error of a call of the saver.
func (r pooled) failing(op string, err error) error {
	return &SaverError{Graph: r.root.name, Thread: r.run.thread, Step: -1, Op: op, Err: err}
}
