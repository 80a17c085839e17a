package graph

import (
	"slices"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// An opening leaves the branch of the head if it begins a run line, or continues a branch that was
// left before. The questions, receives and timers of the old branch stay stored, because it can be
// continued, but they are not listed any more. If an input leaves the branch, the signals that its
// unfinished tasks have received go back to the inbox.

// leaveFor leaves the branch of the head if c, at which the run continues, is not the head. open
// is what the tasks wait for that are due at c.
func (r looker) leaveFor(c *checkpoint.Chain, open []checkpoint.Write) {
	if c.Last.ID != c.Head {
		r.leaving = relisted(c.Thread.Questions, open)
	}
}

// leavePast begins a run line that takes no input from the inbox: the input of an Invoke, or a
// fork. It leaves the branch of the head.
func (r looker) leavePast(c *checkpoint.Chain, input bool) error {
	if err := r.lookPast(c); err != nil {
		return err
	}
	if input {
		return r.leaveForInput(c)
	}
	r.leaving = relisted(c.Thread.Questions, nil)
	return nil
}

// leaveForInput leaves the branch of the head, and returns the signals of its unfinished tasks. c
// is the loaded checkpoint.
func (r looker) leaveForInput(c *checkpoint.Chain) error {
	r.leaving = relisted(c.Thread.Questions, nil)
	if len(r.g.signals) == 0 {
		return nil
	}
	head := *c
	if c.Last.ID != c.Head {
		var err error
		if head, err = loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread}); err != nil {
			return err
		}
	}
	back, drop, err := r.unfinishedSignals(&head)
	if err != nil {
		return r.changed(err, "a received signal")
	}
	r.leaving = append(drop, r.leaving...)
	r.mail.giveBack(back)
	return nil
}

// relisted returns the writes after which those of the stored questions are listed that are open.
func relisted(stored, open []checkpoint.Write) (writes []checkpoint.Write) {
	for _, q := range stored {
		if q.Task == journal.StopTask {
			continue
		}
		same := func(o checkpoint.Write) bool { return o.Base == q.Base && o.Task == q.Task && o.Name == q.Name }
		was := q.Payload
		if q.Payload = journal.SetLeft(was, !slices.ContainsFunc(open, same)); len(q.Payload) != len(was) {
			writes = append(writes, q)
		}
	}
	return writes
}

// unfinishedSignals returns the signals that the unfinished tasks of a head have received, also
// those of tasks in its calls. The writes drop what is stored about them.
func (r looker) unfinishedSignals(head *checkpoint.Chain) (back []checkpoint.Message, drop []checkpoint.Write, err error) {
	base := head.Last.Base
	notes, err := journal.Notes(head.Writes, base)
	if err != nil {
		return nil, nil, err
	}
	if back, drop, err = receivedIn("", head); err != nil {
		return nil, nil, err
	}
	read := make(map[string]bool)
	for i := range notes {
		if in := notes[i].Namespace; !read[in] {
			read[in] = true
			c, err := loadChain(r.ctx, r.g, r.log, checkpoint.Ref{Thread: r.thread, Namespace: in})
			if err != nil {
				return nil, nil, err
			}
			more, writes, err := receivedIn(in, &c)
			if err != nil {
				return nil, nil, err
			}
			back, drop = append(back, more...), append(drop, writes...)
		}
	}
	for i := range notes {
		if slices.ContainsFunc(back, func(m checkpoint.Message) bool { return m.Number == notes[i].Message.Number }) {
			w := notes[i].Write(base)
			w.Kind, w.Payload = checkpoint.Discard, nil
			drop = append(drop, w)
		}
	}
	return inOrder(back), drop, nil
}

// receivedIn returns the signals that the tasks of a namespace have received which have no result.
// The writes make them wait for these signals again.
func receivedIn(namespace string, c *checkpoint.Chain) (back []checkpoint.Message, drop []checkpoint.Write, err error) {
	pending := journal.Gather(c.Writes, c.Last.Base, namespace)
	for _, w := range c.Writes {
		if w.Kind != checkpoint.Answer || w.Base != c.Last.Base || w.Namespace != namespace || !task.IsSignal(w.Name) || string(w.Payload) == task.Passed {
			continue
		}
		if _, finished := pending.Result(w.Task); finished {
			continue
		}
		m, err := journal.ReadSignal(w.Payload)
		if err != nil {
			return nil, nil, err
		}
		back = append(back, m)
		w.Kind, w.Payload = checkpoint.Discard, nil
		drop = append(drop, w)
	}
	return back, drop, nil
}

// refuseStray refuses answers to other questions than the open ones, and signals that the graph
// does not list.
func (r looker) refuseStray(open []checkpoint.Write) {
	r.refuseUnlisted()
	asked := make(map[string]bool, len(open))
	for i := range open {
		asked[questionID(&open[i])] = true
	}
	r.mail.refuseAnswers(func(id string) bool { return asked[id] })
}

// refuseAnswers refuses the answers to questions that are not asked.
func (m *mail) refuseAnswers(asked func(id string) bool) {
	m.answers = slices.DeleteFunc(m.answers, func(a checkpoint.Message) bool {
		if asked(a.Name) {
			return false
		}
		m.refuse(a.Number, notWaitedFor)
		return true
	})
}

// nothing is asked.
func nothing(string) bool { return false }
