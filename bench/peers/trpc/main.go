// Trpc runs the graphs of the comparison on trpc.group/trpc-go/trpc-agent-go/graph. Its events
// and traces, which are on by default, are switched off. Its memory saver keeps the newest 100
// checkpoints.
package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/graphgen-go/graphgen/bench/peers/measure"
	"trpc.group/trpc-go/trpc-agent-go/agent"
	"trpc.group/trpc-go/trpc-agent-go/graph"
	"trpc.group/trpc-go/trpc-agent-go/graph/checkpoint/inmemory"
)

var ctx = context.Background()

func main() {
	loop()
	chain := graph.NewStateGraph(counter())
	from := ""
	var ran atomic.Int64
	add := func(context.Context, graph.State) (any, error) {
		ran.Add(1)
		return graph.State{"n": 1}, nil
	}
	for i := range measure.Chain {
		id := fmt.Sprint("n", i)
		chain.AddNode(id, add)
		if from == "" {
			chain.SetEntryPoint(id)
		} else {
			chain.AddEdge(from, id)
		}
		from = id
	}
	chain.SetFinishPoint(from)
	count("chain", chain, measure.Chain, &ran)

	fan := graph.NewStateGraph(counter())
	fan.AddNode("start", func(context.Context, graph.State) (any, error) { return nil, nil }).SetEntryPoint("start")
	for i := range measure.Fan {
		id := fmt.Sprint("n", i)
		fan.AddNode(id, add).AddEdge("start", id)
		fan.SetFinishPoint(id)
	}
	count("fan-out", fan, measure.Fan, &ran)
}

func counter() *graph.StateSchema {
	sum := func(old, update any) any {
		n, _ := old.(int)
		return n + update.(int)
	}
	return graph.NewStateSchema().AddField("n", graph.StateField{Type: reflect.TypeFor[int](), Reducer: sum})
}

func loop() {
	schema := graph.NewStateSchema().
		AddField("step", graph.StateField{Type: reflect.TypeFor[int](), Reducer: graph.DefaultReducer}).
		AddField("messages", graph.StateField{Type: reflect.TypeFor[[]string](), Reducer: graph.StringSliceReducer})
	g := graph.NewStateGraph(schema)
	messages := 0
	g.AddNode("say", func(_ context.Context, s graph.State) (any, error) {
		step, _ := s["step"].(int)
		return graph.State{"step": step + 1, "messages": []string{measure.Text}}, nil
	}).SetEntryPoint("say")
	g.AddConditionalEdges("say", func(_ context.Context, s graph.State) (string, error) {
		list, _ := s["messages"].([]string)
		if messages = len(list); messages < measure.Loop {
			return "say", nil
		}
		return graph.End, nil
	}, map[string]string{"say": "say", graph.End: graph.End})
	run := runner(g, graph.WithMaxSteps(2*measure.Loop), graph.WithCheckpointSaver(inmemory.NewSaver()))
	runs := 0
	measure.Row("loop, in memory", measure.Loop, func() error {
		runs++
		err := run(graph.State{graph.CfgKeyLineageID: fmt.Sprint(runs), "step": 0, "messages": []string{}})
		return errors.Join(err, measure.Want("messages", messages, measure.Loop))
	})
}

// count measures a graph of n nodes.
func count(name string, g *graph.StateGraph, n int, ran *atomic.Int64) {
	run := runner(g, graph.WithMaxSteps(2*n))
	measure.Row(name, n, func() error {
		ran.Store(0)
		err := run(graph.State{"n": 0})
		return errors.Join(err, measure.Want("nodes", int(ran.Load()), n))
	})
}

// runner returns a function that runs a graph to its end.
func runner(g *graph.StateGraph, opts ...graph.ExecutorOption) func(graph.State) error {
	var e *graph.Executor
	compiled, err := g.Compile()
	if err == nil {
		e, err = graph.NewExecutor(compiled, opts...)
	}
	var quiet agent.RunOptions
	agent.WithDisableTracing(true)(&quiet)
	agent.WithDisableGraphExecutorEvents(true)(&quiet)
	return func(s graph.State) error {
		if err != nil {
			return err
		}
		events, err := e.Execute(ctx, s, &agent.Invocation{InvocationID: "run", RunOptions: quiet})
		if err != nil {
			return err
		}
		for ev := range events {
			if ev.Error != nil {
				err = fmt.Errorf("%s: %s", ev.Error.Type, ev.Error.Message)
			}
		}
		return err
	}
}
