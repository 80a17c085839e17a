package graph

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/held"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
)

// withdraw returns the writes that withdraw what does not count after this superstep: tasks that
// lost a race, and calls whose failure a fallback handled. It also returns the signals that go
// back to the inbox.
func (r *run) withdraw() ([]checkpoint.Write, []checkpoint.Message, error) {
	if !r.g.nests && len(r.g.signals) == 0 || r.g.plan.Races == 0 && !r.g.fallsBack {
		return nil, nil, nil
	}
	tasks := r.endedTasks()
	beaten, handled := held.Lost(tasks)
	if len(beaten) == 0 && len(handled) == 0 {
		return nil, nil, nil
	}
	writes, err := r.withdrawQuestions(tasks, append(slices.Clip(beaten), handled...))
	if err != nil || len(r.g.signals) == 0 {
		return writes, nil, err
	}
	back, drop, err := r.giveBack(tasks, beaten, handled)
	return append(writes, drop...), back, err
}

// withdrawQuestions returns the writes that withdraw the questions of the calls of lost tasks.
func (r *run) withdrawQuestions(tasks []held.Task, lost []int) ([]checkpoint.Write, error) {
	calls := make(map[string]bool)
	for _, i := range lost {
		if tasks[i].Call != "" && (r.log.Resumed || r.calls[i].Open) {
			calls[tasks[i].Call] = true
		}
	}
	if len(calls) == 0 {
		return nil, nil
	}
	c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread})
	return subgraph.Withdrawals(c.Thread.Questions, calls), err
}

// endedTasks describes the tasks of a superstep that is over for the decisions of package held.
func (r *run) endedTasks() []held.Task {
	tasks := make([]held.Task, len(r.exec.Tasks))
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		key := r.taskKey(&t.Task)
		tasks[i] = held.Task{
			Key: key, Race: r.g.plan.Nodes[t.Node].Race, Done: t.Progress != exec.Beaten, Fallback: r.g.exec[t.Node].Fallback,
		}
		if r.g.nodes[t.Node].sub != nil {
			tasks[i].Call = journal.Within(r.log.Namespace, r.log.Call(key))
		}
	}
	return tasks
}

// giveBack returns the signals that go back to the inbox with the commit of this superstep. They
// are those of tasks that lost a race, with their subgraph calls, and those of unfinished calls
// whose failure a fallback handled. The writes drop the notes about them.
func (r *run) giveBack(tasks []held.Task, beaten, handled []int) (back []checkpoint.Message, drop []checkpoint.Write, err error) {
	lost := inbox.Losses{Namespace: r.log.Namespace, Tasks: make(map[string]bool), Calls: make(map[string]bool)}
	for _, i := range beaten {
		lost.Tasks[tasks[i].Key] = true // also of a call: its mapping functions can receive
		if tasks[i].Call != "" {
			lost.Calls[tasks[i].Call] = true
		}
	}
	root := r.opt.box.root.log
	c, err := loadChain(r.ctx, r.g, root, checkpoint.Ref{Thread: r.thread})
	if err != nil {
		return nil, nil, err
	}
	notes, err := journal.Notes(c.Writes, root.Base)
	if err != nil {
		return nil, nil, r.changed(err, "a received signal")
	}
	for _, i := range handled {
		namespace := tasks[i].Call
		if unfinished, err := r.unfinished(notes, namespace); err != nil {
			return nil, nil, err
		} else if unfinished {
			lost.Calls[namespace] = true
		}
	}
	var asked func(key string) *journal.Asked
	if r.call == nil {
		pending := journal.Gather(c.Writes, root.Base, "")
		asked = pending.Asked
	}
	a, err := lost.Back(notes, root.Base, asked)
	if err != nil {
		return nil, nil, r.changed(err, "a received signal")
	}
	return a.Messages.Return, a.Writes, nil
}

// unfinished reports whether the call with a namespace has taken signals and has not ended.
func (r *run) unfinished(notes []journal.Received, namespace string) (bool, error) {
	of := map[string]bool{namespace: true}
	for i := range notes {
		if notes[i].In(of) {
			c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: namespace})
			return c.Unfinished(), err
		}
	}
	return false, nil
}

// A superstep can end waiting although one of its races is decided, or although a fallback has
// handled the failure of a subgraph call. The open questions of the other tasks of that race, and
// those of that call, stay stored until the commit. Nothing may be given to them: a signal would
// be missing elsewhere until then.

// beaten are the tasks of a namespace that lost a race, by their keys. They are also the subgraph
// calls of such tasks and of tasks with a stored result, by their names.
type beaten struct{ tasks, calls map[string]bool }

// beatenIn returns the tasks and the calls of a namespace that count no more. c is the head of the
// namespace, which is that of a call of g.
func beatenIn(g *core, c *checkpoint.Chain, namespace string) beaten {
	b := beaten{make(map[string]bool), make(map[string]bool)}
	tasks := g.dueIn(c, namespace)
	for i, over := range held.Over(tasks) {
		if t := &tasks[i]; over {
			b.tasks[t.Key] = !t.Done
			b.calls[t.Call] = true
		}
	}
	return b
}

// dueIn describes the due tasks of a namespace for the decisions of package held. c is the head of
// the namespace, which is that of a call of g.
func (g *core) dueIn(c *checkpoint.Chain, namespace string) []held.Task {
	stored := journal.Gather(c.Writes, c.Last.Base, namespace)
	tasks := make([]held.Task, len(c.Due))
	for i, d := range c.Due {
		key := journal.DueKey(&c.Last, namespace, d)
		_, done := stored.Result(key)
		tasks[i] = held.Task{Key: key, Call: journal.DueCall(&c.Last, namespace, d), Race: g.raceOf(d.Node), Done: done}
	}
	return tasks
}

// counting returns the open questions without those of tasks that lost a race, and of calls whose
// failure a fallback has handled, at any depth. c is the head of the thread.
func (r *run) counting(c *checkpoint.Chain, open []inbox.Question) (count []inbox.Question, err error) {
	if r.g.plan.Races == 0 && !r.g.nests {
		return open, nil
	}
	known := make(map[string]beaten)
	for i := range open {
		lost, err := r.hasLost(c, known, &open[i])
		if err != nil {
			return nil, err
		}
		if !lost {
			count = append(count, open[i])
		}
	}
	return count, nil
}

// hasLost reports whether the task of an open question, or a call that the task is in, counts no
// more. known has the losers of namespaces, as far as they were read.
func (r *run) hasLost(c *checkpoint.Chain, known map[string]beaten, q *inbox.Question) (bool, error) {
	g := r.g
	for at, depth := "", 0; g != nil; depth++ {
		name := journal.CallIn(at, q.Stored.Namespace)
		if g.plan.Races > 0 || g.fallsBack {
			b, err := r.losersIn(c, known, g, at)
			if err != nil || b.calls[name] || name == "" && b.tasks[q.Stored.Task] {
				return err == nil, err
			}
		}
		if name == "" || depth >= len(q.Of.Path) {
			return false, nil
		}
		at, g = journal.Within(at, name), g.subgraphOf(q.Of.Path[depth].Node)
	}
	return false, nil
}

// losersIn returns the losers in a namespace, which is that of a call of g, and keeps them in
// known.
func (r *run) losersIn(c *checkpoint.Chain, known map[string]beaten, g *core, namespace string) (beaten, error) {
	if b, ok := known[namespace]; ok {
		return b, nil
	}
	if namespace != "" {
		inner, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: namespace})
		if err != nil {
			return beaten{}, err
		}
		c = &inner
	}
	known[namespace] = beatenIn(g, c, namespace)
	return known[namespace], nil
}
