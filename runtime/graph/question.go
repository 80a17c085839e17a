package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// Errors of questions; test with errors.Is.
var (
	// ErrWaiting: what Ask returns while there is no answer. The node returns it, or any other error: it runs again
	// when it was answered.
	ErrWaiting = task.ErrWaiting
	// ErrNotAskable: a question that the node does not list, outside of a node, without a thread, or another one than
	// was asked at the same place before.
	ErrNotAskable = task.ErrNotAskable
	// ErrNotAsked: an answer to what the thread does not ask, or does not ask any more.
	ErrNotAsked = errors.New("the thread does not ask that")
)

// Question is a question of type Q that nodes ask, and whose answer is of type A. It is declared once, as a
// variable; nodes list it among their options, ask by it, and it makes the answers.
type Question[Q, A any] struct {
	name     string
	question codec[Q]
	answer   codec[A]
}

// codec is the codec of a payload, found when the question was declared.
type codec[T any] struct {
	append func(b []byte, v *T) ([]byte, error)
	decode func(b []byte, v *T) error
	shape  func() shape.Payload
}

func codecOf[T any, P wire.Generated[T]]() codec[T] {
	return codec[T]{
		shape: shape.Of[T, P],
		append: func(b []byte, v *T) (_ []byte, err error) {
			defer rescue(&err)
			return P(v).AppendWire(b)
		},
		decode: func(b []byte, v *T) (err error) {
			defer rescue(&err)
			return P(v).DecodeWire(b)
		},
	}
}

// NewQuestion declares a question. The name is stored with what is asked: it must stay the same as long as threads wait,
// and differ from those of the graph's other questions. Q and A need codecs: name them to graphgen with -type, or take
// wire.String, wire.Bool or wire.Int.
func NewQuestion[Q, A any, PQ wire.Generated[Q], PA wire.Generated[A]](name string) Question[Q, A] {
	return Question[Q, A]{name: name, question: codecOf[Q, PQ](), answer: codecOf[A, PA]()}
}

// askable is a question as a node lists it.
type askable struct {
	name    string
	shape   func() shape.Question
	check   func(answer []byte) error
	restate func(asked []byte) ([]byte, error) // what was asked, as the code would store it now
}

func (q Question[Q, A]) node(o *nodeOptions)        { q.listed(o) }
func (q Question[Q, A]) routingNode(o *nodeOptions) { q.listed(o) }
func (q Question[Q, A]) mapSubgraph(o *nodeOptions) { q.listed(o) }

// listed adds the question to those that a node may ask.
func (q Question[Q, A]) listed(o *nodeOptions) {
	o.questions = append(o.questions, askable{
		name: q.name,
		shape: func() shape.Question {
			return shape.Question{Name: q.name, Question: q.question.shape(), Answer: q.answer.shape()}
		},
		check: func(b []byte) error { return q.answer.decode(b, new(A)) },
		restate: func(b []byte) ([]byte, error) {
			var v Q
			if err := q.question.decode(b, &v); err != nil {
				return nil, err
			}
			return q.question.append(nil, &v)
		},
	})
}

// Ask asks v on behalf of the node that runs under ctx, and returns the answer. While there is none, the error is
// ErrWaiting: the node is to return, and it runs again from its top when all that it asked was answered. Until then its
// superstep waits, with the results of the nodes beside it stored.
//
// The question is stored, listed and yielded by streams when the node returns, also while other nodes run; with OnExit
// when the run ends. It can be answered when the run has ended. A question of a node that then loses an any-of join is withdrawn.
//
// A node that asks several times must ask the same, in the same order, each time it runs: the n-th call of a question
// gets the answer of its n-th call. Calls at the same time need AskNamed. So v must not hold what differs from one time to the
// next, such as the time of day: what it asked before and asks no more is ErrNotAskable. Fields that Q got since then may be
// there as long as they are zero.
func (q Question[Q, A]) Ask(ctx context.Context, v Q) (A, error) { return q.AskNamed(ctx, "", v) }

// AskNamed is Ask with a name that tells this question from others of its kind in one node, instead of the order of the
// calls.
func (q Question[Q, A]) AskNamed(ctx context.Context, as string, v Q) (A, error) {
	var a A
	payload, err := q.question.append(nil, &v)
	if err != nil {
		return a, fmt.Errorf("graph: question %q cannot be stored: %w", q.name, err)
	}
	answer, err := task.Ask(ctx, q.name, as, payload)
	if err != nil {
		return a, err
	}
	if err := q.answer.decode(answer, &a); err != nil {
		return a, fmt.Errorf("graph: the answer to question %q: %w", q.name, payloadError(answer, err))
	}
	return a, nil
}

// Of returns what w asks. It returns ErrNotAsked if w is another question, ErrGraphChanged if it was stored as another
// type, and checkpoint.ErrDamaged if it is not as it was stored.
func (q Question[Q, A]) Of(w OpenQuestion) (Q, error) {
	var v Q
	if w.Question != q.name {
		return v, fmt.Errorf("graph: %w: %q is asked, not %q", ErrNotAsked, w.Question, q.name)
	}
	if err := q.question.decode(w.Payload, &v); err != nil {
		return v, fmt.Errorf("graph: question %s: %w", w.ID, payloadError(w.Payload, err))
	}
	return v, nil
}

// Answer returns the answer a to w, for Resume. It is w's question that must be answered: an answer to another
// question is an error of Resume.
func (q Question[Q, A]) Answer(w OpenQuestion, a A) ResumeOption {
	payload, err := q.answer.append(nil, &a)
	return answer{id: w.ID, question: q.name, payload: payload, err: err}
}

// AnswerBytes returns the answer to the question of the given id (OpenQuestion.ID), as it came from elsewhere: MessagePack of the
// answer's type, as its method AppendWire writes it. Resume checks it before anything runs; one that cannot be read is an
// ErrNotAsked. What comes as JSON or a form is better decoded into the answer's type and given to Question.Answer.
func AnswerBytes(id string, payload []byte) ResumeOption { return answer{id: id, payload: payload} }

// answer is an answer to one question. It is a ResumeOption.
type answer struct {
	id       string
	question string // empty when it is not known
	payload  []byte
	err      error
}

// Encoded returns the answer as it is stored. Package graphtest gives it to a node under test.
func (a answer) Encoded() (id, question string, payload []byte, err error) {
	return a.id, a.question, a.payload, a.err
}

func (a answer) resume(o *runOptions)       { o.answers = append(o.answers, a) }
func (a answer) resumeStream(o *runOptions) { o.answers = append(o.answers, a) }

// OpenQuestion is a question that a thread waits to have answered.
type OpenQuestion struct {
	ID       string // of the question: the same until it is answered, in every process
	Question string // its name
	Path     []ID   // of the subgraph nodes that lead to the asking one; nil when the graph itself asks
	Node     ID     // that asked
	Index    int    // of the send that the node's task is of, else 0
	Payload  []byte // what it asks, encoded; Question.Of decodes it
}

// OpenQuestions returns the open questions of a thread that Threads of a saver lists. It reads no state.
// What lines ask that were left (DiscardPending, a fork) is among it, since they can be taken up; Snapshot.Questions is of one line.
func OpenQuestions(t checkpoint.Thread) ([]OpenQuestion, error) {
	return waitingOf(context.Background(), t.Questions)
}

// wrapQuestion returns a function that makes the stored form of a question of a task.
func wrapQuestion(path []string, node ID, index int) func(question string, payload []byte) []byte {
	return func(question string, payload []byte) []byte {
		return journal.AppendQuestion(nil, journal.Question{
			Path: path, Node: string(node), Index: index, Name: question, Payload: payload,
		})
	}
}

// readWaiting reads a stored question. It is identified by its task's key and by its place among what the task asks.
func readWaiting(key, place string, payload []byte) (OpenQuestion, error) {
	id := key + "/" + place
	q, err := journal.ReadQuestion(payload)
	if err != nil {
		return OpenQuestion{}, fmt.Errorf("graph: question %s: %w: %w", id, checkpoint.ErrDamaged, err)
	}
	return OpenQuestion{ID: id, Question: q.Name, Path: ids(q.Path), Node: ID(q.Node), Index: q.Index, Payload: q.Payload}, nil
}

// waitingOf reads the questions among writes, until ctx ends.
func waitingOf(ctx context.Context, writes []checkpoint.Write) ([]OpenQuestion, error) {
	var all []OpenQuestion
	for i := range writes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if writes[i].Kind != checkpoint.Question || writes[i].Task == journal.StopTask {
			continue
		}
		w, err := readWaiting(writes[i].Task, writes[i].Name, writes[i].Payload)
		if err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}
