package graphhttp

import (
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// start runs events on a goroutine of its own, and returns once the first of them tells that the thread is opened, or was
// not. f, if not nil, follows this run alone.
func (h *Hub[S, U]) start(thread string, f *follower, events sequence[S, U]) error {
	run := h.begin(thread, f)
	opened := make(chan error, 1)
	go h.run(thread, run, events, opened)
	return <-opened
}

// run takes the events of a run to its end.
func (h *Hub[S, U]) run(thread string, run uint64, events sequence[S, U], opened chan<- error) {
	var value graph.Event[S, U] // the newest EventValue of the graph itself: it goes with its checkpoint
	first, counted := true, true
	defer func() {
		if !counted {
			return
		}
		h.abandon(thread) // a route or an encoder ends the goroutine
		if first {
			opened <- fmt.Errorf("graphhttp: thread %q: %w", thread, graph.ErrGoexit)
		}
	}()
	for e, err := range events {
		if first && e.Kind == graph.EventEnd && err != nil {
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
		case e.Kind == graph.EventEnd:
			m := h.message(thread, e, err)
			m.run, m.end = run, true
			h.end(thread, m)
			counted = false
		case e.Kind == graph.EventValue && e.Path == nil:
			value = e
		case e.Kind == graph.EventCheckpoint && e.Path == nil:
			e.State = value.State
			h.publish(thread, run, e)
		default:
			h.publish(thread, run, e)
		}
	}
}

// message encodes an event for clients. What cannot be encoded ends their streams, not the run.
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
	if e.Question != nil {
		m.asks = e.Question.ID
	}
	return m
}

// encoded calls the encoder, whose panic is an error: it must not take the process down, as it would not in a handler.
func (h *Hub[S, U]) encoded(e graph.Event[S, U], err error) (m Message, fault error) {
	defer func() {
		if v := recover(); v != nil {
			fault = fmt.Errorf("the encoder panicked: %v", v)
		}
	}()
	return h.encode(e, err)
}
