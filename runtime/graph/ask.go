package graph

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/exec"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/subgraph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// This file restores questions, checks answers, and lists open questions.

// gather collects the pending writes of the run's base.
func (r *run) gather(writes []checkpoint.Write) {
	r.pending = journal.Gather(writes, r.log.Base, r.log.Namespace)
}

// prepareQuestions sets the questions that a task may ask, and holds the task back while it waits.
func (r *run) prepareQuestions(sl *exec.Task) {
	n := &r.g.nodes[sl.Node]
	var before *journal.Asked
	if r.pending.HasAsked() {
		before = r.pending.Asked(r.taskKey(&sl.Task))
	}
	if before == nil && len(n.questions)+len(n.signals) == 0 {
		return
	}
	sl.Asks = r.newAsks(n, sl.Index)
	if before == nil {
		return
	}
	r.restate(sl, before.Questions)
	sl.Asks.Answers = before.Answers
	if before.Open() {
		sl.Asks.Hold(before.Places)
		sl.Progress, sl.Stored = exec.Asking, true
	}
}

// newAsks returns the questions of a task that has not asked.
func (r *run) newAsks(n *node, index int) *task.Asks {
	a := &task.Asks{Wrap: wrapQuestion(r.path(), n.id, index), Now: r.log.Now, Take: r.take(n, index)}
	a.Declared = make([]string, 0, len(n.questions)+len(n.signals))
	for _, q := range n.questions {
		a.Declared = append(a.Declared, q.name)
	}
	for _, s := range n.signals {
		a.Declared = append(a.Declared, task.SignalName(s.name))
	}
	return a
}

// Asks implements task.Host. A run without a thread waits for timers in memory.
func (r *run) Asks(t *Task) *task.Asks {
	n, ok := r.g.find(t.Node)
	if !ok || r.log == nil {
		return nil
	}
	return r.newAsks(&r.g.nodes[n], t.Index)
}

// restate encodes the stored questions of a task again, as today's code would store them. The node
// may have another name now, and a question may have new fields. A question that cannot be decoded
// stays as it is, with the error. A stored summary becomes that of the task, and a due time stays:
// neither is part of the question.
func (r *run) restate(sl *exec.Task, stored map[string][]byte) {
	a := sl.Asks
	a.Stored = make(map[string][]byte, len(stored))
	for place, b := range stored {
		now, err := r.restated(sl, place, b)
		a.Stored[place] = now
		if err != nil {
			a.Stored[place] = b
			if a.Unread == nil {
				a.Unread = make(map[string]error)
			}
			a.Unread[place] = err
		}
	}
}

// restated returns the stored question b at a place of a task, in the form in which the task would
// ask it today. It gives the task its stored summary and the due time.
func (r *run) restated(sl *exec.Task, place string, b []byte) ([]byte, error) {
	w, err := readWaiting(r.taskKey(&sl.Task), place, b)
	if err != nil {
		return nil, err
	}
	sl.Summary = w.Summary
	if !w.Expires.IsZero() {
		if sl.Asks.Due == nil {
			sl.Asks.Due = make(map[string]time.Time)
		}
		sl.Asks.Due[place] = w.Expires
	}
	n := &r.g.nodes[sl.Node]
	for _, known := range n.questions {
		if known.name != w.Question {
			continue
		}
		payload, err := known.restate(w.Payload)
		if err != nil {
			return nil, payloadError(w.Payload, err)
		}
		w.Payload = payload
	}
	return sl.Asks.Wrap(w.Question, w.Payload), nil
}

// checkAnswers turns the caller's answers into writes, after it has checked them against the open
// questions. now is the saver's time if one of them expires.
func (r *run) checkAnswers(c *checkpoint.Chain, open []checkpoint.Write, now time.Time) ([]checkpoint.Write, error) {
	if len(r.opt.answers) == 0 {
		return nil, nil
	}
	open = slices.DeleteFunc(slices.Clone(open), func(q checkpoint.Write) bool { return !task.IsQuestion(q.Name) })
	asked := make(map[string]*checkpoint.Write, len(open))
	for i := range open {
		if id := inbox.QuestionID(&open[i]); asked[id] == nil {
			asked[id] = &open[i]
		}
	}
	given := make(map[string]bool, len(r.opt.answers))
	answers := make([]checkpoint.Write, 0, len(r.opt.answers))
	for _, a := range r.opt.answers {
		if r.ctx.Err() != nil {
			return nil, r.cancelled()
		}
		if given[a.id] {
			return nil, r.answerError(a.id, "the call has two answers to it")
		}
		given[a.id] = true
		q := asked[a.id]
		switch {
		case a.err != nil:
			return nil, r.answerError(a.id, "the answer cannot be stored: %w", a.err)
		case q == nil:
			return nil, r.notAsked(a.id, open, c.Writes)
		}
		if err := r.g.checkAnswer(r.thread, r.plan.Step, q, a, now); err != nil {
			return nil, err
		}
		answers = append(answers, checkpoint.Write{
			Namespace: q.Namespace, Base: q.Base, Task: q.Task, Name: q.Name, Kind: checkpoint.Answer, Payload: a.payload,
		})
	}
	return answers, nil
}

// mostNamed bounds how many open questions an error names.
const mostNamed = 20

// notAsked returns the error of an answer to a question that is not open. all are the pending
// writes.
func (r *run) notAsked(id string, open, all []checkpoint.Write) error {
	for i := range all {
		if all[i].Kind == checkpoint.Answer && inbox.QuestionID(&all[i]) == id {
			if string(all[i].Payload) == task.Passed {
				return r.answerError(id, "%w", ErrExpired)
			}
			return r.answerError(id, "it has been answered")
		}
	}
	if len(open) == 0 {
		return r.answerError(id, "the thread has no open question")
	}
	var ids []string
	for i := range open[:min(len(open), mostNamed)] {
		ids = append(ids, inbox.QuestionID(&open[i]))
	}
	if more := len(open) - len(ids); more > 0 {
		ids = append(ids, fmt.Sprintf("and %d more", more))
	}
	return r.answerError(id, "open questions are %s", strings.Join(ids, ", "))
}

// openQuestions returns the open questions of the tasks that are due in a namespace, followed by
// those of their subgraph calls.
func openQuestions(namespace string, c *checkpoint.Chain) []checkpoint.Write {
	open := append(checkpoint.OpenQuestions(c.Writes), subgraph.Open(namespace, c)...)
	return slices.DeleteFunc(open, func(q checkpoint.Write) bool { return q.Task == journal.StopTask })
}

// checkAnswer checks an answer against the question that the asking node lists. The answer was
// given at a time on the saver's clock.
func (g *core) checkAnswer(thread string, step int, q *checkpoint.Write, a answer, at time.Time) error {
	w, err := readWaiting(q.Task, q.Name, q.Payload)
	if err != nil {
		return err
	}
	switch {
	case task.IsTimer(w.Question):
		return g.answerError(thread, step, a.id, "it is a timer, which nobody answers")
	case task.IsChild(w.Question):
		return g.answerError(thread, step, a.id, "it waits for the end of a child, which answers it")
	case task.IsSignal(w.Question):
		return g.answerError(thread, step, a.id, "it waits for a signal; send it by Thread.Signal")
	}
	if inbox.Expired(q.Name, w.Expires, at) {
		return g.answerError(thread, step, a.id, "%w: its time was %s", ErrExpired, w.Expires.Format(time.RFC3339))
	}
	if a.question != "" && a.question != w.Question {
		return g.answerError(thread, step, a.id, "question %q is asked, and the answer is to question %q", w.Question, a.question)
	}
	n := g.nodeAt(w.Path, w.Node)
	if n == nil {
		return fmt.Errorf("%s: %w: node %q, which asked %s, is gone", where(g.name, thread, step), ErrGraphChanged, string(w.Node), a.id)
	}
	for _, known := range n.questions {
		if known.name != w.Question {
			continue
		}
		if err := known.check(a.payload); err != nil {
			return g.answerError(thread, step, a.id, "the answer is of another type: %w", err)
		}
		switch refusal, err := known.judge(w.Payload, a.payload); {
		case err != nil:
			return fmt.Errorf("%s: the check of an answer to %q: %w", where(g.name, thread, step), a.id, err)
		case refusal != nil:
			return &AnswerError{Graph: g.name, Thread: thread, Question: w, Err: refusal}
		}
		return nil
	}
	return fmt.Errorf("%s: %w: node %q does not list question %q any more", where(g.name, thread, step), ErrGraphChanged, string(w.Node), w.Question)
}

// nodeAt returns a node of the graph, or of the subgraph that path leads to; nil if there is none.
func (g *core) nodeAt(path []PathElement, id ID) *node {
	if g = g.graphAt(path); g == nil {
		return nil
	}
	if n, ok := g.find(string(id)); ok && n > start {
		return &g.nodes[n]
	}
	return nil
}

// graphAt returns the graph, or the subgraph that path leads to; nil if there is none.
func (g *core) graphAt(path []PathElement) *core {
	for _, at := range path {
		if g = g.subgraphOf(string(at.Node)); g == nil {
			return nil
		}
	}
	return g
}

// answerError returns the error of an answer of the caller that cannot be given.
func (r *run) answerError(id, format string, args ...any) error {
	return r.g.answerError(r.thread, r.plan.Step, id, format, args...)
}

// answerError returns the error of an answer to the question id that cannot be given. format says
// why.
func (g *core) answerError(thread string, step int, id, format string, args ...any) error {
	return fmt.Errorf("%s: answer to %q: %w: "+format, append([]any{where(g.name, thread, step), id, ErrNotAsked}, args...)...)
}

// waitingFor converts open questions to their public form.
func waitingFor(asked []subgraph.Asked) []OpenQuestion {
	var all []OpenQuestion
	for _, a := range asked {
		w, err := readWaiting(a.Task, a.Place, a.Question)
		if err == nil && task.IsQuestion(w.Question) { // there is no error: the run wrote or read it
			all = append(all, w)
		}
	}
	return all
}

// asked returns the open questions of the run.
func (r *run) asked() []subgraph.Asked {
	var all []subgraph.Asked
	for i := range r.exec.Tasks {
		all = append(all, r.askedBy(i)...)
	}
	return all
}

// askedBy returns the open questions of a task.
func (r *run) askedBy(i int) []subgraph.Asked {
	t := &r.exec.Tasks[i]
	var all []subgraph.Asked
	if r.g.nests && t.Progress != exec.Beaten {
		all = append(all, r.calls[i].Below...)
	}
	if t.Progress != exec.Asking || t.Asks == nil {
		return all
	}
	key := r.taskKey(&t.Task)
	for _, o := range t.Asks.Open() {
		all = append(all, subgraph.Asked{
			Namespace: r.log.Namespace, Base: r.log.Base, Task: key, Place: o.Place, Question: journal.Complete(o.Payload, t.Summary, o.Due), Due: o.Due,
		})
	}
	return all
}
