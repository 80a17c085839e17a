package desk

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// NewWriter is a graph whose node shows its work while it does it.
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

// Show prints a run while it goes on.
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
		case graph.EventEnd:
			fmt.Println(e.Result.Status)
		}
	}
	return nil
}
