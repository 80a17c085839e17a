package graphtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/graphtest"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

//go:generate go tool graphgen -type=Order

// Order is the state of the graph under test.
type Order struct {
	Item string
	Log  []string `graph:"append"`
}

var approve = graph.NewQuestion[wire.String, wire.Bool]("approve")

func pay(ctx context.Context, s Order) (OrderUpdate, error) {
	var u OrderUpdate
	ok, err := approve.Ask(ctx, wire.String("pay for "+s.Item+"?"))
	if err != nil {
		return u, err
	}
	u.Log.Append(fmt.Sprintf("approved: %v", ok))
	return u, nil
}

// A test of a node that asks a question.
func ExampleRun() { //nolint:testableexamples // it is the body of a test
	test := func(t *testing.T) { //nolint:thelper // it is the body of a test
		_, after, err := graphtest.Run(t, OrderSchema, pay, Order{Item: "a lamp"}, approve.Answer(graph.OpenQuestion{}, true))
		if err != nil {
			t.Fatal(err)
		}
		if len(after.Log) != 1 || after.Log[0] != "approved: true" {
			t.Errorf("got %q, want one approval", after.Log)
		}
	}
	_ = test
}

func TestExampleRun(t *testing.T) {
	_, after, err := graphtest.Run(t, OrderSchema, pay, Order{Item: "a lamp"}, approve.Answer(graph.OpenQuestion{}, true))
	if err != nil || len(after.Log) != 1 || after.Log[0] != "approved: true" {
		t.Errorf("got %q, %v; want one approval", after.Log, err)
	}
}
