package journal

import (
	"context"
	"sync"
	"time"
)

// saverCall is the context of one call of the saver. It has the values of a run's context and a
// deadline of its own. It does not end if the run is cancelled, so a cancelled run knows what it
// has stored. It costs a timer only once somebody waits for its Done. It is never used for a
// second call, because a saver may have kept it.
type saverCall struct {
	run     context.Context
	began   time.Time
	timeout time.Duration

	mu     sync.Mutex
	err    error           // why it has ended; nil while it has not been seen to
	waited context.Context // ends with the call; nil until somebody waits for that
	cancel context.CancelFunc
}

// Deadline implements context.Context.
func (c *saverCall) Deadline() (time.Time, bool) { return c.began.Add(c.timeout), true }

// Done implements context.Context.
func (c *saverCall) Done() <-chan struct{} { return c.wait().Done() }

// Err implements context.Context.
func (c *saverCall) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	return c.err
}

// Value implements context.Context.
func (c *saverCall) Value(key any) any {
	c.mu.Lock()
	ctx := c.waited
	c.mu.Unlock()
	if ctx == nil {
		ctx = context.WithoutCancel(c.run)
	}
	return ctx.Value(key)
}

// expire notes the end of a call that has run out of time.
func (c *saverCall) expire() {
	switch {
	case c.err != nil:
	case c.waited != nil:
		c.err = c.waited.Err()
	case time.Since(c.began) >= c.timeout:
		c.err = context.DeadlineExceeded
	}
}

// wait returns a context that ends when c does.
func (c *saverCall) wait() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waited == nil {
		c.waited, c.cancel = context.WithDeadline(context.WithoutCancel(c.run), c.began.Add(c.timeout))
		if c.err != nil {
			c.cancel()
		}
	}
	return c.waited
}

// end ends c: the saver has returned.
func (c *saverCall) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
		c.expire()
	}
	if c.err == nil {
		c.err = context.Canceled
	}
}
