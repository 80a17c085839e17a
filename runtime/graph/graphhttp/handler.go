package graphhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Call is what a request wants.
type Call[U any] struct {
	// Thread is which thread it is about. Whether the client may see it is for the caller to have checked.
	Thread string
	// After is the checkpoint that the client has; the Last-Event-ID header goes before it. Zero on a GET is none: the
	// stream begins with the newest checkpoint. A page that was rendered from a checkpoint names that one. A POST does not
	// look at it: its stream begins where its run does.
	After checkpoint.ID
	// Input starts a run on a POST, with the options of Invoke. Nil resumes, with the options of Resume: answers are among
	// those.
	Input  *U
	Invoke []graph.InvokeOption
	Resume []graph.ResumeOption
}

// StatusError is an error of a request, for the read function of a Handler to return.
type StatusError struct {
	Status int    // of the response
	Text   string // its body
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("graphhttp: status %d: %s", e.Status, e.Text)
}

// ErrFailed is the error of an EventEnd made anew for a client that missed the end of a run that failed. Beside it are
// the texts that the thread keeps.
var ErrFailed = errors.New("the run failed")

// Status returns the status that answers a request whose run could not be opened because of err: 409 when the thread is
// not as the client thought (graph.ErrNotAsked, graph.ErrUnfinished, graph.ErrReleased, checkpoint.ErrConflict with *checkpoint.BusyError), 404
// for checkpoint.ErrNotFound, 400 for a *checkpoint.InvalidError, 503 for graph.ErrDraining, that of a *StatusError, and
// else 500.
func Status(err error) int {
	var (
		own     *StatusError
		invalid *checkpoint.InvalidError
	)
	switch {
	case errors.As(err, &own):
		return own.Status
	case errors.Is(err, graph.ErrNotAsked), errors.Is(err, graph.ErrUnfinished), errors.Is(err, graph.ErrReleased),
		errors.Is(err, checkpoint.ErrConflict):
		return http.StatusConflict
	case errors.Is(err, checkpoint.ErrNotFound):
		return http.StatusNotFound
	case errors.As(err, &invalid):
		return http.StatusBadRequest
	case errors.Is(err, graph.ErrDraining):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// text is the body that goes with Status(err): it names the class of the error, and nothing of what it found.
func text(err error) string {
	var own *StatusError
	if errors.As(err, &own) {
		return own.Text
	}
	for _, known := range []error{graph.ErrNotAsked, graph.ErrUnfinished, graph.ErrReleased, graph.ErrDraining, checkpoint.ErrNotFound} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if busy := (*checkpoint.BusyError)(nil); errors.As(err, &busy) {
		return "another run holds the thread"
	}
	if errors.Is(err, checkpoint.ErrConflict) {
		return checkpoint.ErrConflict.Error()
	}
	return http.StatusText(Status(err))
}

// Handler returns a handler whose GET follows the thread that read names, and whose POST starts or resumes it and follows
// that run; HEAD says what a GET would be answered with. An error of read is answered with Status of it when it has a
// *StatusError or comes of a graph or saver, else with 400 and its text. A run that could not be opened is answered with
// Status of the error; what happens later is told in the stream.
//
// An EventSource connects again when its connection breaks, but gives up for good on a status other than 200. So a GET that
// fails for no reason of the client's, because the saver does not answer, gets a stream of one event called broken, which has
// the client connect again after five seconds. A GET for a thread that does not exist is a 404: start the thread first. A page
// that is to outlive a proxy's 502 has to open another EventSource when one is CLOSED, and one that does not close its own on
// an EventEnd gets the end again and again.
//
// Streams outlive the server's ReadTimeout and WriteTimeout. The ResponseWriter must be able to flush: middleware that wraps it
// has to have the method Unwrap, as http.ResponseController wants it, and http.TimeoutHandler cannot be there at all. Where it
// cannot, the request is answered with 500, nothing is run, and Report is told why.
//
// The run is not tied to the request, but keeps its context's values.
func (h *Hub[S, U]) Handler(read func(r *http.Request) (Call[U], error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD, POST")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		c, err := read(r)
		if err == nil {
			err = lastEvent(r, &c.After)
		}
		if err != nil {
			h.fail(w, r, c.Thread, badRequest(err))
			return
		}
		select {
		case <-h.closing:
			h.turnAway(w, r)
			return
		default:
		}
		if err := h.serve(w, r, c); err != nil {
			h.fail(w, r, c.Thread, err)
		}
	})
}

// errCannotFlush: events would wait for the end of the stream.
var errCannotFlush = errors.New("graphhttp: the ResponseWriter cannot flush: middleware that wraps it has to have Unwrap or Flush, " +
	"and http.TimeoutHandler has neither")

// fail answers a request of which nothing was answered yet. One that fails for no reason of the client's is to come again, which
// an EventSource does when it gets a stream.
func (h *Hub[S, U]) fail(w http.ResponseWriter, r *http.Request, thread string, err error) {
	if Status(err) != http.StatusInternalServerError {
		refuse(w, err)
		return
	}
	if r.Context().Err() == nil { // a client that left is no news
		h.opt.report(thread, err)
	}
	if r.Method != http.MethodGet || errors.Is(err, errCannotFlush) || !canFlush(w) {
		refuse(w, err)
		return
	}
	if out := newWriter(w, h.opt.writeTimeout); out.begin() == nil {
		_ = out.send(broken) // who is gone already will connect again as well
	}
}

// turnAway answers a request that came after Close. An EventSource gives up for good on any status but 200, and connects
// again to a stream that ends.
func (h *Hub[S, U]) turnAway(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		_ = newWriter(w, h.opt.writeTimeout).begin() // who is gone already will connect again as well
		return
	}
	refuse(w, &StatusError{http.StatusServiceUnavailable, "the server is going down"})
}

// lastEvent reads the id that a client continues from.
func lastEvent(r *http.Request, id *checkpoint.ID) error {
	s := r.Header.Get("Last-Event-ID")
	if s == "" {
		return nil
	}
	got, err := checkpoint.ParseID(s)
	if err != nil {
		return &StatusError{http.StatusBadRequest, "Last-Event-ID is not the id of a checkpoint"}
	}
	*id = got
	return nil
}

// badRequest returns an error of read as one that has a status: its own, that of a call which read made, or 400.
func badRequest(err error) error {
	if failed := (*graph.SaverError)(nil); errors.As(err, &failed) || Status(err) != http.StatusInternalServerError {
		return err
	}
	return &StatusError{http.StatusBadRequest, err.Error()}
}

func refuse(w http.ResponseWriter, err error) { http.Error(w, text(err), Status(err)) }

// serve answers one request. An error means that nothing has been written.
func (h *Hub[S, U]) serve(w http.ResponseWriter, r *http.Request, c Call[U]) error {
	if !canFlush(w) {
		return errCannotFlush
	}
	s := &stream[S, U]{hub: h, thread: c.Thread, out: newWriter(w, h.opt.writeTimeout)}
	if r.Method != http.MethodPost {
		// The newest checkpoint is looked up before the thread is followed: what is told from then on is that one or later.
		newest, err := h.newest(r.Context(), c.Thread)
		if err != nil {
			return err
		}
		if r.Method == http.MethodHead {
			s.out.header()
			return nil
		}
		s.after, s.from, s.behind = c.After, newest, true
	}
	s.follower = h.join(c.Thread)
	defer h.leave(c.Thread, s.follower)
	if r.Method == http.MethodPost {
		if err := h.post(r.Context(), c, s.follower); err != nil {
			return err
		}
	}
	s.follow(r.Context())
	return nil
}

// post starts or resumes a run, which f follows.
func (h *Hub[S, U]) post(ctx context.Context, c Call[U], f *follower) error {
	if !h.opt.withClient {
		ctx = context.WithoutCancel(ctx)
	}
	if c.Input != nil {
		return h.start(c.Thread, f, h.invoke(ctx, c.Thread, *c.Input, c.Invoke))
	}
	return h.start(c.Thread, f, h.resume(ctx, c.Thread, c.Resume))
}

// newest returns the thread's newest checkpoint.
func (h *Hub[S, U]) newest(ctx context.Context, thread string) (checkpoint.ID, error) {
	for snap, err := range h.app.Thread(thread).Checkpoints(ctx, checkpoint.Query{Limit: 1}) {
		return snap.Checkpoint, err
	}
	return checkpoint.ID{}, fmt.Errorf("graphhttp: thread %q: %w", thread, checkpoint.ErrNotFound)
}
