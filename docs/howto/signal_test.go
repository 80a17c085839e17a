package howto

import (
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestAPaymentThatComesTooEarlyIsNotLost(t *testing.T) {
	g := graph.New("pay", StateSchema)
	g.Node("pay", awaitPayment, paid)
	g.Edge(graph.Start, "pay")
	g.Edge("pay", graph.End)
	app, err := g.Compile(graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the provider repeats its event
		if err := onPayment(t.Context(), app, "A-1", "evt_1", "R-7"); err != nil {
			t.Fatal(err)
		}
	}
	res, err := app.Thread("A-1").Invoke(t.Context(), StateUpdate{Order: state.Set("A-1")})
	if want := []string{"paid: R-7"}; err != nil || res.Status != graph.Done || !slices.Equal(res.State.Log, want) {
		t.Errorf("the thread is %s with %q, %v; want it done with %q", res.Status, res.State.Log, err, want)
	}
	if in, err := app.Thread("A-1").Inbox(t.Context()); err != nil || len(in.Waiting) != 0 {
		t.Errorf("got %d messages, %v; want none", len(in.Waiting), err)
	}
}
