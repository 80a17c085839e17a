package graphtest_test

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
)

// Functions that use the current task can be tested without a graph.
func ExampleContext() {
	ctx := graphtest.Context(context.Background(), graph.Task{Node: "pay", Thread: "order-7"})
	task := graph.CurrentTask(ctx)
	fmt.Println(task.Thread, task.Node, task.Attempt, task.Key)
	// Output: order-7 pay 1 key of pay
}
