package graph

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/held"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// An opening leaves the branch of the head if it begins a run line, or continues a branch that was
// left before. The questions, receives and timers of the old branch stay stored, because it can be
// continued, but they are not listed any more. If an input leaves the branch, the signals that its
// unfinished tasks have received go back to the inbox.

// leaveFor leaves the branch of the head if c, at which the run continues, is not the head. open
// is what the tasks wait for that are due at c.
func (r *opener) leaveFor(c *checkpoint.Chain, open []checkpoint.Write) {
	if c.Last.ID != c.Head {
		r.leaving = inbox.Relist(c.Thread.Questions, open)
	}
}

// leaveForInput leaves the branch of the head, and returns the signals of its unfinished tasks to
// the inbox. c is the loaded checkpoint. The results of its finished tasks stay in the state.
func (r *opener) leaveForInput(c *checkpoint.Chain) error {
	if err := r.run.leaveFamily(c); err != nil {
		return err
	}
	if err := r.keepFinished(c); err != nil {
		return err
	}
	r.leaving = inbox.Relist(c.Thread.Questions, nil)
	return r.returnSignals(c)
}

// returnSignals returns the signals of the unfinished tasks of the head to the inbox, and gives
// the replies of the finished ones. c is the loaded checkpoint.
func (r *opener) returnSignals(c *checkpoint.Chain) error {
	if len(r.run.g.signals) == 0 {
		return nil
	}
	head := *c
	if c.Last.ID != c.Head {
		var err error
		if head, err = loadChain(r.run.ctx, r.run.g, r.run.log, checkpoint.Ref{Thread: r.run.thread}); err != nil {
			return err
		}
	}
	notes, err := journal.Notes(head.Writes, head.Last.Base)
	if err != nil {
		return r.run.changed(err, "a received signal")
	}
	b := left{notes: notes, heads: make(map[string]*checkpoint.Chain), over: make(map[string]bool)}
	if err := r.leaveCall(&b, r.run.g, "", &head); err != nil {
		return err
	}
	a, err := inbox.Leave(b.heads, b.over, r.left.taken, notes, head.Last.Base)
	if err != nil {
		return r.run.changed(err, "a received signal")
	}
	r.leaving = append(r.adopt(a), r.leaving...)
	return nil
}

// left is what is known of the calls of a branch that an input leaves.
type left struct {
	notes []journal.Received
	heads map[string]*checkpoint.Chain // of the thread, and of due calls with notes, by namespace
	over  map[string]bool              // the calls that do not count any more, by namespace
}

// leaveCall adds to b a namespace, and the calls that its due tasks have made. c is the head of
// the namespace, which is that of a call of g. Other calls with notes have ended, although their
// stored heads can be unfinished. With OnExit a call stores no record of its end if the superstep
// around it has committed in the same run.
func (r *opener) leaveCall(b *left, g *core, namespace string, c *checkpoint.Chain) error {
	b.heads[namespace] = c
	tasks := g.dueIn(c, namespace)
	for i := range tasks {
		if _, counts := r.left.taken[tasks[i].Key]; counts {
			tasks[i].Done = true
		}
	}
	over := held.Over(tasks)
	for i, d := range c.Due {
		call := journal.Within(namespace, tasks[i].Call)
		if !slices.ContainsFunc(b.notes, func(n journal.Received) bool { return n.In(map[string]bool{call: true}) }) {
			continue
		}
		inner, err := loadChain(r.run.ctx, r.run.g, r.run.log, checkpoint.Ref{Thread: r.run.thread, Namespace: call})
		if err != nil {
			return err
		}
		b.over[call] = over[i] && (!tasks[i].Done || inner.Unfinished()) // rule 21.27
		if tasks[i].Done {
			continue
		}
		if err := r.leaveCall(b, g.subgraphOf(d.Node), call, &inner); err != nil {
			return err
		}
	}
	return nil
}
