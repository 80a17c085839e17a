package graph

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// UpdateState merges u into the state by the reducers, stores the result as a checkpoint and returns its id.
// Nodes do not run; routes may.
//
// At the head it is an edit: due tasks stay due, with their stored results and questions. At an older
// checkpoint it is a fork: the tasks that were due there are due again, on a new run line.
//
// With AsNode it is a fork that treats u as the result of that node, at any checkpoint. If the node is due,
// it counts as having run. If other tasks are due too, UpdateState returns ErrUnfinished and stores nothing;
// DiscardPending drops those tasks instead.
//
// It returns a *checkpoint.BusyError if a run holds the thread. Other errors are those of Resume.
func (t Thread[S, U]) UpdateState(ctx context.Context, u U, opts ...UpdateOption) (checkpoint.ID, error) {
	o, err := calling(t, opts, UpdateOption.update)
	if err != nil {
		return checkpoint.ID{}, err
	}
	n, err := t.asNode(&o)
	if err != nil {
		return checkpoint.ID{}, err
	}
	var r *opening
	err = t.contend(ctx, o, func() error {
		a := newAdapter(t.g, o.strict)
		a.input = &u
		r = &opening{run: &run{g: &t.g.core, thread: t.id, plan: plan.New(&t.g.plan, true), state: a, ctx: ctx, opt: o}}
		r.init()
		r.log = t.journal(o, nil, nil)
		return r.openUpdate(t.at, n, len(o.as) > 0)
	})
	if err != nil {
		return checkpoint.ID{}, err
	}
	t.g.heads.drop(t.id)
	return r.log.Head, nil
}

// asNode returns the node that AsNode names; Start if it was not given.
func (t Thread[S, U]) asNode(o *runOptions) (int, error) {
	as := o.as
	switch {
	case len(as) > 0:
	case o.abandon:
		return 0, t.fail("UpdateState: DiscardPending without AsNode; an edit leaves all that is due, so there is nothing to drop")
	default:
		return start, nil
	}
	n, ok := t.g.index[as[0]]
	if !ok || n < start {
		return 0, t.fail("UpdateState: no node %s", quoted(as[0]))
	}
	if len(as) > 1 {
		return 0, t.fail("UpdateState: AsNode names %s and %s; name one node", quoted(as[0]), quoted(as[1]))
	}
	return n, nil
}

// AsNode makes UpdateState treat its update as the result of a node. The successors of the node are then due.
// Start stands for another input. A node that chooses its successors itself, such as a RoutingNode, is an
// error, because an update does not contain its choice.
func AsNode(id ID) UpdateOption {
	return runOption(func(o *runOptions) { o.as = append(o.as, id) })
}
