package howto

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Whereabouts returns a picture of where a thread stands, also inside subgraphs. s is the saver of
// app.
func Whereabouts(ctx context.Context, s checkpoint.Saver, app *graph.Graph[State, StateUpdate], thread string) ([]byte, error) {
	d := app.Describe()
	place, err := diagram.ReadPlace(ctx, s, d, checkpoint.Ref{Thread: thread})
	if err != nil {
		return nil, err
	}
	return diagram.SVG(d, diagram.At(place), diagram.Expand()), nil
}
