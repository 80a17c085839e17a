package journal

import (
	"context"
	"errors"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// pruneEvery is how many records a log gets at least between two calls of Prune.
const pruneEvery = 16

// prune removes the old checkpoints of the thread if a write with the records of e made its log
// longer by another period. head is the Seq of the last record. The Seq of a record is never
// changed, so the runs of a thread need no memory of the last Prune. A Prune that fails is
// reported and not repeated: the one after the next period removes the same records.
func (s *Sync) prune(ctx context.Context, e *Entry, head uint64) {
	period := uint64(max(s.Keep, pruneEvery))
	if s.Keep == 0 || head/period == (head-uint64(len(e.Records)))/period || s.releases(e) {
		return
	}
	err := s.pruneNow(ctx)
	// After a conflict another run has the thread, which the next write reports.
	if err != nil && !errors.Is(err, checkpoint.ErrConflict) && s.Kept != nil {
		s.Kept(e.Records[len(e.Records)-1].Step, err)
	}
}

// pruneNow makes the call of the saver for prune.
func (s *Sync) pruneNow(ctx context.Context) (err error) {
	call := s.calling(ctx, time.Now())
	defer call.end()
	defer s.rescue(&err)
	_, err = s.Saver.Prune(call, s.ThreadID, checkpoint.Retention{Last: s.Keep, Fence: s.fence})
	return err
}
