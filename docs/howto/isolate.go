package howto

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// load reads the text of a document.
type load func(ctx context.Context, name string) (string, error)

// read stores the text of a document, or its failure, in the state.
func (l load) read(ctx context.Context, _ State, d Doc) (StateUpdate, error) {
	var u StateUpdate
	text, err := l(ctx, d.Name)
	switch {
	case err == nil:
		u.Found.Put(d.Name, text)
	case ctx.Err() != nil || graph.CurrentTask(ctx).Attempt < attempts:
		return u, err // cancelled, or due for a retry
	default: // the last attempt failed: the other documents continue
		u.Failed.Put(d.Name, err.Error())
	}
	return u, nil
}

const attempts = 3

// NewReader returns a graph that reads all documents. A document that cannot be read does not stop the others.
func NewReader(l load, saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("reader", StateSchema)
	read := graph.TaskNode(g, "read", l.read, graph.Retry(graph.RetryPolicy{Attempts: attempts}))
	g.Node("report", report)
	g.Route(graph.Start, func(_ context.Context, s State) (graph.Next, error) {
		if len(s.Names) == 0 {
			return graph.To("report"), nil
		}
		var next graph.Next
		for _, name := range s.Names {
			next.Add(read.Send(Doc{Name: name}))
		}
		return next, nil
	}, read.ID, "report")
	g.Edge(read.ID, "report")
	g.Edge("report", graph.End)
	return g.Compile(graph.Saver(saver))
}

func report(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Log.Append(fmt.Sprintf("read %d documents, %d failed", len(s.Found), len(s.Failed)))
	return u, nil
}
