package graphnext

import (
	"context"
	"errors"
	"log"
	"runtime"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func withDefault(_ context.Context, s desk.State) (graph.Next, error) {
	var next graph.Next
	switch s.Status {
	case "paid":
		next = graph.To("ship")
	default:
		next = graph.To(graph.End)
	}
	return next, nil
}

func withError(_ context.Context, s desk.State) (graph.Next, error) {
	if s.Status == "paid" {
		return graph.To("ship"), nil
	}
	return graph.Next{}, errors.New("unknown status")
}

func errorOnPath(_ context.Context, s desk.State) (graph.Next, error) {
	var next graph.Next
	var err error
	if s.Status == "paid" {
		next = graph.To("ship")
	} else {
		err = errors.New("unknown status")
	}
	return next, err
}

func loop(_ context.Context, s desk.State) (graph.Next, error) {
	var next graph.Next
	for range s.Docs {
		next.Add(graph.To("ship"))
	}
	return next, nil
}

func added(_ context.Context, s desk.State) (graph.Next, error) {
	var next graph.Next
	next.Add(graph.To("ship"))
	if s.Total > 3 {
		next.Add(graph.To("mail"))
	}
	return next, nil
}

func helper(s desk.State, next *graph.Next) { next.Add(graph.To("ship")) }

func byPointer(_ context.Context, s desk.State) (graph.Next, error) {
	var next graph.Next
	helper(s, &next)
	return next, nil
}

func byClosure(_ context.Context, s desk.State) (graph.Next, error) {
	var next graph.Next
	add := func(id graph.ID) { next.Add(graph.To(id)) }
	if s.Total > 3 {
		add("ship")
	}
	return next, nil
}

func addsToHelper(_ context.Context, s desk.State) (graph.Next, error) {
	next := pick(s)
	next.Add(graph.To("mail"))
	return next, nil
}

func fromCompleteHelper(_ context.Context, s desk.State) (graph.Next, error) {
	if s.Status == "" {
		return pickOr(s, graph.To("mail")), nil
	}
	return pickOrError(s)
}

func pickOr(s desk.State, other graph.Next) graph.Next {
	if s.Total > 3 {
		return graph.To("ship")
	}
	return other
}

func pickOrError(s desk.State) (graph.Next, error) {
	if s.Total > 3 {
		return graph.To("ship"), nil
	}
	return graph.Next{}, errors.New("no choice")
}

// maybe is no route, although it has the signature of one: its caller adds to what it returns.
func maybe(_ context.Context, s desk.State) (graph.Next, error) {
	if s.Total > 3 {
		return graph.To("ship"), nil
	}
	return graph.Next{}, nil
}

func asksMaybe(ctx context.Context, s desk.State) (graph.Next, error) {
	next, err := maybe(ctx, s)
	if err != nil {
		return graph.Next{}, err
	}
	next.Add(graph.To("mail"))
	return next, nil
}

// orderRoute returns a route of other packages.
func orderRoute(id graph.ID) func(context.Context, desk.State) (graph.Next, error) {
	return func(_ context.Context, s desk.State) (graph.Next, error) {
		if s.Status != "lost" {
			return graph.To(id), nil
		}
		return graph.To(graph.End), nil
	}
}

func errorOfCall(_ context.Context, s desk.State) (desk.StateUpdate, graph.Next, error) {
	err := errors.ErrUnsupported
	return desk.StateUpdate{}, graph.Next{}, err
}

// stub is a placeholder in a test.
func stub(context.Context, desk.State) (graph.Next, error) { return graph.Next{}, nil }

func ends(_ context.Context, s desk.State) (graph.Next, error) {
	if s.Total > 3 {
		runtime.Goexit()
	} else {
		log.Fatal("no route")
	}
	return graph.Next{}, nil
}

// GoodGraph has routes of several kinds.
func GoodGraph() {
	g := graph.New("good", desk.StateSchema)
	g.Route(graph.Start, withDefault, "ship", graph.End)
	g.Route("a", withError, "ship")
	g.Route("b", errorOnPath, "ship")
	g.Route("c", loop, "ship")
	g.Route("d", added, "ship")
	g.Route("e", byPointer, "ship")
	g.Route("f", byClosure, "ship")
	g.Route("g", addsToHelper, "ship")
	g.Route("j", fromCompleteHelper, "ship", "mail")
	g.Route("k", asksMaybe, "ship", "mail")
	g.Route("l", orderRoute("ship"), "ship", graph.End)
	g.Route("i", stub, "ship")
	g.Route("h", ends, "ship")
	g.RoutingNode("ship", errorOfCall, graph.Targets("ship"))
}
