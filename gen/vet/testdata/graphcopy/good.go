package graphcopy

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

func setsUpdate(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	u.Status.Set("done")
	o := s.Order
	o.Cents = 3
	u.Order.Set(o)
	return u, nil
}

func readsAfter(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	s.Status += "!"
	u.Status.Set(s.Status)
	s.Order.Cents++
	u.Total.Add(s.Order.Cents)
	return u, nil
}

func passesOn(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	s.Status = "x"
	return from(s), nil
}

func from(s desk.State) desk.StateUpdate {
	var u desk.StateUpdate
	u.Status.Set(s.Status)
	return u
}

func loops(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	for i := range 3 {
		u.Total.Add(s.Total)
		s.Total = int64(i)
	}
	var docs []desk.Doc
	for _, d := range s.Docs {
		d.Name = "x"
		docs = append(docs, d)
	}
	u.Docs.Upsert(docs...)
	return u, nil
}

func byPointer(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	p := &s.Order
	p.Cents = 3
	u.Order.Set(*p)
	o := s.Order
	o.SetName("x")
	u.Order.Set(o)
	if _, err := fmt.Sscan("paid", &s.Status); err != nil {
		return u, err
	}
	return u, nil
}

func passesAddress(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	p := *s.Plan
	p.Steps = nil
	u.Plan.Set(&p)
	return u, nil
}

func captures(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	add := func() { u.Total.Add(s.Total) }
	s.Total = 2
	add()
	return u, nil
}

func ownStruct(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var o desk.Order
	o.Cents = 3
	own := desk.State{Status: s.Status}
	own.Status = "x"
	return desk.StateUpdate{}, nil
}

// helper is no node.
func helper(s desk.State) { s.Status = "x" }

func deliberate(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	s.Status = "x" //graphvet:ignore graphcopy,graphwrite a test shows that it changes nothing
	return desk.StateUpdate{}, nil
}

// GoodGraph has a node that returns what it changes.
func GoodGraph() {
	g := graph.New("good", desk.StateSchema)
	graph.TaskNode(g, "b", func(_ context.Context, _ desk.State, d desk.Doc) (desk.StateUpdate, error) {
		var u desk.StateUpdate
		d.Name = "x"
		u.Docs.Upsert(d)
		return u, nil
	})
}
