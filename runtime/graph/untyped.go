package graph

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/shape"
)

// Untyped is a graph for tools that do not have the Go types of its state, such as package
// inspect. Its methods take updates and payloads as they are stored. They decode each by the
// generated code before they store anything, so they refuse what a typed call could not send.
//
// An Untyped is a small value, and safe for concurrent use. Graph.Untyped returns it. The methods
// of a zero Untyped return ErrNotCompiled.
type Untyped struct{ g *core }

// Untyped returns the graph for tools without its types.
func (g *Graph[S, U]) Untyped() Untyped { return Untyped{&g.core} }

// untyped returns the core of g; nil for a nil g.
func (g *Graph[S, U]) untyped() *core {
	if g == nil {
		return nil
	}
	return &g.core
}

// graph returns the graph; a zero one for a zero Untyped.
func (u Untyped) graph() *core {
	if u.g == nil {
		return new(core)
	}
	return u.g
}

// thread returns a thread of the graph.
func (u Untyped) thread(id string) threadCore { return threadCore{g: u.graph(), id: id} }

// Shape describes the state of the graph and its questions. It is nil for a zero Untyped. The
// caller must not modify it.
func (u Untyped) Shape() *shape.Graph { return u.graph().shapes() }

// Queues returns the queues of the graph, as Graph.Queues does.
func (u Untyped) Queues() []string { return u.graph().queues() }

// Update works like Thread.UpdateState for the checkpoint at, or for the head if at is zero. The
// update is encoded by the AppendUpdate of the schema.
func (u Untyped) Update(ctx context.Context, thread string, at checkpoint.ID, update []byte, opts ...UpdateOption) (checkpoint.ID, error) {
	t := u.thread(thread)
	s, err := t.stateWith(update, typedState.decodeEdit)
	if err != nil {
		return checkpoint.ID{}, err
	}
	t.at = at
	return t.updateState(ctx, s, setting(opts, UpdateOption.update))
}

// Submit works like Thread.Submit. The update is encoded by the AppendUpdate of the schema.
func (u Untyped) Submit(ctx context.Context, thread string, update []byte, opts ...SubmitOption) (Submitted, error) {
	t := u.thread(thread)
	s, err := t.stateWith(update, typedState.decodeInput)
	if err != nil {
		return Submitted{}, err
	}
	return threadMailer{t: t}.submit(ctx, s, setting(opts, SubmitOption.submit))
}

// Signal works like Thread.Signal for one signal. The payload is encoded by the AppendWire of its
// type. It returns ErrNotReceivable if no node lists the signal, or if the payload has another
// type.
func (u Untyped) Signal(ctx context.Context, thread, name string, payload []byte, opts ...SignalOption) error {
	s := encodedSignal(name, payload, opts)
	if err := u.checkSignal(thread, s); err != nil {
		return err
	}
	return threadMailer{t: u.thread(thread)}.signal(ctx, []SentSignal{s})
}

// Ask works like ReplySignal.Ask. The payload and the errors are those of Signal. It returns the
// encoded reply. A signal without a reply makes Ask wait until the thread ends.
func (u Untyped) Ask(ctx context.Context, thread, name string, payload []byte, opts ...SignalOption) (reply []byte, err error) {
	s := encodedSignal(name, payload, opts)
	if err := u.checkSignal(thread, s); err != nil {
		return nil, err
	}
	return threadMailer{t: u.thread(thread)}.ask(ctx, s)
}

// Answer works like Thread.Answer. AnswerBytes makes an answer without its Go type.
func (u Untyped) Answer(ctx context.Context, thread string, answers ...AnswerOption) error {
	return threadMailer{t: u.thread(thread)}.answer(ctx, answers)
}

// Resume works like Thread.Resume, or like a replay from the checkpoint at if at is not zero. It
// returns the status after the run.
func (u Untyped) Resume(ctx context.Context, thread string, at checkpoint.ID, opts ...ResumeOption) (Status, error) {
	t := u.thread(thread)
	if err := t.usable(); err != nil {
		return 0, err
	}
	t.at = at
	res, err := t.invoke(ctx, setting(opts, ResumeOption.resume), driven{state: t.g.newState()})
	return res.Status, err
}

// Result works like Thread.Result. It returns the status of the result.
func (u Untyped) Result(ctx context.Context, thread string, opts ...ResultOption) (Status, error) {
	t := u.thread(thread)
	if err := t.usable(); err != nil {
		return 0, err
	}
	res, err := t.result(ctx, t.g.newState(), setting(opts, ResultOption.result))
	return res.Status, err
}

// shapes is Untyped.Shape.
func (g *core) shapes() *shape.Graph {
	if g.shape == nil {
		return nil
	}
	return g.describe()[g.fingerprint]
}

// stateWith returns a state with an encoded update, which decode decodes.
func (t threadCore) stateWith(update []byte, decode func(typedState, []byte) error) (typedState, error) {
	if err := t.usable(); err != nil {
		return nil, err
	}
	s := t.g.newState()
	if err := decode(s, update); err != nil {
		return nil, t.fail("the update: %w", err)
	}
	return s, nil
}

// checkSignal returns an error if a node lists the signal with a payload of another type.
func (u Untyped) checkSignal(thread string, s SentSignal) error {
	if g := u.graph(); g.signals[s.name] && s.err == nil {
		if err := g.decodeSignal(s.name, s.payload); err != nil {
			return u.thread(thread).fail("signal %q: %w with this payload: %w", s.name, ErrNotReceivable, err)
		}
	}
	return nil
}

// decodeSignal decodes the payload of a signal as a node that lists the signal would.
func (g *core) decodeSignal(name string, payload []byte) (err error) {
	defer rescue(&err)
	for _, g := range g.within() {
		for i := range g.nodes {
			for _, s := range g.nodes[i].signals {
				if s.name == name {
					return s.check(payload)
				}
			}
		}
	}
	return nil
}
