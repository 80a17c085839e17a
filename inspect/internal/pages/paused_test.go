package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// A worker keeps a static stop. So the pages do not offer to wake a paused thread, and say where
// it stops.
func TestAPausedThreadIsNotWoken(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver, graph.InterruptBefore("approve"))
	if res, err := app.Thread("order-1").Invoke(t.Context(), order("Ada")); err != nil || res.Status != checkpoint.Paused {
		t.Fatalf("got %v, %v", res.Status, err)
	}
	f := &fixture{site: serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app), saver: saver, app: app}
	f.has("thread?id=order-1", "<dt>Stopped</dt><dd>before approve", "a worker does not", `value="resume"`)
	f.lacks("thread?id=order-1", `value="wake"`)
	if status, body := f.act(inspect.Wake, "order-1"); status != http.StatusConflict || !strings.Contains(body, "keeps the stop") {
		t.Errorf("wake: got %d: %s", status, body)
	}
	form := url.Values{"action": {"wake"}, "confirm": {"wake"}}
	ended(t, f.site, http.Header{}, jobOf(t, f.site, http.Header{}, form))
	f.has("bulk?action=wake", "paused threads stay as they are")
	if f.due("order-1") || f.stored("order-1").Posted != 0 {
		t.Error("a paused thread was woken")
	}

	// Another tool wakes it, and a worker takes it.
	post := checkpoint.Post{Thread: "order-1", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.WakeMessage}}}
	if _, err := saver.Post(t.Context(), post); err != nil {
		t.Fatal(err)
	}
	runDue(t, app, saver, "order-1")
	if got := f.stored("order-1").Status; got != checkpoint.Paused {
		t.Errorf("a worker made the thread %v, want paused", got)
	}
	if status, body := f.act(inspect.Resume, "order-1"); status != http.StatusOK {
		t.Fatalf("resume: got %d: %s", status, body)
	}
	if err := app.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := f.stored("order-1").Status; got != checkpoint.Waiting {
		t.Errorf("after a resume the thread is %v, want waiting", got)
	}
	f.has("thread?id=order-1", `value="wake"`)
}
