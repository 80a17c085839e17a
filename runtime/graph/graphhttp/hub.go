package graphhttp

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

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
