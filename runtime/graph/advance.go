package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// leave follows everything that leads out of the node of a slot, which has just run. Edges, joins and routes are left
// once, however many tasks the node had, with the first of them; what a node chose itself counts for each task.
func (r *run[S, U]) leave(i int, first bool) error {
	sl := &r.slots[i]
	n := sl.node
	from := &r.g.nodes[n]
	if from.routes {
		if err := r.choose(from, *sl.next); err != nil {
			return r.nodeError(sl, err)
		}
	}
	if !first {
		return nil
	}
	r.next = slices.Grow(r.next, len(from.edges))
	for _, to := range from.edges {
		r.mark(to)
	}
	for _, a := range from.joins {
		r.arrive(a)
	}
	r.stopAfter = r.stopAfter || from.after
	switch {
	case from.route == nil:
		return nil
	case from.after && r.g.opt.beforeRoute && r.log != nil:
		r.owed = append(r.owed, n)
		return nil
	}
	return r.follow(n, r.step+1)
}

// mark makes node n due next, once.
func (r *run[S, U]) mark(n int) {
	if r.marks == nil {
		r.marks = make([]bool, len(r.g.nodes))
	}
	if n > end && !r.marks[n] {
		r.marks[n] = true
		r.next = append(r.next, due{node: n})
	}
}

// wait keeps the deferred tasks due that did not run.
func (r *run[S, U]) wait() {
	for _, d := range r.due {
		if r.g.nodes[d.node].defers {
			r.keep(d)
		}
	}
}

// keep makes due next what is due now.
func (r *run[S, U]) keep(d due) {
	if d.sent == nil {
		r.mark(d.node)
		return
	}
	r.next = append(r.next, d)
}

// turn makes what was marked and sent due: nodes in order of declaration, sends to one node in the order in which they
// were made.
func (r *run[S, U]) turn() {
	if len(r.next) > 1 {
		slices.SortStableFunc(r.next, func(a, b due) int { return a.node - b.node })
	}
	for i := range r.next {
		d := &r.next[i]
		if d.sent == nil {
			r.marks[d.node] = false
			continue
		}
		d.index = 0
		if i > 0 && r.next[i-1].node == d.node {
			d.index = r.next[i-1].index + 1
		}
	}
	r.due, r.next = r.next, r.due[:0]
}

// arrive notes that a source of a join has run, and lets through once all have.
func (r *run[S, U]) arrive(a arrival) {
	fired := r.joins[a.join]
	fired[a.source] = true
	if !slices.Contains(fired, false) {
		clear(fired)
		r.mark(r.g.joins[a.join].to)
	}
}

// newJoins is the position of joins that nobody has reached.
func newJoins(joins []join) [][]bool {
	if len(joins) == 0 {
		return nil
	}
	fired := make([][]bool, len(joins))
	for i := range joins {
		fired[i] = make([]bool, len(joins[i].from))
	}
	return fired
}

// unjoined are the nodes whose joins were reached by some of their sources only.
func (r *run[S, U]) unjoined() []ID {
	var ids []ID
	for i, fired := range r.joins {
		if slices.Contains(fired, true) {
			ids = append(ids, r.g.nodes[r.g.joins[i].to].id)
		}
	}
	return ids
}

// follow asks the route of node n, which ran in the given step, and marks what it chose.
func (r *run[S, U]) follow(n, step int) error {
	from := &r.g.nodes[n]
	next, err := r.ask(from)
	if err == nil {
		err = r.choose(from, next)
	}
	if err != nil {
		return &RouteError{Graph: r.g.name, Thread: r.thread, Step: step, Node: from.id, Err: err}
	}
	return nil
}

// choose makes due what a route or a node chose.
func (r *run[S, U]) choose(from *node[S, U], next Next) error {
	if err := from.allows(&r.g.nodes, next); err != nil || next.first.id == "" {
		return err
	}
	r.next = slices.Grow(r.next, len(next.more)+1)
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

func (r *run[S, U]) chooseOne(from *node[S, U], t target) error {
	n := from.to[slices.Index(from.targets, t.id)]
	if n == above {
		return r.sendUp(t.sent.(upward))
	}
	if t.sent == nil {
		r.mark(n)
		return nil
	}
	d := due{node: n, sent: t.sent}
	if r.log != nil {
		raw, err := appendSent(t.sent)
		if err != nil {
			return fmt.Errorf("what it sends to %q cannot be stored: %w", string(t.id), err)
		}
		d.raw = raw
	}
	r.next = append(r.next, d)
	return nil
}

// allows reports what is wrong with a choice.
func (n *node[S, U]) allows(nodes *[]node[S, U], next Next) error {
	switch {
	case next.first.id != "":
	case n.child != nil:
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

func (n *node[S, U]) allowsOne(nodes []node[S, U], t target) error {
	i := slices.Index(n.targets, t.id)
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

// ask calls a route.
func (r *run[S, U]) ask(from *node[S, U]) (next Next, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanic(v)
		}
	}()
	if !r.strict {
		return from.route(r.ctx, r.live.View())
	}
	given := r.g.schema.Clone(r.live.View())
	next, err = from.route(r.ctx, given)
	if err == nil {
		err = r.mutated(given)
	}
	return next, err
}

// mutated reports what a node or route of a Strict run wrote through the clone it was given.
func (r *run[S, U]) mutated(given S) error {
	if fields := r.g.schema.Changed(r.live.View(), given); len(fields) > 0 {
		return &MutationError{Fields: fields}
	}
	return nil
}

// payRoutes asks the routes that an InterruptAfter with BeforeRoute left open, and commits what they chose
// before any of it starts. After a stop behind which nothing is due, that is the end. The state is unchanged and so is the
// step.
func (r *run[S, U]) payRoutes() error {
	for _, d := range r.due {
		r.keep(d)
	}
	for _, n := range r.owed {
		if n == end {
			continue
		}
		if err := r.follow(n, r.step); err != nil {
			return err
		}
	}
	r.turn()
	r.owed = nil
	if err := r.endsUpward(); err != nil {
		return err
	}
	o := r.decide()
	if err := r.commit(checkpoint.Resume, nil, o); err != nil {
		return r.uncommitted(err)
	}
	r.status = o.status
	return nil
}

// key returns the key of a task of this run.
func (r *run[S, U]) key(t *Task) string {
	line, err := r.lineID()
	if err != nil {
		return "" // no randomness; a run with a journal has its line from its records
	}
	return taskKey(line, r.ns, t.Step-r.line.begun, r.keyName(ID(t.Node)), t.Index)
}

func (r *run[S, U]) lineID() (checkpoint.ID, error) {
	r.line.Lock()
	defer r.line.Unlock()
	if r.line.id.IsZero() {
		id, err := checkpoint.NewID()
		if err != nil {
			return id, err
		}
		r.line.id = id
	}
	return r.line.id, nil
}

// keyName is the id that a node's tasks are known by: the one that it had when they became due.
func (r *run[S, U]) keyName(id ID) ID {
	if was, ok := r.named[id]; ok {
		return was
	}
	return id
}

// slotKey is the key of the task in a slot.
func (r *run[S, U]) slotKey(sl *slot[U]) string {
	return taskKey(r.line.id, r.ns, r.step+1-r.line.begun, r.keyName(r.g.nodes[sl.node].id), sl.index)
}
