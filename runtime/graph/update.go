package graph

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// UpdateState merges u into the state by the reducers, stores the result as a checkpoint and
// returns its id. Nodes do not run; routes may.
//
// At the head it is an edit: due tasks stay due, with their stored results and questions. At an
// older checkpoint it is a fork: the tasks that were due there are due again, with new task keys.
// On a thread that does not exist it stores u as the first state. Nothing is due then, and the
// next input merges into that state.
//
// With AsNode it is a fork that treats u as the result of that node, at any checkpoint. If the
// node is due, it counts as having run. If other tasks are due too, UpdateState returns
// ErrUnfinished and stores nothing; DiscardPending drops those tasks instead. With Goto it is a
// fork after which exactly the given tasks are due.
//
// An edit of the head also merges u into the state of each unfinished subgraph call over the same
// state. So the due tasks in the call see u. On a Thread that Inside returned, UpdateState
// edits the state of that call, without AsNode and Goto. The id is that of a new head of the
// thread, whose own state stays. It returns ErrCallEnded if the call has ended, and
// checkpoint.ErrNotFound if the call has not stored anything yet. An edit that reaches a call
// cannot take over a thread that a run holds.
//
// It returns a *checkpoint.BusyError if a run holds the thread. Other errors are those of Resume.
func (t Thread[S, U]) UpdateState(ctx context.Context, u U, opts ...UpdateOption) (checkpoint.ID, error) {
	a := newAdapter(t.g)
	a.setEdit(&u)
	return t.thread.updateState(ctx, a, setting(opts, UpdateOption.update))
}

// updateState is Thread.UpdateState with the edit of s.
func (t threadCore) updateState(ctx context.Context, s typedState, set func(*runOptions)) (checkpoint.ID, error) {
	if t.inside != nil {
		return t.updateInside(ctx, s, set)
	}
	o, err := t.calling(set)
	if err != nil {
		return checkpoint.ID{}, err
	}
	if len(o.as) > 1 {
		return checkpoint.ID{}, t.fail("AsNode names %s and %s; name one node, or call UpdateStates", quoted(o.as[0]), quoted(o.as[1]))
	}
	return t.update(ctx, o, s, o.as)
}

// NodeUpdate is an update as a node, for Thread.UpdateStates.
type NodeUpdate[U any] struct {
	Node   ID
	Update U
}

// UpdateStates stores the updates of several nodes as one superstep: a fork, as if exactly these
// nodes had run and returned them. The updates merge in task order: by the declaration of their
// nodes, and those of task nodes after them, in the order given. Conflicts are errors, as in a
// run. Each route is called once. All joins are reset first, and then the given nodes count as
// sources that have run.
//
// Only a task node can be named more than once. Of the nodes that lead to one any-of join only one
// can be named. For due tasks the rules of UpdateState with AsNode apply. Errors are those of
// UpdateState.
func (t Thread[S, U]) UpdateStates(ctx context.Context, updates []NodeUpdate[U], opts ...UpdateOption) (checkpoint.ID, error) {
	nodes := make([]ID, len(updates))
	for i := range updates {
		nodes[i] = updates[i].Node
	}
	o, order, err := t.thread.updatesOf(nodes, setting(opts, UpdateOption.update))
	if err != nil {
		return checkpoint.ID{}, err
	}
	a, as := newAdapter(t.g), make([]ID, len(order))
	for i, at := range order {
		a.edits, as[i] = append(a.edits, updates[at].Update), nodes[at]
	}
	return t.thread.update(ctx, o, a, as)
}

// updatesOf returns the options of UpdateStates, and the indexes of its nodes in task order.
func (t threadCore) updatesOf(nodes []ID, set func(*runOptions)) (o runOptions, order []int, err error) {
	if o, err = t.calling(set); err != nil {
		return o, nil, err
	}
	if len(o.as) > 0 {
		return o, nil, t.fail("AsNode names %s; set Node in the updates of UpdateStates, and leave AsNode out", quoted(o.as[0]))
	}
	if len(nodes) == 0 {
		return o, nil, t.fail("UpdateStates: there is no update")
	}
	for i := range nodes {
		order = append(order, i)
	}
	rank := func(i int) int { return t.g.rank(t.g.index[nodes[i]]) }
	slices.SortStableFunc(order, func(a, b int) int { return rank(a) - rank(b) })
	return o, order, nil
}

// update stores the updates of the edit of s: a single update without a node, or one for each node
// of as.
func (t threadCore) update(ctx context.Context, o runOptions, s typedState, as []ID) (checkpoint.ID, error) {
	e, err := t.g.editOf(as, o.choice)
	switch {
	case err != nil || !o.abandon:
	case len(as) == 0:
		err = errors.New("DiscardPending without AsNode; an edit leaves all that is due, and Goto replaces it")
	case o.choice != nil:
		err = errors.New("DiscardPending with Goto, which replaces all that is due; leave DiscardPending out")
	}
	if err != nil {
		return checkpoint.ID{}, t.fail("%w", err)
	}
	return t.openEdit(ctx, o, s, func(r *opener) error { return r.openUpdate(t.at, e) })
}

// openEdit makes an opening that runs nothing, and returns the id of its record. It calls open
// with a new opening, whose state is s with its edits, until open succeeds.
func (t threadCore) openEdit(ctx context.Context, o runOptions, s typedState, open func(*opener) error) (checkpoint.ID, error) {
	var r *opener
	err := t.contend(ctx, o, busyOptions, func() error {
		r = t.newOpening(ctx, o, s)
		return open(r)
	})
	if err != nil {
		return checkpoint.ID{}, err
	}
	t.g.heads.drop(t.id)
	return r.run.log.Head, nil
}

// newOpening returns an opening that runs nothing, with s and its edits.
func (t threadCore) newOpening(ctx context.Context, o runOptions, s typedState) *opener {
	s.restart(false, o.strict)
	r := &run{g: t.g, thread: t.id, plan: plan.New(&t.g.plan, true), state: s, ctx: ctx, watchers: watching(t.g, t.id), opt: o}
	r.init()
	r.log = t.g.journal(t.id, o, nil, nil, nil)
	return &opener{run: r}
}

// editOf checks an edit as the given nodes, in task order, against the graph.
func (g *core) editOf(as []ID, next *Next) (e edit, err error) {
	sends := 0
	for _, id := range as {
		n, ok := g.index[id]
		if !ok || n < start {
			return e, fmt.Errorf("an update as %s: no node %s", quoted(id), quoted(id))
		}
		task := plan.Task{Node: n}
		if i := len(e.nodes) - 1; g.nodes[n].decode != nil {
			task.Index = sends
			sends++
		} else if i >= 0 && e.nodes[i].Node == n {
			return e, fmt.Errorf("two updates as node %s, which runs once in a superstep; merge them into one", quoted(id))
		}
		if g.nodes[n].routes && next == nil {
			return e, fmt.Errorf("an update as node %s: it chooses its successors itself, and an update does not contain its choice; "+
				"add graph.Goto with the choice", quoted(id))
		}
		e.nodes = append(e.nodes, task)
	}
	if err := g.checkRaces(e.nodes); err != nil {
		return e, err
	}
	if e.next = next; next != nil {
		err = g.checkGoto(next)
	}
	return e, err
}

// checkRaces reports updates as several tasks of one race: only one of them counts.
func (g *core) checkRaces(tasks []plan.Task) error {
	of := make(map[int]ID)
	for _, t := range tasks {
		race := g.plan.Nodes[t.Node].Race
		if race == 0 {
			continue
		}
		id := g.nodes[t.Node].id
		if other, ok := of[race]; ok {
			return fmt.Errorf("updates as nodes %s and %s, which lead to one any-of join: only one of them counts; leave one out",
				quoted(other), quoted(id))
		}
		of[race] = id
	}
	return nil
}

// checkGoto reports a choice that the graph cannot run.
func (g *core) checkGoto(next *Next) error {
	if next.first.id == "" {
		return fmt.Errorf("Goto chooses nothing; use graph.To(graph.End) if nothing is due")
	}
	for t := range next.targets {
		n, ok := g.index[t.id]
		switch {
		case !ok || t.id == Start || t.id == Parent:
			return fmt.Errorf("Goto: no node %s that can be due", quoted(t.id))
		case n == end || g.nodes[n].decode == nil:
			if t.sent != nil {
				return fmt.Errorf("Goto: a payload is sent to %s, which is no task node; use graph.To", quoted(t.id))
			}
		case t.sent == nil:
			return fmt.Errorf("Goto: nothing is sent to task node %s; use the Send of its Sender", quoted(t.id))
		default:
			if err := g.checkSent(t); err != nil {
				return fmt.Errorf("Goto: node %s: %w", quoted(t.id), err)
			}
		}
	}
	return nil
}

// checkSent reports a payload that its task node does not take. It may come from a Sender of
// another graph.
func (g *core) checkSent(t target) error {
	b, err := appendSent(t.sent)
	if err != nil {
		return err
	}
	got, err := g.unwrap(t.id, b)
	if err == nil && got.(typed).of() == t.sent.(typed).of() {
		return nil
	}
	return errors.Join(fmt.Errorf("the node does not take a %s; send with the Sender of this node", t.sent.(typed).of()), err)
}

// asNodes lists nodes for messages.
func asNodes(names []string) string {
	for i, name := range names {
		names[i] = quoted(ID(name))
	}
	if len(names) == 1 {
		return "node " + names[0]
	}
	return "nodes " + strings.Join(names, ", ")
}

// AsNode makes UpdateState treat its update as the result of a node. The successors of the node
// are then due. Start stands for another input. For a node that chooses its successors itself,
// such as a RoutingNode, add Goto, because an update does not contain its choice. UpdateStates
// names a node for each update, and returns an error for AsNode.
func AsNode(id ID) UpdateOption {
	return runOption(func(o *runOptions) { o.as = append(o.as, id) })
}

// Goto makes exactly the tasks of next due after an update: nodes by To, and sends by Sender.Send.
// They replace everything that was due, and the edges, joins and routes of the nodes that AsNode
// or UpdateStates name. After graph.To(graph.End) nothing is due. Each node must be one of the
// graph; it need not be a target of another one.
func Goto(next Next) UpdateOption {
	return singleRunOption("Goto", func(o *runOptions) { o.choice = &next })
}
