package pages_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// packing returns a shop that asks nobody.
func packing(t *testing.T, saver checkpoint.Saver) *shop {
	t.Helper()
	g := graph.New("shop", ShopSchema)
	g.Node("pack", note("packed"))
	g.Chain(graph.Start, "pack", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// TestTheResultOfAnInputIsACheckpoint submits two inputs and waits: the result of the first one
// stays the same after the second one has begun.
func TestTheResultOfAnInputIsACheckpoint(t *testing.T) {
	saver := newSaver(t)
	app := packing(t, saver)
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	th := app.Thread("order-1")
	for _, name := range []string{"Ada", "Bob"} {
		if _, err := th.Submit(t.Context(), order(name), graph.RequestID(name)); err != nil {
			t.Fatal(err)
		}
		runDue(t, app, saver, "order-1")
	}
	for request, want := range map[string]string{"Ada": "Ada", "Bob": "Bob", "": "Bob"} {
		address := "result?id=order-1"
		if request != "" {
			address += "&request=" + request
		}
		body := s.has(address, "This checkpoint is its result.", want)
		if want == "Ada" && strings.Contains(body, "Bob") {
			t.Errorf("the result of the first input has data of the second one:\n%s", body)
		}
	}
	begin(t, newShop(t, saver), "order-3", "Cleo")
	s.has("result?id=order-3", "The work has not ended.", "Waits for")
	s.has("thread?id=order-1", `href="result?id=order-1"`)
	if status, _ := s.get("result?id=order-1&request=nobody"); status != http.StatusNotFound {
		t.Errorf("an unknown request: got status %d, want 404", status)
	}
	if status, _ := s.get("result?id=order-9"); status != http.StatusNotFound {
		t.Errorf("an unknown thread: got status %d, want 404", status)
	}
}

// TestSubmitAndWaitShowsTheResult posts the form with "Submit and wait". A worker runs the input
// meanwhile.
func TestSubmitAndWaitShowsTheResult(t *testing.T) {
	saver := newSaver(t)
	app := packing(t, saver)
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	s.has("submit?graph=shop", `name="wait" value="1"`)
	form := url.Values{"graph": {"shop"}, "id": {"order-2"}, "request": {"r"}, "json": {"{}"}, "wait": {"1"}}
	ran := make(chan error, 1)
	go func() {
		for {
			due, err := saver.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"shop"}, Limit: 10})
			for _, d := range due.Threads {
				_, failed := app.ResumeDue(t.Context(), d, graph.DueOptions{})
				err = errors.Join(err, failed)
			}
			if err != nil || len(due.Threads) > 0 {
				ran <- err
				return
			}
		}
	}()
	status, body := s.post("submit", form)
	if status != http.StatusOK || !strings.Contains(body, "This checkpoint is its result.") {
		t.Errorf("got status %d: %s", status, body)
	}
	if err := <-ran; err != nil {
		t.Error(err)
	}
}
