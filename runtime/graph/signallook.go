package graph

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// refuseUnlisted refuses signals that no node of the graph lists.
func (r looker) refuseUnlisted() {
	r.mail.signals = slices.DeleteFunc(r.mail.signals, func(m checkpoint.Message) bool {
		if r.g.signals[m.Name] {
			return false
		}
		r.mail.refuse(m.Number, fmt.Sprintf("no node of graph %q lists signal %q", r.g.name, m.Name))
		return true
	})
}

// lookAgain reads the answers and the signals that have come since the first look, if a question
// or a receive has expired at now. One that was posted in time counts.
func (r looker) lookAgain(open []checkpoint.Write, now time.Time) error {
	expired := func(q checkpoint.Write) bool { return !task.IsTimer(q.Name) && passed(dueOf(&q), now) }
	if !slices.ContainsFunc(open, expired) {
		return nil
	}
	newest, _ := r.log.Looked()
	all, err := r.g.mail(r.ctx, checkpoint.MailQuery{Thread: r.thread, After: newest})
	if err != nil {
		return err
	}
	for i := range all {
		r.mail.read = max(r.mail.read, all[i].Number)
		if kind := all[i].Kind; kind == checkpoint.AnswerMessage || kind == checkpoint.SignalMessage {
			r.mail.add(&all[i])
		}
	}
	return nil
}

// signalsFor returns the writes that give signals to the receives among the open questions, in
// task order, and takes these signals.
func (r looker) signalsFor(open []checkpoint.Write) []checkpoint.Write {
	if len(r.mail.signals) == 0 {
		return nil
	}
	b := &signalbox{root: r.run, signals: r.mail.signals, taken: make(map[uint64]bool)}
	writes, h := b.assign(r.receivesIn(open))
	r.mail.signals = b.signals
	r.mail.take(h.Take...)
	r.mail.handled.Refuse = append(r.mail.handled.Refuse, h.Refuse...)
	return writes
}

// receivesIn returns the receives among the open questions, in task order.
func (r looker) receivesIn(open []checkpoint.Write) (asked []subgraph.Asked) {
	for _, w := range inTaskOrder(r.g, open, 0) {
		if task.IsSignal(w.Name) {
			asked = append(asked, subgraph.Asked{
				Namespace: w.Namespace, Base: w.Base, Task: w.Task, Place: w.Name, Question: w.Payload, Due: dueOf(&w),
			})
		}
	}
	return asked
}

// inTaskOrder returns open questions in the order of the declaration of the nodes that lead to
// them, then of the sends. The questions are those of a call of g, which is depth calls deep in
// its thread. A question that cannot be read comes first; its reader returns the error.
func inTaskOrder(g *core, open []checkpoint.Write, depth int) []checkpoint.Write {
	type place struct {
		checkpoint.Write
		at []int
	}
	all := make([]place, len(open))
	for i := range open {
		all[i].Write = open[i]
		if q, err := journal.ReadQuestion(open[i].Payload); err == nil {
			all[i].at = g.position(&q, depth)
		}
	}
	slices.SortStableFunc(all, func(a, b place) int { return slices.Compare(a.at, b.at) })
	ordered := make([]checkpoint.Write, len(all))
	for i := range all {
		ordered[i] = all[i].Write
	}
	return ordered
}

// position returns the numbers of the nodes that lead to the task of a question, each with the
// number of the send. It leaves out the outermost calls, up to a depth.
func (g *core) position(q *journal.Question, depth int) (at []int) {
	path := append(slices.Clip(q.Path), journal.PathElement{Node: q.Node, Index: q.Index})
	for _, e := range path[min(depth, len(path)):] {
		if g == nil {
			break
		}
		n, _ := g.find(e.Node)
		at = append(at, n, e.Index)
		g = g.subgraphOf(e.Node)
	}
	return at
}

// losses are tasks and calls that do not count.
type losses struct {
	namespace string          // of the tasks
	tasks     map[string]bool // by key
	calls     map[string]bool // by namespace
}

// among returns the messages of notes that go back to the inbox because of the losses. The writes
// drop the notes, which belong to base.
func (l *losses) among(notes []journal.Received, base checkpoint.ID) (back []checkpoint.Message, drop []checkpoint.Write) {
	for i := range notes {
		n := &notes[i]
		if !n.In(l.calls) && !(n.Namespace == l.namespace && l.tasks[n.Task]) {
			continue
		}
		back = append(back, n.Message)
		w := n.Write(base)
		w.Kind, w.Payload = checkpoint.Discard, nil
		drop = append(drop, w)
	}
	return inOrder(back), drop
}

// inOrder sorts messages by their numbers.
func inOrder(all []checkpoint.Message) []checkpoint.Message {
	slices.SortFunc(all, func(a, b checkpoint.Message) int { return cmp.Compare(a.Number, b.Number) })
	return all
}
