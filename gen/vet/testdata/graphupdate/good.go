package graphupdate

import (
	"context"
	"fmt"

	"github.com/graphgen-go/graphgen/gen/vet/testdata/desk"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

func returned(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	u.Status.Set("x")
	u.Log.Append("y")
	return u, nil
}

func literal(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	return desk.StateUpdate{Status: state.Set("x")}, nil
}

func dropsOnError(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	u.Status.Set("x")
	if err := someError(); err != nil {
		u.Log.Append("failed")
		return desk.StateUpdate{}, err
	}
	return u, nil
}

func named(_ context.Context, s desk.State) (u desk.StateUpdate, err error) {
	u.Status.Set("x")
	if s.Status == "" {
		return
	}
	u.Log.Append("y")
	return u, nil
}

func fillPointer(u *desk.StateUpdate, log *state.List[string]) {
	u.Status.Set("x")
	log.Append("y")
}

func byPointer(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	fillPointer(&u, &u.Log)
	p := &u
	p.Total.Add(1)
	func() { u.Total.Add(2) }()
	return u, nil
}

func with(u desk.StateUpdate) desk.StateUpdate {
	u.Log.Append("x")
	return u
}

func chained(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	return with(with(desk.StateUpdate{})), nil
}

func loops(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	for _, d := range s.Docs {
		u.Log.Append(d.Name)
		if d.Name == "" {
			break
		}
	}
	return u, nil
}

func stored(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	log := u.Log
	log.Append("x")
	u.Log = log
	return u, nil
}

func perField(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var v desk.StateUpdate
	v.Log.Append("x")
	return desk.StateUpdate{Log: v.Log}, nil
}

func usesPart(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	u, err := part(ctx, s)
	if err != nil {
		return u, err
	}
	if _, err := check(ctx); err != nil {
		return u, err
	}
	add := func() { u.Log.Append("x") }
	add()
	return u, nil
}

// asksOnly calls a node of another state for its error.
func asksOnly(ctx context.Context, s desk.State) (desk.StateUpdate, error) {
	_, err := letter(ctx, desk.Letter{})
	return desk.StateUpdate{}, err
}

func letter(context.Context, desk.Letter) (desk.LetterUpdate, error) {
	return desk.LetterUpdate{}, nil
}

func check(context.Context) (int, error) { return 0, nil }

func readInClosure(_ context.Context, s desk.State) (desk.StateUpdate, error) {
	var u desk.StateUpdate
	get := func() desk.StateUpdate {
		u.Log.Append("x")
		return u
	}
	return get(), nil
}

// prints is no node: it uses an update without a graph.
func prints() {
	var u desk.StateUpdate
	u.Log.Append("x")
	fmt.Println(u)
}

// GoodGraph has nodes of other kinds.
func GoodGraph() {
	g := graph.New("good", desk.StateSchema)
	g.RoutingNode("a", func(_ context.Context, s desk.State) (desk.StateUpdate, graph.Next, error) {
		var u desk.StateUpdate
		if !u.Log.IsZero() {
			return u, graph.To(graph.End), nil
		}
		u.Log.Append("x")
		return u, graph.To("a"), nil
	}, graph.Targets("a", graph.End))
}
