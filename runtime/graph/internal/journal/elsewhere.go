package journal

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Elsewhere is the Log of one execution of a task in a worker of a queue. It has neither opened
// the thread nor its fence. All that it writes are the results of durable calls, as outcomes.
type Elsewhere struct {
	*Sync
	Task  string
	Round int
	Clock func() time.Time // the time on the saver's clock

	calls *atomic.Bool // the outcome of CallsName is stored
}

// NewElsewhere returns the Log of an execution.
func NewElsewhere(c Config, task string, round int, clock func() time.Time) Elsewhere {
	return Elsewhere{Sync: NewSync(c), Task: task, Round: round, Clock: clock, calls: new(atomic.Bool)}
}

// Now implements Log.
func (e Elsewhere) Now() time.Time { return e.Clock() }

// Write stores the results of durable calls of the task. It ignores everything else.
func (e Elsewhere) Write(ctx context.Context, entry Entry) (err error) {
	defer e.rescue(&err)
	for _, w := range entry.Writes {
		if w.Kind != checkpoint.Result || w.Task != e.Task || w.Name == "" {
			continue
		}
		if err := e.announce(ctx, w); err != nil {
			return err
		}
		if err := e.put(ctx, CallOutcome(w, e.Round)); err != nil {
			return err
		}
	}
	return nil
}

// announce stores that there may be results of durable calls, before the first one.
func (e Elsewhere) announce(ctx context.Context, w checkpoint.Write) error {
	if e.calls.Load() {
		return nil
	}
	w.Kind, w.Name, w.Payload = checkpoint.Outcome, CallsName(e.Round), nil
	err := e.put(ctx, w)
	if err == nil {
		e.calls.Store(true)
	}
	return err
}

func (e Elsewhere) put(ctx context.Context, w checkpoint.Write) error {
	call := e.calling(ctx, time.Now())
	defer call.end()
	done, err := e.Saver.Post(call, checkpoint.Post{Thread: e.ThreadID, Outcomes: []checkpoint.Write{w}})
	if err == nil {
		err = done[0].Err
	}
	return err
}
