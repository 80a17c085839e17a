package howto

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// NewDesk returns a graph that has each document read by a thread of reader, and sums up.
func NewDesk(reader *graph.Graph[State, StateUpdate], saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	b := graph.New("desk", StateSchema)
	b.Node("read", func(ctx context.Context, s State) (StateUpdate, error) {
		thread := graph.CurrentTask(ctx).Thread
		all := make([]graph.ChildInput[StateUpdate], len(s.Names))
		for i, name := range s.Names {
			all[i] = graph.ChildInput[StateUpdate]{ID: thread + "-" + name, Input: StateUpdate{Names: state.Append(name)}}
		}
		read, err := graph.Children(ctx, reader, 10, all) // at most ten at a time
		if err != nil {
			return StateUpdate{}, err // graph.ErrWaiting until all have ended
		}
		var log []string
		for i, name := range s.Names {
			log = append(log, fmt.Sprintf("%s has %d bytes", name, len(read[i].Found[name])))
		}
		return StateUpdate{Log: state.Append(log...)}, nil
	})
	b.Edge(graph.Start, "read")
	b.Edge("read", graph.End)
	return b.Compile(graph.Saver(saver))
}
