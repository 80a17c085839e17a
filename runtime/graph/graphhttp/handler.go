package graphhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Request is the part of an HTTP request that the Hub needs: the thread and the operation.
type Request[U any] struct {
	// Thread is the ID of the thread. The read function must have checked that the client may
	// access it. For a thread of another user, read returns checkpoint.ErrNotFound: the response
	// is then the same as for a thread that does not exist.
	Thread string
	// After is the newest checkpoint that the client has. The Last-Event-ID header takes
	// precedence: it also has the last custom event. If After is zero, the stream of a GET begins
	// with the newest checkpoint. If the page was rendered from a checkpoint, set After to that
	// checkpoint. A POST ignores After: its stream begins with its run.
	After checkpoint.ID
	// Input starts a run on a POST, with the options of Invoke. If Input is nil, the POST resumes
	// the thread with the options of Resume, which include the answers.
	Input  *U
	Invoke []graph.InvokeOption
	Resume []graph.ResumeOption
}

// StatusError is an error with an HTTP status, for the read function of a Handler to return.
type StatusError struct {
	Status int    // the status of the response
	Text   string // the body of the response
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("graphhttp: status %d: %s", e.Status, e.Text)
}

// Status returns the HTTP status for the error of a run that could not be opened:
//   - 409 if the state of the thread does not allow the call: graph.ErrNotAsked,
//     graph.ErrUnfinished, graph.ErrReleased, checkpoint.ErrConflict, *checkpoint.BusyError,
//     *graph.CancelledError, *graph.RefusedError, *graph.NoReplyError
//   - 404 for checkpoint.ErrNotFound
//   - 400 for a *checkpoint.InvalidError
//   - 422 for a *graph.AnswerError
//   - 503 for graph.ErrDraining
//   - the status of a *StatusError
//   - 500 for all other errors
func Status(err error) int {
	var (
		own       *StatusError
		invalid   *checkpoint.InvalidError
		cancelled *graph.CancelledError
		refused   *graph.RefusedError
		silent    *graph.NoReplyError
		wrong     *graph.AnswerError
	)
	switch {
	case errors.As(err, &own):
		return own.Status
	case errors.As(err, &wrong):
		return http.StatusUnprocessableEntity
	case errors.Is(err, graph.ErrNotAsked), errors.Is(err, graph.ErrUnfinished), errors.Is(err, graph.ErrReleased),
		errors.Is(err, checkpoint.ErrConflict), errors.As(err, &cancelled), errors.As(err, &refused),
		errors.As(err, &silent):
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

// text returns the body for Status(err). It names the class of the error and reveals no details.
func text(err error) string {
	var own *StatusError
	if errors.As(err, &own) {
		return own.Text
	}
	if wrong := (*graph.AnswerError)(nil); errors.As(err, &wrong) {
		return wrong.Err.Error() // the check wrote it for the person who answers
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

// Handler returns a handler for the threads that read names. GET follows a thread. POST starts or
// resumes a run and follows that run. HEAD returns the header that a GET would get.
//
// If read returns an error with a *StatusError or an error of a graph or saver, the response has
// the Status of that error. For all other errors of read the response is 400 with the error's
// text. If a run cannot be opened, the response has the Status of the error. Later errors are part
// of the stream.
//
// An EventSource reconnects when its connection breaks, but any status except 200 stops it
// permanently. If a GET fails because of the server, the handler therefore sends a stream with one
// event named broken. The client reconnects after five seconds. An example is a saver that does
// not answer. A GET for a thread that does not exist returns 404, so start the thread first.
//
// Pages should close their EventSource on an EventRunEnded; otherwise they reconnect and receive
// the EventRunEnded again. A page that must survive the 502 of a proxy must open another
// EventSource when one is CLOSED.
//
// Streams outlive the ReadTimeout and WriteTimeout of the server. The ResponseWriter must be able
// to flush: middleware that wraps it must have the method Unwrap, as for http.ResponseController.
// http.TimeoutHandler does not work. If the ResponseWriter cannot flush, the response is 500, no
// run starts, and OnError receives the reason.
//
// The end of the request does not cancel the run. The run keeps the values of the request's
// context.
func (h *Hub[S, U]) Handler(read func(r *http.Request) (Request[U], error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodPost && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD, POST")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		c, err := read(r)
		var seq uint64
		if err == nil {
			seq, err = h.lastEvent(r, &c.After)
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
		if err := h.serve(w, r, c, seq); err != nil {
			h.fail(w, r, c.Thread, err)
		}
	})
}

// errCannotFlush reports a ResponseWriter that would hold events until the end of the stream.
var errCannotFlush = errors.New("graphhttp: the ResponseWriter cannot flush: middleware that wraps it must have Unwrap or Flush, " +
	"and http.TimeoutHandler has neither")

// fail answers a request that has no response yet. If the client did not cause the error, the
// response is a stream, so that an EventSource reconnects.
func (h *Hub[S, U]) fail(w http.ResponseWriter, r *http.Request, thread string, err error) {
	if Status(err) != http.StatusInternalServerError {
		refuse(w, err)
		return
	}
	if r.Context().Err() == nil { // a client that left is not an error
		h.opt.report(thread, err)
	}
	if r.Method != http.MethodGet || errors.Is(err, errCannotFlush) || !canFlush(w) {
		refuse(w, err)
		return
	}
	if out := newWriter(w, h.opt.writeTimeout); out.begin() == nil {
		_ = out.send(broken) // a client that has left reconnects too
	}
}

// turnAway answers a request that arrives after Close. An EventSource stops permanently on a
// status other than 200, but reconnects to a stream that ends.
func (h *Hub[S, U]) turnAway(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		_ = newWriter(w, h.opt.writeTimeout).begin() // a client that has left reconnects too
		return
	}
	refuse(w, &StatusError{http.StatusServiceUnavailable, "the server is shutting down"})
}

// eventID returns the id of a custom event: the newest checkpoint that the client has, the Hub,
// and the number of the event there.
func eventID(after checkpoint.ID, hub string, seq uint64) string {
	return after.String() + "." + hub + "." + strconv.FormatUint(seq, 10)
}

// lastEvent reads the id of the last event that the client got: a checkpoint, or a custom event.
// seq is the number of the custom event; 0 for none, or if another Hub has sent it.
func (h *Hub[S, U]) lastEvent(r *http.Request, id *checkpoint.ID) (seq uint64, err error) {
	s := r.Header.Get("Last-Event-ID")
	if s == "" {
		return 0, nil
	}
	s, custom, _ := strings.Cut(s, ".")
	*id = checkpoint.ID{}
	if custom == "" || s != id.String() {
		if *id, err = checkpoint.ParseID(s); err != nil {
			return 0, &StatusError{http.StatusBadRequest, "Last-Event-ID is not the id of an event of a thread"}
		}
	}
	if hub, number, _ := strings.Cut(custom, "."); hub == h.name {
		seq, _ = strconv.ParseUint(number, 10, 64) // 0 for what no Hub has sent
	}
	return seq, nil
}

// badRequest gives an error of read a status: its own, that of a call that read made, or 400.
func badRequest(err error) error {
	if failed := (*graph.SaverError)(nil); errors.As(err, &failed) || Status(err) != http.StatusInternalServerError {
		return err
	}
	return &StatusError{http.StatusBadRequest, err.Error()}
}

func refuse(w http.ResponseWriter, err error) { http.Error(w, text(err), Status(err)) }

// serve answers one request. If it returns an error, it has written nothing.
// seq is the number of the client's last message; 0 for none.
func (h *Hub[S, U]) serve(w http.ResponseWriter, r *http.Request, c Request[U], seq uint64) error {
	if !canFlush(w) {
		return errCannotFlush
	}
	s := &stream[S, U]{hub: h, thread: c.Thread, out: newWriter(w, h.opt.writeTimeout)}
	if r.Method != http.MethodPost {
		// Look up the newest checkpoint before following the thread: all later messages are about
		// this checkpoint or newer ones.
		newest, err := h.newest(r.Context(), c.Thread)
		if err != nil {
			return err
		}
		if r.Method == http.MethodHead {
			s.out.header()
			return nil
		}
		s.after, s.from, s.seq, s.behind = c.After, newest, seq, true
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

// post starts or resumes a run. f follows the run.
func (h *Hub[S, U]) post(ctx context.Context, c Request[U], f *follower) error {
	if !h.opt.withClient {
		ctx = context.WithoutCancel(ctx)
	}
	if c.Input != nil {
		return h.start(c.Thread, f, h.invoke(ctx, c.Thread, *c.Input, c.Invoke))
	}
	return h.start(c.Thread, f, h.resume(ctx, c.Thread, c.Resume))
}

// newest returns the newest checkpoint of the thread; zero if its first input waits.
func (h *Hub[S, U]) newest(ctx context.Context, thread string) (checkpoint.ID, error) {
	for snap, err := range h.app.Thread(thread).History(ctx, checkpoint.Query{Limit: 1, Headers: true}) {
		return snap.Checkpoint, err
	}
	if _, err := h.app.Thread(thread).Describe(ctx); err != nil {
		return checkpoint.ID{}, fmt.Errorf("graphhttp: thread %q: %w", thread, err)
	}
	return checkpoint.ID{}, nil
}
