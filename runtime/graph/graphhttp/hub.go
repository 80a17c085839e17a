package graphhttp

import (
	"context"
	"crypto/rand"
	"iter"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Message is the encoded form of an event. The zero Message is not sent.
type Message struct {
	Name string // the type of the event, as in EventSource listeners; one line
	Data []byte // any UTF-8 text
}

// Encoder encodes an event as a Message. err is the error of the event; on an EventRunEnded it is
// the error of the run. The encoder decides which parts of an error are public.
//
// An EventCheckpoint of a run has State if the Hub sends EventState. An EventCheckpoint from the
// history has Kind, Step, Checkpoint, Next and State. An EventRunEnded that a client missed is
// created again. It has State, Status, Questions, Next and Checkpoint of the Result. Its error is
// a
// *graph.FailedError. Encoders are called concurrently for different runs and must not retain
// the event.
type Encoder[S, U any] func(e graph.Event[S, U], err error) (Message, error)

// Hub runs threads of one graph and streams their events to any number of clients. Create a Hub
// with New. A Hub is safe for concurrent use.
type Hub[S, U any] struct {
	app    *graph.Graph[S, U]
	encode Encoder[S, U]
	opt    options

	mu      sync.Mutex
	topics  map[string]*topic // the threads with a run or a follower, by ID
	name    string            // of this Hub in the ids of custom events, so that no other Hub takes them for its own
	lastRun uint64
	lastSeq uint64 // of the messages of runs
	closed  bool
	closing chan struct{} // closed by Close
	replays chan struct{} // holds a value for each client that is reading stored checkpoints
}

// New returns a Hub for app, which must have a saver. If the option Events of this package does
// not include EventRunEnded, the Hub does not send that event. It always sends checkpoints,
// because clients continue from them.
func New[S, U any](app *graph.Graph[S, U], encode Encoder[S, U], opts ...Option) *Hub[S, U] {
	h := &Hub[S, U]{
		app: app, encode: encode, topics: map[string]*topic{}, closing: make(chan struct{}), name: rand.Text(),
		opt: options{
			kinds: graph.EventAll, heartbeat: 15 * time.Second, poll: time.Second, writeTimeout: 30 * time.Second,
			buffer: 1 << 20, custom: 256 << 10, replay: 1000, atOnce: 4, report: func(string, error) {},
		},
	}
	for _, o := range opts {
		o.set(&h.opt)
	}
	report := h.opt.report
	h.opt.report = func(thread string, err error) {
		defer func() { _ = recover() }() // nowhere to report the panic; the run continues
		report(thread, err)
	}
	h.replays = make(chan struct{}, h.opt.atOnce)
	return h
}

// Invoke starts a run like graph.Thread.Invoke, and returns as soon as the thread is opened. The
// run continues in the background until ctx ends. The context of a request ends with the request,
// so pass context.WithoutCancel of it. Invoke returns the error of opening the thread; Status maps
// the error to an HTTP status. The outcome of the run is stored and sent to followers.
func (h *Hub[S, U]) Invoke(ctx context.Context, thread string, in U, opts ...graph.InvokeOption) error {
	return h.start(thread, nil, h.invoke(ctx, thread, in, opts))
}

// Resume continues a thread like graph.Thread.Resume. Otherwise it works like Invoke.
func (h *Hub[S, U]) Resume(ctx context.Context, thread string, opts ...graph.ResumeOption) error {
	return h.start(thread, nil, h.resume(ctx, thread, opts))
}

// Close ends all streams as if the connections had broken, so that clients reconnect to the next
// instance of the server. A later GET gets a stream that ends immediately, and a later POST gets a
// 503. Runs continue; end them by graph.Graph.Drain before Close. A second Close does nothing.
//
// http.Server.Shutdown waits for streams, so call Close before Shutdown, or register Close by
// RegisterOnShutdown.
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
	return h.app.Thread(thread).Stream(ctx, in, append([]graph.InvokeOption{graph.Events(h.watched())}, opts...)...)
}

func (h *Hub[S, U]) resume(ctx context.Context, thread string, opts []graph.ResumeOption) sequence[S, U] {
	return h.app.Thread(thread).ResumeStream(ctx, append([]graph.ResumeOption{graph.Events(h.watched())}, opts...)...)
}

// watched returns the kinds of events that the Hub requests from a run. EventRunStarted shows that
// the thread is open. EventTaskStarted shows that custom events of an older attempt do not count.
func (h *Hub[S, U]) watched() graph.EventKind {
	kinds := h.opt.kinds | graph.EventCheckpoint | graph.EventRunStarted
	if h.retains() {
		kinds |= graph.EventTaskStarted
	}
	return kinds
}

// retains reports whether the Hub keeps custom events of tasks in progress.
func (h *Hub[S, U]) retains() bool { return h.opt.custom > 0 && h.opt.kinds&graph.EventCustom != 0 }
