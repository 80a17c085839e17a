package graph

import (
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/held"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
)

// A Resume that cannot make progress writes nothing. Before the run opens, it reads whether it
// can, also for subgraphs that have asked. Other subgraphs decide for themselves.

// listedAsWaiting reports whether the stored status of a waiting thread is Waiting. If a run died
// after a subgraph asked, the question can be stored without the status. On a run line that was
// left, the status does not matter.
func listedAsWaiting(c *checkpoint.Chain) bool {
	return c.Thread.Status == checkpoint.Waiting || c.Last.ID != c.Head
}

// blocked reports whether nothing can run before an answer, see decideHeld. A run with Rerun, and
// a rehearsal, are never blocked.
func (r *run) blocked(c *checkpoint.Chain, inside bool, writes []checkpoint.Write) (_ bool, below asksBelow, err error) {
	if len(r.opt.rerun) > 0 || r.opt.rehearse {
		return false, nil, nil
	}
	var questions []checkpoint.Write
	if inside {
		questions = c.Thread.Questions
	}
	v, below, err := r.decideHeld(questions, writes)
	return v.Held && v.Waits, below, err
}

// asksBelow are the open questions of subgraph calls, by the key of the task that makes the call.
type asksBelow map[string][]subgraph.Asked

// decideHeld decides whether the tasks that are due hold the run, without running it. writes are
// those that the opening will store. It reads the subgraph calls that have some of the questions,
// and returns their open questions. A call that it does not read can run.
func (r *run) decideHeld(questions, writes []checkpoint.Write) (held.Verdict, asksBelow, error) {
	now := r.plan.Now()
	var asking map[string][]checkpoint.Write // the questions and stops of each call
	if r.g.nests {
		asking = subgraph.Asking(r.log.Namespace, questions)
	}
	tasks := r.describeDue(now, asking)
	below := make(asksBelow)
	for {
		v, read := held.Decide(tasks)
		if read < 0 {
			return v, below, nil
		}
		if r.ctx.Err() != nil {
			return v, nil, r.cancelled()
		}
		t := &now[read]
		call := r.log.Call(tasks[read].Key)
		inside := r.log.Child(journal.Within(r.log.Namespace, call))
		asked, in, err := r.g.nodes[t.Node].sub.decideHeldCall(r.ctx, inside, r.pathTo(t), asking[call], writes)
		if err != nil {
			return v, nil, err
		}
		below[tasks[read].Key] = asked
		tasks[read].Inside = &held.Verdict{Held: in, Waits: len(asked) > 0}
	}
}

// describeDue describes due tasks for the decisions of package held. asking has the questions of
// their calls.
func (r *run) describeDue(now []plan.Task, asking map[string][]checkpoint.Write) []held.Task {
	tasks := make([]held.Task, len(now))
	for i := range now {
		key := r.taskKey(&now[i])
		_, done := r.pending.Result(key)
		asked := r.pending.Asked(key)
		tasks[i] = held.Task{Key: key, Race: r.g.plan.Nodes[now[i].Node].Race, Done: done, Asks: asked != nil && asked.Open()}
		if r.g.nodes[now[i].Node].sub != nil {
			tasks[i].AsksInside = len(asking[r.log.Call(key)]) > 0
		}
	}
	return tasks
}

// decideHeldCall decides the same for a call of the graph in another run, and returns its open
// questions. It only reads. questions are those of the call and of the calls within it. writes are
// those that the opening of that run will store.
func (g *core) decideHeldCall(
	ctx context.Context, log *journal.Writer, path []journal.PathElement, questions, writes []checkpoint.Write,
) (asked []subgraph.Asked, in bool, err error) {
	c, err := loadChain(ctx, g, log, checkpoint.Ref{Thread: log.Thread(), Namespace: log.Namespace})
	if err != nil || !c.Unfinished() {
		return nil, false, err
	}
	last := &c.Last
	r := &run{
		g: g, thread: log.Thread(), ctx: ctx, log: log, plan: plan.New(&g.plan, true), state: g.newState(), call: &subgraph.Call{Path: path},
	}
	r.init()
	r.plan.Step, r.log.Base = last.Step, last.Base
	r.keys.Scope = journal.Scope(log.Namespace)
	r.keys.SetLine(last.Line)
	if g.owns(r.thread, last) != nil || r.place(&c) != nil {
		return nil, false, nil //nolint:nilerr // the run says what is wrong
	}
	r.gather(append(slices.Clip(c.Writes), writes...))
	switch halt := r.pending.Stop(); {
	case halt != nil && halt.Open():
		return nil, true, nil
	case halt != nil:
		r.plan.Clear(true)
	}
	if len(r.plan.Pending) > 0 {
		return nil, false, nil
	}
	v, below, err := r.decideHeld(questions, writes)
	if err != nil || !v.Held || r.plan.Stops() && !v.Waits {
		return nil, false, err
	}
	if err := r.restoreHeld(below); err != nil {
		return nil, false, nil //nolint:nilerr // the run says what is wrong
	}
	return r.asked(), true, nil
}

// restoreHeld restores the stored results and questions of a superstep that cannot run. below has
// the open questions of its calls.
func (r *run) restoreHeld(below asksBelow) error {
	r.fill()
	if err := r.restoreResults(); err != nil {
		return err
	}
	for i := range r.exec.Tasks {
		sl := &r.exec.Tasks[i]
		if asked := below[r.taskKey(&sl.Task)]; asked != nil && sl.Progress == exec.Waiting {
			r.calls[i] = subgraph.Returned{Below: asked}
		}
	}
	return nil
}
