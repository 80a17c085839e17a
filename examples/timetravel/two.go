package main

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// newTwo returns a graph of two consecutive nodes. A run of it has four checkpoints.
func newTwo(saver checkpoint.Saver, opts ...graph.Option) (*graph.Graph[Two, TwoUpdate], error) {
	g := graph.New("two", TwoSchema)
	g.Node("node_a", write("a"))
	g.Node("node_b", write("b"))
	g.Edge(graph.Start, "node_a")
	g.Edge("node_a", "node_b")
	g.Edge("node_b", graph.End)
	return g.Compile(append(opts, graph.Saver(saver))...)
}

func write(what string) func(context.Context, Two) (TwoUpdate, error) {
	return func(context.Context, Two) (TwoUpdate, error) {
		var u TwoUpdate
		u.Foo.Set(what)
		u.Bar.Append(what)
		return u, nil
	}
}
