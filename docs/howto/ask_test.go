package howto

import (
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestAChangeOfAddressGetsAReply(t *testing.T) {
	g := graph.New("change", StateSchema)
	g.Node("change", awaitChange, changeAddress)
	g.Edge(graph.Start, "change")
	g.Edge("change", graph.End)
	app, err := g.Compile(graph.Saver(memory.New()))
	if err != nil {
		t.Fatal(err)
	}
	th := app.Thread("A-1")
	if err := th.Signal(t.Context(), changeAddress.With(wire.String("Unter den Linden 1"), graph.RequestID("form-1"))); err != nil {
		t.Fatal(err)
	}
	if _, err := th.Invoke(t.Context(), StateUpdate{}); err != nil {
		t.Fatal(err)
	}
	if accepted, err := onChange(t.Context(), app, "A-1", "form-1", "Unter den Linden 1"); err != nil || !accepted {
		t.Errorf("got %t, %v; want the change accepted", accepted, err)
	}
	if _, err := onChange(t.Context(), app, "A-1", "form-2", "too late"); err == nil {
		t.Error("got no error from a thread that is done")
	}
}
