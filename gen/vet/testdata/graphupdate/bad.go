package graphupdate

import (
	"context"
	"errors"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

func neverReturned(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u, v desk.StateUpdate
	u.Status.Set("refund") // want `nothing returns this operation on u`
	return v, nil
}

func afterItsCopy(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	result := u
	u.Log.Append("x") // want `nothing returns this operation on u`
	return result, nil
}

func assigned(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	u.Status = state.Set("x") // want `nothing returns this operation on u`
	return state.Build(func(u *desk.StateUpdate) { u.Total.Add(1) }), nil
}

func replaced(_ context.Context, s desk.State) (u desk.StateUpdate, err error) {
	u.Log.Append("x") // want `nothing returns this operation on u`
	u = desk.StateUpdate{}
	return u, nil
}

func fill(u desk.StateUpdate) {
	u.Log.Append("x") // want `u is a copy, and nothing reads this operation on it`
}

func fills(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	fill(u)
	return u, nil
}

func copiedField(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	log := u.Log
	log.Append("x") // want `log is a copy, and nothing reads this operation on it`
	return u, nil
}

func built(s desk.State) desk.StateUpdate {
	return desk.StateUpdate{Log: state.Append(s.Status)}
}

func dropsResult(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	built(s)                                                  // want `this call returns an update, and nobody uses it`
	state.Build(func(u *desk.StateUpdate) { u.Total.Add(1) }) // want `this call returns an update, and nobody uses it`
	return desk.StateUpdate{}, nil
}

func part(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	return built(s), nil
}

func dropsPart(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := part(ctx, s) // want `this call returns an update, and nobody uses it`
	return desk.StateUpdate{}, err
}

func inClosure(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u, v desk.StateUpdate
	add := func(line string) {
		u.Log.Append(line) // want `nothing returns this operation on u`
	}
	add("x")
	return v, nil
}

func byAddress(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	u := &desk.StateUpdate{}
	u.Status.Set("x") // want `nothing returns this operation on u; return \*u instead of another update`
	v := new(desk.StateUpdate)
	v.Status.Set("x")                     // want `nothing returns this operation on v; return \*v instead`
	(&desk.StateUpdate{}).Status.Set("x") // want `nothing returns this operation on a new update; return that update`
	return desk.StateUpdate{}, nil
}

type house struct{}

func (house) task(_ context.Context, _ desk.State, d desk.Doc) (desk.StateUpdate, error) {
	var u, other desk.StateUpdate
	u.Log.Append(d.Name) // want `nothing returns this operation on u`
	return other, nil
}

// BadGraph has nodes that are closures and methods.
func BadGraph(child *graph.Graph[desk.Letter, desk.LetterUpdate]) {
	g := graph.New("bad", desk.StateSchema)
	graph.TaskNode(g, "a", house{}.task)
	graph.MapSubgraph(g, "b", child, func(_ context.Context, s desk.State) (desk.LetterUpdate, error) {
		var u, v desk.LetterUpdate
		u.To.Set(s.Status) // want `nothing returns this operation on u`
		return v, nil
	}, func(_ context.Context, _ desk.State, l desk.Letter) (desk.StateUpdate, error) {
		var u desk.StateUpdate
		u.Log.Append(l.Lines...) // want `nothing returns this operation on u`
		return built(desk.State{}), nil
	})
}

func someError() error { return errors.New("x") }
