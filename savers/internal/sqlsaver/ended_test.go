package sqlsaver

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// late is a context whose deadline has passed, and whose timer has yet to say so.
type late struct {
	context.Context //nolint:containedctx // it is one
}

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

func TestADeadlineThatAConnectionNoticesFirst(t *testing.T) {
	check := func(ctx context.Context, what string, err, want error) {
		t.Helper()
		if got := ended(ctx, err); !errors.Is(got, want) || want == nil && got != nil {
			t.Errorf("%s: got %v, want %v", what, got, want)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	soon, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	check(late{t.Context()}, "noticed first", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, context.DeadlineExceeded)
	check(late{t.Context()}, "another error", net.ErrClosed, nil)
	check(soon, "the connection's own", os.ErrDeadlineExceeded, nil)
	check(t.Context(), "no deadline", os.ErrDeadlineExceeded, nil)
	check(over, "a context that has ended", net.ErrClosed, context.Canceled)
}
