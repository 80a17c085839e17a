package sqltest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// Removals removes 1,000 ended threads by 64 callers, as workers do for a retention. They may take
// at most 1,000 round trips together: how many depends on the load of the machine, and is usually
// less than 100. One by one they take about 3,000.
func Removals(t *testing.T, b *Backend) {
	t.Helper()
	const n, callers, most = 1000, 64, 1000
	s, proxy := b.through(t, 4)
	concurrently(callers, n, func(i int) {
		if err := ended(t, s, fmt.Sprint("t", i)); err != nil {
			t.Errorf("thread %d: %v", i, err)
		}
	})
	keep := checkpoint.Retention{Ended: time.Now().Add(time.Hour)}
	before, began := proxy.RoundTrips(), time.Now()
	concurrently(callers, n, func(i int) {
		if done, err := s.Prune(t.Context(), fmt.Sprint("t", i), keep); err != nil || !done.Deleted {
			t.Errorf("thread %d: got %+v and %v, want it removed", i, done, err)
		}
	})
	trips := proxy.RoundTrips() - before
	if t.Logf("%d round trips, %.0f threads a second", trips, n/time.Since(began).Seconds()); trips > most {
		t.Errorf("got %d round trips for %d threads, want at most %d", trips, n, most)
	}
	for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{Released: true}) {
		t.Errorf("got thread %q and %v, want none", th.ID, err)
	}
}

// ended stores a thread of two checkpoints that is Done.
func ended(t *testing.T, s checkpoint.Saver, thread string) error {
	t.Helper()
	r, err := tryOpening(t.Context(), s, thread, checkpoint.ID{})
	if err == nil {
		err = r.commit(t.Context(), "")
	}
	if err == nil {
		_, err = s.PutWrites(t.Context(), checkpoint.PutWrites{Thread: thread, Fence: r.fence, End: true, Status: checkpoint.Done})
	}
	return err
}

// concurrently calls f for the numbers below n, by several callers.
func concurrently(callers, n int, f func(i int)) {
	var calls sync.WaitGroup
	for c := range callers {
		calls.Go(func() {
			for i := c; i < n; i += callers {
				f(i)
			}
		})
	}
	calls.Wait()
}
