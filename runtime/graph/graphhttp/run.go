package graphhttp

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// start runs events on a new goroutine. It returns when the first event shows whether the thread
// could be opened. If f is not nil, f follows only this run.
func (h *Hub[S, U]) start(thread string, f *follower, events sequence[S, U]) error {
	run := h.begin(thread, f)
	opened := make(chan error, 1)
	go h.run(thread, run, events, opened)
	return <-opened
}

// run publishes the events of a run until the run ends.
func (h *Hub[S, U]) run(thread string, run uint64, events sequence[S, U], opened chan<- error) {
	var value graph.Event[S, U] // the newest EventState of the graph itself, which is sent with its checkpoint
	first, counted := true, true
	defer func() {
		if !counted {
			return
		}
		h.abandon(thread) // a route or an encoder called runtime.Goexit
		if first {
			opened <- fmt.Errorf("graphhttp: thread %q: %w", thread, graph.ErrGoexit)
		}
	}()
	for e, err := range events {
		if first && e.Kind == graph.EventRunEnded && err != nil {
			h.abandon(thread)
			counted = false
			opened <- err
			return
		}
		if first {
			first = false
			opened <- nil
		}
		switch {
		case e.Kind == graph.EventRunEnded:
			m := h.message(thread, e, err)
			m.run, m.end = run, true
			h.end(thread, m)
			counted = false
		case e.Kind == graph.EventState && e.Path == nil:
			value = e
		case e.Kind == graph.EventCheckpoint && e.Path == nil:
			e.State = value.State
			h.publish(thread, run, e)
		default:
			h.publish(thread, run, e)
		}
	}
}

// message encodes an event for clients. An encoding error ends the clients' streams, but not the
// run.
func (h *Hub[S, U]) message(thread string, e graph.Event[S, U], err error) message {
	m := message{}
	durable := e.Kind == graph.EventCheckpoint && e.Path == nil
	if durable {
		m.id = e.Checkpoint
	}
	if !durable && h.opt.kinds&e.Kind == 0 {
		return m
	}
	out, fault := h.encoded(e, err)
	if fault != nil {
		h.opt.report(thread, fmt.Errorf("graphhttp: thread %q: encode the event of step %d: %w", thread, e.Step, fault))
		return message{broken: true}
	}
	m.Message = out
	m.asks = e.Question.ID
	return m
}

// encoded calls the encoder. It returns a panic of the encoder as an error, because a panic in a
// handler does not end the process either.
func (h *Hub[S, U]) encoded(e graph.Event[S, U], err error) (m Message, fault error) {
	defer func() {
		if v := recover(); v != nil {
			fault = fmt.Errorf("the encoder panicked: %v", v)
		}
	}()
	return h.encode(e, err)
}
