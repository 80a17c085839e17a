package example

import (
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// NewDouble returns the error of a graph whose two nodes after Start both set Status.
func NewDouble() (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("double", StateSchema)
	g.Node("classify", classify, graph.Writes("Status", "Log"))
	g.Node("answer", answer, graph.Writes("Status", "Tokens", "Messages", "Facts"))

	g.Edge(graph.Start, "classify")
	g.Edge(graph.Start, "answer")
	g.Edge("classify", graph.End)
	g.Edge("answer", graph.End)
	return g.Compile(graph.Strict())
}
