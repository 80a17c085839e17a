package graphhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// ResultRequest is the part of an HTTP request that a ResultHandler needs.
type ResultRequest struct {
	Thread string // as in Request
	// Wait is the longest time for which the request waits. Zero is 30 seconds, and values of more
	// than a minute count as a minute, because proxies close idle connections.
	Wait    time.Duration
	Options []graph.ResultOption // such as graph.RequestID with the id of the input
}

// The longest wait of a request for a result: by default, and of all.
const (
	defaultWait = 30 * time.Second
	longestWait = time.Minute
)

// ResultHandler returns a handler for GET that waits for a result, as graph.Thread.Result does.
// Any process can run the thread.
//
// When the work has ended, the response is 200. Its body is what the Encoder returns for an
// EventRunEnded with the Result and the error of the run. When the time is up, or the Hub is
// closed, the response is 202 with Retry-After and without a body: the client repeats the request.
// Other errors have the response of Status, such as 404 for a thread or an input that does not
// exist. Errors of read count as in Handler.
func (h *Hub[S, U]) ResultHandler(read func(r *http.Request) (ResultRequest, error)) http.Handler {
	return h.await(http.MethodGet, func(r *http.Request) (AskRequest, error) {
		c, err := read(r)
		return AskRequest{c.Thread, c.Wait, func(ctx context.Context) ([]byte, error) {
			res, err := h.app.Thread(c.Thread).Result(ctx, c.Options...)
			if res.Status == 0 {
				return nil, err
			}
			m, fault := h.encoded(graph.Event[S, U]{
				RunEvent: graph.RunEvent{Kind: graph.EventRunEnded, Thread: c.Thread, Status: res.Status}, Result: &res,
			}, err)
			if fault != nil {
				return nil, fmt.Errorf("graphhttp: thread %q: encode the result: %w", c.Thread, fault)
			}
			return m.Data, nil
		}}, err
	})
}

// AskRequest is the part of an HTTP request that an AskHandler needs.
type AskRequest struct {
	Thread string        // as in Request
	Wait   time.Duration // as in ResultRequest
	// Ask asks the thread and returns the body of the response. It calls ReplySignal.Ask with a
	// graph.RequestID that the client chooses, so that a repeated request sends nothing.
	Ask func(ctx context.Context) (body []byte, err error)
}

// AskHandler returns a handler for POST that asks a thread, as graph.ReplySignal.Ask does, and
// waits for the reply. Any process can run the thread.
//
// The response with the reply is 200. When the time is up, or the Hub is closed, the response is
// 202, as with ResultHandler. The client then repeats the request with the same id. Errors of read
// and of Ask count as in ResultHandler, such as 409 for a *graph.NoReplyError.
func (h *Hub[S, U]) AskHandler(read func(r *http.Request) (AskRequest, error)) http.Handler {
	return h.await(http.MethodPost, read)
}

// await returns a handler for requests that wait.
func (h *Hub[S, U]) await(method string, read func(r *http.Request) (AskRequest, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method {
			w.Header().Set("Allow", method)
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		c, err := read(r)
		if err != nil {
			h.failResult(w, r, c.Thread, badRequest(err))
			return
		}
		if c.Wait <= 0 {
			c.Wait = defaultWait
		}
		ctx, cancel := context.WithTimeout(r.Context(), min(c.Wait, longestWait))
		defer cancel()
		go func() {
			select {
			case <-h.closing:
				cancel()
			case <-ctx.Done():
			}
		}()
		body, err := c.Ask(ctx)
		switch {
		case err == nil:
			w.Header().Set("Cache-Control", "no-store")
			_, _ = w.Write(body) // a client that has left asks again
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusAccepted)
		default:
			h.failResult(w, r, c.Thread, err)
		}
	})
}

// failResult answers a request for a result with an error, and reports that of the server.
func (h *Hub[S, U]) failResult(w http.ResponseWriter, r *http.Request, thread string, err error) {
	if Status(err) == http.StatusInternalServerError && r.Context().Err() == nil {
		h.opt.report(thread, err)
	}
	refuse(w, err)
}
