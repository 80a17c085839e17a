package howto_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestServeRunsAThreadThatAShutdownInterrupted(t *testing.T) {
	saver := memory.New()
	var first *graph.Graph[howto.State, howto.StateUpdate]
	first = newSteps(t, saver, func() {})
	node := graph.New("steps", howto.StateSchema)
	node.Node("first", func(ctx context.Context, _ howto.State) (howto.StateUpdate, error) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		_ = first.Drain(ctx) // the shutdown; it does not wait for this node
		return howto.StateUpdate{}, nil
	})
	node.Node("second", func(context.Context, howto.State) (howto.StateUpdate, error) { return howto.StateUpdate{}, nil })
	node.Edge(graph.Start, "first")
	node.Edge("first", "second")
	node.Edge("second", graph.End)
	var err error
	if first, err = node.Compile(graph.Saver(saver)); err != nil {
		t.Fatal(err)
	}
	res, err := first.Thread("t").Invoke(t.Context(), howto.StateUpdate{})
	if err != nil || res.Status != checkpoint.Ready {
		t.Fatalf("got %s, %v; want the thread ready", res.Status, err)
	}

	ran := make(chan struct{})
	w := howto.NewWorker(saver, newSteps(t, saver, func() { close(ran) }))
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", w.Ready())
	mux.Handle("GET /livez", w.Live())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- howto.Serve(ctx, &http.Server{Handler: mux}, l, w) }()
	<-ran
	for _, path := range []string{"/readyz", "/livez"} {
		got, err := http.Get("http://" + l.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if got.StatusCode != http.StatusOK {
			t.Errorf("%s: got %s, want 200", path, got.Status)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	snap, err := first.Thread("t").State(t.Context())
	if err != nil || snap.Status != checkpoint.Done {
		t.Errorf("got the thread %s, %v; want it done", snap.Status, err)
	}
}
