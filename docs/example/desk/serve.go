package desk

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// NewServer serves runs at /runs/{id}: POST starts or resumes a run, GET follows it. Drain the
// graph before Shutdown.
func NewServer(app *graph.Graph[State, StateUpdate], report func(thread string, err error)) *http.Server {
	hub := graphhttp.New(app, encode, graphhttp.OnError(report))
	mux := http.NewServeMux()
	mux.Handle("/runs/{id}", hub.Handler(func(r *http.Request) (graphhttp.Request[StateUpdate], error) {
		c := graphhttp.Request[StateUpdate]{Thread: r.PathValue("id")}
		if order := r.FormValue("order"); order != "" {
			c.Input = &StateUpdate{Order: state.Set(order)}
		}
		return c, nil
	}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	server.RegisterOnShutdown(hub.Close) // streams end, and clients connect to the successor
	return server
}

// encode returns the message that clients get for an event.
func encode(e graph.Event[State, StateUpdate], err error) (graphhttp.Message, error) {
	var name string
	var v any
	switch e.Kind {
	case graph.EventCustom:
		name, v = "token", e.Custom
	case graph.EventCheckpoint:
		name, v = "checkpoint", e.State.Log
	case graph.EventRunEnded:
		name, v = "end", e.Result.Status.String()
		if err != nil && !errors.Is(err, graph.ErrDraining) {
			v = "failed" // the cause belongs in the log
		}
	default:
		return graphhttp.Message{}, nil // not sent
	}
	data, err := json.Marshal(v)
	return graphhttp.Message{Name: name, Data: data}, err
}
