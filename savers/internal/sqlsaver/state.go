package sqlsaver

import (
	"context"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// state keeps the readable state in step with the root's head.
func (l *log) state(ctx context.Context, a *checkpoint.Append) error { return nil }
