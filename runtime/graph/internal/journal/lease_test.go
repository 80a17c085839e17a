package journal

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestLateRenewalsFollowSoon: the leases of many runs are late, so all of their timers must fire
// soon, and none may crash the race detector.
func TestLateRenewalsFollowSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const runs, late = 8, 500
		timers, renewed := make([]leaseTimer, runs), make([]int, runs)
		for i := range timers {
			timers[i].start(time.Second, func() {
				if renewed[i]++; renewed[i] <= late {
					timers[i].written(time.Now().Add(-time.Minute)) // the write took longer than the lease
				}
			}, func() time.Duration { return time.Second })
		}
		time.Sleep(2 * time.Second)
		for i := range timers {
			timers[i].stop()
			if renewed[i] <= late {
				t.Errorf("got %d renewals of run %d, want more than %d", renewed[i], i, late)
			}
		}
	})
}
