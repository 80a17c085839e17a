// Hello drafts a letter until it is good enough, and stops before it sends the letter. Run it
// twice.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/file"
)

//go:generate go tool graphgen -type=State

// State is the state of the graph. A tag names the reducer that merges updates of its field.
type State struct {
	Name  string
	Draft string
	Tries int      `graph:"sum"`
	Log   []string `graph:"append"`
}

func draft(_ context.Context, s State) (StateUpdate, error) {
	var u StateUpdate
	u.Draft.Set([]string{"Hi!", "Dear " + s.Name + ",", "Dear " + s.Name + ", how are you?"}[min(s.Tries, 2)])
	u.Tries.Add(1)
	u.Log.Append("drafted")
	return u, nil
}

func check(_ context.Context, s State) (graph.Next, error) {
	if len(s.Draft) < 20 && s.Tries < 3 {
		return graph.To("draft"), nil
	}
	return graph.To("send"), nil
}

func send(_ context.Context, s State) (StateUpdate, error) {
	fmt.Println("sent:", s.Draft)
	var u StateUpdate
	u.Log.Append("sent")
	return u, nil
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// compile returns the graph, which stores its threads in saver.
func compile(saver checkpoint.Saver) (*graph.Graph[State, StateUpdate], error) {
	g := graph.New("hello", StateSchema)
	g.Node("draft", draft)
	g.Node("send", send)
	g.Edge(graph.Start, "draft")
	g.Route("draft", check, "draft", "send")
	g.Edge("send", graph.End)
	return g.Compile(graph.Saver(saver), graph.InterruptBefore("send"))
}

func run(ctx context.Context) (err error) {
	saver, err := file.Open("hello.data")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, saver.Close()) }()
	app, err := compile(saver)
	if err != nil {
		return err
	}

	thread := app.Thread("letter-1")
	res, err := thread.Invoke(ctx, StateUpdate{Name: state.Set("Ada")})
	if errors.Is(err, graph.ErrUnfinished) { // an earlier run stopped before send
		res, err = thread.Resume(ctx)
	}
	if err != nil {
		return err
	}
	fmt.Println(res.Status, res.Next, res.State.Log)
	return nil
}
