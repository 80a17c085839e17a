package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// server is the HTTP interface. It starts no run: each request posts a message to the thread of an
// order, and a worker of any replica takes it.
type server struct {
	app    *flow
	saver  checkpoint.Saver
	worker *worker.Worker
	log    *slog.Logger
}

func (s server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /orders/{id}", s.order)
	mux.HandleFunc("POST /orders/{id}/payment", s.pay)
	mux.HandleFunc("DELETE /orders/{id}", s.cancel)
	mux.HandleFunc("GET /orders/{id}", s.show)
	mux.HandleFunc("GET /orders", s.list)
	mux.Handle("GET /readyz", s.worker.Ready())
	mux.Handle("GET /livez", s.worker.Live())
	return http.MaxBytesHandler(mux, 10_000)
}

// numbers matches the numbers of orders. Customers choose them, so an order that is sent twice is
// one order.
var numbers = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

func (s server) order(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	var o Order
	err := json.NewDecoder(r.Body).Decode(&o)
	if err != nil || o.Item == "" || o.Quantity < 1 || o.Cents < 0 || !numbers.MatchString(id) {
		http.Error(w, `want /orders/some-number and {"item": "tea", "quantity": 2, "cents": 700}`, http.StatusBadRequest)
		return
	}
	_, err = s.app.Thread(id).Submit(r.Context(), StateUpdate{Order: state.Set(o)},
		graph.RequestID(id), graph.Title(fmt.Sprintf("%d %s", o.Quantity, o.Item)), graph.Label("item", o.Item))
	s.accepted(w, r, err)
}

// pay is called by the bank. The payment can overtake its order.
func (s server) pay(w http.ResponseWriter, r *http.Request) {
	var p Payment
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.Card == "" {
		http.Error(w, `want {"card": "4000"}`, http.StatusBadRequest)
		return
	}
	id := r.PathValue("id")
	err := s.app.Thread(id).Signal(r.Context(), paid.With(p, graph.RequestID("payment-"+id)))
	s.accepted(w, r, err)
}

// cancel ends what runs for the order, and begins the run that undoes it.
func (s server) cancel(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	_, err := s.app.Thread(id).Submit(r.Context(), StateUpdate{Cancelled: state.Set(true)},
		graph.RequestID("cancel-"+id), graph.CancelPending("the customer has cancelled"))
	s.accepted(w, r, err)
}

// view is an order as customers see it.
type view struct {
	ID      string    `json:"id"`
	Status  string    `json:"status"` // of the thread; done if the order has ended
	Outcome Outcome   `json:"outcome"`
	Order   Order     `json:"order"`
	PayBy   time.Time `json:"pay_by,omitzero"`
	Log     []string  `json:"log"`
}

// waits is how long a request with wait stays open for the end of its order.
const waits = 5 * time.Second

// show shows an order: as it is, or with wait when it has ended.
func (s server) show(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	order := s.app.Thread(id)
	if r.URL.Query().Has("wait") {
		ctx, cancel := context.WithTimeout(r.Context(), waits)
		_, err := order.Result(ctx)
		cancel()
		s.log.Debug("waited", "order", id, "err", err) // what is stored says how it has ended
	}
	snap, err := order.State(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v := view{
		ID: snap.Thread, Status: snap.Status.String(), Outcome: snap.State.Outcome, Order: snap.State.Order, Log: snap.State.Log,
	}
	for _, waits := range snap.Signals {
		v.PayBy = waits.Expires
	}
	s.write(w, http.StatusOK, v)
}

// list shows the numbers of the orders, or of those for one item, newest first and a page at a
// time. It reads an index and no states.
func (s server) list(w http.ResponseWriter, r *http.Request) {
	q := checkpoint.ThreadQuery{Graph: name, After: r.FormValue("after"), Limit: 1000}
	if q.After != "" {
		c, err := s.saver.Load(r.Context(), checkpoint.Ref{Thread: q.After})
		if err == nil && c.Thread.Created.IsZero() {
			err = checkpoint.ErrNotFound
		}
		if err != nil {
			s.fail(w, r, err)
			return
		}
		q.AfterCreated = c.Thread.Created
	}
	if item := r.FormValue("item"); item != "" {
		q.Labels = map[string]string{"item": item}
	}
	ids := []string{}
	for t, err := range s.saver.Threads(r.Context(), q) {
		if err != nil {
			s.fail(w, r, err)
			return
		}
		ids = append(ids, t.ID)
	}
	s.write(w, http.StatusOK, ids)
}

// accepted answers a request that posted a message.
func (s server) accepted(w http.ResponseWriter, r *http.Request, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

func (s server) fail(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, checkpoint.ErrNotFound):
		http.Error(w, "no such order", http.StatusNotFound)
	case errors.Is(err, checkpoint.ErrInboxFull):
		http.Error(w, "too many requests for this order", http.StatusTooManyRequests)
	default:
		s.log.Error("request", "method", r.Method, "path", r.URL.Path, "err", err)
		http.Error(w, "try again later", http.StatusServiceUnavailable)
	}
}

func (s server) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.log.Debug("the client has gone", "err", err)
	}
}
