package graph

import (
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
)

// withdraw returns the writes that withdraw what does not count after this superstep. It also
// returns the signals that go back to the inbox.
func (r caller) withdraw() ([]checkpoint.Write, []checkpoint.Message, error) {
	writes, err := r.withdrawQuestions()
	if err != nil {
		return nil, nil, err
	}
	back, drop, err := r.giveBack()
	return append(writes, drop...), back, err
}

// withdrawQuestions returns the writes that withdraw the questions of subgraphs that lost a race
// in this superstep, or whose failure a fallback handled.
func (r caller) withdrawQuestions() ([]checkpoint.Write, error) {
	if !r.g.nests || r.g.plan.Races == 0 && !r.g.fallsBack {
		return nil, nil
	}
	lost := make(map[string]bool)
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		if (t.Progress == exec.Beaten || r.g.exec[t.Node].Fallback) && r.g.nodes[t.Node].sub != nil && (r.log.Resumed || r.calls[i].Open) {
			lost[r.callOf(t)] = true
		}
	}
	if len(lost) == 0 {
		return nil, nil
	}
	c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread})
	return subgraph.Withdrawals(c.Thread.Questions, lost), err
}

// callOf returns the namespace of the subgraph call of a task.
func (r caller) callOf(t *exec.Task) string {
	return journal.Within(r.log.Namespace, r.log.Call(r.taskKey(&t.Task)))
}

// giveBack returns the signals that go back to the inbox with the commit of this superstep. They
// are those of tasks that lost a race, with their subgraph calls. Signals of unfinished calls
// whose failure a fallback handled go back, too. The writes drop the notes about them.
func (r caller) giveBack() (back []checkpoint.Message, drop []checkpoint.Write, err error) {
	if len(r.g.signals) == 0 || r.g.plan.Races == 0 && !r.g.fallsBack {
		return nil, nil, nil
	}
	lost := inbox.Losses{Namespace: r.log.Namespace, Tasks: make(map[string]bool), Calls: make(map[string]bool)}
	var handled []string // the calls of tasks with a fallback
	for i := range r.exec.Tasks {
		t := &r.exec.Tasks[i]
		nests := r.g.nodes[t.Node].sub != nil
		switch {
		case t.Progress == exec.Beaten && nests:
			lost.Calls[r.callOf(t)] = true
			fallthrough // its mapping functions can receive, too
		case t.Progress == exec.Beaten:
			lost.Tasks[r.taskKey(&t.Task)] = true
		case nests && r.g.exec[t.Node].Fallback:
			handled = append(handled, r.callOf(t))
		}
	}
	if len(lost.Tasks) == 0 && len(handled) == 0 {
		return nil, nil, nil
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
	for _, namespace := range handled {
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
func (r caller) unfinished(notes []journal.Received, namespace string) (bool, error) {
	of := map[string]bool{namespace: true}
	for i := range notes {
		if notes[i].In(of) {
			c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: namespace})
			return c.Unfinished(), err
		}
	}
	return false, nil
}
