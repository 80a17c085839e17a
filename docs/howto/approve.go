package howto

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
)

var approve = graph.NewQuestion[Refund, Approval]("approve").Check(func(asked Refund, a Approval) error {
	if a.OK && a.By == "" {
		return fmt.Errorf("the refund of %d cents needs the name of the person who approves it", asked.Cents)
	}
	return nil
})

// NewRefunds returns a graph that asks before it pays.
func NewRefunds(saver checkpoint.Saver, opts ...graph.Option) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("refunds", StateSchema)
	g.Node("pay", pay, approve)
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	return g.Compile(append(opts, graph.Saver(saver))...)
}

func pay(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	answer, err := approve.Ask(ctx, Refund{Order: s.Order, Cents: s.Cents})
	if err != nil {
		return u, err
	}
	u.Paid.Set(answer.OK)
	u.Log.Append("decided by " + answer.By)
	return u, nil
}

// open is an open question, as clients see it.
type open struct {
	Thread string `json:"thread"`
	ID     string `json:"id"`
	Asked  Refund `json:"asked"`
}

// NewApprovals serves the open questions at GET /questions, and answers at POST
// /threads/{thread}/answers/{id...}.
func NewApprovals(app *graph.Graph[State, StateUpdate], saver checkpoint.Saver) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /questions", func(w http.ResponseWriter, r *http.Request) {
		all, err := list(r.Context(), saver)
		if err != nil {
			http.Error(w, err.Error(), graphhttp.Status(err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(all) // an error is that of the client's connection
	})
	mux.HandleFunc("POST /threads/{thread}/answers/{id...}", func(w http.ResponseWriter, r *http.Request) {
		var a Approval
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&a); err != nil {
			http.Error(w, "the body is not an answer: "+err.Error(), http.StatusBadRequest)
			return
		}
		// The id names the question that the person has seen. Resume checks that it is still open.
		seen := graph.OpenQuestion{ID: r.PathValue("id"), Question: "approve"}
		ctx := context.WithoutCancel(r.Context())
		_, err := app.Thread(r.PathValue("thread")).Resume(ctx, approve.Answer(seen, a))
		wrong := (*graph.AnswerError)(nil)
		switch {
		case errors.As(err, &wrong):
			http.Error(w, wrong.Err.Error(), graphhttp.Status(err)) // 422, and the question stays open
		case errors.Is(err, graph.ErrNotAsked), errors.Is(err, checkpoint.ErrConflict):
			http.Error(w, "the question is not open any more", http.StatusConflict)
		case err != nil:
			http.Error(w, err.Error(), graphhttp.Status(err))
		}
	})
	return mux
}

// list returns the open questions of all threads. It reads no states.
func list(ctx context.Context, saver checkpoint.Saver) ([]open, error) {
	var all []open
	for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Status: checkpoint.Waiting}) {
		if err != nil {
			return nil, err
		}
		questions, err := graph.OpenQuestions(t)
		if err != nil {
			return nil, err
		}
		for _, q := range questions {
			asked, err := approve.Decode(q)
			if err != nil {
				return nil, err
			}
			all = append(all, open{t.ID, q.ID, asked})
		}
	}
	return all, nil
}
