package inspect

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// resultWait is how long the page of a result waits for the end of an input.
const resultWait = 10 * time.Second

// resultPage waits for the result of an input, or of all inputs so far if the address names none.
// It leads to the checkpoint that is the result, with a note about how the work has ended. If the
// work has not ended by then, it leads to the thread.
func (in *Inspector) resultPage(w http.ResponseWriter, r *http.Request) error {
	p, err := threadPlaceOf(r.URL.Query())
	if err != nil {
		return err
	}
	p = p.root()
	if _, err := in.load(r, p, false); err != nil {
		return err
	}
	opts := []graph.ResultOption{graph.UntilWaiting()}
	if request := r.URL.Query().Get("request"); request != "" {
		opts = append(opts, graph.RequestID(request))
	}
	ctx, cancel := context.WithTimeout(r.Context(), resultWait)
	defer cancel()
	snap, err := graph.Stored{Saver: in.ops.Saver, Ref: checkpoint.Ref{Thread: p.Thread}}.Result(ctx, opts...)
	var failed *graph.FailedError
	var cancelled *graph.CancelledError
	note := "done"
	switch {
	case err == nil && snap.Status != graph.Done:
		note = "unfinished"
	case err == nil:
	case errors.As(err, &failed):
		note = "failed"
	case errors.Is(err, graph.ErrExecutionTimeout):
		note = "late"
	case errors.As(err, &cancelled):
		note = "ended"
	case ctx.Err() != nil && r.Context().Err() == nil:
		note = "unfinished"
	default:
		return err
	}
	if note == "unfinished" {
		redirect(w, p.link("thread", "note", note))
		return nil
	}
	p.Version, p.At = snap.Version, snap.Checkpoint
	redirect(w, p.link("checkpoint", "note", note))
	return nil
}
