package desk

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// NewWriter returns a graph whose node emits events while it works.
func NewWriter(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("writer", StateSchema)
	g.Node("write", write)
	g.Edge(graph.Start, "write")
	g.Edge("write", graph.End)
	return g.Compile(graph.Saver(saver))
}

func write(ctx context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	for _, token := range []string{"Dear ", s.Order, ","} {
		graph.Emit(ctx, token)
	}
	u.Log.Append("Dear " + s.Order + ",")
	return u, nil
}

// Show prints the events of a run.
func Show(ctx context.Context, t graph.Thread[State, StateUpdate], in StateUpdate) error {
	for e, err := range t.Stream(ctx, in, graph.Events(graph.EventCustom|graph.EventUpdate)) {
		if err != nil {
			return err
		}
		switch e.Kind {
		case graph.EventCustom:
			fmt.Printf("%s emits %q\n", e.Node, e.Custom)
		case graph.EventUpdate:
			fmt.Println(e.Node, "is stored")
		case graph.EventRunEnded:
			fmt.Println(e.Result.Status)
		}
	}
	return nil
}
