package howto

import (
	"context"
	"os"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/diagram"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// WritePicture writes the picture of a graph to a file.
func WritePicture(app *graph.Graph[State, StateUpdate], path string) error {
	return os.WriteFile(path, diagram.SVG(app.Describe()), 0o644)
}

// Whereabouts returns a picture of where a thread stands. All nodes that have run are marked.
func Whereabouts(ctx context.Context, app *graph.Graph[State, StateUpdate], thread string) ([]byte, error) {
	head, err := app.Thread(thread).State(ctx)
	if err != nil {
		return nil, err
	}
	var older []graph.Snapshot[State]
	for s, err := range app.Thread(thread).History(ctx, checkpoint.Query{}) {
		if err != nil {
			return nil, err
		}
		older = append(older, s)
	}
	return diagram.SVG(app.Describe(), diagram.At(diagram.PlaceOf(head, older...))), nil
}
