package graphhttp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// retained has the custom events of the tasks in progress of a thread, for clients that connect
// while they run. The lock of the Hub guards it.
type retained struct {
	tasks  map[place]*source
	events []customEvent // oldest first
	size   int           // of the events, in bytes
}

// place names a task.
type place struct {
	path  string // the subgraph calls around it, each followed by a slash
	node  graph.ID
	index int
}

// source is a task in progress.
type source struct {
	place
	attempt int
	run     uint64
	dropped uint64 // the newest event of the attempt that was dropped; 0 for none
}

// customEvent is an encoded custom event.
type customEvent struct {
	message
	of *source
}

// pathOf returns the path of a place.
func pathOf(e *graph.RunEvent) string {
	var b strings.Builder
	for _, call := range e.Path {
		b.WriteString(call.String() + "/")
	}
	return b.String()
}

// see notes an event of a run, and keeps it if it is a custom event. m is its message.
func (r *retained) see(e *graph.RunEvent, m *message, limit int) {
	switch e.Kind {
	case graph.EventTaskStarted:
		r.begin(place{pathOf(e), e.Node, e.Index})
	case graph.EventCheckpoint:
		r.commit(pathOf(e))
	case graph.EventCustom:
		if !m.broken {
			r.keep(place{pathOf(e), e.Node, e.Index}, e.Attempt, m, limit)
		}
	}
}

// begin drops the events of the attempt before.
func (r *retained) begin(p place) {
	if of := r.tasks[p]; of != nil {
		r.drop(func(s *source) bool { return s == of })
	}
}

// commit drops the events of the tasks of a superstep, and of the calls in it.
func (r *retained) commit(path string) {
	if len(r.tasks) > 0 {
		r.drop(func(s *source) bool { return strings.HasPrefix(s.path, path) })
	}
}

// drop forgets tasks and their events.
func (r *retained) drop(gone func(*source) bool) {
	for p, of := range r.tasks {
		if gone(of) {
			delete(r.tasks, p)
		}
	}
	r.events = slices.DeleteFunc(r.events, func(e customEvent) bool {
		if !gone(e.of) {
			return false
		}
		r.size -= e.size()
		return true
	})
}

// keep adds an event of a task. If there are more bytes than the limit, it drops the oldest ones.
func (r *retained) keep(p place, attempt int, m *message, limit int) {
	of := r.tasks[p]
	if of != nil && of.attempt != attempt {
		r.begin(p)
		of = nil
	}
	if of == nil {
		of = &source{place: p, attempt: attempt, run: m.run}
		if r.tasks == nil {
			r.tasks = make(map[place]*source)
		}
		r.tasks[p] = of
	}
	r.events, r.size = append(r.events, customEvent{*m, of}), r.size+m.size()
	for r.size > limit {
		first := r.events[0]
		first.of.dropped = first.seq
		r.size -= first.size()
		r.events[0] = customEvent{}
		r.events = r.events[1:]
	}
}

// since returns the kept events of a run that are newer than after and older than before; run 0
// stands for all runs. Before them it returns a message for each task whose events are missing.
func (r *retained) since(run, after, before uint64) (all []message) {
	for _, of := range r.tasks {
		if of.dropped > after && of.dropped < before && (run == 0 || run == of.run) {
			all = append(all, of.missing())
		}
	}
	slices.SortFunc(all, func(a, b message) int { return bytes.Compare(a.Data, b.Data) })
	for i := range r.events {
		if e := &r.events[i]; e.seq > after && e.seq < before && (run == 0 || run == e.run) {
			all = append(all, e.message)
		}
	}
	return all
}

// missing returns the message that events of a task are missing.
func (s *source) missing() message {
	data, err := json.Marshal(struct { // cannot fail
		Node    string `json:"node"`
		Index   int    `json:"index"`
		Attempt int    `json:"attempt"`
	}{s.path + string(s.node), s.index, s.attempt})
	return message{broken: err != nil, Message: Message{Name: "missing", Data: data}}
}
