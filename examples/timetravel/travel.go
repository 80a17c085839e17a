package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// thread is the thread of a trip.
type thread = graph.Thread[State, StateUpdate]

// find returns the checkpoint with that ID, or with that number in the history. The oldest
// checkpoint is number 1. Numbers are permanent, because a history only grows.
func find(ctx context.Context, t thread, which string) (checkpoint.ID, error) {
	n, err := strconv.Atoi(which)
	if err != nil {
		return checkpoint.ParseID(which)
	}
	ids, err := checkpoints(ctx, t)
	if err != nil {
		return checkpoint.ID{}, err
	}
	if n < 1 || n > len(ids) {
		return checkpoint.ID{}, fmt.Errorf("no checkpoint %d; there are 1 to %d", n, len(ids))
	}
	return ids[n-1], nil
}

// checkpoints returns the IDs of a thread's checkpoints, oldest first.
func checkpoints(ctx context.Context, t thread) ([]checkpoint.ID, error) {
	var ids []checkpoint.ID
	for snap, err := range t.History(ctx, checkpoint.Query{}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, snap.Checkpoint)
	}
	slices.Reverse(ids)
	return ids, nil
}

// numbers returns the number of each checkpoint. A resume record has the number of its base.
func numbers(ctx context.Context, t thread) (map[checkpoint.ID]int, error) {
	var snaps []graph.Snapshot[State]
	all := []checkpoint.Source{checkpoint.Input, checkpoint.Loop, checkpoint.Update, checkpoint.Fork, checkpoint.Resume}
	for snap, err := range t.History(ctx, checkpoint.Query{Sources: all}) {
		if err != nil {
			return nil, err
		}
		snaps = append(snaps, snap)
	}
	number, n := make(map[checkpoint.ID]int, len(snaps)), 0
	for _, snap := range slices.Backward(snaps) {
		if snap.Source == checkpoint.Resume {
			number[snap.Checkpoint] = number[snap.Parent]
			continue
		}
		n++
		number[snap.Checkpoint] = n
	}
	return number, nil
}

// fields lists the fields of State in the order of value.
var fields = [...]string{"City", "Days", "Budget", "Booked", "Facts", "Tags", "Tries", "Dear", "Log", "Ready"}

// value prints one field of a state.
func value(s State, field string) string {
	switch field {
	case "City":
		return strconv.Quote(s.City)
	case "Days":
		return strconv.Itoa(s.Days)
	case "Budget":
		return strconv.FormatInt(s.Budget, 10)
	case "Booked":
		var items []string
		for _, i := range s.Booked {
			items = append(items, i.String())
		}
		return list(items)
	case "Facts":
		var facts []string
		for _, k := range slices.Sorted(maps.Keys(s.Facts)) {
			facts = append(facts, k+": "+s.Facts[k])
		}
		return list(facts)
	case "Tags":
		return list(s.Tags)
	case "Tries":
		return strconv.Itoa(s.Tries)
	case "Dear":
		return strconv.FormatInt(s.Dear, 10)
	case "Log":
		return list(s.Log)
	case "Ready":
		return strconv.FormatBool(s.Ready)
	}
	return "?"
}

func list(items []string) string { return "[" + strings.Join(items, "; ") + "]" }

// parseEdit parses edits of the form field=value. It sets fields that are replaced, and adds to
// tag= and log=.
func parseEdit(args []string) (StateUpdate, error) {
	var u StateUpdate
	for _, arg := range args {
		field, text, ok := strings.Cut(arg, "=")
		if !ok {
			return u, fmt.Errorf("edit %q has no =; want field=value", arg)
		}
		var err error
		switch field {
		case "city":
			u.City.Set(text)
		case "days":
			var n int
			if n, err = strconv.Atoi(text); err == nil && n < 1 {
				err = fmt.Errorf("%d is not a valid number of days", n)
			}
			u.Days.Set(n)
		case "budget":
			var n int64
			n, err = strconv.ParseInt(text, 10, 64)
			u.Budget.Set(n)
		case "hotel":
			err = editHotel(&u, text)
		case "tag":
			u.Tags.Add(text)
		case "log":
			u.Log.Append(text)
		default:
			err = fmt.Errorf("no field %q; want city, days, budget, hotel, tag or log", field)
		}
		if err != nil {
			return u, fmt.Errorf("edit %q: %w", arg, err)
		}
	}
	return u, nil
}

// editHotel parses NAME:EUROS.
func editHotel(u *StateUpdate, text string) error {
	name, euros, ok := strings.Cut(text, ":")
	if !ok {
		return fmt.Errorf("want NAME:EUROS")
	}
	n, err := strconv.ParseInt(euros, 10, 64)
	if err != nil {
		return err
	}
	u.Booked.Upsert(Item{Kind: "hotel", Name: name, Euros: n})
	return nil
}
