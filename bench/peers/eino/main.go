// Eino runs the graphs of the comparison on github.com/cloudwego/eino/compose. Values flow along
// its edges. It stores a checkpoint only where a run is interrupted: its loop stores nothing,
// although it has a store.
package main

import (
	"context"
	"fmt"

	"github.com/cloudwego/eino/compose"
	"github.com/graphgen-go/graphgen/bench/peers/measure"
)

var ctx = context.Background()

type conversation struct {
	Step     int
	Messages []message
}

type message struct{ Role, Text string }

// store keeps checkpoints in memory.
type store map[string][]byte

func (s store) Get(_ context.Context, id string) ([]byte, bool, error) {
	b, ok := s[id]
	return b, ok, nil
}

func (s store) Set(_ context.Context, id string, b []byte) error {
	s[id] = b
	return nil
}

func main() {
	loop()
	chain()
	fan()
}

func loop() {
	g := compose.NewGraph[conversation, conversation]()
	err := g.AddLambdaNode("say", compose.InvokableLambda(func(_ context.Context, s conversation) (conversation, error) {
		s.Step++
		s.Messages = append(s.Messages, message{"assistant", measure.Text})
		return s, nil
	}))
	more := func(_ context.Context, s conversation) (string, error) {
		if s.Step < measure.Loop {
			return "say", nil
		}
		return compose.END, nil
	}
	err = first(err, g.AddEdge(compose.START, "say"),
		g.AddBranch("say", compose.NewGraphBranch(more, map[string]bool{"say": true, compose.END: true})))
	r, compiled := g.Compile(ctx, compose.WithMaxRunSteps(2*measure.Loop), compose.WithCheckPointStore(store{}))
	err = first(err, compiled)
	runs := 0
	measure.Row("loop, in memory", measure.Loop, func() error {
		if err != nil {
			return err
		}
		runs++
		s, err := r.Invoke(ctx, conversation{}, compose.WithCheckPointID(fmt.Sprint(runs)))
		if err != nil {
			return err
		}
		return measure.Want("messages", len(s.Messages), measure.Loop)
	})
}

func chain() {
	g := compose.NewGraph[int, int]()
	var err error
	from := compose.START
	for i := range measure.Chain {
		id := fmt.Sprint("n", i)
		add := compose.InvokableLambda(func(_ context.Context, n int) (int, error) { return n + 1, nil })
		err = first(err, g.AddLambdaNode(id, add), g.AddEdge(from, id))
		from = id
	}
	err = first(err, g.AddEdge(from, compose.END))
	r, compiled := g.Compile(ctx, compose.WithMaxRunSteps(2*measure.Chain))
	err = first(err, compiled)
	measure.Row("chain", measure.Chain, func() error {
		if err != nil {
			return err
		}
		n, err := r.Invoke(ctx, 0)
		if err != nil {
			return err
		}
		return measure.Want("count", n, measure.Chain)
	})
}

// fan joins the branches by merging maps, as eino does, and adds the values up afterwards.
func fan() {
	g := compose.NewGraph[int, int]()
	sum := compose.InvokableLambda(func(_ context.Context, all map[string]any) (int, error) {
		total := 0
		for _, n := range all {
			total += n.(int)
		}
		return total, nil
	})
	err := first(g.AddLambdaNode("sum", sum), g.AddEdge("sum", compose.END))
	for i := range measure.Fan {
		id := fmt.Sprint("n", i)
		one := compose.InvokableLambda(func(context.Context, int) (int, error) { return 1, nil })
		err = first(err, g.AddLambdaNode(id, one, compose.WithOutputKey(id)), g.AddEdge(compose.START, id), g.AddEdge(id, "sum"))
	}
	r, compiled := g.Compile(ctx, compose.WithNodeTriggerMode(compose.AllPredecessor))
	err = first(err, compiled)
	measure.Row("fan-out", measure.Fan, func() error {
		if err != nil {
			return err
		}
		n, err := r.Invoke(ctx, 0)
		if err != nil {
			return err
		}
		return measure.Want("count", n, measure.Fan)
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
