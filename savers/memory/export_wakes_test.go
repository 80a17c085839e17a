package memory

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// ReadyLooked is Ready, and counts the threads that it looks at.
func ReadyLooked(ctx context.Context, s *Saver, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, int, error) {
	return s.ready(ctx, &q)
}
