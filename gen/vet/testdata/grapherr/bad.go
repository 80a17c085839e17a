package grapherr

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/wire"
)

var (
	refund = graph.NewQuestion[desk.Ask, desk.Reply]("refund")
	paid   = graph.NewSignal[wire.String]("paid")
)

func blank(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	answer, _ := refund.Ask(ctx, desk.Ask{Text: s.Status}) // want `the error of Ask is dropped`
	var u desk.StateUpdate
	if answer.OK {
		u.Log.Append("paid")
	}
	return u, nil
}

func blankNamed(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, _ = refund.Ask(ctx, desk.Ask{Text: s.Status}, graph.As("seller")) // want `the error of Ask is dropped`
	_, _ = paid.Receive(ctx, graph.For("order"))                         // want `the error of Receive is dropped`
	return desk.StateUpdate{}, nil
}

func onlyLogged(ctx context.Context, _ desk.State) (desk.StateUpdate, error) {
	receipt, err := paid.Receive(ctx) // want `no path returns the error of Receive`
	if err != nil {
		log.Println("no receipt:", err)
	}
	var u desk.StateUpdate
	u.Log.Append(string(receipt))
	return u, nil
}

func returnsNil(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := refund.Ask(ctx, desk.Ask{Text: s.Status}) // want `no path returns the error of Ask`
	if err != nil {
		return desk.StateUpdate{}, nil
	}
	var u desk.StateUpdate
	u.Log.Append("asked")
	return u, nil
}

func onlyExpired(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	answer, err := refund.Ask(ctx, desk.Ask{Text: s.Status}) // want `no path returns the error of Ask`
	switch {
	case errors.Is(err, graph.ErrExpired):
		u.Log.Append("expired")
	case answer.OK:
		u.Log.Append("paid")
	}
	return u, nil
}

func onlyText(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	_, err := refund.Ask(ctx, desk.Ask{Text: s.Status}) // want `no path returns the error of Ask`
	u.Log.Append("it is answered")
	fmt.Println(err)
	return u, nil
}

func inGoroutine(ctx context.Context, _ desk.State) (desk.StateUpdate, error) {
	defer graph.Sleep(ctx, 1) // want `the error of Sleep is dropped`
	go graph.Sleep(ctx, 1)    // want `the error of Sleep is dropped`
	return desk.StateUpdate{}, nil
}

// helper is a function of a node.
func helper(ctx context.Context) bool {
	answer, _ := refund.Ask(ctx, desk.Ask{}) // want `the error of Ask is dropped`
	return answer.OK
}

// approve returns the error of Ask.
func approve(ctx context.Context) (bool, error) {
	answer, err := refund.Ask(ctx, desk.Ask{})
	if err != nil {
		return false, fmt.Errorf("refund: %w", err)
	}
	return answer.OK, nil
}

func approveTwice(ctx context.Context) (ok bool, err error) {
	if ok, err = approve(ctx); err != nil {
		return
	}
	return approve(ctx)
}

func dropsHelper(ctx context.Context, _ desk.State) (desk.StateUpdate, error) {
	ok, _ := approve(ctx)       // want `the error of approve is dropped`
	_, err := approveTwice(ctx) // want `no path returns the error of approveTwice`
	log.Println(ok, err)
	return desk.StateUpdate{}, nil
}

// BadGraph has nodes that are closures and methods.
func BadGraph(d desk2) {
	g := graph.New("bad", desk.StateSchema)
	g.Node("a", func(ctx context.Context, _ desk.State) (desk.StateUpdate, error) {
		_, err := refund.Ask(ctx, desk.Ask{}) // want `no path returns the error of Ask`
		_ = err != nil
		return desk.StateUpdate{}, nil
	}, refund)
	graph.TaskNode(g, "b", d.task, refund)
}

type desk2 struct{}

func (desk2) task(ctx context.Context, _ desk.State, d desk.Doc) (desk.StateUpdate, error) {
	answer, _ := refund.Ask(ctx, desk.Ask{Text: d.Name}) // want `the error of Ask is dropped`
	return desk.StateUpdate{}, fail(answer.OK)
}

func fail(bool) error { return nil }
