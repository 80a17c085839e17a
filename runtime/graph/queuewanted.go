package graph

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/internal/news"
)

// A worker of a queue asks for news of the thread before it runs a task, and while the task runs.
// So a task ends that no run waits for any more. Its thread was cancelled, or has continued
// without it, as after a race.

// errUnwanted is the cause of the end of a task that its thread does not wait for.
var errUnwanted = errors.New("the thread does not wait for the task any more")

// watch calls unwanted when the thread does not wait for a task any more, until the returned
// function is called. It asks for news of the thread from a second on, so that short tasks cost
// nothing.
func (r pooled) watch(q *queuedTask, unwanted func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.run.ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		timer := time.NewTimer(news.Every)
		defer timer.Stop()
		changed := make(chan struct{}, 1)
		var seat *news.Seat
		for {
			select {
			case <-ctx.Done():
				if seat != nil {
					seat.Leave()
				}
				return
			case <-timer.C:
				if seat == nil {
					seat = r.root.news.Watch(ctx, q.Thread, func() {
						select {
						case changed <- struct{}{}:
						default: // the goroutine looks at the thread after this change
						}
					})
				}
				timer.Reset(min(seat.Tick(), time.Hour))
			case <-changed: // after an error, the next change looks again
				if s, _, err := newPooled(ctx, r.root, q).current(q, false); err == nil && s == nil {
					unwanted()
				}
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
