package inspect

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// The pauses between two looks whether a run has begun.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 200 * time.Millisecond
)

// background calls run on a goroutine, and returns when the thread has a new head or holder, or
// when run has ended. Errors of nodes are not errors of background, because the page of the thread
// shows them. An error after background has returned is kept for the page of the thread.
func (in *Inspector) background(r *http.Request, thread string, run func(context.Context) error) error {
	before, err := in.ops.Find(r.Context(), thread)
	if err != nil {
		return err
	}
	in.runs.forget(thread)
	ended, left := make(chan error), make(chan struct{})
	defer close(left)
	go func() {
		err := in.logged(context.WithoutCancel(r.Context()), thread, run)
		select {
		case ended <- err:
		case <-left:
			in.runs.keep(thread, err)
		}
	}()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		select {
		case err := <-ended:
			return err
		case <-r.Context().Done():
			return r.Context().Err()
		case <-time.After(pause):
		}
		now, err := in.ops.Find(r.Context(), thread)
		if err != nil || now.Holder != "" && now.Holder != before.Holder || now.Head != before.Head {
			return err
		}
	}
}

// logged calls run, and logs its error. It returns nil for an error that the thread stores.
func (in *Inspector) logged(ctx context.Context, thread string, run func(context.Context) error) error {
	err := run(ctx)
	if err == nil {
		return nil
	}
	in.opt.Log.LogAttrs(ctx, slog.LevelError, "a run that a page started has failed",
		slog.String("thread", thread), slog.String("error", err.Error()))
	var node *graph.NodeError
	var ends *graph.CancelledError
	if errors.As(err, &node) || errors.As(err, &ends) {
		return nil
	}
	return err
}

// keptRuns is the number of threads whose last error is kept.
const keptRuns = 100

// runs are the errors of runs that pages started, and whose threads do not store them.
type runs struct {
	mu   sync.Mutex
	list []runError // oldest first
}

// runError is the error of a run that a page started.
type runError struct {
	Thread string
	Text   string
	At     time.Time
}

// keep keeps the error of a run. A nil err is ignored.
func (rs *runs) keep(thread string, err error) {
	if err == nil {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if len(rs.list) == keptRuns {
		rs.list = slices.Delete(rs.list, 0, 1)
	}
	rs.list = append(rs.list, runError{thread, err.Error(), time.Now()})
}

// forget drops the errors of a thread.
func (rs *runs) forget(thread string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.list = slices.DeleteFunc(rs.list, func(e runError) bool { return e.Thread == thread })
}

// of returns the newest error of a thread, or nil.
func (rs *runs) of(thread string) *runError {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, e := range slices.Backward(rs.list) {
		if e.Thread == thread {
			return &e
		}
	}
	return nil
}
