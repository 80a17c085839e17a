package graphnext

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func withoutDefault(_ context.Context, s desk.State) (graph.Next, error) {
	var next graph.Next
	switch s.Status {
	case "paid":
		next = graph.To("ship")
	case "refused":
		next = graph.To(graph.End)
	}
	return next, nil // want `next is the zero Next on a path to this return`
}

func fallsThrough(_ context.Context, s desk.State) (graph.Next, error) {
	switch s.Status {
	case "paid":
		return graph.To("ship"), nil
	}
	return graph.Next{}, nil // want `this returns the zero Next`
}

func withoutElse(_ context.Context, s desk.State) (graph.Next, error) {
	var next graph.Next
	if s.Total > 3 {
		next = graph.To("ship")
	}
	return next, nil // want `next is the zero Next on a path`
}

func never(_ context.Context, s desk.State) (graph.Next, error) {
	var next graph.Next
	if s.Total > 3 {
		return next, nil // want `this returns the zero Next`
	}
	return graph.To("ship"), nil
}

func addsInOneCase(_ context.Context, s desk.State) (graph.Next, error) {
	var next graph.Next
	if s.Total > 3 {
		next.Add(graph.To("ship"))
	}
	return next, nil // want `next is the zero Next on a path`
}

func named(_ context.Context, s desk.State) (next graph.Next, err error) {
	if s.Total > 3 {
		next = graph.To("ship")
	}
	return // want `next is the zero Next on a path`
}

func routingNode(_ context.Context, s desk.State) (desk.StateUpdate, graph.Next, error) {
	var u desk.StateUpdate
	if s.Total > 3 {
		return u, graph.To("ship"), nil
	}
	return u, graph.Next{}, nil // want `this returns the zero Next`
}

func emptyCase(_ context.Context, s desk.State) (graph.Next, error) {
	next := graph.To("ship")
	if s.Total > 3 {
		next = graph.Next{}
	}
	return next, nil // want `next is the zero Next on a path`
}

type house struct{}

func (house) choose(_ context.Context, s desk.State) (graph.Next, error) {
	for _, d := range s.Docs {
		return graph.To(graph.ID(d.Name)), nil
	}
	return graph.Next{}, nil // want `this returns the zero Next`
}

func fromHelper(_ context.Context, s desk.State) (graph.Next, error) {
	return pick(s), nil // want `pick\(\.\.\.\) is the zero Next on a path to this return`
}

// pick is no route.
func pick(s desk.State) graph.Next {
	switch s.Status {
	case "paid":
		return graph.To("ship")
	}
	return graph.Next{}
}

func pickVariable(s desk.State) (next graph.Next) {
	if s.Total > 3 {
		next = graph.To("ship")
	}
	return next
}

func pickOrFail(s desk.State) (graph.Next, error) {
	if s.Status == "" {
		return graph.Next{}, errors.New("no status")
	}
	return pickVariable(s), nil
}

func fromHelpers(_ context.Context, s desk.State) (graph.Next, error) {
	next, err := pickOrFail(s)
	if err != nil {
		return next, err
	}
	return next, nil // want `next is the zero Next on a path`
}

func passesHelper(_ context.Context, s desk.State) (graph.Next, error) {
	if s.Total == 7 {
		return graph.To(graph.End), nil
	}
	return pickOrFail(s) // want `pickOrFail\(\.\.\.\) is the zero Next on a path`
}

// unlessLost returns a route.
func unlessLost(id graph.ID) func(context.Context, desk.State) (graph.Next, error) {
	return func(_ context.Context, s desk.State) (graph.Next, error) {
		if s.Status != "lost" {
			return graph.To(id), nil
		}
		return graph.Next{}, nil // want `this returns the zero Next`
	}
}

// wrap returns a route of any state.
func wrap[S any](choose func(S) bool) func(context.Context, S) (graph.Next, error) {
	return func(_ context.Context, s S) (graph.Next, error) {
		if choose(s) {
			return graph.To("ship"), nil
		}
		return graph.Next{}, nil // want `this returns the zero Next`
	}
}

// Exported is a route of other packages.
func Exported(_ context.Context, s desk.State) (graph.Next, error) {
	if s.Total > 3 {
		return graph.To("ship"), nil
	}
	return graph.Next{}, nil // want `this returns the zero Next`
}

// BadGraph has routes of several kinds.
func BadGraph() {
	g := graph.New("bad", desk.StateSchema)
	g.Route(graph.Start, withoutDefault, "ship", graph.End)
	g.Route("a", fallsThrough, "ship")
	g.Route("b", withoutElse, "ship")
	g.Route("c", never, "ship")
	g.Route("d", addsInOneCase, "ship")
	g.Route("e", named, "ship")
	g.Route("f", emptyCase, "ship")
	g.Route("g", house{}.choose, "ship")
	g.Route("j", unlessLost("ship"), "ship")
	g.Route("k", wrap(func(s desk.State) bool { return s.Total > 3 }), "ship")
	g.Route("l", fromHelper, "ship")
	g.Route("m", fromHelpers, "ship")
	g.Route("n", passesHelper, "ship")
	g.RoutingNode("ship", routingNode, graph.Targets("ship"))
	g.Route("h", func(_ context.Context, s desk.State) (graph.Next, error) {
		if s.Status == "paid" {
			return graph.To("ship"), nil
		}
		return graph.Next{}, nil // want `this returns the zero Next`
	}, "ship")
	graph.RoutingTaskNode(g, "i", func(_ context.Context, _ desk.State, d desk.Doc) (desk.StateUpdate, graph.Next, error) {
		if d.Name == "a" {
			return desk.StateUpdate{}, graph.To("ship"), nil
		}
		return desk.StateUpdate{}, graph.Next{}, nil // want `this returns the zero Next`
	}, graph.Targets("ship"))
}
