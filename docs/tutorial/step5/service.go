package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// service serves refunds. A refund is a thread.
type service struct {
	app   *graph.Graph[State, StateUpdate]
	saver checkpoint.Saver
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /refunds/{order}", s.create)
	mux.HandleFunc("POST /refunds/{order}/answer", s.answer)
	mux.HandleFunc("GET /refunds/{order}", s.show)
	return mux
}

// create starts a refund. The order is also the request id, so a repeated request starts no second
// run.
func (s *service) create(w http.ResponseWriter, r *http.Request) {
	order := r.PathValue("order")
	ctx := context.WithoutCancel(r.Context()) // a client that disconnects does not stop the run
	_, err := s.app.Thread(order).Invoke(ctx, StateUpdate{Order: state.Set(order)}, graph.RequestID(order))
	s.reply(w, r, err)
}

// answer answers the open questions of a refund and resumes it.
func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	thread := s.app.Thread(r.PathValue("order"))
	snap, err := thread.State(r.Context())
	if err != nil {
		s.reply(w, r, err)
		return
	}
	var answers []graph.ResumeOption
	for _, q := range snap.Questions {
		answers = append(answers, approve.Answer(q, Approval{OK: r.FormValue("ok") == "true", By: r.FormValue("by")}))
	}
	_, err = thread.Resume(context.WithoutCancel(r.Context()), answers...)
	s.reply(w, r, err)
}

func (s *service) show(w http.ResponseWriter, r *http.Request) { s.reply(w, r, nil) }

// reply writes the current state of a refund, or the status code for an error.
func (s *service) reply(w http.ResponseWriter, r *http.Request, err error) {
	snap, stateErr := s.app.Thread(r.PathValue("order")).State(r.Context())
	if err = errors.Join(err, stateErr); err != nil {
		log.Print(r.Method, " ", r.URL.Path, ": ", err)
		http.Error(w, http.StatusText(graphhttp.Status(err)), graphhttp.Status(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(map[string]any{"status": snap.Status.String(), "log": snap.State.Log}); err != nil {
		log.Print(err)
	}
}

// sweep resumes, again and again, the refunds whose process was killed or shut down.
func (s *service) sweep(ctx context.Context, pause time.Duration) {
	for {
		for _, status := range []checkpoint.Status{checkpoint.Ready, checkpoint.Running} {
			s.resume(ctx, status)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// resume resumes the threads that have the given status and are not held by a run.
func (s *service) resume(ctx context.Context, status checkpoint.Status) {
	for t, err := range s.saver.Threads(ctx, checkpoint.ThreadQuery{Status: status, IdleSince: time.Now()}) {
		if err != nil {
			log.Print("sweep: ", t.ID, " ", err)
			continue
		}
		go func() {
			if _, err := s.app.Thread(t.ID).Resume(context.WithoutCancel(ctx)); err != nil {
				log.Print("sweep: ", t.ID, " ", err)
				return
			}
			log.Print("resumed ", t.ID)
		}()
	}
}
