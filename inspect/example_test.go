package inspect_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/graphgen-go/graphgen/docs/example"
	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// The pages show the threads of a graph, below a prefix of the server.
func ExampleNew() {
	saver := memory.New()
	g := graph.New("greeting", example.StateSchema)
	g.Node("greet", func(_ context.Context, s example.State) (example.StateUpdate, error) {
		var u example.StateUpdate
		u.Log.Append("hello, " + s.Owner)
		return u, nil
	})
	g.Edge(graph.Start, "greet")
	g.Edge("greet", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := app.Thread("t-1").Invoke(context.Background(), example.StateUpdate{Owner: state.Set("Ada")}); err != nil {
		log.Fatal(err)
	}

	pages, err := inspect.New(saver, inspect.Options{}, app)
	if err != nil {
		log.Fatal(err)
	}
	defer pages.Close()
	mux := http.NewServeMux()
	mux.Handle("/inspect/", http.StripPrefix("/inspect", pages))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/inspect/thread?id=t-1", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), "hello, Ada"))
	fmt.Println(inspect.ThreadURL("https://ops.example.com/inspect/", "t-1"))
	// Output:
	// 200 true
	// https://ops.example.com/inspect/thread?id=t-1
}
