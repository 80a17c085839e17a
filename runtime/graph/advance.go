package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
)

// leave follows everything that leads out of the nodes that have just run, in their order. Edges, joins and routes are
// followed once for each node; what a node chose itself counts for each of its tasks.
func (r *run) leave() error {
	r.plan.Begin()
	left := -1 // the node that was left last
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
		if n != left && r.plan.Leave(n) {
			if err := r.follow(n, r.plan.Step+1); err != nil {
				return err
			}
		}
		left = n
	}
	if r.call == nil {
		return nil
	}
	return r.within().checkParentChoice()
}

// unjoined are the nodes whose joins were reached by some of their sources only.
func (r *run) unjoined() []ID {
	var ids []ID
	for n := range r.plan.Unjoined {
		ids = append(ids, r.g.nodes[n].id)
	}
	return ids
}

// follow asks the route of node n, which ran in the given step, and marks what it chose.
func (r *run) follow(n, step int) error {
	from := &r.g.nodes[n]
	next, err := host{r}.callRoute(n, step)
	if err == nil {
		err = r.choose(from, next)
	}
	if err != nil {
		return &RouteError{Graph: r.g.name, Thread: r.thread, Step: step, Node: from.id, Err: err}
	}
	return nil
}

// callRoute calls the route of node n, which ran in the given step.
func (r host) callRoute(n, step int) (Next, error) {
	defer r.exec.EndRoute()
	return r.state.route(r.exec.BeginRoute(r.ctx, n, step), n)
}

// choose makes due what a route or a node chose.
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

func (r *run) chooseOne(from *node, t target) error {
	n := from.to[from.place(t.id)]
	if n == above {
		return r.within().chooseForParent(t.sent.(upward))
	}
	if t.sent == nil {
		r.plan.Choose(n)
		return nil
	}
	var raw []byte
	if r.log != nil {
		var err error
		if raw, err = appendSent(t.sent); err != nil {
			return fmt.Errorf("what it sends to %q cannot be stored: %w", string(t.id), err)
		}
	}
	r.plan.Send(n, t.sent, raw)
	return nil
}

// setTargets declares what the node, or its route, may choose.
func (n *node) setTargets(targets []ID, to []int) {
	const few = 16 // are found faster one by one
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

// allows reports what is wrong with a choice.
func (n *node) allows(nodes *[]node, next Next) error {
	switch {
	case next.first.id != "":
	case n.sub != nil:
		return nil // the subgraph came to its end
	default:
		return errors.New("it chose nothing; return graph.To(graph.End) to finish")
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

func (n *node) allowsOne(nodes []node, t target) error {
	i := n.place(t.id)
	if i < 0 {
		return fmt.Errorf("it chose %s, which it does not declare; declared are %v", quoted(t.id), n.targets)
	}
	takes := n.to[i] >= start && nodes[n.to[i]].decode != nil
	switch {
	case n.to[i] == above:
		if _, ok := t.sent.(upward); !ok {
			return errors.New("it chose Parent without saying what that is to do; use graph.ToParent")
		}
	case takes && t.sent == nil:
		return fmt.Errorf("it chose %q without sending anything; use the Send of its Sender", string(t.id))
	case !takes && t.sent != nil:
		return fmt.Errorf("it sent to %s, which takes nothing; use graph.To", quoted(t.id))
	}
	return nil
}

// askPendingRoutes asks the routes that an InterruptAfter with BeforeRoute left open, and commits what they chose
// before any of it starts. After a stop behind which nothing is due, that is the end. The state is unchanged and so is the
// step.
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
	if r.call != nil {
		if err := r.within().checkParentChoice(); err != nil {
			return err
		}
	}
	o := r.decide(r.plan.Turn())
	if err := r.storing().commit(checkpoint.Resume, nil, o); err != nil {
		return r.uncommitted(err)
	}
	r.status = o.Status
	return nil
}

// taskKey is the key of a task that runs now.
func (r *run) taskKey(t *plan.Task) string {
	return r.keys.Task(r.plan.Step+1, string(r.g.nodes[t.Node].id), t.Index)
}
