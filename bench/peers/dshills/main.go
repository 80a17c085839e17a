// Dshills runs the graphs of the comparison on github.com/dshills/langgraph-go. It has no
// conversations: a run begins with the state in its arguments. So there is no row for turns. The
// states in its memory store share memory with each other.
package main

import (
	"context"
	"fmt"

	"github.com/dshills/langgraph-go/graph"
	"github.com/dshills/langgraph-go/graph/emit"
	"github.com/dshills/langgraph-go/graph/store"
	"github.com/graphgen-go/graphgen/bench/peers/measure"
)

var ctx = context.Background()

type conversation struct {
	Step     int
	Messages []message
}

type message struct{ Role, Text string }

type counter struct{ N int }

func main() {
	runs := 0
	say := graph.NodeFunc[conversation](func(context.Context, conversation) graph.NodeResult[conversation] {
		return graph.NodeResult[conversation]{
			Delta: conversation{Step: 1, Messages: []message{{"assistant", measure.Text}}},
		}
	})
	stop := graph.NodeFunc[conversation](func(context.Context, conversation) graph.NodeResult[conversation] {
		return graph.NodeResult[conversation]{Route: graph.Stop()}
	})
	loop := graph.New(func(prev, delta conversation) conversation {
		prev.Step += delta.Step
		prev.Messages = append(prev.Messages, delta.Messages...)
		return prev
	}, store.Store[conversation](store.NewMemStore[conversation]()), emit.NewNullEmitter(), graph.Options{MaxSteps: 2 * measure.Loop})
	err := first(loop.Add("say", say), loop.Add("stop", stop), loop.StartAt("say"),
		loop.Connect("say", "say", func(s conversation) bool { return s.Step < measure.Loop }),
		loop.Connect("say", "stop", func(s conversation) bool { return s.Step >= measure.Loop }))
	measure.Row("loop, in memory", measure.Loop, func() error {
		if err != nil {
			return err
		}
		runs++
		s, err := loop.Run(ctx, fmt.Sprint("loop ", runs), conversation{})
		if err != nil {
			return err
		}
		return measure.Want("messages", len(s.Messages), measure.Loop)
	})

	chain, err := counting(graph.Options{MaxSteps: 2 * measure.Chain})
	for i := range measure.Chain {
		next := graph.Goto(fmt.Sprint("n", i+1))
		if i == measure.Chain-1 {
			next = graph.Stop()
		}
		err = first(err, chain.Add(fmt.Sprint("n", i), adds(1, next)))
	}
	err = first(err, chain.StartAt("n0"))
	count("chain", chain, measure.Chain, err)

	fan, err := counting(graph.Options{MaxSteps: 2 * measure.Fan, MaxConcurrentNodes: 8, QueueDepth: 2 * measure.Fan})
	var all []string
	for i := range measure.Fan {
		all = append(all, fmt.Sprint("n", i))
		err = first(err, fan.Add(all[i], adds(1, graph.Stop())))
	}
	err = first(err, fan.Add("start", adds(0, graph.Many(all))), fan.StartAt("start"))
	count("fan-out", fan, measure.Fan, err)
}

func counting(o graph.Options) (*graph.Engine[counter], error) {
	add := func(prev, delta counter) counter { return counter{prev.N + delta.N} }
	return graph.New(add, store.Store[counter](store.NewMemStore[counter]()), emit.NewNullEmitter(), o), nil
}

func adds(n int, next graph.Next) graph.NodeFunc[counter] {
	return func(context.Context, counter) graph.NodeResult[counter] {
		return graph.NodeResult[counter]{Delta: counter{n}, Route: next}
	}
}

// count measures a graph that adds up to n. A store is required: it keeps every step in memory.
func count(name string, e *graph.Engine[counter], n int, err error) {
	runs := 0
	measure.Row(name, n, func() error {
		if err != nil {
			return err
		}
		runs++
		s, err := e.Run(ctx, fmt.Sprint(name, " ", runs), counter{})
		if err != nil {
			return err
		}
		return measure.Want("count", s.N, n)
	})
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
