package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

var errCrashed = errors.New("the process died")

// dying is the saver of a process that dies at a call: before the call takes effect, or before its
// reply arrives. All later calls fail.
type dying struct {
	checkpoint.Saver
	after bool // the call takes effect

	mu    sync.Mutex
	left  int    // the calls before the last one
	calls int    // all
	died  func() // called once
}

// call does one call of the saver.
func (d *dying) call(do func() error) error {
	d.mu.Lock()
	d.calls++
	d.left--
	left := d.left
	d.mu.Unlock()
	switch {
	case left >= 0:
		return do()
	case left == -1:
		d.died()
		if d.after {
			_ = do()
		}
	}
	return errCrashed
}

func (d *dying) Append(ctx context.Context, a checkpoint.Append) (r checkpoint.AppendResult, err error) {
	err = d.call(func() error { r, err = d.Saver.Append(ctx, a); return err })
	return r, err
}

func (d *dying) PutWrites(ctx context.Context, w checkpoint.PutWrites) (r checkpoint.PutResult, err error) {
	err = d.call(func() error { r, err = d.Saver.PutWrites(ctx, w); return err })
	return r, err
}

func (d *dying) Post(ctx context.Context, p ...checkpoint.Post) (r []checkpoint.Posted, err error) {
	err = d.call(func() error { r, err = d.Saver.Post(ctx, p...); return err })
	return r, err
}

func (d *dying) Load(ctx context.Context, p checkpoint.Ref) (c checkpoint.Chain, err error) {
	err = d.call(func() error { c, err = d.Saver.Load(ctx, p); return err })
	return c, err
}

func (d *dying) Prune(ctx context.Context, id string, keep checkpoint.Retention) (r checkpoint.PruneResult, err error) {
	err = d.call(func() error { r, err = d.Saver.Prune(ctx, id, keep); return err })
	return r, err
}

func (d *dying) Rewake(ctx context.Context, r checkpoint.Rewake) error {
	return d.call(func() error { return d.Saver.Rewake(ctx, r) })
}

// TestACrashAtEachCallLosesNoTickAndRepeatsNone crashes a process at each of its calls of the
// saver. The next process continues.
func TestACrashAtEachCallLosesNoTickAndRepeatsNone(t *testing.T) {
	want := hours(1, 2, 3)
	for _, overlap := range []schedule.Overlap{schedule.Skip, schedule.BufferOne, schedule.Allow, schedule.Cancel} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/%t", overlap, after), func(t *testing.T) {
				crashes := 0
				for n := 0; ; n++ {
					died := false
					synctest.Test(t, func(t *testing.T) { died = crash(t, overlap, after, n, want) })
					if !died {
						break
					}
					crashes++
				}
				if crashes < 20 {
					t.Errorf("got %d crashes, want more than 20 calls of the saver to crash at", crashes)
				}
			})
		}
	}
}

// crash runs three ticks, with a crash at call n. It reports whether there were so many calls.
func crash(t *testing.T, overlap schedule.Overlap, after bool, n int, want []string) bool {
	t.Helper()
	s := memory.New()
	create(t, s, "s", schedule.Spec{Every: time.Hour, Overlap: overlap})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour+10*time.Minute)
	defer cancel()
	first, stop := context.WithCancel(ctx)
	defer stop()
	d := &dying{Saver: s, after: after, left: n, died: stop}
	_ = worker.New(d, worker.Options{Poll: time.Minute, DrainTimeout: -1}, newSchedules(t, d), report(t, d, nil)).Run(first) // it dies
	if ctx.Err() == nil {
		if err := worker.New(s, worker.Options{}, newSchedules(t, s), report(t, s, nil)).Run(ctx); err != nil {
			t.Error(err)
		}
	}
	equal(t, fmt.Sprintf("crash at call %d", n), firings(t, s, "s"), want)
	once(t, s, "s")
	if got := describe(t, newSchedules(t, s), "s"); got.Fired != int64(len(want)) || got.Missed != 0 {
		t.Errorf("crash at call %d: got %+v, want %d fired and none missed", n, got, len(want))
	}
	return d.calls > n
}
