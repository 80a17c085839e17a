package howto

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// order is a thread as clients see it.
type order struct {
	Order     string               `json:"order"`
	Status    graph.Status         `json:"status"`
	Head      checkpoint.ID        `json:"head"`
	Paid      bool                 `json:"paid"`
	Questions []graph.OpenQuestion `json:"questions,omitempty"`
	Reason    string               `json:"reason,omitempty"` // why it failed
}

// NewOrders serves refunds of orders. A worker runs them.
func NewOrders(app *graph.Graph[State, StateUpdate], saver checkpoint.Saver) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, serve func(r *http.Request) (status int, body any, err error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			status, body, err := serve(r)
			if err != nil {
				status, body = statusOf(err), map[string]string{"error": err.Error()}
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body) // an error is that of the client's connection
		})
	}
	handle("PUT /orders/{order}", func(r *http.Request) (int, any, error) {
		cents, err := strconv.ParseInt(r.FormValue("cents"), 10, 64)
		if err != nil {
			return 0, nil, &graphhttp.StatusError{Status: http.StatusBadRequest, Text: "cents is no number"}
		}
		name := r.PathValue("order")
		in := StateUpdate{Order: state.Set(name), Cents: state.Set(cents)}
		done, err := app.Thread("order-"+name).Submit(r.Context(), in, graph.RequestID(name))
		return http.StatusAccepted, done, err
	})
	handle("GET /orders/{order}", func(r *http.Request) (int, any, error) {
		snap, err := app.Thread("order-" + r.PathValue("order")).State(r.Context())
		return http.StatusOK, order{
			Order: snap.State.Order, Status: snap.Status, Head: snap.Checkpoint, Paid: snap.State.Paid, Questions: snap.Questions, Reason: snap.Reason,
		}, err
	})
	handle("GET /orders", func(r *http.Request) (int, any, error) {
		q := checkpoint.ThreadQuery{Order: checkpoint.NewestFirst, Prefix: "order-", After: r.FormValue("after"), Limit: 100}
		q.AfterCreated, _ = time.Parse(time.RFC3339Nano, r.FormValue("created"))
		if err := errors.Join(q.Status.UnmarshalText([]byte(r.FormValue("status"))), q.Check()); err != nil {
			return 0, nil, &graphhttp.StatusError{Status: http.StatusBadRequest, Text: err.Error()}
		}
		threads := []checkpoint.Thread{}
		for t, err := range saver.Threads(r.Context(), q) {
			if err != nil {
				return 0, nil, err
			}
			threads = append(threads, t)
		}
		return http.StatusOK, threads, nil
	})
	handle("POST /orders/{order}/answers/{id...}", func(r *http.Request) (int, any, error) {
		a := Approval{OK: r.FormValue("ok") == "true", By: r.FormValue("by")}
		seen := graph.OpenQuestion{ID: r.PathValue("id"), Question: "approve"}
		err := app.Thread("order-"+r.PathValue("order")).Answer(r.Context(), approve.Answer(seen, a))
		return http.StatusAccepted, a, err
	})
	handle("DELETE /orders/{order}", func(r *http.Request) (int, any, error) {
		return http.StatusAccepted, nil, app.Thread("order-"+r.PathValue("order")).Cancel(r.Context(), r.FormValue("reason"))
	})
	return mux
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	busy := []error{checkpoint.ErrInboxFull, checkpoint.ErrUnavailable}
	if slices.ContainsFunc(busy, func(known error) bool { return errors.Is(err, known) }) {
		return http.StatusServiceUnavailable // the client can repeat the request
	}
	return graphhttp.Status(err)
}
