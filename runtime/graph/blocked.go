package graph

import (
	"context"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
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
	held, waits, err := r.holds(c, inside)
	return held && waits, err
}

// holds reports whether every due task is held, and whether any of them waits for answers. A task
// is held if it waits for an answer, has a stored result, or lost its race to such a result. A
// subgraph is held if it stopped for people or everything due in it is held.
func (r *prober) holds(c *checkpoint.Chain, inside bool) (held, waits bool, err error) {
	now := r.plan.Now()
	won := r.decidedRaces(now)
	var asking map[string]bool // the calls with open questions or stops
	if inside && r.g.nests {
		asking = subgraph.Asking(r.log.Namespace, c.Thread.Questions)
	}
	for _, d := range now {
		if r.ctx.Err() != nil {
			return false, false, r.cancelled()
		}
		sl := exec.Task{Task: d}
		key := r.taskKey(&sl.Task)
		_, done := r.pending.Result(key)
		n, race := &r.g.nodes[d.Node], r.g.plan.Nodes[d.Node].Race
		switch a := r.pending.Asked(key); {
		case done, race > 0 && won[race-1]:
		case a != nil && a.Open():
			held, waits = true, true
		case n.sub != nil:
			if !asking[r.log.Call(key)] {
				return false, false, nil
			}
			below, in, err := r.holdsIn(&sl)
			if err != nil || !in {
				return false, false, err
			}
			held, waits = true, waits || len(below) > 0
		default:
			return false, false, nil
		}
	}
	return held, waits, nil
}

// holdsIn reports whether the subgraph call of a task, which asks or stops, is held, and returns
// its open questions.
func (r *prober) holdsIn(sl *exec.Task) (below []subgraph.Asked, held bool, err error) {
	n := &r.g.nodes[sl.Node]
	key := r.taskKey(&sl.Task)
	branch := r.log.Child(journal.Within(r.log.Namespace, r.log.Call(key)))
	below, held, err = n.sub.holds(r.ctx, branch, r.calling().pathTo(&sl.Task), r.writes)
	if r.below == nil {
		r.below = make(map[string][]subgraph.Asked)
	}
	r.below[key] = below
	return below, held, err
}

// holds is the same for a call of the graph in another run. It only reads. writes are those that
// the opening of that run will store.
func (g *core) holds(
	ctx context.Context, log *journal.Branch, path []journal.PathElement, writes []checkpoint.Write,
) (below []subgraph.Asked, held bool, err error) {
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
	if g.owns(r.thread, last) != nil || r.restoring().place(&c) != nil {
		return nil, false, nil //nolint:nilerr // the run says what is wrong
	}
	r.restoring().gather(append(slices.Clip(c.Writes), writes...))
	switch halt := r.pending.Stop(); {
	case halt != nil && halt.Open():
		return nil, true, nil
	case halt != nil:
		r.plan.Clear()
	}
	if len(r.plan.Pending) > 0 {
		return nil, false, nil
	}
	held, waits, err := r.holds(&c, true)
	if err != nil || !held || r.plan.Stops() && !waits {
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
	if err := r.restoring().restoreResults(); err != nil {
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
