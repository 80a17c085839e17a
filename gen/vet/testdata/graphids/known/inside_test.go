package known

import (
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
)

func TestInside(t *testing.T) {
	app, err := Compile()
	if err != nil {
		t.Fatal(err)
	}
	res, err := app.Run(t.Context(), desk.StateUpdate{})
	if err != nil || !slices.Equal(res.Next, []graph.ID{"classify", "anwser"}) { // want `no node of this package has the id "anwser"`
		t.Error(res.Next)
	}
	if !slices.Equal(res.Next, []graph.ID{Classify, "answer", graph.End}) {
		t.Error(res.Next)
	}
	ctx := graphtest.Context(t.Context(), graph.Task{Node: "invented"})
	if graph.CurrentTask(ctx) != (graph.Task{Node: "clasify"}) { // want `no node of this package has the id "clasify"`
		t.Error("another task")
	}
	task := graph.Task{Node: "invented"}
	t.Log(graphtest.Context(t.Context(), task), graph.Task{Node: "answer"})
}
