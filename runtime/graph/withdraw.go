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

// withdraw returns the writes that withdraw what does not count after this superstep: tasks that lost
// a race, and calls whose failure a fallback handled. It also returns the signals that go back to
// the inbox.
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
