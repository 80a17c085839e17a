package inbox

import (
	"fmt"
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// NotAsked is why an answer is refused whose question is not open.
const NotAsked = "the thread does not wait for it"

// Next takes the oldest signal that a task waits for. It refuses the signals whose payload check
// refuses. It returns false if there is none.
func (b *Box) Next(w task.Awaited, check func([]byte) error) (m checkpoint.Message, a Act, ok bool) {
	for {
		at := b.find(&w)
		if at < 0 {
			return m, a, false
		}
		m = b.signals[at]
		b.remove(&b.signals, at)
		err := check(m.Payload)
		if err == nil {
			a.take(m.Number)
			return m, a, true
		}
		a.refuse(m.Number, fmt.Sprintf("the payload of signal %q is of another type: %v", m.Name, err))
	}
}

// find returns the index of the oldest signal that a task waits for, or -1.
func (b *Box) find(w *task.Awaited) int {
	return slices.IndexFunc(b.signals, func(m checkpoint.Message) bool {
		return m.Name == w.Signal && m.Key == w.Key && (w.Due.IsZero() || !m.Posted.After(w.Due))
	})
}

// Has reports whether a signal waits that can be given to one of the open questions.
func (b *Box) Has(open []Question) bool {
	for i := range open {
		if q := &open[i]; q.receives() && q.Check != nil {
			if w := q.Awaited(); b.find(&w) >= 0 {
				return true
			}
		}
	}
	return false
}

// Give gives signals to the receives among the open questions, in their order. base is that of the
// tasks that are due at the head of the thread.
func (b *Box) Give(open []Question, base checkpoint.ID) (a Act) {
	for i := range open {
		q := &open[i]
		if !q.receives() || q.Check == nil {
			continue
		}
		m, took, ok := b.Next(q.Awaited(), q.Check)
		a.Add(took)
		if ok {
			a.Writes = append(a.Writes, Received(q.Stored, &m, base)...)
		}
	}
	return a
}

// Received returns the writes that give a signal to a receive. For a receive in a subgraph call,
// one of them is a note at the base of the thread.
func Received(receive checkpoint.Write, m *checkpoint.Message, base checkpoint.ID) []checkpoint.Write {
	receive.Kind, receive.Payload = checkpoint.Answer, journal.AppendSignal(nil, m)
	if receive.Namespace == "" {
		return []checkpoint.Write{receive}
	}
	note := journal.Received{Namespace: receive.Namespace, Task: receive.Task, Message: *m}
	return []checkpoint.Write{receive, note.Write(base)}
}

// InTime reports whether an answer waits that was posted before its question was due. A question
// with such an answer does not expire: the next run takes the answer.
func (b *Box) InTime(q *Question) bool {
	return slices.ContainsFunc(b.answers, func(m checkpoint.Message) bool { return m.Name == q.ID() && !m.Posted.After(q.Of.Due) })
}

// Wake decides what a run in progress gives to the open questions of tasks that wait. It gives
// signals, and ends the questions whose time has come at now. base is that of Give.
func (b *Box) Wake(open []Question, base checkpoint.ID, now time.Time) Act {
	a := b.Give(open, base)
	due, _ := Expire(open, func() map[string]bool {
		answered := idsOf(a.Writes)
		for i := range open {
			if q := &open[i]; b.InTime(q) {
				answered[q.ID()] = true
			}
		}
		return answered
	}, now)
	a.Writes = append(a.Writes, due...)
	return a
}

// Resumed is a thread that a run continues, and the open questions of its tasks.
type Resumed struct {
	Graph   string             // its name
	Signals map[string]bool    // the signals that its nodes list
	Open    []Question         // of the due tasks, and of their subgraph calls
	Counts  []Question         // the same without those of tasks that count no more
	Given   []checkpoint.Write // the answers of the caller
	Skipped []checkpoint.Write // the ends of the pauses that the caller skips
	Base    checkpoint.ID      // of the due tasks
	Now     time.Time          // on the saver's clock, if a question of Open has a time

	Check func(q *Question, m *checkpoint.Message) error // checks a posted answer
}

// Provide decides what the opening of a run gives to the open questions. It gives posted answers
// and signals, and ends the questions whose time has come. wake is when the time of another
// question comes; zero for never.
func (b *Box) Provide(r *Resumed) (a Act, wake time.Time) {
	a = b.refuseStray(r.Graph, r.Signals, r.Open, true)
	a.Add(b.answer(r))
	if len(b.signals) > 0 {
		receives := slices.DeleteFunc(slices.Clone(r.Counts), func(q Question) bool { return !q.receives() })
		InTaskOrder(receives)
		a.Add(b.Give(receives, r.Base))
	}
	a.Writes = append(a.Writes, r.Skipped...)
	due, wake := Expire(r.Counts, func() map[string]bool { return idsOf(slices.Concat(r.Given, a.Writes)) }, r.Now)
	a.Writes = append(a.Writes, due...)
	return a, wake
}

// RefuseStray refuses the signals that no node of the graph lists, and the answers to other
// questions than the open ones.
func (b *Box) RefuseStray(graph string, signals map[string]bool, open []Question) (a Act) {
	return b.refuseStray(graph, signals, open, false)
}

// refuseStray is RefuseStray for a thread on which tasks are due or not. A task that is due may
// wait for the end of a child.
func (b *Box) refuseStray(graph string, signals map[string]bool, open []Question, due bool) (a Act) {
	for i := 0; i < len(b.signals); {
		m := &b.signals[i]
		if _, _, child := task.ChildOf(m.Name); signals[m.Name] || child && due {
			i++
			continue
		}
		a.refuse(m.Number, fmt.Sprintf("no node of graph %q lists signal %q", graph, m.Name))
		b.remove(&b.signals, i)
	}
	a.Add(b.RefuseAnswers(open))
	return a
}

// RefuseAnswers refuses the answers to other questions than the open ones.
func (b *Box) RefuseAnswers(open []Question) (a Act) {
	if len(b.answers) == 0 {
		return a
	}
	asked := make(map[string]bool, len(open))
	for i := range open {
		asked[open[i].ID()] = true
	}
	for i := 0; i < len(b.answers); {
		m := &b.answers[i]
		if asked[m.Name] {
			i++
			continue
		}
		a.refuse(m.Number, NotAsked)
		b.remove(&b.answers, i)
	}
	return a
}

// answer gives the posted answers to their questions, which are open: RefuseAnswers has refused
// the others.
func (b *Box) answer(r *Resumed) (a Act) {
	if len(b.answers) == 0 {
		return a
	}
	asked := make(map[string]*Question, len(r.Open))
	for i := range r.Open {
		asked[r.Open[i].ID()] = &r.Open[i]
	}
	answered := idsOf(r.Given)
	for len(b.answers) > 0 {
		m := b.answers[0]
		b.remove(&b.answers, 0)
		if answered[m.Name] {
			a.refuse(m.Number, "it was answered by a Resume")
			continue
		}
		q := asked[m.Name]
		if err := r.Check(q, &m); err != nil {
			a.refuse(m.Number, err.Error())
			continue
		}
		a.take(m.Number)
		answered[m.Name] = true
		a.Writes = append(a.Writes, q.answer(m.Payload))
	}
	return a
}
