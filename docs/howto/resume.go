package howto

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Sweep resumes every thread that was left by a crash or a shutdown. Call it at start, and then
// once per lease.
func Sweep(ctx context.Context, app *graph.Graph[State, StateUpdate], saver checkpoint.Saver) error {
	for _, status := range []checkpoint.Status{checkpoint.Ready, checkpoint.Running} {
		// IdleSince omits threads that are held: another process runs them, or died less than a
		// lease ago.
		for t, err := range saver.Threads(ctx, checkpoint.ThreadQuery{Status: status, IdleSince: time.Now()}) {
			if errors.Is(err, checkpoint.ErrDamaged) {
				slog.Error("sweep", "thread", t.ID, "err", err) // the others follow
				continue
			}
			if err != nil {
				return err
			}
			_, err := app.Thread(t.ID).Resume(ctx)
			var busy *checkpoint.BusyError
			switch {
			case errors.As(err, &busy): // another process was faster
			case err != nil:
				slog.Error("sweep", "thread", t.ID, "err", err)
			}
		}
	}
	return ctx.Err()
}
