// Package open has graphs whose ids the analyzer does not know.
package open

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func node(context.Context, desk.State) (desk.StateUpdate, error) { return desk.StateUpdate{}, nil }

// Loop has ids that it computes.
func Loop() {
	g := graph.New("loop", desk.StateSchema)
	for i := range 3 {
		g.Node(graph.ID(fmt.Sprint("n", i)), node)
	}
	g.Edge("n0", "n1")
}

// Passes lets another function declare nodes.
func Passes() {
	g := graph.New("passes", desk.StateSchema)
	g.Node("a", node)
	more(g)
	g.Edge("a", "b")
}

func more(g *graph.Builder[desk.State, desk.StateUpdate]) { g.Node("b", node) }

func compares(id graph.ID) bool { return id == "n2" || id == "else" }

// Server has a graph.
type Server struct {
	Apps []*graph.Graph[desk.State, desk.StateUpdate]
	Next []graph.ID
}

// Start returns a server.
func Start() *Server { return new(Server) }
