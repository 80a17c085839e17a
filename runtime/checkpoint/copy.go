package checkpoint

import (
	"context"
	"fmt"
)

// Copy copies one version of a thread from one saver into another, as the thread as. Version 0 is
// the open one. The target thread must not have an open version. The copy keeps all ids, so a run
// resumes it where the original stopped.
//
// Copy stores the whole version or nothing. It reads a consistent view of the source and does not
// disturb a run that holds it. The copy has neither the lease nor the fence of the source.
//
// Tasks of the copy have the same keys (graph.Task) as those of the original, as a move requires.
// Only one of the two threads should resume its tasks. The other one should begin with a new
// input, a fork or a replay, which makes new keys.
//
// Copy returns the errors of from.Export and to.Import: ErrNotFound if the version does not exist,
// and ErrConflict if the target has an open version.
func Copy(ctx context.Context, from Saver, thread string, version int, to Saver, as string) error {
	if err := to.Import(ctx, as, from.Export(ctx, thread, version)); err != nil {
		return fmt.Errorf("checkpoint: copy thread %s: %w", quote(thread), err)
	}
	return nil
}
