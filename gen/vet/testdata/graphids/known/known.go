// Package known has a graph whose ids the analyzer knows.
package known

import (
	"context"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Classify is the id of a node.
const Classify graph.ID = "classify"

// Compile returns a graph.
func Compile() (*graph.Graph[desk.State, desk.StateUpdate], error) {
	g := graph.New("known", desk.StateSchema)
	g.Node(Classify, node)
	g.Node("answer", node)
	g.Chain(graph.Start, Classify, "answer", graph.End)
	return g.Compile()
}

func node(context.Context, desk.State) (desk.StateUpdate, error) { return desk.StateUpdate{}, nil }
