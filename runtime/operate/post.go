package operate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/shape"
	"github.com/graphgen-go/graphgen/shape/value"
)

// Source returns the JSON of a payload, as package shape/value describes it. p describes the type
// of the payload; nil if the type is unknown. An error of the Source ends the operation.
type Source func(p *shape.Payload) ([]byte, error)

// JSON returns a Source of a text. The text is also taken if the type of the payload is unknown.
func JSON(text string) Source {
	return func(*shape.Payload) ([]byte, error) { return []byte(text), nil }
}

// encode returns the payload that a Source describes.
func (json Source) encode(p *shape.Payload) ([]byte, error) {
	if p != nil && p.Type == "" {
		p = nil
	}
	text, err := json(p)
	if err != nil {
		return nil, err
	}
	return value.Encode(p, text)
}

// Posted is a stored message.
type Posted struct {
	Kind   checkpoint.MessageKind
	ID     string
	Number uint64 // in the inbox of the thread; 0 if one of Graphs has stored the message
	Known  bool   // a message with this id was stored before, and this one was not
}

// Inbox has the messages of a thread, each kind in the order in which they were posted.
type Inbox struct {
	Waiting []checkpoint.Message // no run has taken them
	Refused []checkpoint.Message
	Replied []checkpoint.Message // the payload is the reply
}

// Inbox reads the messages of a thread. limit bounds those that wait, and the others; 0 is all.
func (o *Operator) Inbox(ctx context.Context, thread string, limit int) (all Inbox, err error) {
	if all.Waiting, err = o.Saver.Mail(ctx, checkpoint.MailQuery{Thread: thread, Limit: limit}); err != nil {
		return all, err
	}
	handled, err := o.Saver.Mail(ctx, checkpoint.MailQuery{Thread: thread, Limit: limit, Handled: true})
	for i := range handled {
		to := &all.Refused
		if handled[i].Replied() {
			to = &all.Replied
		}
		*to = append(*to, handled[i])
	}
	return all, err
}

// Question is an open question of a thread. A question that cannot be read, for example without
// its key, has only an ID, and Err says why.
type Question struct {
	graph.OpenQuestion

	Namespace string // of the subgraph call that asks
	Err       error
}

// Questions returns the open questions that a listed thread has, without stops and timers.
func (o *Operator) Questions(t *checkpoint.Thread) []Question {
	var all []Question
	for i := range t.Questions {
		w := &t.Questions[i]
		one := *t
		one.Questions = t.Questions[i : i+1]
		open, err := graph.OpenQuestions(one)
		if locked := o.Locked(w.Payload); locked != nil {
			err = locked
		}
		if err != nil {
			all = append(all, Question{graph.OpenQuestion{ID: w.Task + "/" + w.Name}, w.Namespace, err})
		}
		for _, q := range open {
			all = append(all, Question{q, w.Namespace, nil})
		}
	}
	return all
}

// Question returns the open question of a thread with an ID, with an ID that begins with name, or
// with this name. It returns graph.ErrNotAsked if there is none, and a *RequestError if there are
// several.
func (o *Operator) Question(t *checkpoint.Thread, name string) (*Question, error) {
	all := o.Questions(t)
	var found []*Question
	var ids []string
	for i := range all {
		switch q := &all[i]; {
		case q.ID == name:
			return q, q.Err
		case q.Question == name, name != "" && strings.HasPrefix(q.ID, name):
			found, ids = append(found, q), append(ids, q.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], found[0].Err
	case 0:
		for i := range all {
			if all[i].Err != nil { // it may be the one
				return nil, all[i].Err
			}
		}
		return nil, fmt.Errorf("%w: thread %q has no open question %q; somebody has answered it, or the thread has moved on", graph.ErrNotAsked, t.ID, name)
	}
	return nil, &RequestError{fmt.Sprintf("%q names %d open questions; want one of %s", name, len(found), strings.Join(ids, ", "))}
}

// stored returns a listed thread without its graph.
func (o *Operator) stored(t *checkpoint.Thread) graph.Stored {
	return graph.Stored{Saver: o.Saver, Graph: t.Graph, Ref: checkpoint.Ref{Thread: t.ID}}
}

// shapeOf returns the description of a question of a thread, or nil. schemas are those of its
// version.
func (o *Operator) shapeOf(ctx context.Context, q *Question, t *checkpoint.Thread, schemas Schemas) (*shape.Question, error) {
	fingerprint, err := o.fingerprint(ctx, checkpoint.Ref{Thread: t.ID, Version: t.Version, Namespace: q.Namespace})
	return schemas.Question(fingerprint, q.Question), err
}

// Answer stores the answer to the open question that Question finds. It returns a *value.JSONError
// if the JSON does not fit the question, and checkpoint.ErrConflict if the question has been
// answered. With the graph of the thread, it returns a *graph.AnswerError if the check of the
// question refuses the answer.
func (o *Operator) Answer(ctx context.Context, t *checkpoint.Thread, question string, json Source) (Posted, error) {
	q, err := o.Question(t, question)
	if err != nil {
		return Posted{}, err
	}
	schemas, err := o.Schemas(ctx, t.ID, t.Version)
	if err != nil {
		return Posted{}, err
	}
	d, err := o.shapeOf(ctx, q, t, schemas)
	if err != nil {
		return Posted{}, err
	}
	var p *shape.Payload
	if d != nil {
		p = &d.Answer
	}
	payload, err := json.encode(p)
	if err != nil {
		return Posted{}, err
	}
	if g, ok := o.Graphs[t.Graph]; ok {
		return Posted{Kind: checkpoint.AnswerMessage, ID: q.ID}, g.Answer(ctx, t.ID, graph.AnswerBytes(q.ID, payload))
	}
	posted, err := o.Post(ctx, o.stored(t).AnswerPost(q.ID, payload, nil))
	if err != nil || !posted.Known {
		return posted, err
	}
	// A run may have refused an earlier answer. The question is open, so another one can count.
	refused, err := o.Saver.Mail(ctx, checkpoint.MailQuery{Thread: t.ID, Handled: true})
	if err == nil {
		posted, err = o.Post(ctx, o.stored(t).AnswerPost(q.ID, payload, refused))
	}
	if err == nil && posted.Known {
		err = fmt.Errorf("%w: question %q has been answered, and the new answer is not stored", checkpoint.ErrConflict, q.ID)
	}
	return posted, err
}

// Signal stores a signal for a thread. It returns a *value.JSONError if the JSON does not fit the
// signal. The description of the signal is that of Graphs, of the thread, or of its graph.
func (o *Operator) Signal(ctx context.Context, t *checkpoint.Thread, name string, json Source, opts ...graph.SignalOption) (Posted, error) {
	return o.signalled(ctx, t, name, json, false, opts)
}

// signalled is Signal. A dry run stores nothing.
func (o *Operator) signalled(ctx context.Context, t *checkpoint.Thread, name string, json Source, dry bool, opts []graph.SignalOption) (Posted, error) {
	d, err := o.signal(ctx, t, name)
	if err != nil {
		return Posted{}, err
	}
	var p *shape.Payload
	if d != nil {
		p = &d.Payload
	}
	payload, err := json.encode(p)
	if err != nil {
		return Posted{}, err
	}
	id, err := checkpoint.NewID()
	if err != nil {
		return Posted{}, fmt.Errorf("operate: %w", err)
	}
	named := append(slices.Clone(opts), graph.RequestID(id.String()))
	post, err := o.stored(t).SignalPost(name, payload, named...)
	if err != nil { // opts have a RequestID, or a fault
		named = opts
		post, err = o.stored(t).SignalPost(name, payload, opts...)
	}
	if err != nil {
		return Posted{}, &RequestError{err.Error()}
	}
	if dry {
		return Posted{}, nil
	}
	if g, known := o.Graphs[t.Graph]; known {
		return Posted{Kind: checkpoint.SignalMessage, ID: post.Messages[0].ID}, g.Signal(ctx, t.ID, name, payload, named...)
	}
	return o.Post(ctx, post)
}

// signal returns the description of a signal: that of Graphs, of the thread, or of its graph. It
// returns nil if there is none.
func (o *Operator) signal(ctx context.Context, t *checkpoint.Thread, name string) (*shape.Signal, error) {
	if g, known := o.Graphs[t.Graph]; known {
		return g.Shape().Signal(name), nil
	}
	schemas, of, err := o.Described(ctx, t)
	if err == nil && of == nil {
		of, err = o.Describe(ctx, t.Graph)
	}
	if err != nil {
		return nil, err
	}
	if of != nil {
		if d := of.Signal(name); d != nil {
			return d, nil
		}
	}
	return schemas.Signal(0, name), nil
}

// Reply waits for the reply to the signal with an ID, as graph.Stored does, and returns it with
// its names.
func (o *Operator) Reply(ctx context.Context, t *checkpoint.Thread, name, id string) (value.Value, error) {
	d, err := o.signal(ctx, t, name)
	if err != nil {
		return value.Value{}, err
	}
	b, err := o.stored(t).Reply(ctx, id)
	if err != nil {
		return value.Value{}, err
	}
	if err := o.Locked(b); err != nil {
		return value.Value{}, err
	}
	var p *shape.Payload
	if d != nil {
		p = &d.Reply
	}
	v, err := value.Payload(p, b)
	if err != nil {
		return value.Value{}, fmt.Errorf("operate: thread %q: the reply to %q: %w", t.ID, id, err)
	}
	return v, nil
}

// Submit stores an input for a thread of the graph name, which need not exist. d describes the
// graph, as Describe returns it. The JSON is an object with fields of the state. Submit returns a
// *value.JSONError if the JSON does not fit the state, and a *RequestError if d is nil.
func (o *Operator) Submit(ctx context.Context, thread, name string, d *shape.Graph, json []byte, opts ...graph.SubmitOption) (Posted, error) {
	if d == nil {
		return Posted{}, &RequestError{"nothing describes the state of the graph"}
	}
	update, err := value.EncodeUpdate(&d.State, json)
	if err != nil {
		return Posted{}, err
	}
	if g, ok := o.Graphs[name]; ok {
		s, err := g.Submit(ctx, thread, update, opts...)
		return Posted{Kind: checkpoint.InputMessage, ID: s.Request, Known: s.Known}, err
	}
	post, err := graph.Stored{Graph: name, Ref: checkpoint.Ref{Thread: thread}}.InputPost(update, opts...)
	if err != nil {
		return Posted{}, &RequestError{err.Error()}
	}
	return o.Post(ctx, post)
}

// Wake makes a thread due, and begins the count of its attempts again.
func (o *Operator) Wake(ctx context.Context, t *checkpoint.Thread) error {
	return o.message(ctx, t, checkpoint.Message{Kind: checkpoint.WakeMessage})
}

// Cancel cancels the run and the pending inputs of a thread. It returns a *RequestError if the
// reason is longer than checkpoint.MaxReason.
func (o *Operator) Cancel(ctx context.Context, t *checkpoint.Thread, reason string) error {
	if err := CheckReason(reason); err != nil {
		return err
	}
	return o.message(ctx, t, checkpoint.Message{Kind: checkpoint.CancelMessage, Payload: []byte(reason)})
}

// CheckReason returns a *RequestError for a reason that Cancel refuses.
func CheckReason(reason string) error {
	if len(reason) > checkpoint.MaxReason {
		return &RequestError{fmt.Sprintf("the reason has %d bytes, more than %d; shorten it", len(reason), checkpoint.MaxReason)}
	}
	return nil
}

// message stores a message of a thread under a new id.
func (o *Operator) message(ctx context.Context, t *checkpoint.Thread, m checkpoint.Message) error {
	id, err := checkpoint.NewID()
	if err != nil {
		return fmt.Errorf("operate: %w", err)
	}
	m.ID = id.String()
	_, err = o.Post(ctx, checkpoint.Post{Thread: t.ID, Graph: t.Graph, Messages: []checkpoint.Message{m}})
	return err
}

// Post stores the messages of one thread, and returns the last one.
func (o *Operator) Post(ctx context.Context, p checkpoint.Post) (Posted, error) {
	all, err := o.Saver.Post(ctx, p)
	if err == nil {
		err = all[0].Err
	}
	if err != nil {
		return Posted{}, fmt.Errorf("thread %q: %w", p.Thread, err)
	}
	last := len(p.Messages) - 1
	stored := all[0].Messages[last]
	return Posted{p.Messages[last].Kind, p.Messages[last].ID, stored.Number, stored.Known}, nil
}
