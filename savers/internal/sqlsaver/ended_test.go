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
type late struct{ context.Context }

func (late) Deadline() (time.Time, bool) { return time.Now().Add(-time.Millisecond), true }

func TestADeadlineThatAConnectionNoticesFirst(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	soon, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	for name, c := range map[string]struct {
		ctx  context.Context
		err  error
		want error
	}{
		"noticed first":            {late{t.Context()}, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, context.DeadlineExceeded},
		"another error":            {late{t.Context()}, net.ErrClosed, nil},
		"the connection's own":     {soon, os.ErrDeadlineExceeded, nil},
		"no deadline":              {t.Context(), os.ErrDeadlineExceeded, nil},
		"a context that has ended": {over, net.ErrClosed, context.Canceled},
	} {
		if got := ended(c.ctx, c.err); !errors.Is(got, c.want) || c.want == nil && got != nil {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
