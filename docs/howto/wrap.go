package howto

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Tool is code that a model calls by name.
type Tool func(ctx context.Context, argument string) (string, error)

// Call calls a tool in a node. A failure of the tool is a text for the model, which can try
// something else. An interruption is no failure: the node returns it.
func Call(ctx context.Context, tool Tool, argument string) (string, error) {
	text, err := tool(ctx, argument)
	switch {
	case graph.Interrupted(ctx, err):
		return "", err
	case err != nil:
		return "the tool failed: " + err.Error(), nil //nolint:nilerr // the model gets the error
	}
	return text, nil
}
