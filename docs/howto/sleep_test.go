package howto

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestANodeWaitsForAWeekAndForAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := graph.New("remind", StateSchema)
		g.Node("remind", remind)
		g.Node("confirm", awaitConfirmation, confirm)
		g.Edge(graph.Start, "remind")
		g.Edge("remind", "confirm")
		g.Edge("confirm", graph.End)
		app, err := g.Compile(graph.Saver(memory.New()))
		if err != nil {
			t.Fatal(err)
		}
		thread := app.Thread("t-1")
		res, err := thread.Invoke(t.Context(), StateUpdate{Order: state.Set("A-1")})
		for _, wait := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour} {
			if err != nil || res.Status != graph.Waiting {
				t.Fatalf("the thread is %s, %v; want it waiting", res.Status, err)
			}
			time.Sleep(wait)
			res, err = thread.Resume(t.Context())
		}
		want := []string{"reminded the customer of A-1", "cancelled: nobody answered"}
		if err != nil || res.Status != graph.Done || !slices.Equal(res.State.Log, want) {
			t.Errorf("the thread is %s with %q, %v; want it done with %q", res.Status, res.State.Log, err, want)
		}
	})
}
