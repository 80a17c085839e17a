package graphcopy

import (
	"context"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func setsState(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	s.Status = "done" // want `s is a copy of state, and nothing reads this change of it`
	return desk.StateUpdate{}, nil
}

func setsStruct(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	o := s.Order
	o.Cents = 3 // want `o is a copy of state`
	return desk.StateUpdate{}, nil
}

func setsNested(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	s.Order.Cents = 3   // want `s is a copy of state`
	s.Notes.Lines = nil // want `s is a copy of state`
	return desk.StateUpdate{}, nil
}

func setsByMethod(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	o := s.Order
	o.SetName("x")       // want `o is a copy of state`
	s.Order.SetName("x") // want `s is a copy of state`
	return desk.StateUpdate{}, nil
}

func setsElements(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	for _, d := range s.Docs {
		d.Name = "x" // want `d is a copy of state`
	}
	f := s.Facts["a"]
	f.Text = "x" // want `f is a copy of state`
	if f, ok := s.Facts["b"]; ok {
		f.Text = "x" // want `f is a copy of state`
	}
	return desk.StateUpdate{}, nil
}

func readsBefore(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	u.Status.Set(s.Status)
	s.Status = "done" // want `s is a copy of state`
	s.Total++         // want `s is a copy of state`
	return u, nil
}

func setsPointee(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	p := *s.Plan
	p.Steps = nil // want `p is a copy of state`
	return desk.StateUpdate{}, nil
}

type house struct{}

func (house) task(_ context.Context, _ desk.State, d desk.Doc) (desk.StateUpdate, error) {
	d.Name = "x" // want `d is a copy of state`
	return desk.StateUpdate{}, nil
}

// BadGraph has nodes that are closures and methods.
func BadGraph(child *graph.Graph[desk.Letter, desk.LetterUpdate]) {
	g := graph.New("bad", desk.StateSchema)
	g.Node("a", func(_ context.Context, s desk.State) (desk.StateUpdate, error) {
		s.Status = "x" // want `s is a copy of state`
		return desk.StateUpdate{}, nil
	})
	graph.TaskNode(g, "b", house{}.task)
	g.Route("a", func(_ context.Context, s desk.State) (graph.Next, error) {
		s.Status = "routed" // want `s is a copy of state`
		return graph.To("b"), nil
	}, "b")
	graph.MapSubgraph(g, "c", child, func(_ context.Context, s desk.State) (desk.LetterUpdate, error) {
		return desk.LetterUpdate{}, nil
	}, func(_ context.Context, s desk.State, l desk.Letter) (desk.StateUpdate, error) {
		l.To = "x" // want `l is a copy of state`
		return desk.StateUpdate{}, nil
	})
}
