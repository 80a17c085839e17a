package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/examples/orders/partners"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/runtime/worker/workertest"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// inProcess calls a handler without a network, so that a test can use a fake clock.
type inProcess struct{ http.Handler }

func (h inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// In a bubble of synctest, the deadline of a day takes no time.
func TestAnOrderWaitsADayForItsPayment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world, saver := &partners.Partners{Latency: time.Minute}, memory.New()
		app, err := newFlow(shop{
			partners: client{"http://partners", &http.Client{Transport: inProcess{world}}}, payWithin: 24 * time.Hour,
		}, saver)
		if err != nil {
			t.Fatal(err)
		}
		order := StateUpdate{Order: state.Set(Order{Item: "tea", Quantity: 1, Cents: 350})}
		if _, err := app.Thread("a").Submit(t.Context(), order); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		workertest.RunUntilIdle(t, saver, worker.Options{}, app)
		snap, err := app.Thread("a").State(t.Context())
		if err != nil || snap.Status != graph.Done || snap.State.Outcome != Expired {
			t.Errorf("got %s with the outcome %q, %v; want it done and expired", snap.Status, snap.State.Outcome, err)
		}
		if took, want := time.Since(began), 24*time.Hour+2*time.Minute; took < want {
			t.Errorf("it ended after %s, want at least %s", took, want)
		}
		done(t, world, "a", map[string]partners.Deeds{"stock": {Done: 1, Undone: 1}, "charges": {}})
	})
}
