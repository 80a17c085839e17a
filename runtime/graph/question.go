package graph

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/shape"
)

// AnswerError reports that the Check of a question refused an answer. Nothing was stored, and the
// question is still open. Give another answer.
type AnswerError struct {
	Graph    string
	Thread   string
	Question OpenQuestion
	Err      error // of the check
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("%s: answer to %q: question %q refuses it: %v; give another answer", where(e.Graph, e.Thread, -1), e.Question.ID, e.Question.Question, e.Err)
}

// Unwrap returns the error of the check.
func (e *AnswerError) Unwrap() error { return e.Err }

// Question is a question of type Q, with answers of type A. Declare it once, as a variable. Nodes
// list it among their options and call Ask; Answer makes the option of Resume.
type Question[Q, A any] struct {
	name     string
	question codec[Q]
	answer   codec[A]
	valid    func(Q, A) error // the check of answers; nil for none
}

// codec is the codec of a payload, bound when the question is declared.
type codec[T any] struct {
	of    func(v *T) coded // nil in a zero Question or Signal
	shape func() shape.Payload
}

// coded is a value with its generated codec.
type coded interface {
	AppendWire(b []byte) ([]byte, error)
	DecodeWire(b []byte) error
}

func codecOf[T any, P wire.Generated[T]]() codec[T] {
	return codec[T]{of: func(v *T) coded { return P(v) }, shape: shape.Of[T, P]}
}

var errUndeclared = errors.New("a zero value has no codec; declare it by NewQuestion, NewSignal or NewReplySignal")

// append appends the encoded v to b.
func (c codec[T]) append(b []byte, v *T) (_ []byte, err error) {
	if c.of == nil {
		return nil, errUndeclared
	}
	defer rescue(&err)
	return c.of(v).AppendWire(b)
}

// decode decodes b into v.
func (c codec[T]) decode(b []byte, v *T) (err error) {
	if c.of == nil {
		return errUndeclared
	}
	defer rescue(&err)
	return c.of(v).DecodeWire(b)
}

// NewQuestion declares a question. Its name is stored with each question that is asked. The name
// must stay the same as long as threads wait, and differ from the names of the graph's other
// questions. Q and A need codecs: mark them //graphgen:payload, or use wire.String, wire.Bool or
// wire.Int.
func NewQuestion[Q, A any, PQ wire.Generated[Q], PA wire.Generated[A]](name string) Question[Q, A] {
	return Question[Q, A]{name: name, question: codecOf[Q, PQ](), answer: codecOf[A, PA]()}
}

// Check returns the question with a check of its answers. The check gets the question and an
// answer, and returns an error for an answer that cannot be right. Call Check where the question
// is declared, because the question that the node lists counts. A second Check replaces the first.
//
// Resume and Thread.Answer call the check before they store an answer. For a refused answer they
// return an *AnswerError, whose text is for the person who answered. A tool without the graph,
// such as graphctl, cannot call the check. The next run then refuses the answer, and Inbox lists
// it. In each case the question stays open. An answer that is stored already is not checked again.
//
// The check may run in any process, concurrently with itself. It must depend on its arguments
// only, and must not modify them. A panic of the check is an error of the call, and refuses the
// answer.
func (q Question[Q, A]) Check(check func(Q, A) error) Question[Q, A] {
	q.valid = check
	return q
}

// judge calls the check with a stored question and an answer.
func (q Question[Q, A]) judge(asked, answer []byte) (refusal, err error) {
	if q.valid == nil {
		return nil, nil
	}
	var v Q
	var a A
	if err := q.question.decode(asked, &v); err != nil {
		return nil, payloadError(asked, err)
	}
	if err := q.answer.decode(answer, &a); err != nil {
		return nil, payloadError(answer, err)
	}
	defer rescue(&err)
	return q.valid(v, a), nil
}

// askable is a question in the options of a node.
type askable struct {
	name    string
	shape   func() shape.Question
	check   func(answer []byte) error                       // its type
	judge   func(asked, answer []byte) (refusal, err error) // its Check
	restate func(asked []byte) ([]byte, error)              // the stored question, encoded again by today's code
}

// node adds the question to those that a node may ask.
func (q Question[Q, A]) node(o *nodeOptions) {
	o.questions = append(o.questions, askable{
		name: q.name,
		shape: func() shape.Question {
			return shape.Question{Name: q.name, Question: q.question.shape(), Answer: q.answer.shape()}
		},
		check: func(b []byte) error { return q.answer.decode(b, new(A)) },
		judge: q.judge,
		restate: func(b []byte) ([]byte, error) {
			var v Q
			if err := q.question.decode(b, &v); err != nil {
				return nil, err
			}
			return q.question.append(nil, &v)
		},
	})
}

// Ask asks v on behalf of the node that runs under ctx, and returns the answer. Without an answer
// it returns ErrWaiting, and the node must return. The node runs again from its start when all its
// questions are answered. Until then the superstep waits, and the results of its other nodes are
// stored.
//
// When the node returns, the question is stored, listed and yielded by streams, even if other
// nodes still run. With OnExit the question is stored when the run ends. The question can be
// answered after the run has ended. If the node loses an any-of join, its questions are withdrawn.
//
// A node that asks several times must ask the same questions in the same order each time it runs.
// The n-th call of a question gets the n-th answer. Concurrent calls need names: see As.
//
// v must not contain values that change between runs of the node, such as the time of day. If the
// payload differs when the node runs again, Ask returns ErrNotAskable. If fields were added to Q
// since the question was stored, v must have zero values in them.
func (q Question[Q, A]) Ask(ctx context.Context, v Q, opts ...AskOption) (A, error) {
	var a A
	o, err := waiting(opts, AskOption.ask)
	if err != nil {
		return a, fmt.Errorf("graph: question %q: %w", q.name, err)
	}
	payload, err := q.question.append(nil, &v)
	if err != nil {
		return a, fmt.Errorf("graph: question %q cannot be stored: %w", q.name, err)
	}
	answer, err := task.Ask(ctx, q.name, o.as, payload, o.expire)
	if err != nil {
		return a, err
	}
	if err := q.answer.decode(answer, &a); err != nil {
		return a, fmt.Errorf("graph: the answer to question %q: %w", q.name, payloadError(answer, err))
	}
	return a, nil
}

// As names a call of Ask. The name, instead of the order of the calls, distinguishes it from other
// calls of the same Question in one node.
func As(name string) AskOption {
	return waitOption(func(o *waitOptions) {
		o.given.set("As")
		o.as = name
	})
}

// Decode returns the payload of w. It returns ErrNotAsked if w is another question,
// ErrGraphChanged if w was stored as another type, and checkpoint.ErrDamaged if the stored bytes
// have changed.
func (q Question[Q, A]) Decode(w OpenQuestion) (Q, error) {
	var v Q
	if w.Question != q.name {
		return v, fmt.Errorf("graph: %w: %q is asked, not %q", ErrNotAsked, w.Question, q.name)
	}
	if err := q.question.decode(w.Payload, &v); err != nil {
		return v, fmt.Errorf("graph: question %s: %w", w.ID, payloadError(w.Payload, err))
	}
	return v, nil
}

// Answer returns the answer a to w, as an option of Resume and an argument of Thread.Answer. These
// return an error if w is not this question.
func (q Question[Q, A]) Answer(w OpenQuestion, a A) AnswerOption {
	payload, err := q.answer.append(nil, &a)
	return answer{id: w.ID, question: q.name, payload: payload, err: err}
}

// AnswerBytes returns an encoded answer to the question with the given id (OpenQuestion.ID). The
// payload is MessagePack, as the AppendWire method of the answer's type writes it. Resume checks
// it before anything runs, and returns ErrNotAsked if it cannot be decoded. For JSON or a form,
// decode the answer into its type and use Question.Answer instead.
func AnswerBytes(id string, payload []byte) AnswerOption { return answer{id: id, payload: payload} }

// answer is an answer to one question. It is an AnswerOption.
type answer struct {
	id       string
	question string // empty if unknown
	payload  []byte
	err      error
}

// Encoded returns the answer as it is stored. Package graphtest gives it to a node under test.
func (a answer) Encoded() (id, question string, payload []byte, err error) {
	return a.id, a.question, a.payload, a.err
}

func (a answer) resume(o *runOptions) { o.answers = append(o.answers, a) }

// OpenQuestion is a question of a thread that has no answer yet.
type OpenQuestion struct {
	ID       string        // the same in every process until the question is answered
	Question string        // its name
	Path     []PathElement // the subgraph calls around Node, outermost first; nil for a node of the graph itself
	Node     ID            // the node that asked
	Index    int           // number of the send that the task runs, else 0
	Summary  string        // that the task gave Summary; empty for none
	Payload  []byte        // the encoded question; see Question.Decode
	Expires  time.Time     // when ExpireAfter ends it, on the saver's clock; zero for never
}

// String returns "approve at sub/review" for logs. It adds the number of a send, if it is not 0,
// and the summary: "approve at review[3] (customer 42)".
func (q OpenQuestion) String() string {
	return q.Question + " at " + q.place()
}

// place returns "sub/review[3] (customer 42)".
func (q OpenQuestion) place() string {
	s := nodePath(q.Path, q.Node)
	if q.Index != 0 {
		s += "[" + strconv.Itoa(q.Index) + "]"
	}
	if q.Summary != "" {
		s += " (" + q.Summary + ")"
	}
	return s
}

// OpenQuestions returns the open questions of a thread that Threads of a saver lists: those that
// Thread.Answer accepts an answer to. It reads no state. It leaves out the questions of branches
// that DiscardPending or a fork replaced, those that have expired at t.Now, and all of a cancelled
// thread. Snapshot.Questions has the questions that Resume accepts an answer to. It includes those
// of a cancelled thread, and those of an abandoned branch if the snapshot is of that branch.
func OpenQuestions(t checkpoint.Thread) ([]OpenQuestion, error) {
	return waitingOf(context.Background(), inbox.Listed(&t))
}

// wrapQuestion returns a function that encodes a question of a task.
func wrapQuestion(path []journal.PathElement, node ID, index int) func(question string, payload []byte) []byte {
	return func(question string, payload []byte) []byte {
		return journal.AppendQuestion(nil, journal.Question{
			Path: path, Node: string(node), Index: index, Name: question, Payload: payload,
		})
	}
}

// readWaiting reads a stored question. Its id consists of the key of the task and the place of the
// question in the task.
func readWaiting(key, place string, payload []byte) (OpenQuestion, error) {
	id := key + "/" + place
	q, err := journal.ReadQuestion(payload)
	if err != nil {
		return OpenQuestion{}, fmt.Errorf("graph: question %s: %w: %w", id, checkpoint.ErrDamaged, err)
	}
	return OpenQuestion{ID: id, Question: q.Name, Path: pathOf(q.Path), Node: ID(q.Node), Index: q.Index, Summary: q.Summary, Payload: q.Payload, Expires: q.Due}, nil
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
		if task.IsQuestion(w.Question) {
			all = append(all, w)
		}
	}
	return all, nil
}
