package journal

import (
	"context"
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
}

// NewElsewhere returns the Log of an execution.
func NewElsewhere(c Config, task string, round int, clock func() time.Time) Elsewhere {
	return Elsewhere{Sync: NewSync(c), Task: task, Round: round, Clock: clock}
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
		call := e.calling(ctx, time.Now())
		err := e.Saver.PutOutcome(call, e.ThreadID, CallOutcome(w, e.Round))
		call.end()
		if err != nil {
			return err
		}
	}
	return nil
}
