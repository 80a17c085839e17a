package open_test

import (
	"slices"
	"testing"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/graphids/known"
	"github.com/graphgen-go/graphgen/gen/vet/testdata/graphids/open"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// TestOpen gets a graph whose ids nobody knows, and one whose ids are known.
func TestOpen(t *testing.T) {
	s := open.Start()
	if !slices.Equal(s.Next, []graph.ID{"n7"}) {
		t.Error(s.Next)
	}
	if _, err := known.Compile(); err != nil {
		t.Fatal(err)
	}
}
