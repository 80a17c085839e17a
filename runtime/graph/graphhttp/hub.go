package graphhttp

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Message is an event as clients get it. The zero Message is not sent.
type Message struct {
	Name string // the event's type, which EventSource listeners go by; of one line
	Data []byte // any text; UTF-8
}

// Encoder makes the Message of an event. err is the error that came with it: that of the run, on an EventEnd. It is the
// encoder that decides what of an error strangers may read.
//
// An EventCheckpoint has State, when EventValue was chosen. From the history it has Kind, Step, Checkpoint, Next and State.
// An EventEnd that was missed is made anew, with the Result's State, Status, Waiting, Next and Checkpoint; its error is then
// an ErrFailed. Encoders are called at the same time for different runs, and must not keep the event.
type Encoder[S, U any] func(e graph.Event[S, U], err error) (Message, error)

// Hub runs threads of one graph and lets any number of clients follow them. New makes one. All methods may be called at the
// same time.
type Hub[S, U any] struct {
	app    *graph.Graph[S, U]
	encode Encoder[S, U]
	opt    options

	mu      sync.Mutex
	topics  map[string]*topic // by thread: those with a run or a follower
	lastRun uint64
	closed  bool
	closing chan struct{} // closed by Close
	replays chan struct{} // holds a value for each client that is given stored checkpoints
}

// topic is a thread that is run here, or followed.
type topic struct {
	runs      int // under way, or about to be
	followers []*follower
	unwatch   func() // ends the polling; nil while nobody follows
}

// New returns a Hub for app, which has a saver. Without EventEnd among the chosen kinds the end is not told; checkpoints
// always are, since continuing goes by them.
func New[S, U any](app *graph.Graph[S, U], encode Encoder[S, U], opts ...Option) *Hub[S, U] {
	h := &Hub[S, U]{
		app: app, encode: encode, topics: map[string]*topic{}, closing: make(chan struct{}),
		opt: options{
			kinds: graph.EventAll, heartbeat: 15 * time.Second, poll: time.Second, writeTimeout: 30 * time.Second,
			buffer: 1 << 20, replay: 1000, atOnce: 4, report: func(string, error) {},
		},
	}
	for _, o := range opts {
		o.set(&h.opt)
	}
	report := h.opt.report
	h.opt.report = func(thread string, err error) {
		defer func() { _ = recover() }() // there is nobody to report it to, and the run continues
		report(thread, err)
	}
	h.replays = make(chan struct{}, h.opt.atOnce)
	return h
}

// Invoke starts a run as graph.Thread.Invoke does, and returns once the thread is opened; the run goes on by itself,
// until ctx ends: a request's context ends with the request, so take context.WithoutCancel of it. The error is that of the
// opening, as of graph.Thread.Invoke; Status makes a response's of it. How the run ends is told to followers and stored.
func (h *Hub[S, U]) Invoke(ctx context.Context, thread string, in U, opts ...graph.InvokeOption) error {
	return h.start(thread, nil, h.invoke(ctx, thread, in, opts))
}

// Resume goes on with a thread as graph.Thread.Resume does, and is otherwise like Invoke.
func (h *Hub[S, U]) Resume(ctx context.Context, thread string, opts ...graph.ResumeOption) error {
	return h.start(thread, nil, h.resume(ctx, thread, opts))
}

// Close ends all streams, as if the connections had broken: clients connect again, to the server's successor. A later GET gets
// a stream that ends at once, for the same reason; a later POST is answered with 503. Runs go on; graph.Graph.Drain ends them,
// best before. A second Close does nothing.
//
// http.Server.Shutdown waits for streams, so call Close before it, or by RegisterOnShutdown.
func (h *Hub[S, U]) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		close(h.closing)
	}
}

type sequence[S, U any] = iter.Seq2[graph.Event[S, U], error]

func (h *Hub[S, U]) invoke(ctx context.Context, thread string, in U, opts []graph.InvokeOption) sequence[S, U] {
	return h.app.Thread(thread).Stream(ctx, in, append(slices.Clip(opts), graph.Events(h.watched()))...)
}

func (h *Hub[S, U]) resume(ctx context.Context, thread string, opts []graph.ResumeOption) sequence[S, U] {
	return h.app.Thread(thread).ResumeStream(ctx, append(slices.Clip(opts), graph.Events(h.watched()))...)
}

// watched are the kinds of events that a run is asked for: a task's start tells that a resumed thread is opened.
func (h *Hub[S, U]) watched() graph.EventKind {
	return h.opt.kinds | graph.EventCheckpoint | graph.EventTaskStart
}

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

// begin counts a run in, before it opens the thread.
func (h *Hub[S, U]) begin(thread string, f *follower) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lastRun++
	if f != nil {
		f.run = h.lastRun
	}
	h.topic(thread).runs++
	return h.lastRun
}

// publish tells the followers of a thread what its run did.
func (h *Hub[S, U]) publish(thread string, run uint64, e graph.Event[S, U]) {
	if !h.followed(thread) {
		return // who comes later reads what is stored
	}
	m := h.message(thread, e, nil)
	m.run = run
	if m.empty() {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.push(thread, m)
}

// end counts a run out and tells so, in one act: nobody can come to wait for the end of a run that is over.
func (h *Hub[S, U]) end(thread string, m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.push(thread, m)
	h.topic(thread).runs--
	h.forget(thread)
}

// abandon counts a run out that did not open its thread. Who followed the thread meanwhile has to look for itself.
func (h *Hub[S, U]) abandon(thread string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topic(thread)
	t.runs--
	if t.runs == 0 {
		for _, f := range t.followers {
			f.behind()
		}
	}
	h.forget(thread)
}

// running reports whether a run of the thread is under way here.
func (h *Hub[S, U]) running(thread string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[thread]
	return t != nil && t.runs > 0
}

func (h *Hub[S, U]) followed(thread string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topics[thread]
	return t != nil && len(t.followers) > 0
}

// join adds a follower of the thread.
func (h *Hub[S, U]) join(thread string) *follower {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &follower{wake: make(chan struct{}, 1), limit: h.opt.buffer}
	t := h.topic(thread)
	t.followers = append(t.followers, f)
	if t.unwatch == nil {
		ctx, cancel := context.WithCancel(context.Background())
		t.unwatch = cancel
		go h.watch(ctx, thread)
	}
	return f
}

// leave removes a follower of the thread.
func (h *Hub[S, U]) leave(thread string, f *follower) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.topic(thread)
	t.followers = slices.DeleteFunc(t.followers, func(g *follower) bool { return g == f })
	if len(t.followers) == 0 {
		t.unwatch()
		t.unwatch = nil
	}
	h.forget(thread)
}

// watch looks every now and then at a thread that is followed, until ctx ends. When another process has done something to it, all
// followers read from the store what that was.
func (h *Hub[S, U]) watch(ctx context.Context, thread string) {
	poll := time.NewTicker(h.opt.poll)
	defer poll.Stop()
	var last checkpoint.Thread
	for {
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
		if h.running(thread) {
			last = checkpoint.Thread{}
			continue
		}
		now, err := h.app.Thread(thread).Status(ctx)
		if err == nil && now.Head == last.Head && now.Status == last.Status && slices.EqualFunc(now.Questions, last.Questions, sameQuestion) {
			continue
		}
		last = now
		if told := h.lag(thread); !told || err != nil { // the followers meet the error themselves
			last = checkpoint.Thread{}
		}
	}
}

func sameQuestion(a, b checkpoint.Write) bool {
	return a.Base == b.Base && a.Task == b.Task && a.Name == b.Name
}

// lag has the followers of a thread read from the store. It reports false when some of them have first to take what a run has told
// them.
func (h *Hub[S, U]) lag(thread string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := true
	if t := h.topics[thread]; t != nil {
		for _, f := range t.followers {
			if len(f.queue) > 0 {
				all = false
				continue
			}
			f.behind()
		}
	}
	return all
}

// take returns what is queued for f, whether f fell behind since the last time, and the first checkpoint that was dropped
// then.
func (h *Hub[S, U]) take(f *follower) (queue []message, behind bool, from checkpoint.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	queue, behind, from = f.queue, f.lagging, f.dropped
	f.queue, f.size, f.lagging, f.dropped = nil, 0, false, checkpoint.ID{}
	return queue, behind, from
}

// push queues m for every follower of the thread. Like the methods below it, it is called with the lock held.
func (h *Hub[S, U]) push(thread string, m message) {
	for _, f := range h.topic(thread).followers {
		f.push(m)
	}
}

func (h *Hub[S, U]) topic(thread string) *topic {
	t := h.topics[thread]
	if t == nil {
		t = &topic{}
		h.topics[thread] = t
	}
	return t
}

// forget drops a topic that is neither run nor followed.
func (h *Hub[S, U]) forget(thread string) {
	if t := h.topic(thread); t.runs == 0 && len(t.followers) == 0 {
		delete(h.topics, thread)
	}
}

// message is a Message on its way.
type message struct {
	Message
	id     checkpoint.ID // of a checkpoint, else zero
	asks   string        // the id of a question, else empty
	run    uint64        // that told it; 0 for one read from the store
	end    bool          // the last of its run
	broken bool          // could not be encoded
}

// empty reports whether a client would get nothing by it.
func (m *message) empty() bool {
	return m.Name == "" && m.Data == nil && m.id.IsZero() && !m.end && !m.broken
}

// size is what the message takes in a queue, in bytes.
func (m *message) size() int { return len(m.Name) + len(m.Data) + 96 }

// follower is a client's queue. The Hub's lock guards it.
type follower struct {
	queue   []message
	size    int // of it, in bytes
	limit   int
	lagging bool          // the queue was full, and what was in it is gone
	dropped checkpoint.ID // the first that was in it
	run     uint64        // the only run followed; 0 for all
	wake    chan struct{} // holds a value when there is something to take
}

func (f *follower) push(m message) {
	if f.run != 0 && f.run != m.run {
		return
	}
	f.queue = append(f.queue, m)
	f.size += m.size()
	if f.lagging || f.size > f.limit && len(f.queue) > 1 {
		f.behind() // what it missed is to be read from the store, and so is this
	}
	f.rouse()
}

// behind drops what is queued: the follower has to read from the store.
func (f *follower) behind() {
	for i := range f.queue {
		if f.dropped.IsZero() {
			f.dropped = f.queue[i].id
		}
	}
	f.queue, f.size, f.lagging = nil, 0, true
	f.rouse()
}

func (f *follower) rouse() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}
