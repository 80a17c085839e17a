package graph

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/internal/news"
)

// A queue can have tasks that no run waits for any more. The process of the run has died, and then
// somebody has cancelled the thread. So a worker of a queue looks at the status of the thread
// before it runs a task, unless it has looked within a second. It looks again when a message comes
// while the task runs.

// errUnwanted is the cause of the end of a task whose thread was cancelled.
var errUnwanted = errors.New("the thread of the task was cancelled")

// ofQueues is a graph as its workers of queues see the threads of their tasks.
type ofQueues struct{ *core }

// cancelled reports whether somebody has cancelled a thread.
func cancelled(t *checkpoint.Thread) bool { return t.Status == Cancelled || t.Cancels > 0 }

// listedThread returns a thread as the saver lists it. A thread that does not exist has no id.
func (g ofQueues) listedThread(ctx context.Context, id string) (checkpoint.Thread, error) {
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	for t, err := range g.opt.saver.Threads(call, checkpoint.ThreadQuery{Prefix: id, Limit: 1}) {
		if err != nil {
			return t, &SaverError{Graph: g.name, Thread: id, Step: -1, Op: "threads", Err: err}
		}
		if t.ID == id {
			return t, nil
		}
	}
	return checkpoint.Thread{}, nil
}

// wanted reports whether the thread of a kept superstep was not cancelled, as far as it was known
// within a second. If that cannot be read, the load that follows fails too.
func (s *queuedStep) wanted(ctx context.Context, g *core, thread string) bool {
	now := time.Now()
	if now.Sub(time.Unix(0, s.looked.Load())) < news.Every {
		return true
	}
	t, err := ofQueues{g}.listedThread(ctx, thread)
	if err != nil || t.ID == "" || cancelled(&t) {
		return false
	}
	s.looked.Store(now.UnixNano())
	return true
}

// watchThread calls unwanted when somebody has cancelled a thread, until the returned function is
// called. It asks for messages of the thread from a second on, so that short tasks cost nothing.
func (g ofQueues) watchThread(ctx context.Context, thread string, unwanted func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() {
		timer := time.NewTimer(news.Every)
		defer timer.Stop()
		var seat *news.Seat
		heard := make(chan uint64, 1)
		for known := uint64(0); ; {
			select {
			case <-ctx.Done():
				if seat != nil {
					seat.Leave()
				}
				return
			case <-timer.C:
				if seat == nil {
					seat = g.news.Join(ctx, thread, func(posted uint64) {
						select {
						case heard <- posted:
						default: // the goroutine looks at the thread after this message
						}
					})
				}
				timer.Reset(min(seat.Tick(), time.Hour))
			case posted := <-heard:
				if posted == known {
					continue
				}
				switch t, err := g.listedThread(ctx, thread); {
				case err != nil: // the next second asks again
				case t.ID == "", cancelled(&t):
					unwanted()
				default:
					known = posted
				}
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// wakeFor makes the thread of a task due that has its outcome, unless the thread does not wait for
// it, or is due already. If a run holds the thread, the thread is due when that run ends.
func (g ofQueues) wakeFor(ctx context.Context, q *queuedTask) error {
	ctx = context.WithoutCancel(ctx)
	t, err := g.listedThread(ctx, q.Thread)
	if err != nil {
		return err
	}
	switch due := !t.Wake.IsZero() && !t.Wake.After(t.Now); {
	case t.Status != Waiting && t.Status != Running && t.Status != Ready, t.Holder == "" && due:
		return nil
	}
	call, cancel := context.WithTimeout(ctx, g.opt.saverTimeout)
	defer cancel()
	id, err := checkpoint.NewID()
	if err != nil {
		return err
	}
	done, err := g.opt.saver.Post(call, checkpoint.Post{
		Thread: q.Thread, Graph: g.name, Messages: []checkpoint.Message{{ID: id.String(), Kind: checkpoint.WakeMessage}},
	})
	if err == nil {
		err = done[0].Err
	}
	if err != nil {
		return &SaverError{Graph: g.name, Thread: q.Thread, Step: -1, Op: "post", Err: err}
	}
	return nil
}
