package graph

import (
	"errors"
	"fmt"
	"maps"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/inbox"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/journal"
)

// This file makes the messages of inputs, answers and signals.

// InputPost returns the messages that [Thread.Submit] stores for an input whose update is already
// encoded. Package shape/value encodes an update from JSON. The Post of any saver stores the
// result.
//
// InputPost does not check update. If the graph cannot read it, the run of the input fails. The
// options are those of Submit, with the same errors. It refuses a graph whose name is reserved:
// see ReservedPrefix. The result shares the memory of update.
func (t Stored) InputPost(update []byte, opts ...SubmitOption) (checkpoint.Post, error) {
	graph, thread := t.Graph, t.Ref.Thread
	o := with(runOptions{}, setting(opts, SubmitOption.submit))
	err := o.check()
	if err == nil {
		err = o.prepareSubmit()
	}
	if err == nil && reserved(graph) {
		err = fmt.Errorf("a package of graphgen submits to the graph %s; use the calls of that package", quoted(ID(graph)))
	}
	if err != nil {
		return checkpoint.Post{}, fmt.Errorf("%s: %w", where(graph, thread, -1), err)
	}
	if err := mayBegin(graph, thread); err != nil {
		return checkpoint.Post{}, err
	}
	return submitPost(graph, thread, update, &o), nil
}

// SignalPost returns the message that [Thread.Signal] stores for a signal whose payload is already
// encoded. The options are those of Signal.With. A run refuses a signal that its graph does not
// list. The result shares the memory of payload.
func (t Stored) SignalPost(signal string, payload []byte, opts ...SignalOption) (checkpoint.Post, error) {
	graph, thread := t.Graph, t.Ref.Thread
	s := encodedSignal(signal, payload, opts)
	if s.err != nil {
		return checkpoint.Post{}, fmt.Errorf("%s: %w", where(graph, thread, -1), s.err)
	}
	message, err := signalMessage(s)
	if err != nil {
		return checkpoint.Post{}, fmt.Errorf("%s: %w", where(graph, thread, -1), err)
	}
	return postOf(graph, thread, message), nil
}

// encodedSignal returns a signal whose payload is already encoded, with the error of its options.
func encodedSignal(name string, payload []byte, opts []SignalOption) SentSignal {
	o := with(runOptions{}, setting(opts, SignalOption.signal))
	s := SentSignal{name: name, key: o.key, id: o.request, payload: payload}
	err := o.check()
	if err == nil {
		err = checkKey(o.key)
	}
	if err != nil {
		s.err = fmt.Errorf("signal %q: %w", name, err)
	}
	return s
}

// AnswerPost returns the message that [Thread.Answer] stores for an answer that is already
// encoded. id is that of the question (OpenQuestion.ID). A run refuses an answer that it cannot
// read, or to a question that is not open. If the message is Known after the Post, the question
// has been answered. The result shares the memory of payload.
//
// refused are the refused messages of the thread, from Mail of the saver. If one of them is an
// answer to the question, the new answer gets another id, because that of a refused message stays
// in use.
func (t Stored) AnswerPost(id string, payload []byte, refused []checkpoint.Message) checkpoint.Post {
	return postOf(t.Graph, t.Ref.Thread, inbox.AnswerTo(id, payload, refused))
}

// postOf returns a Post of one message.
func postOf(graph, thread string, one checkpoint.Message) checkpoint.Post {
	return checkpoint.Post{Thread: thread, Graph: graph, Messages: []checkpoint.Message{one}}
}

// signalMessage returns the message of a signal. It gives the signal an id if it has none.
func signalMessage(s SentSignal) (checkpoint.Message, error) {
	if s.id == "" {
		id, err := checkpoint.NewID()
		if err != nil {
			return checkpoint.Message{}, err
		}
		s.id = id.String()
	}
	return inbox.Signal(s.id, s.name, s.key, s.payload), nil
}

// prepareSubmit checks the policies of an input, and gives the input a request id if it has none.
// It adds the timeout to the metadata.
func (o *runOptions) prepareSubmit() error {
	if o.timeout > 0 {
		o.metadata = withEntry(o.metadata, timeoutKey, o.timeout.String())
	}
	if o.idle && o.cancel != nil {
		return errors.New("IfIdle and CancelPending are two policies; choose one")
	}
	if o.request != "" {
		return nil
	}
	id, err := checkpoint.NewID()
	if err != nil {
		return err
	}
	o.request = id.String()
	return nil
}

// submitPost returns the Post of an encoded input, and of the cancel before it that CancelPending
// adds.
func submitPost(graph, thread string, update []byte, o *runOptions) checkpoint.Post {
	p := checkpoint.Post{Thread: thread, Graph: graph, Messages: inbox.Input(o.request, &journal.Input{
		Update: update, Discard: o.abandon, Title: o.title, Labels: o.labels, Metadata: o.metadata,
	}, o.cancel)}
	p.Idle, p.Title, p.Labels, p.Priority = o.idle, o.title, maps.Clone(o.labels), o.priority
	maps.DeleteFunc(p.Labels, func(_, value string) bool { return value == "" })
	return p
}
