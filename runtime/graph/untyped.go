package graph

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/shape"
)

// Untyped is a graph for tools that do not have the Go types of its state, such as package
// inspect. Its methods take updates and payloads as they are stored. They decode each by the
// generated code before they store anything, so they refuse what a typed call could not send.
//
// An Untyped is a small value, and safe for concurrent use. Graph.Untyped returns it. The methods
// of a zero Untyped return ErrNotCompiled.
type Untyped struct{ g untypedGraph }

// untypedGraph is a Graph of any state.
type untypedGraph interface {
	shapes() *shape.Graph
	Queues() []string
	updateEncoded(ctx context.Context, thread string, at checkpoint.ID, update []byte, opts []UpdateOption) (checkpoint.ID, error)
	submitEncoded(ctx context.Context, thread string, update []byte, opts []SubmitOption) (Submitted, error)
	signalEncoded(ctx context.Context, thread string, s SentSignal) error
	askEncoded(ctx context.Context, thread string, s SentSignal) ([]byte, error)
	answerEncoded(ctx context.Context, thread string, answers []AnswerOption) error
	resultUntyped(ctx context.Context, thread string, opts []ResultOption) (Status, error)
	resumeUntyped(ctx context.Context, thread string, at checkpoint.ID, opts []ResumeOption) (Status, error)
}

// Untyped returns the graph for tools without its types.
func (g *Graph[S, U]) Untyped() Untyped { return Untyped{g} }

// graph returns the graph; a zero one for a zero Untyped.
func (u Untyped) graph() untypedGraph {
	if u.g == nil {
		return new(Graph[struct{}, struct{}])
	}
	return u.g
}

// Shape describes the state of the graph and its questions. It is nil for a zero Untyped. The
// caller must not modify it.
func (u Untyped) Shape() *shape.Graph { return u.graph().shapes() }

// Queues returns the queues of the graph, as Graph.Queues does.
func (u Untyped) Queues() []string { return u.graph().Queues() }

// Update works like Thread.UpdateState for the checkpoint at, or for the head if at is zero. The
// update is encoded by the AppendUpdate of the schema.
func (u Untyped) Update(ctx context.Context, thread string, at checkpoint.ID, update []byte, opts ...UpdateOption) (checkpoint.ID, error) {
	return u.graph().updateEncoded(ctx, thread, at, update, opts)
}

// Submit works like Thread.Submit. The update is encoded by the AppendUpdate of the schema.
func (u Untyped) Submit(ctx context.Context, thread string, update []byte, opts ...SubmitOption) (Submitted, error) {
	return u.graph().submitEncoded(ctx, thread, update, opts)
}

// Signal works like Thread.Signal for one signal. The payload is encoded by the AppendWire of its
// type. It returns ErrNotReceivable if no node lists the signal, or if the payload has another
// type.
func (u Untyped) Signal(ctx context.Context, thread, name string, payload []byte, opts ...SignalOption) error {
	return u.graph().signalEncoded(ctx, thread, encodedSignal(name, payload, opts))
}

// Ask works like ReplySignal.Ask. The payload and the errors are those of Signal. It returns the
// encoded reply. A signal without a reply makes Ask wait until the thread ends.
func (u Untyped) Ask(ctx context.Context, thread, name string, payload []byte, opts ...SignalOption) (reply []byte, err error) {
	return u.graph().askEncoded(ctx, thread, encodedSignal(name, payload, opts))
}

// Answer works like Thread.Answer. AnswerBytes makes an answer without its Go type.
func (u Untyped) Answer(ctx context.Context, thread string, answers ...AnswerOption) error {
	return u.graph().answerEncoded(ctx, thread, answers)
}

// Resume works like Thread.Resume, or like a replay from the checkpoint at if at is not zero. It
// returns the status after the run.
func (u Untyped) Resume(ctx context.Context, thread string, at checkpoint.ID, opts ...ResumeOption) (Status, error) {
	return u.graph().resumeUntyped(ctx, thread, at, opts)
}

// Result works like Thread.Result. It returns the status of the result.
func (u Untyped) Result(ctx context.Context, thread string, opts ...ResultOption) (Status, error) {
	return u.graph().resultUntyped(ctx, thread, opts)
}

func (g *Graph[S, U]) resultUntyped(ctx context.Context, thread string, opts []ResultOption) (Status, error) {
	res, err := g.Thread(thread).Result(ctx, opts...)
	return res.Status, err
}

func (g *Graph[S, U]) shapes() *shape.Graph {
	if g.shape == nil {
		return nil
	}
	return g.describe()[g.fingerprint]
}

func (g *Graph[S, U]) updateEncoded(
	ctx context.Context, thread string, at checkpoint.ID, update []byte, opts []UpdateOption,
) (checkpoint.ID, error) {
	u, err := g.decodeUpdate(thread, update)
	if err != nil {
		return checkpoint.ID{}, err
	}
	return g.Thread(thread).At(at).UpdateState(ctx, u, opts...)
}

func (g *Graph[S, U]) submitEncoded(ctx context.Context, thread string, update []byte, opts []SubmitOption) (Submitted, error) {
	u, err := g.decodeUpdate(thread, update)
	if err != nil {
		return Submitted{}, err
	}
	return g.Thread(thread).Submit(ctx, u, opts...)
}

// decodeUpdate decodes an update by the generated code.
func (g *Graph[S, U]) decodeUpdate(thread string, update []byte) (u U, err error) {
	if err := g.Thread(thread).usable(); err != nil {
		return u, err
	}
	u, err = decodeUpdate(g.schema, update)
	if err != nil {
		err = fmt.Errorf("%s: the update: %w", where(g.name, thread, -1), err)
	}
	return u, err
}

func (g *Graph[S, U]) signalEncoded(ctx context.Context, thread string, s SentSignal) error {
	if err := g.checkSignal(thread, s); err != nil {
		return err
	}
	return g.Thread(thread).Signal(ctx, s)
}

func (g *Graph[S, U]) askEncoded(ctx context.Context, thread string, s SentSignal) ([]byte, error) {
	if err := g.checkSignal(thread, s); err != nil {
		return nil, err
	}
	return g.Thread(thread).ask(ctx, s)
}

// checkSignal returns an error if a node lists the signal with a payload of another type.
func (g *Graph[S, U]) checkSignal(thread string, s SentSignal) error {
	if g.signals[s.name] && s.err == nil {
		if err := g.decodeSignal(s.name, s.payload); err != nil {
			return g.Thread(thread).fail("signal %q: %w with this payload: %w", s.name, ErrNotReceivable, err)
		}
	}
	return nil
}

// decodeSignal decodes the payload of a signal as a node that lists the signal would.
func (g *Graph[S, U]) decodeSignal(name string, payload []byte) (err error) {
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

func (g *Graph[S, U]) answerEncoded(ctx context.Context, thread string, answers []AnswerOption) error {
	return g.Thread(thread).Answer(ctx, answers...)
}

func (g *Graph[S, U]) resumeUntyped(ctx context.Context, thread string, at checkpoint.ID, opts []ResumeOption) (Status, error) {
	res, err := g.Thread(thread).At(at).Resume(ctx, opts...)
	return res.Status, err
}
