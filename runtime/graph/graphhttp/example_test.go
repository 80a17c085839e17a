package graphhttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphhttp"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

//go:generate go tool graphgen -type=Letter

// Letter is the state of a graph that writes a letter.
type Letter struct {
	To    string
	Lines []string `graph:"append"`
}

// A POST runs a graph and gets its events.
func ExampleNew() {
	g := graph.New("letter", LetterSchema)
	g.Node("write", func(_ context.Context, l Letter) (LetterUpdate, error) {
		return LetterUpdate{Lines: state.Append("Dear " + l.To + ",")}, nil
	})
	g.Edge(graph.Start, "write")
	g.Edge("write", graph.End)
	app, err := g.Compile(graph.Saver(memory.New()))
	if err != nil {
		log.Fatal(err)
	}

	encode := func(e graph.Event[Letter, LetterUpdate], _ error) (graphhttp.Message, error) {
		switch e.Kind {
		case graph.EventCheckpoint:
			data, err := json.Marshal(e.State.Lines)
			return graphhttp.Message{Name: "lines", Data: data}, err
		case graph.EventRunEnded:
			return graphhttp.Message{Name: "end", Data: []byte(e.Result.Status.String())}, nil
		}
		return graphhttp.Message{}, nil // not sent
	}
	hub := graphhttp.New(app, encode)
	mux := http.NewServeMux()
	mux.Handle("/letters/{id}", hub.Handler(func(r *http.Request) (graphhttp.Request[LetterUpdate], error) {
		return graphhttp.Request[LetterUpdate]{
			Thread: r.PathValue("id"),
			Input:  &LetterUpdate{To: state.Set(r.FormValue("to"))},
		}, nil
	}))

	server := httptest.NewServer(mux)
	defer server.Close()
	res, err := http.Post(server.URL+"/letters/l-1?to=Ada", "", nil) //nolint:noctx // an example
	if err != nil {
		log.Fatal(err)
	}
	defer res.Body.Close()
	events, err := io.ReadAll(res.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(events) > 0, res.Header.Get("Content-Type"))
	// Output: true text/event-stream
}
