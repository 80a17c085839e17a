package desk

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// BeforeNode returns the newest checkpoint at which a node was due.
func BeforeNode(ctx context.Context, t graph.Thread[State, StateUpdate], node graph.ID) (checkpoint.ID, error) {
	for snap, err := range t.History(ctx, checkpoint.Query{Next: string(node), Limit: 1, Headers: true}) {
		return snap.Checkpoint, err
	}
	return checkpoint.ID{}, checkpoint.ErrNotFound
}

// WhatIf forks a thread before a node, edits its state and runs it. The history keeps the old
// branch.
func WhatIf(ctx context.Context, t graph.Thread[State, StateUpdate], node graph.ID, edit StateUpdate) (graph.Result[State], error) {
	at, err := BeforeNode(ctx, t, node)
	if err != nil {
		return graph.Result[State]{}, err
	}
	if _, err := t.At(at).UpdateState(ctx, edit); err != nil {
		return graph.Result[State]{}, err
	}
	return t.Resume(ctx)
}

// Approve resumes a thread in the name of a user.
func Approve(ctx context.Context, t graph.Thread[State, StateUpdate], user string) (graph.Result[State], error) {
	return t.Resume(ctx, graph.Metadata(map[string]string{"user": user}))
}

// Users returns the users in whose names the checkpoints of a thread were stored, newest first.
func Users(ctx context.Context, t graph.Thread[State, StateUpdate]) ([]string, error) {
	var users []string
	for snap, err := range t.History(ctx, checkpoint.Query{Headers: true}) {
		if err != nil {
			return nil, err
		}
		users = append(users, snap.Metadata["user"])
	}
	return users, nil
}

// Between returns the difference between the states of two checkpoints.
func Between(ctx context.Context, t graph.Thread[State, StateUpdate], from, to checkpoint.ID) (StateDiff, error) {
	before, err := t.At(from).State(ctx)
	if err != nil {
		return StateDiff{}, err
	}
	after, err := t.At(to).State(ctx)
	if err != nil {
		return StateDiff{}, err
	}
	return StateDiffOf(before.State, after.State), nil
}

// Final returns the final state of each released version of a thread, oldest first.
func Final(ctx context.Context, saver checkpoint.Saver, app *graph.Graph[State, StateUpdate], id string) ([]State, error) {
	versions, err := saver.Versions(ctx, id)
	if err != nil {
		return nil, err
	}
	var states []State
	for _, v := range versions {
		if v.Released.IsZero() {
			continue // the open version
		}
		snap, err := app.Thread(id).Version(v.Number).State(ctx)
		if err != nil {
			return nil, err
		}
		states = append(states, snap.State)
	}
	return states, nil
}
