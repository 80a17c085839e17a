package inbox

import (
	"slices"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
)

// Question is an open question of a task. A receive and a timer are questions, too: a signal or
// the run answers them.
type Question struct {
	Stored checkpoint.Write
	Of     journal.Question // decoded from Stored; zero if it cannot be read
	At     []int            // the position of its task in the graph; see InTaskOrder

	// Check checks the payload of a signal for a receive. It is nil if the node does not list the
	// signal any more. Then no signal is given to the receive.
	Check func(payload []byte) error
}

// ID returns the id of the question.
func (q *Question) ID() string { return QuestionID(&q.Stored) }

// QuestionID returns the id of a stored question, or of the question of a stored answer.
func QuestionID(w *checkpoint.Write) string { return w.Task + "/" + w.Name }

// receives reports whether a signal answers the question.
func (q *Question) receives() bool { return task.IsSignal(q.Stored.Name) }

// ended reports whether the time of the question has come at now.
func (q *Question) ended(now time.Time) bool { return !q.Of.Due.IsZero() && !q.Of.Due.After(now) }

// answer returns the write of an answer to the question.
func (q *Question) answer(payload []byte) checkpoint.Write {
	w := q.Stored
	w.Kind, w.Payload = checkpoint.Answer, payload
	return w
}

// Awaited returns the signal that a receive waits for.
func (q *Question) Awaited() task.Awaited {
	signal, _ := task.SignalOf(q.Of.Name)
	return task.Awaited{Place: q.Stored.Name, Signal: signal, Key: string(q.Of.Payload), Due: q.Of.Due}
}

// InTaskOrder sorts open questions by the positions of their tasks. A position has the number of
// each node that leads to the task, outermost first, each with the number of the send.
func InTaskOrder(open []Question) {
	slices.SortStableFunc(open, func(a, b Question) int { return slices.Compare(a.At, b.At) })
}

// Expires reports whether the time of a question or of a receive has come at now. Then all
// messages must be read before the question expires: one that was posted in time counts.
func Expires(open []Question, now time.Time) bool {
	return slices.ContainsFunc(open, func(q Question) bool { return !task.IsTimer(q.Stored.Name) && q.ended(now) })
}

// Expire returns the answers to the open questions whose time has come at now. It leaves out the
// ids in answered, which is called if a question has a time; nil for none. next is when the time
// of another question comes; zero for never.
func Expire(open []Question, answered func() map[string]bool, now time.Time) (writes []checkpoint.Write, next time.Time) {
	var done map[string]bool
	for i := range open {
		q := &open[i]
		if q.Of.Due.IsZero() {
			continue
		}
		if done == nil && answered != nil {
			done = answered()
		}
		switch {
		case done[q.ID()]:
		case q.ended(now):
			writes = append(writes, q.answer([]byte(task.Passed)))
		default:
			next = Earlier(next, q.Of.Due)
		}
	}
	return writes, next
}

// Earlier returns the earlier of two times. Zero is never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// idsOf returns the ids of the questions of answers.
func idsOf(answers []checkpoint.Write) map[string]bool {
	all := make(map[string]bool, len(answers))
	for i := range answers {
		all[QuestionID(&answers[i])] = true
	}
	return all
}

// EndPauses returns the answers that end the pauses of a task before its next attempt.
func EndPauses(open []Question, namespace, key string) (writes []checkpoint.Write) {
	for i := range open {
		if w := &open[i].Stored; w.Namespace == namespace && w.Task == key && task.IsPause(w.Name) {
			writes = append(writes, open[i].answer([]byte(task.Passed)))
		}
	}
	return writes
}

// Awaited reports whether a thread is due now, or has a message among mail for which one of its
// tasks waits.
func Awaited(t *checkpoint.Thread, mail []checkpoint.Message) bool {
	if !t.Wake.IsZero() && !t.Wake.After(t.Now) {
		return true
	}
	for _, w := range Listed(t) {
		signal, receives := task.SignalOf(w.Name)
		q, err := journal.ReadQuestion(w.Payload)
		for i := range mail {
			m := &mail[i]
			switch {
			case m.Kind == checkpoint.AnswerMessage && m.Name == QuestionID(&w):
				return true
			case m.Kind == checkpoint.SignalMessage && receives && err == nil && m.Name == signal && m.Key == string(q.Payload):
				return true
			}
		}
	}
	return false
}

// Listed returns the open questions that a thread lists. A question that cannot be read is listed.
// The questions that the thread does not list are those of branches that were left, those that
// have expired, and all of a cancelled thread.
func Listed(t *checkpoint.Thread) (open []checkpoint.Write) {
	if t.Status == checkpoint.Cancelled {
		return nil
	}
	for i := range t.Questions {
		w := &t.Questions[i]
		if w.Task == journal.StopTask {
			continue
		}
		q, err := journal.ReadQuestion(w.Payload)
		if err == nil && (q.Left || Expired(w.Name, q.Due, t.Now)) {
			continue
		}
		open = append(open, *w)
	}
	return open
}

// Expired reports whether an answer or a signal at now is too late for the question at a place of
// a task. The question is due at due; zero is never. A timer does not expire.
func Expired(place string, due, now time.Time) bool {
	return !due.IsZero() && now.After(due) && !task.IsTimer(place)
}

// Relist returns the writes after which a thread lists those of its stored questions that are
// open, and no others.
func Relist(stored, open []checkpoint.Write) (writes []checkpoint.Write) {
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
