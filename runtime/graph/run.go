package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
)

// run is one call that runs nodes, or one call of a subgraph in it: the state, what is due, and the log that it is
// written to. One goroutine owns it; workers are lent tasks of it.
type run struct {
	g        *core
	thread   string // empty for Run
	opt      runOptions
	ctx      context.Context
	stopping func() bool // whether the graph drains; nil for no
	watchers *watchers   // the observers; nil for none
	sink     sink        // takes the events; nil for none

	state   typedState
	plan    plan.Planner
	exec    exec.Superstep
	log     *journal.Branch // nil for a run that stores nothing
	keys    journal.Keys
	pending journal.Pending // what is stored of the first superstep after an opening

	call   *subgraph.Call     // of a subgraph; nil for the run itself
	calls  []subgraph.Outcome // by task: the outcome of its subgraph call; nil in a graph without subgraphs
	memory subgraph.Memory    // of the subgraphs that remember

	steps  int               // supersteps committed, that of Start left out
	status checkpoint.Status // what the run ended on; zero while it is in progress
	ending error             // why it ended though more is due, when that is an error
	health health
}

// health says what a run that fails can still rely on.
type health uint8

const (
	sound   health = iota
	spoiled        // the state is not that of a checkpoint any more
	unsure         // likewise, and a commit failed that may be stored all the same
)

// Run runs the graph on in from an empty state, without a thread: nothing is stored, whatever Saver the graph
// has, and no stop for people holds it. The error is a *NodeError, *RouteError, *ConflictError, *OverflowError or
// *MaxStepsError, several of them joined, or wraps ctx's. The Result beside an error has the state of the last
// whole superstep, or none when the error came of merging or of a route.
func (g *Graph[S, U]) Run(ctx context.Context, in U, opts ...RunOption) (Result[S], error) {
	o, err := running(g.opt.limits, opts, RunOption.run)
	if err != nil {
		return Result[S]{}, fmt.Errorf("graph: %s: %w", g.name, err)
	}
	return g.run(ctx, in, o, nil)
}

// run is Run, with events to out, unless that is nil.
func (g *Graph[S, U]) run(ctx context.Context, in U, o runOptions, out *stream[S, U]) (Result[S], error) {
	if !g.runs.begin() {
		return Result[S]{}, fmt.Errorf("graph: %s: %w", g.name, ErrDraining)
	}
	defer g.runs.end()
	o.strict = g.opt.strict
	a := newAdapter(g, o.strict)
	a.input = &in
	r := &run{g: &g.core, ctx: ctx, plan: plan.New(&g.plan, false), state: a, watchers: watching(&g.core, ""), opt: o}
	if out != nil {
		out.state, r.sink = a, out
	}
	a.start(false, false)
	r.init()
	r.plan.Enter(0)
	ended := r.watchers.run(ctx, 0)
	err := exec.ErrLeft
	if r.sink == nil || r.sink.take(r.telling().event(EventRunStarted, 0)) {
		err = r.loop()
	}
	res := resultOf(r, a)
	ended(r.plan.Step, res.Status, err)
	return res, r.watchers.join(err)
}

// loop runs supersteps until the run ends, for whatever reason.
func (r *run) loop() error {
	r.exec.Options = host{r}.options()
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
		if err := r.superstep(); err != nil {
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

// superstep runs what is due and commits what that comes to.
func (r *run) superstep() error {
	r.fill()
	if r.log != nil {
		if err := r.restoring().restoreResults(); err != nil {
			return err
		}
	}
	if err := r.execute(); err != nil {
		return err
	}
	if !r.exec.Through() {
		return r.giveUp(nil) // some task asks, or its subgraph has stopped
	}
	if err := r.commit(); err != nil {
		return err
	}
	if !r.telling().publish() && r.status == 0 {
		return r.giveUp(nil)
	}
	return nil
}

// commit settles a superstep and stores what it comes to.
func (r *run) commit() (err error) {
	source := checkpoint.Loop
	if r.plan.Input() {
		source = checkpoint.Input
	}
	var withdrawn []checkpoint.Write
	if r.log != nil {
		if withdrawn, err = r.calling().withdraw(); err != nil {
			return err
		}
	}
	turn, err := r.settle()
	if err != nil {
		return err
	}
	o := r.decide(turn)
	if r.log != nil {
		if err := r.storing().commit(source, withdrawn, o); err != nil {
			r.exec.Over()
			return r.uncommitted(err)
		}
	}
	r.status = o.Status
	return nil
}

// uncommitted notes that a commit failed because of err, which it returns.
func (r *run) uncommitted(err error) error {
	var saver *SaverError
	r.health = spoiled
	if errors.As(err, &saver) {
		r.health = unsure // the saver may have stored it; Resume reconciles that
	}
	return err
}

// init readies the run for its first superstep.
func (r *run) init() {
	r.exec = exec.New(host{r}, r.g.exec, r.g.plan.Races, Task{Graph: r.g.name, Thread: r.thread})
}

// fill makes a slot for every task that runs now.
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

// settle merges what the tasks returned, in their order, and finds out what is due next. After an error the
// state is of no use any more.
func (r *run) settle() (plan.Decision, error) {
	r.health = spoiled
	if err := r.merge(); err != nil {
		return 0, err
	}
	if r.call != nil {
		r.within().keepUpdates()
	}
	if r.g.remembers {
		r.calling().remember()
	}
	r.state.endStep()
	if err := r.leave(); err != nil {
		return 0, err
	}
	if !r.plan.Input() {
		r.steps++
	}
	r.keys.Forget()
	r.pending = journal.Pending{}
	r.health = sound
	return r.plan.Turn(), nil
}

// giveUp ends a run whose superstep cannot be committed. It stores the results, the questions and the status. cause is the error
// of the run; it is nil if a task asks, if a subgraph stopped or was drained, and if nobody takes the events any more.
func (r *run) giveUp(cause error) error {
	if r.status == 0 { // else it was tried before, and could not be stored
		r.status = reasonsOf(r, cause).Status()
	}
	if r.log == nil {
		return cause
	}
	if lost := r.log.Lost(); lost != nil {
		if r.call == nil {
			_ = r.log.Close() // another run has the thread: what was queued is refused, and nothing more may be written
		}
		if !errors.Is(cause, checkpoint.ErrConflict) {
			cause = errors.Join(cause, r.saving("keep the thread", lost))
		}
		return cause
	}
	o := journal.Outcome{Status: r.status, End: true}
	if r.health == unsure {
		o.Status = 0 // the commit set the status of the thread, if it is stored
	}
	err := r.saving("put writes", r.log.Put(r.ctx, append(r.storing().results(cause), r.storing().reason(r.log.Base, o, cause)...), o))
	if err == nil {
		return cause
	}
	if r.call == nil && r.log.Lost() == nil {
		r.log.LetGo(r.ctx)
	}
	r.health = max(r.health, spoiled) // what was stored before the error is for the saver to tell
	switch broken := r.log.Broken(); {
	case cause == nil:
		return err
	case broken != nil && errors.Is(cause, broken):
		return cause // it says so already
	}
	return errors.Join(cause, err)
}

// resultOf is what a run came to, whose state a has.
func resultOf[S, U any](r *run, a *adapter[S, U]) Result[S] {
	res := Result[S]{Status: r.status, Next: r.nextIDs(), Steps: r.steps}
	if r.health == sound {
		res.State = a.live.View()
		a.live.Share()
	}
	if r.log != nil {
		res.Checkpoint = r.log.Head
	}
	if r.status == Done {
		res.Unjoined = r.unjoined()
	}
	res.Stops = shownStops(stopsOf(r))
	res.Questions = r.waiting()
	return res
}

// nextIDs are what comes next, as Result.Next has it.
func (r *run) nextIDs() []ID { return r.g.next(r.dueIDs(), r.plan.Pending) }

// next returns due, the nodes that are due. If there are none, it returns what the routes of owed can choose, and End where
// only a stop is left.
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

// dueIDs are the ids of the due nodes, each once; nil for none.
func (r *run) dueIDs() []ID {
	var ids []ID
	for n := range r.plan.Nodes {
		ids = append(ids, r.g.nodes[n].id)
	}
	return ids
}

func (r *run) nodeError(sl *exec.Task, err error) error {
	return &NodeError{
		Graph: r.g.name, Thread: r.thread, Step: r.plan.Step + 1,
		Node: r.g.nodes[sl.Node].id, Index: sl.Index, Attempt: max(sl.Attempt, 1), Err: err,
	}
}
