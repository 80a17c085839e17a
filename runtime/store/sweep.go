package store

import (
	"context"
	"errors"
	"time"
)

// Sweep removes all expired items from a backend, and returns their number. Reads never return an
// expired item, so Sweep only frees space.
func Sweep(ctx context.Context, b Backend) (int, error) {
	const limit = 500
	for total := 0; ; {
		n, err := b.Sweep(ctx, limit)
		total += n
		if err != nil || n < limit {
			return total, err
		}
	}
}

// SweepEvery calls [Sweep] after each interval until ctx ends, and then returns nil. It continues
// after ErrUnavailable, and returns other errors. Run it in a goroutine of one process or of
// several.
func SweepEvery(ctx context.Context, b Backend, interval time.Duration) error {
	if interval <= 0 {
		return &InvalidError{"interval", interval.String(), "more than 0"}
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if _, err := Sweep(ctx, b); err != nil && ctx.Err() == nil && !errors.Is(err, ErrUnavailable) {
			return err
		}
	}
}
