package checkpoint

import (
	"context"
	"fmt"
)

// Copy copies one version of a thread, 0 for the open one, from one saver into another, where the thread must not
// have an open version, and may have another name. Ids stay, so the copy resumes where the original stands. It is
// done whole or not at all. The source is read as it was at one moment; a run that holds it is not disturbed, and
// the copy holds neither its lease nor its fence.
//
// Tasks of the copy have the keys of the original's (graph.Task), which is what a move wants. Of a copy and its original only one
// should go on as it is; the other one begins lines of its own by a new input, a fork or a replay.
//
// The errors are those of from.Export and to.Import: ErrNotFound when the version does not exist, ErrConflict when
// the target has an open version.
func Copy(ctx context.Context, from Saver, thread string, version int, to Saver, as string) error {
	if err := to.Import(ctx, as, from.Export(ctx, thread, version)); err != nil {
		return fmt.Errorf("checkpoint: copy thread %s: %w", quote(thread), err)
	}
	return nil
}
