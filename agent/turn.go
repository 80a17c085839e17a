package agent

import (
	"context"
	"errors"
	"iter"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Turn runs a turn of a chat as one stream. Without answers, it gives thread the input in, as
// Thread.Stream does. With answers, it resumes the thread, and ignores in. The events are pieces
// of replies (a Delta in Event.Custom), questions (Event.Question) and, at the end, the result
// (Event.Result). Add options by calling Thread.Stream and Thread.ResumeStream instead.
func Turn[S, U any](
	ctx context.Context, thread graph.Thread[S, U], in U, answers ...graph.ResumeOption,
) iter.Seq2[graph.Event[S, U], error] {
	events := graph.Events(graph.EventCustom | graph.EventQuestion)
	if len(answers) > 0 {
		return thread.ResumeStream(ctx, append(answers, events)...)
	}
	return thread.Stream(ctx, in, events)
}

// Stop ends the turn in progress, also in another process, and withdraws its open questions. The
// next input begins as on a finished thread. Results of tools and the text of a reply that arrived
// before stay in the Chat. The model then sees that the calls without a result were interrupted. A
// thread that is finished or cancelled stays as it is. Stop does not wait until a run in another
// process has ended: use the option graph.Wait for the next input. The error is
// checkpoint.ErrNotFound if the thread has never begun.
func Stop[S, U any](ctx context.Context, thread graph.Thread[S, U], reason string) error {
	snap, err := thread.State(ctx)
	if err != nil || snap.Status == graph.Done || snap.Status == graph.Cancelled {
		return err
	}
	if err := thread.Cancel(ctx, reason); err != nil {
		return err
	}
	// If no run holds the thread, this one obeys the cancel. Otherwise the other one does. After
	// it has, the head differs, and a Resume would continue what was cancelled.
	_, err = thread.Resume(ctx, graph.IfHead(snap.Checkpoint))
	busy, cancelled := (*checkpoint.BusyError)(nil), (*graph.CancelledError)(nil)
	if errors.As(err, &busy) || errors.As(err, &cancelled) || errors.Is(err, checkpoint.ErrConflict) {
		return nil
	}
	return err
}
