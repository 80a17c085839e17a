package example_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/graphgen-go/graphgen/docs/example"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func Example() {
	ctx := context.Background()
	app, err := example.NewGraph(memory.New())
	if err != nil {
		fmt.Println(err)
		return
	}
	t := app.Thread("t-17")
	res, err := t.Invoke(ctx, example.StateUpdate{Owner: state.Set("Ada")})
	fmt.Println(res.Status, res.Next, res.State.Picked, err)
	res, err = example.Decide(ctx, t)
	fmt.Println(res.Status, res.State.Status, res.State.Messages[0].Parts[0].(*example.Text).Text, err)
	// Output:
	// paused [answer] the customer's adviser <nil>
	// done answered approved <nil>
}

func ExampleNewDouble() {
	_, err := example.NewDouble()
	fmt.Println(strings.NewReplacer(", ", ",\n", "; ", ";\n").Replace(err.Error()))
	// Output:
	// graph: double does not compile:
	// nodes "classify" and "answer" both write Status,
	// which only one task may set,
	// and always run in one superstep after Start (Start -> classify,
	// Start -> answer);
	// let one of them write it,
	// or give the field a reducer such as last
}
