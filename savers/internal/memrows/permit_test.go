package memrows_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/rows"
)

// unreached is a saver that a process does not reach any more. last is when a write of the process
// was last acknowledged.
type unreached struct {
	checkpoint.Saver
	cut  atomic.Bool
	last time.Time
}

func (u *unreached) PutWrites(ctx context.Context, w checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if u.cut.Load() {
		return checkpoint.PutResult{}, checkpoint.ErrUnavailable
	}
	u.last = time.Now()
	return u.Saver.PutWrites(ctx, w)
}

// TestAPermitLastsAsLongAsItsHolderRelies cuts the holder of a permit off at different times. The
// permit is that of the holder for 15 s after its last acknowledged write.
func TestAPermitLastsAsLongAsItsHolderRelies(t *testing.T) {
	for held := 20 * time.Second; held < 40*time.Second; held += time.Second {
		t.Run(held.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := rows.New("rows", newStore(), rows.Options{})
				one := &unreached{Saver: s}
				lost, err := graph.MaxConcurrentGlobal(one, "model", 1).Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(held)
				one.cut.Store(true)
				release, err := graph.MaxConcurrentGlobal(s, "model", 1).Acquire(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(one.last); took < 15*time.Second || took > 21*time.Second {
					t.Errorf("another process got the permit %s after the last acknowledged write, want 15 to 20 s", took)
				}
				release()
				lost()
			})
		})
	}
}
