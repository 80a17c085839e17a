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

// A Resume that cannot make progress writes nothing. Before the run opens, prober reads whether it
// can, also for subgraphs that have asked. Other subgraphs decide for themselves.

// prober reads whether a run can make progress, without running it.
type prober struct {
	*run
	writes []checkpoint.Write          // that the opening will store: answers
	below  map[string][]subgraph.Asked // by task key: the open questions of subgraphs
}

// listedAsWaiting reports whether the stored status of a waiting thread is Waiting. If a run died
// after a subgraph asked, the question can be stored without the status. On a run line that was
// left, the status does not matter.
func listedAsWaiting(c *checkpoint.Chain) bool {
	return c.Thread.Status == checkpoint.Waiting || c.Last.ID != c.Head
}

// blocked reports whether nothing can run before an answer. Without inside it does not look into
// subgraphs, and treats a run with a due subgraph as not blocked.
func (r *prober) blocked(c *checkpoint.Chain, inside bool) (bool, error) {
	if len(r.opt.rerun) > 0 || r.opt.rehearse {
		return false, nil
	}
	v, err := r.holds(c, inside)
	return v.Held && v.Waits, err
}

// holds decides whether the due tasks hold the run. With inside it reads subgraph calls that ask.
// It holds a call to be free that it does not read.
func (r *prober) holds(c *checkpoint.Chain, inside bool) (held.Verdict, error) {
	now := r.plan.Now()
	tasks := r.describe(c, now, inside)
	for {
		v, read := held.Decide(tasks)
		if read < 0 {
			return v, nil
		}
		if r.ctx.Err() != nil {
			return v, r.cancelled()
		}
		in, err := r.holdsIn(&exec.Task{Task: now[read]})
		if err != nil {
			return held.Verdict{}, err
		}
		tasks[read].Inside = &in
	}
}

// describe describes due tasks for the decisions of package held.
func (r *prober) describe(c *checkpoint.Chain, now []plan.Task, inside bool) []held.Task {
	var asking map[string]bool // the calls with open questions or stops
	if inside && r.g.nests {
		asking = subgraph.Asking(r.log.Namespace, c.Thread.Questions)
	}
	tasks := make([]held.Task, len(now))
	for i := range now {
		key := r.taskKey(&now[i])
		_, done := r.pending.Result(key)
		asked := r.pending.Asked(key)
		tasks[i] = held.Task{Key: key, Race: r.g.plan.Nodes[now[i].Node].Race, Done: done, Asks: asked != nil && asked.Open()}
		if r.g.nodes[now[i].Node].sub != nil {
			tasks[i].AsksInside = asking[r.log.Call(key)]
		}
	}
	return tasks
}

// holdsIn reads the subgraph call of a task, which asks or stops, and decides whether it is held.
// It keeps the open questions of the call.
func (r *prober) holdsIn(sl *exec.Task) (held.Verdict, error) {
	n := &r.g.nodes[sl.Node]
	key := r.taskKey(&sl.Task)
	branch := r.log.Child(journal.Within(r.log.Namespace, r.log.Call(key)))
	below, in, err := n.sub.holds(r.ctx, branch, r.calling().pathTo(&sl.Task), r.writes)
	if r.below == nil {
		r.below = make(map[string][]subgraph.Asked)
	}
	r.below[key] = below
	return held.Verdict{Held: in, Waits: len(below) > 0}, err
}

// holds is the same for a call of the graph in another run. It only reads. writes are those that
// the opening of that run will store.
func (g *core) holds(
	ctx context.Context, log *journal.Branch, path []journal.PathElement, writes []checkpoint.Write,
) (below []subgraph.Asked, in bool, err error) {
	c, err := loadChain(ctx, g, log, checkpoint.Ref{Thread: log.Thread(), Namespace: log.Namespace})
	if err != nil || !c.Unfinished() {
		return nil, false, err
	}
	last := &c.Last
	r := &prober{writes: writes, run: &run{
		g: g, thread: log.Thread(), ctx: ctx, log: log, plan: plan.New(&g.plan, true), state: g.newState(), call: &subgraph.Call{Path: path},
	}}
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
		r.plan.Clear()
	}
	if len(r.plan.Pending) > 0 {
		return nil, false, nil
	}
	v, err := r.holds(&c, true)
	if err != nil || !v.Held || r.plan.Stops() && !v.Waits {
		return nil, false, err
	}
	if err := r.restoreBlocked(); err != nil {
		return nil, false, nil //nolint:nilerr // the run says what is wrong
	}
	return r.asked(), true, nil
}

// restoreBlocked restores the stored results and questions of a held superstep.
func (r *prober) restoreBlocked() error {
	r.fill()
	if err := r.restoreResults(); err != nil {
		return err
	}
	for i := range r.exec.Tasks {
		sl := &r.exec.Tasks[i]
		if below := r.below[r.taskKey(&sl.Task)]; below != nil && sl.Progress == exec.Waiting {
			r.calls[i] = subgraph.Outcome{Below: below}
		}
	}
	return nil
}
