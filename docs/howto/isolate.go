package howto

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// load reads the text of a document.
type load func(ctx context.Context, name string) (string, error)

// read stores the text of a document in the state.
func (l load) read(ctx context.Context, _ State, d Doc) (StateUpdate, error) {
	var u StateUpdate
	text, err := l(ctx, d.Name)
	if err != nil {
		return u, err
	}
	u.Found.Put(d.Name, text)
	return u, nil
}

// unread stores the failure of a document in the state, so that the other documents continue.
func unread(ctx context.Context, _ State, d Doc, err error) (StateUpdate, error) {
	var u StateUpdate
	u.Failed.Append(Failure{
		Doc: d.Name, Error: err.Error(), TimedOut: errors.Is(err, context.DeadlineExceeded),
		Attempts: graph.CurrentTask(ctx).Attempt - 1, // the fallback is the last one
	})
	return u, nil
}

// NewReader returns a graph that reads all documents. A document that cannot be read does not stop
// the others.
func NewReader(l load, saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("reader", StateSchema)
	read := graph.TaskNode(g, "read", l.read, graph.Retry(graph.RetryPolicy{Attempts: 3}))
	graph.TaskFallback(g, read, unread)
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

// Lines returns a line for each failed task of a run that returned err.
func Lines(err error) (lines []string) {
	for _, e := range graph.NodeErrors(err) {
		lines = append(lines, fmt.Sprintf("send %d to %s failed at attempt %d: %v", e.Index, e.Node, e.Attempt, e.Err))
	}
	return lines
}
