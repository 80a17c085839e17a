package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// leave follows the edges, joins and routes of the nodes that have just run, in their order. It
// follows them once for each node. The choice of a routing node counts for each of its tasks.
func (r *run) leave() error {
	r.plan.Begin()
	for i := range r.exec.Tasks {
		sl := &r.exec.Tasks[i]
		if sl.Progress == exec.Beaten {
			continue
		}
		n := sl.Node
		if from := &r.g.nodes[n]; from.routes {
			if err := r.choose(from, *r.state.choice(i)); err != nil {
				return r.nodeError(sl, err)
			}
		}
		if r.plan.Leave(n) {
			if err := r.follow(n, r.plan.Step+1); err != nil {
				return err
			}
		}
	}
	return r.checkParentChoice()
}

// unjoined returns the targets of joins that only some sources have reached.
func (r *run) unjoined() []ID {
	var ids []ID
	for n := range r.plan.Unjoined {
		ids = append(ids, r.g.nodes[n].id)
	}
	return ids
}

// follow calls the route of node n, which ran in the given step, and makes what it chose due.
func (r *run) follow(n, step int) error {
	from := &r.g.nodes[n]
	next, err := r.callRoute(n, step)
	if err != nil && r.nodes().Err() != nil && !counts(err) {
		return r.cancelled() // whatever error the route returns (rule 14.7)
	}
	if err == nil {
		err = r.choose(from, next)
	}
	if err != nil {
		return &RouteError{Graph: r.g.name, Thread: r.thread, Step: step, Node: from.id, Err: err}
	}
	return nil
}

// callRoute calls the route of node n, which ran in the given step.
func (r *run) callRoute(n, step int) (Next, error) {
	if r.opt.rehearse {
		return Next{}, errRehearsed
	}
	defer r.exec.EndRoute()
	ctx := r.exec.BeginRoute(r.nodes(), n, step)
	if r.exec.Intercepted && r.opt.interceptors.routes() {
		return r.interceptedRoute(ctx, n, step)
	}
	return r.state.route(ctx, n)
}

// choose makes the choice of a route or a node due.
func (r *run) choose(from *node, next Next) error {
	if err := from.allows(&r.g.nodes, next); err != nil || next.first.id == "" {
		return err
	}
	r.plan.Grow(len(next.more) + 1)
	if err := r.chooseOne(from, next.first); err != nil {
		return err
	}
	for _, t := range next.more {
		if err := r.chooseOne(from, t); err != nil {
			return err
		}
	}
	return nil
}

// chooseOne makes one target of a choice due, with what is sent to it.
func (r *run) chooseOne(from *node, t target) error {
	n := from.to[from.place(t.id)]
	if n == above {
		return r.chooseForParent(t.sent.(upward))
	}
	if t.sent == nil {
		r.plan.Choose(n)
		return nil
	}
	sent, raw := t.sent, []byte(nil)
	if r.log != nil {
		var err error
		if sent, raw, err = storedSent(t.sent); err != nil {
			return fmt.Errorf("the input that it sends to %q cannot be stored: %w", string(t.id), err)
		}
	}
	r.plan.Send(n, sent, raw)
	return nil
}

// setTargets declares the targets of the node or its route.
func (n *node) setTargets(targets []ID, to []int) {
	const few = 16 // a linear search is faster for so few
	n.targets, n.to = targets, to
	if len(targets) <= few {
		return
	}
	n.places = make(map[ID]int, len(targets))
	for i, id := range targets {
		n.places[id] = i
	}
}

// place returns the index of a target; -1 if it is not declared.
func (n *node) place(id ID) int {
	if n.places == nil {
		return slices.Index(n.targets, id)
	}
	if i, ok := n.places[id]; ok {
		return i
	}
	return -1
}

// allows returns an error if the choice is wrong.
func (n *node) allows(nodes *[]node, next Next) error {
	switch {
	case next.first.id != "":
	case n.sub != nil:
		return nil // the subgraph ended without a choice
	default:
		return errors.New("no successor is chosen; return graph.To(graph.End) to finish")
	}
	if err := n.allowsOne(*nodes, next.first); err != nil {
		return err
	}
	for _, t := range next.more {
		if err := n.allowsOne(*nodes, t); err != nil {
			return err
		}
	}
	return nil
}

// allowsOne returns an error if one target of a choice is wrong.
func (n *node) allowsOne(nodes []node, t target) error {
	i := n.place(t.id)
	if i < 0 {
		return fmt.Errorf("the choice %s is not among the declared targets; declared are %v", quoted(t.id), n.targets)
	}
	takes := n.to[i] >= start && nodes[n.to[i]].decode != nil
	switch {
	case n.to[i] == above:
		if _, ok := t.sent.(upward); !ok {
			return errors.New("the target Parent is chosen without a choice for the parent graph; use graph.ToParent")
		}
	case takes && t.sent == nil:
		return fmt.Errorf("nothing is sent to task node %q; use the Send of its Sender", string(t.id))
	case !takes && t.sent != nil:
		return fmt.Errorf("a payload is sent to %s, which is no task node; use graph.To", quoted(t.id))
	}
	return nil
}

// askPendingRoutes calls the routes that an InterruptAfter with BeforeRoute left pending, and
// commits their choice before any chosen node starts. If only a stop was left, the run is finished
// then. The state and the step stay the same.
func (r *run) askPendingRoutes() error {
	r.plan.Reopen()
	for _, n := range r.plan.Pending {
		if n == end {
			continue
		}
		if err := r.follow(n, r.plan.Step); err != nil {
			return err
		}
	}
	if err := r.checkParentChoice(); err != nil {
		return err
	}
	o := r.decide(r.plan.Turn())
	if err := r.store(checkpoint.Resume, nil, o); err != nil {
		return r.uncommitted(err)
	}
	r.status = o.Status
	return nil
}

// taskKey returns the key of a task of this superstep.
func (r *run) taskKey(t *plan.Task) string {
	return r.keys.Task(r.plan.Step+1, string(r.g.nodes[t.Node].id), t.Index)
}
