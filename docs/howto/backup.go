package howto

import (
	"context"
	"errors"
	"fmt"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// CopyAll copies the open version of every thread to another saver, of any kind.
func CopyAll(ctx context.Context, from, to checkpoint.Saver) error {
	var errs []error
	for t, err := range from.Threads(ctx, checkpoint.ThreadQuery{}) {
		if err == nil {
			err = checkpoint.Copy(ctx, from, t.ID, 0, to, t.ID)
		}
		if err != nil { // a damaged thread does not stop the others
			errs = append(errs, fmt.Errorf("copying thread %q: %w", t.ID, err))
		}
	}
	return errors.Join(errs...)
}
