package exec

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/runtime/graph/internal/plan"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Superstep runs supersteps, one after another. New returns one.
type Superstep struct {
	Tasks []Task // of the superstep in progress, in the order in which they merge
	Options

	host    Host
	nodes   []Node
	races   int
	step    int         // of Run
	of      task.Task   // what the tasks of the run have in common
	filled  int         // how many tasks the newest superstep had
	todo    []int       // the tasks that have to be run
	winners []int       // by race: the task whose result counts, -1 for none yet
	solo    task.Worker // runs tasks that run alone
	ready   bool        // solo is
	route   task.Route  // the context of routes
	asked   *task.Route // that of the last route
	ran     []bool      // scratch of Ran, by node
}

// New returns a Superstep without tasks. races is how many any-of joins the graph has; of is what
// the tasks of the run have in common.
func New(host Host, nodes []Node, races int, of task.Task) Superstep {
	return Superstep{host: host, nodes: nodes, races: races, of: of}
}

// Fill begins a superstep of the given tasks.
func (s *Superstep) Fill(now []plan.Task) {
	if len(now) < s.filled {
		clear(s.Tasks[len(now):s.filled]) // what was sent to tasks that are over is not kept
	}
	s.filled = len(now)
	if len(now) > cap(s.Tasks) {
		s.Tasks = make([]Task, len(now))
	}
	s.Tasks = s.Tasks[:len(now)]
	for i := range now {
		t := &s.Tasks[i]
		*t = Task{}
		t.Task = now[i]
	}
	if s.races == 0 {
		return
	}
	if s.winners == nil {
		s.winners = make([]int, s.races)
	}
	for i := range s.winners {
		s.winners[i] = -1
	}
}

// Over ends a superstep: from here on there are no tasks.
func (s *Superstep) Over() { s.Tasks = s.Tasks[:0] }

// Edit makes tasks the only ones: the updates of an edit. They have succeeded.
func (s *Superstep) Edit(tasks []plan.Task) {
	s.Tasks = make([]Task, len(tasks))
	for i := range tasks {
		s.Tasks[i] = Task{Task: tasks[i], Progress: Succeeded}
	}
}

// Has reports whether a task has come so far.
func (s *Superstep) Has(p Progress) bool {
	for i := range s.Tasks {
		if s.Tasks[i].Progress == p {
			return true
		}
	}
	return false
}

// Through reports whether each task has a result, or lost a race to one that has.
func (s *Superstep) Through() bool {
	for i := range s.Tasks {
		if p := s.Tasks[i].Progress; p != Succeeded && p != Beaten {
			return false
		}
	}
	return true
}

// Uncut reports whether the node of a task of the superstep is Uncut.
func (s *Superstep) Uncut() bool {
	for i := range s.Tasks {
		if s.nodes[s.Tasks[i].Node].Uncut {
			return true
		}
	}
	return false
}

// Left returns how many tasks have to be run, and notes which.
func (s *Superstep) Left() int {
	s.todo = s.todo[:0]
	for i := range s.Tasks {
		if s.Tasks[i].Progress == Waiting {
			s.todo = append(s.todo, i)
		}
	}
	return len(s.todo)
}

// Due returns the tasks that Left noted. The result is valid until the next call of Left.
func (s *Superstep) Due() []int { return s.todo }

// Options say how supersteps are run.
type Options struct {
	Workers  int      // how many tasks run at the same time
	Eager    bool     // the Host stores results while other tasks run
	Watcher  Watcher  // nil for none
	Observer Observer // nil for none
	Timed    bool     // the Host has timers of tasks
	First    int      // the number of the first attempt of each task; 0 is 1
	// Apart says that no task runs on the goroutine of Run, which a node could end.
	Apart bool
	// Rehearse says that the Host calls no node: caches and limiters are left out.
	Rehearse bool
	Stuck    bool // report nodes that do not return, to the Watcher and the Observer

	// Changing says that the context of Run can differ between supersteps, and that of BeginRoute
	// between routes.
	Changing bool

	Intercepted bool // the Host reports attempts that exceed their Timeout
}

// Run runs the tasks that Left noted, in the superstep of the given number. The error is that of
// Ended; the outcomes are in Tasks.
func (s *Superstep) Run(ctx context.Context, step int) (err error) {
	s.step = step
	if len(s.todo) == 1 && s.Watcher == nil && !s.Apart && !(s.Timed && len(s.Tasks) > 1 && len(s.asking()) > 0) {
		if s.nodes[s.Tasks[s.todo[0]].Node].begins(ctx) {
			s.perform(s.alone(ctx), s.todo[0], nil)
		}
	} else {
		err = s.fanOut(ctx)
	}
	if s.races == 0 {
		return err
	}
	if i := s.todo[0]; len(s.todo) == 1 && s.Tasks[i].Progress == Succeeded {
		s.Win(i)
	}
	s.Decide()
	return err
}

// begins reports whether a task of the node begins under ctx.
func (n *Node) begins(ctx context.Context) bool {
	return ctx.Err() == nil || n.Takes && SiblingFailed(ctx)
}

// SiblingFailed reports whether ctx is that of a task, or of what runs in it, which has ended
// because a sibling failed.
func SiblingFailed(ctx context.Context) bool { return errors.Is(context.Cause(ctx), ErrSibling) }

// seen returns task i as others see it.
func (s *Superstep) seen(i int) Seen {
	t := &s.Tasks[i]
	return Seen{Task: t, I: i, Node: s.nodes[t.Node].ID, Step: s.step}
}

// alone returns the worker for a task that runs alone under ctx.
func (s *Superstep) alone(ctx context.Context) *task.Worker {
	if s.Changing { // a goroutine that a node left behind may use the last worker
		w := new(task.Worker)
		w.Init(ctx, s.of, s.host)
		return w
	}
	if !s.ready {
		s.solo.Init(ctx, s.of, s.host)
		s.ready = true
	}
	return &s.solo
}

// BeginRoute returns the context in which the route of a node is called, after the node ran in the
// given step. EndRoute ends the call. A route has no attempt and no key, and cannot ask or emit.
func (s *Superstep) BeginRoute(ctx context.Context, node, step int) context.Context {
	t := s.of
	t.Node, t.Step = s.nodes[node].ID, step
	s.asked = &s.route
	if s.Changing {
		s.asked = new(task.Route)
	}
	s.asked.Begin(ctx, t)
	return s.asked
}

// EndRoute ends the call of a route.
func (s *Superstep) EndRoute() { s.asked.End() }

// Win notes that task i has succeeded. It reports whether its result counts.
func (s *Superstep) Win(i int) bool {
	race := s.nodes[s.Tasks[i].Node].Race
	if race == 0 {
		return true
	}
	if w := &s.winners[race-1]; *w < 0 {
		*w = i
	}
	return s.winners[race-1] == i
}

// Decide makes all tasks Beaten that lost a race.
func (s *Superstep) Decide() {
	if s.races == 0 {
		return
	}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		race := s.nodes[t.Node].Race
		if race > 0 && s.winners[race-1] >= 0 && s.winners[race-1] != i {
			t.Progress, t.Err = Beaten, nil
		}
	}
}

// Ran calls yield with the nodes that ran in the superstep, each once, in task order, without
// Start (rule 1.8).
func (s *Superstep) Ran(yield func(node int) bool) {
	if s.ran == nil {
		s.ran = make([]bool, len(s.nodes))
	}
	for i := range s.Tasks {
		s.ran[s.Tasks[i].Node] = false
	}
	s.ran[plan.Start] = true
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if s.ran[t.Node] || t.Progress == Beaten {
			continue
		}
		s.ran[t.Node] = true
		if !yield(t.Node) {
			return
		}
	}
}

// Failures joins the errors of the failed tasks, made by wrap, in task order. unfinished says
// that tasks were cancelled.
func (s *Superstep) Failures(wrap func(t *Task) error) (unfinished bool, err error) {
	var errs []error
	for i := range s.Tasks {
		switch t := &s.Tasks[i]; t.Progress {
		case Failed:
			errs = append(errs, wrap(t))
		case Waiting:
			unfinished = true
		}
	}
	if len(errs) == 1 {
		return unfinished, errs[0]
	}
	return unfinished, errors.Join(errs...)
}
