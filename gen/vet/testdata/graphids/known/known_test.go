package known_test

import (
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/gen/vet/testdata/graphids/known"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func TestOutside(t *testing.T) {
	app, err := known.Compile()
	if err != nil {
		t.Fatal(err)
	}
	res, err := app.Run(t.Context(), desk.StateUpdate{})
	if err != nil || !slices.Equal(res.Next, []graph.ID{"clasify"}) { // want `no node of this package has the id "clasify"; did you mean "classify"\?`
		t.Error(res.Next)
	}
	for _, id := range res.Next {
		if id == "anwser" { // want `no node of this package has the id "anwser"`
			t.Error(id)
		}
	}
	same(t, res.Next, []graph.ID{known.Classify, "answer"})
}

func same(t *testing.T, got, want []graph.ID) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
