package temporal

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/graphgen-go/graphgen/engines/internal/carry"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// serving is a call of Serve.
type serving struct {
	ctx context.Context //nolint:containedctx // of the call of Serve; activities have contexts of their own
	run func(context.Context, graph.QueuedTask) error
}

// errNoOutcome is the error of a task whose node ended the goroutine.
var errNoOutcome = errors.New("the call of the worker ended its goroutine, so the task has no outcome; another call runs the task again")

// Serve implements graph.TaskQueue. It is a worker of Temporal, which asks for an activity only if
// a slot is free. If run returns an error, another worker gets the task after a pause, which grows
// up to 5 seconds. There is nearly no pause if ctx has ended. If the server fails, the worker
// tries again. Serve returns an error if the server is down at its beginning, and if it refuses
// the worker.
func (q *TaskQueue) Serve(
	ctx context.Context, graphName, queue string, slots int, run func(context.Context, graph.QueuedTask) error,
) error {
	return fmt.Errorf("temporal: serve a queue: %w", q.serve(ctx, q.queue(graphName, queue), slots, &serving{ctx, run}))
}

func (q *TaskQueue) serve(ctx context.Context, queue string, slots int, s *serving) error {
	refused := make(chan error, 1)
	w := worker.New(q.client, queue, worker.Options{
		MaxConcurrentActivityExecutionSize: slots,
		MaxHeartbeatThrottleInterval:       time.Millisecond, // perform has its own interval
		WorkerStopTimeout:                  math.MaxInt64,    // Stop waits for the tasks
		DisableRegistrationAliasing:        true,
		DisableWorkflowWorker:              true, // Do answers for the workflows
		OnFatalError:                       func(err error) { refused <- err },
	})
	w.RegisterActivityWithOptions(s.perform, activity.RegisterOptions{Name: taskType})
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-refused:
		return err
	}
}

// perform is the activity of a task.
func (s *serving) perform(ctx context.Context, task []byte) error {
	over := make(chan error, 1)
	go func() {
		err := errNoOutcome
		defer func() { over <- err }()
		t, broken := carry.Decode(task)
		if broken != nil {
			err = fmt.Errorf("temporal: read a task: %w; update the worker to the version that handed the task out", broken)
			return
		}
		err = s.run(context.WithoutCancel(ctx), t)
	}()
	beat := time.NewTicker(activity.GetInfo(ctx).HeartbeatTimeout/4 + 1)
	defer beat.Stop()
	for {
		select {
		case <-beat.C:
			activity.RecordHeartbeat(ctx) // if it does not arrive, the task runs twice
		case err := <-over:
			return s.outcome(err)
		}
	}
}

// outcome returns the error of the activity. The server repeats the activity after any error.
func (s *serving) outcome(err error) error {
	if err == nil {
		return nil
	}
	var o temporal.ApplicationErrorOptions
	if s.ctx.Err() != nil {
		o.NextRetryDelay = time.Millisecond // 0 is the pause of the policy
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), "NoOutcome", o)
}
