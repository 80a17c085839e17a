package graph

import (
	"errors"
	"fmt"
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// leave follows everything that leads out of node n, which has just run.
func (r *run[S, U]) leave(n int) error {
	from := &r.g.nodes[n]
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
	if n != end && !r.marks[n] {
		r.marks[n] = true
		r.next = append(r.next, n)
	}
}

// turn makes what was marked due, in order of declaration.
func (r *run[S, U]) turn() {
	if len(r.next) > 1 {
		slices.Sort(r.next)
	}
	for _, n := range r.next {
		r.marks[n] = false
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

func (r *run[S, U]) choose(from *node[S, U], next Next) error {
	if next.first == "" {
		return errors.New("it chose nothing; return graph.To(graph.End) to finish")
	}
	if err := r.chooseOne(from, next.first); err != nil {
		return err
	}
	for _, id := range next.more {
		if err := r.chooseOne(from, id); err != nil {
			return err
		}
	}
	return nil
}

func (r *run[S, U]) chooseOne(from *node[S, U], id ID) error {
	i := slices.Index(from.targets, id)
	if i < 0 {
		return fmt.Errorf("it chose %q, which it does not declare; declared are %v", string(id), from.targets)
	}
	r.mark(from.to[i])
	return nil
}

// ask calls a route.
func (r *run[S, U]) ask(from *node[S, U]) (next Next, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = newPanic(v)
		}
	}()
	if !r.g.opt.strict {
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
// before any of it starts. The state is unchanged and so is the step.
func (r *run[S, U]) payRoutes() error {
	for _, n := range r.due {
		r.mark(n)
	}
	for _, n := range r.owed {
		if err := r.follow(n, r.step); err != nil {
			return err
		}
	}
	r.turn()
	r.owed = nil
	o := r.decide()
	if err := r.commit(checkpoint.Resume, o); err != nil {
		return err
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
	return taskKey(line, "", t.Step, ID(t.Node), t.Index)
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

// slotKey is the key of the task in a slot.
func (r *run[S, U]) slotKey(sl *slot[U]) string {
	return taskKey(r.line.id, "", r.step+1, r.g.nodes[sl.node].id, 0)
}
