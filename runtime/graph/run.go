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
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// run is one call that runs nodes, or one subgraph call in it: the state, the due tasks, and the
// log. One goroutine owns it and lends tasks to workers.
type run struct {
	g        *core
	thread   string // empty for Run
	opt      runOptions
	ctx      context.Context
	working  context.Context // of the nodes and routes of a superstep that must not be cut; nil for ctx
	drains   drains          // end the run after a superstep
	watchers *watchers       // the observers; nil for none
	sink     sink            // takes the events; nil for none

	state   typedState
	plan    plan.Planner
	exec    exec.Superstep
	log     *journal.Writer // nil for a run that stores nothing
	keys    journal.Keys
	pending journal.Pending // stored results and questions of the first superstep after an opening
	taken   takenOutcomes   // of an opening that takes the place of due tasks
	slot    bool            // the run holds a slot of the queue of the only task, and executes it

	call   *subgraph.Call      // of a subgraph; nil for the run itself
	calls  []subgraph.Returned // by task: what its subgraph call returned; nil in a graph without subgraphs
	memory subgraph.Memory     // of the subgraphs that remember

	steps  int               // committed supersteps, without that of Start
	status checkpoint.Status // the final status; zero while the run is in progress
	ending error             // the error of a run that ended although tasks are due
	health health

	caller        string        // of the child whose thread the run has, in JSON; empty for none
	reason        string        // the stored one of the run before it on the run line; empty for none
	finallyFailed bool          // the child has failed, and nothing retries it
	fence         checkpoint.ID // of the run, if it took the thread
	deadline      time.Time     // of the run line; zero for none

	notes    journal.Heartbeats // of a run itself; its subgraph calls use them too, by opt.beats
	over     sync.WaitGroup     // the goroutine of apart
	panicked any                // what it panicked with
}

// health says what can still be used of a run that fails.
type health uint8

const (
	sound   health = iota
	spoiled        // the state is not that of a checkpoint any more
	unsure         // the same, and a failed commit may be stored
)

// Run runs the graph with input in, from an empty state and without a thread. Nothing is stored,
// even if the graph has a Saver, and static stops do not apply.
//
// The error is a *NodeError, *RouteError, *ConflictError, *OverflowError or *MaxStepsError, or
// several of them joined, or wraps the error of ctx. If err is not nil, the Result has the state
// of the last whole superstep. It has no state if merging or a route failed.
func (g *Graph[S, U]) Run(ctx context.Context, in U, opts ...RunOption) (Result[S], error) {
	a := newAdapter(g)
	a.input = &in
	res, err := g.core.run(ctx, setting(opts, RunOption.run), driven{state: a, begins: true})
	return resultWith(res, a.shown), err
}

// run is Graph.Run with the input of d, whose state then shows that of the result.
func (g *core) run(ctx context.Context, set func(*runOptions), d driven) (result, error) {
	o, err := running(g.opt.limits, set)
	if err := g.checkRun(err); err != nil {
		return result{}, err
	}
	if d.sink != nil {
		d.sink.choose(o.events)
	}
	if !g.runs.begin() {
		return result{}, fmt.Errorf("graph: %s: %w", g.name, ErrDraining)
	}
	defer g.runs.end()
	if g.opt.interceptors.runs() {
		return g.intercepted(ctx, o, d)
	}
	return g.runUnstored(ctx, o, d)
}

// intercepted is runUnstored inside the interceptors of runs.
func (g *core) intercepted(ctx context.Context, o runOptions, d driven) (res result, err error) {
	err = g.opt.interceptors.run(ctx, RunInfo{Graph: g.name}, func(ctx context.Context) (_ Status, err error) {
		res, err = g.runUnstored(ctx, o, d)
		return res.Status, err
	})
	return res, err
}

// runUnstored is run without the interceptors of runs.
func (g *core) runUnstored(ctx context.Context, o runOptions, d driven) (result, error) {
	o.strict, o.interceptors = g.opt.strict, g.opt.interceptors
	d.state.restart(d.begins, o.strict)
	ctx = task.WithLabels(ctx, nil)
	r := &run{g: g, ctx: ctx, plan: plan.New(&g.plan, false), state: d.state, sink: d.sink, watchers: watching(g, ""), opt: o}
	r.opt.beats = &r.notes
	d.state.start(false, false)
	r.init()
	r.plan.Enter(0)
	ended := r.watchers.run(ctx, 0)
	err := exec.ErrLeft
	if r.sink == nil || r.sink.take(r.feed().event(EventRunStarted, 0)) {
		err = apart(r)
	}
	res := r.result()
	ended(r.plan.Step, res.Status, err)
	return res, r.watchers.join(err)
}

// loop runs supersteps until the run ends.
func (r *run) loop() error {
	r.exec.Options = r.execOptions()
	if len(r.plan.Pending) > 0 && r.status == 0 {
		if err := r.askPendingRoutes(); err != nil {
			return r.giveUp(err)
		}
	}
	if err := r.supersteps(); err != nil {
		return r.giveUp(err)
	}
	return r.ending
}

// supersteps runs supersteps until the run ends or one fails.
func (r *run) supersteps() (err error) {
	defer rescueReducer(r, &err)
	for r.status == 0 {
		if r.exec.Intercepted && r.opt.interceptors.steps() {
			err = r.interceptedStep()
		} else {
			err = r.superstep()
		}
		if err != nil {
			return err
		}
		if r.watchers != nil && r.status == 0 && r.call == nil {
			if err := r.watchers.failed(); err != nil {
				return err
			}
		}
	}
	return nil
}

// superstep runs the due tasks and commits the result.
func (r *run) superstep() error {
	r.fill()
	if r.g.uncut && r.exec.Uncut() {
		defer r.shield()()
	}
	if r.log != nil {
		if err := r.restoreResults(); err != nil {
			return err
		}
	}
	for {
		if err := r.execute(); err != nil {
			return err
		}
		if r.exec.Through() {
			break
		}
		again, err := r.await()
		if err != nil {
			return err
		}
		if !again {
			return r.giveUp(nil) // a task waits, or its subgraph has stopped
		}
	}
	if err := r.commit(); err != nil {
		return err
	}
	if !r.publish() && r.status == 0 {
		return r.giveUp(nil)
	}
	return nil
}

// commit merges a superstep. A run that stores nothing has no more to do.
func (r *run) commit() error {
	if r.log != nil {
		return r.commitStored()
	}
	turn, err := r.settle()
	if err != nil {
		return err
	}
	r.status = r.decide(turn).Status
	if r.call != nil {
		return r.labelParent(r.stepLabels())
	}
	return nil
}

// commitStored merges a superstep and stores the result.
func (r *run) commitStored() error {
	source := checkpoint.Loop
	if r.plan.Input() {
		source = checkpoint.Input
	}
	dropped, back, err := r.withdraw()
	if err != nil {
		return err
	}
	labels := r.stepLabels()
	replies, err := r.stepReplies()
	if err != nil {
		return err
	}
	turn, err := r.settle()
	if err != nil {
		return err
	}
	o := r.decide(turn)
	if o.Status == Cancelled {
		if err := r.opt.listen.reportRefused(r); err != nil {
			return r.uncommitted(err)
		}
	}
	o.Labels = labels
	o.Messages.Reply = append(o.Messages.Reply, replies...)
	o.Messages.Return = append(o.Messages.Return, back...)
	if err := r.store(source, dropped, o); err != nil {
		r.exec.Over()
		return r.uncommitted(err)
	}
	r.opt.box.back(back)
	r.opt.box.replied(replies)
	if labels != nil {
		task.Relabel(r.ctx, labels)
	}
	r.status = o.Status
	return nil
}

// uncommitted records that a commit failed with err, and returns err.
func (r *run) uncommitted(err error) error {
	var saver *SaverError
	r.health = spoiled
	if errors.As(err, &saver) && !tooLarge(err) {
		r.health = unsure // the saver may have stored it; Resume reconciles that
	}
	return err
}

// init readies the run for its first superstep.
func (r *run) init() {
	r.exec = exec.New(r, r.g.exec, r.g.plan.Races, Task{Graph: r.g.name, Thread: r.thread})
}

// fill makes a slot for every task of the superstep.
func (r *run) fill() {
	now := r.plan.Now()
	r.exec.Fill(now)
	r.state.reset(len(now))
	if r.g.nests {
		clear(r.calls)
		r.calls = slices.Grow(r.calls[:0], len(now))[:len(now)]
	}
	if r.plan.Input() && r.state.enter(0) {
		r.exec.Tasks[0].Progress = exec.Succeeded
	}
}

// settle merges the updates of the tasks, in their order, and decides which tasks are due next.
// After an error the state must not be used any more.
func (r *run) settle() (plan.Decision, error) {
	r.health = spoiled
	if r.plan.Input() && (r.call == nil || !r.call.Same) {
		r.state.newInput()
	}
	if err := r.merge(); err != nil {
		return 0, err
	}
	if r.call != nil {
		r.keepUpdates()
	}
	if r.g.remembers {
		r.remember()
	}
	r.state.endStep()
	if err := r.leave(); err != nil {
		return 0, err
	}
	if !r.plan.Input() {
		r.steps++
	}
	r.dropProgress()
	r.keys.Forget()
	r.pending = journal.Pending{}
	r.health = sound
	return r.plan.Turn(), nil
}

// giveUp ends a run whose superstep cannot be committed. It stores the results, the questions and
// the status. cause is the error of the run. It is nil if a task asks, a subgraph stopped or was
// drained, or the consumer left the loop.
func (r *run) giveUp(cause error) error { return r.end(cause, false) }

// result returns the Result of the run, and shows its state.
func (r *run) result() result {
	res := result{Status: r.status, Next: r.nextIDs(), Steps: r.steps}
	if r.health == sound {
		r.state.show()
		r.state.share()
	}
	if r.log != nil {
		res.Checkpoint = r.log.Head
	}
	if r.status == Done {
		res.Unjoined = r.unjoined()
	}
	res.Stops = shownStops(stopsOf(r))
	asked := r.asked()
	res.Questions = waitingFor(asked)
	stored := writesOf(asked) // the run wrote or read them, so there is no error
	res.Timers, _ = timersIn(stored)
	res.Signals, _ = signalsIn(stored)
	return res
}

// nextIDs returns the value of Result.Next.
func (r *run) nextIDs() []ID { return r.g.next(r.dueIDs(), r.plan.Pending) }

// next returns due, the ids of the due nodes. If due is empty, it returns the targets of the
// pending routes, and End where only a stop is left.
func (g *core) next(due []ID, owed []int) []ID {
	if len(due) > 0 {
		return due
	}
	var next []ID
	seen := make(map[ID]bool)
	for _, n := range owed {
		targets := []ID{End}
		if n >= start {
			targets = g.nodes[n].targets
		}
		for _, id := range targets {
			if !seen[id] {
				seen[id] = true
				next = append(next, id)
			}
		}
	}
	return next
}

// dueIDs returns the ids of the due nodes, each once; nil for none.
func (r *run) dueIDs() []ID {
	var ids []ID
	for i := range r.plan.Due {
		ids = append(ids, r.g.nodes[r.plan.Due[i].Node].id)
	}
	return distinct(ids)
}

// distinct removes repeated values from all, and returns it. Each value stays where it was first.
func distinct[T comparable](all []T) []T {
	seen := make(map[T]bool)
	return slices.DeleteFunc(all, func(v T) bool {
		was := seen[v]
		seen[v] = true
		return was
	})
}

// nodeError returns the error of a task of this superstep, with its place.
func (r *run) nodeError(sl *exec.Task, err error) error {
	return &NodeError{
		Graph: r.g.name, Thread: r.thread, Step: r.plan.Step + 1,
		Node: r.g.nodes[sl.Node].id, Index: sl.Index, Attempt: max(sl.Attempt, 1), Summary: sl.Summary, Err: err,
		sent: r.g.nodes[sl.Node].decode != nil,
	}
}
