package example

import (
	"context"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// NewSummaries returns a graph that summarises the text in Status, and keeps summaries for an
// hour.
func NewSummaries(summarise func(context.Context, State) (StateUpdate, error)) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("summaries", StateSchema)
	g.Node("summarise", summarise)
	g.Cache("summarise", graph.MemoryCache(64<<20), time.Hour, func(s State) string {
		return "model-4 " + s.Status // all that the summary depends on
	})
	g.Chain(graph.Start, "summarise", graph.End)
	return g.Compile()
}
