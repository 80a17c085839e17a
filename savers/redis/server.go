package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/internal/connecting"
)

// server is the server, or the cluster, that a saver and its store share.
type server struct {
	client goredis.UniversalClient
	owned  bool // close closes the client

	readTimeout time.Duration // the client's; 0 for none
	exact       bool          // the client ends a call when its context's deadline has come

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
}

// close waits for the calls in progress.
func (s *server) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	if s.owned {
		return s.client.Close()
	}
	return nil
}

// open returns an error if a call must not begin or continue.
func (s *server) open(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return checkpoint.ErrClosed
	}
	return nil
}

// prompt reports whether a call that the caller's goroutine makes ends soon after ctx does. The
// client does not look at ctx while it waits for an answer; what ends that is its own timeout.
func (s *server) prompt(ctx context.Context) bool {
	if ctx.Done() == nil {
		return true
	}
	deadline, ok := ctx.Deadline()
	return ok && (s.exact || s.readTimeout > 0 && time.Until(deadline) >= s.readTimeout)
}

// do calls f until its outcome is known. It returns when ctx ends, although the client may still
// wait for an answer. It may return slightly later if that saves a goroutine, which would cost
// more than the rest of this function. attempt counts the calls of f, from 0.
func do[T any](ctx context.Context, s *server, f func(ctx context.Context, attempt int) (T, error)) (result T, err error) {
	if err := s.begin(ctx); err != nil {
		return result, err
	}
	if s.prompt(ctx) {
		result, err = again(ctx, f)
		s.calls.Done()
	} else {
		result, err = apart(ctx, s, f)
	}
	if goredis.HasErrorPrefix(err, "READONLY") {
		err = fmt.Errorf("%w: connect to the master, or through sentinels", err)
	}
	if err != nil && transient(err) {
		err = fmt.Errorf("%w: %w", checkpoint.ErrUnavailable, err)
	}
	return result, err
}

// begin starts a call, unless ctx has ended or the server is closed.
func (s *server) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return checkpoint.ErrClosed
	}
	s.calls.Add(1)
	return nil
}

// apart calls f in a goroutine of its own and returns when ctx ends.
func apart[T any](ctx context.Context, s *server, f func(context.Context, int) (T, error)) (none T, err error) {
	type outcome struct {
		result T
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		defer s.calls.Done()
		result, err := again(ctx, f)
		done <- outcome{result, err}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// again calls f, and calls it again when the server could not be reached or could not answer for
// now.
func again[T any](ctx context.Context, f func(context.Context, int) (T, error)) (T, error) {
	wait := 10 * time.Millisecond
	for attempt := 0; ; attempt++ {
		result, err := f(ctx, attempt)
		if err == nil || attempt == 4 || !transient(err) {
			return result, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return result, errors.Join(ctx.Err(), err)
		}
		wait *= 4
	}
}

// transient reports whether err may be gone the next time.
func transient(err error) bool {
	if errors.Is(err, checkpoint.ErrTooLarge) {
		return false
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || connecting.Hopeless(err) {
		return false
	}
	for _, prefix := range []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"} {
		if goredis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &network)
}
