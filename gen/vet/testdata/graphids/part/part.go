// Package part has a graph to which a Builder over a part of the state adds nodes.
package part

import (
	"context"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

type (
	builder = graph.Builder[desk.State, desk.StateUpdate]
	embeds  = state.Part[desk.State, desk.StateUpdate, desk.State, desk.StateUpdate]
)

// Part has another package add a node, by a Builder over a part.
func Part(part embeds, add func(*builder)) {
	g := graph.New("part", desk.StateSchema)
	add(graph.Part(g, part))
	g.Node("b", func(context.Context, desk.State) (desk.StateUpdate, error) { return desk.StateUpdate{}, nil })
	g.Chain(graph.Start, "mine", "b", graph.End)
}
