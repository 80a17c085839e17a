package howto

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/schedule"
)

// ReadNightly reads the documents each night. Each process of the service can call it.
func ReadNightly(ctx context.Context, all *schedule.Schedules, reader *graph.Graph[State, StateUpdate], in StateUpdate) error {
	spec := schedule.Spec{
		Cron:    "30 2 * * MON-FRI",
		Zone:    "Europe/Lisbon",
		Jitter:  10 * time.Minute,
		CatchUp: 6 * time.Hour,
		Overlap: schedule.BufferOne,
	}
	err := all.Create(ctx, "nightly", spec, schedule.Submit(reader, in, graph.Label("kind", "report")))
	if errors.Is(err, schedule.ErrExists) {
		return nil
	}
	return err
}

// ReadAgain fires the schedule now, and for the nights of a week in which the documents were
// wrong.
func ReadAgain(ctx context.Context, all *schedule.Schedules, monday time.Time) error {
	return errors.Join(
		all.Trigger(ctx, "nightly"),
		all.Backfill(ctx, "nightly", monday, monday.AddDate(0, 0, 7)),
	)
}
