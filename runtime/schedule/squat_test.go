package schedule_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// A user of a program that lets users choose ids of threads tries to take those of a schedule.
func TestNobodyTakesTheThreadsOfASchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := memory.New(), t.Context()
		g := report(t, s, nil)
		for _, id := range []string{"__schedule:nightly", "__tick:nightly@2000-01-01T01:00:00Z", "nightly@2000-01-01T01:00:00Z", "schedule:nightly"} {
			_, invoked := g.Thread(id).Invoke(ctx, said)
			_, submitted := g.Thread(id).Submit(ctx, said, graph.RequestID(id))
			cancelled := g.Thread(id).Cancel(ctx, "no reports")
			invalid := (*checkpoint.InvalidError)(nil)
			if got := errors.As(invoked, &invalid) && errors.As(submitted, &invalid) && errors.Is(cancelled, checkpoint.ErrNotFound); got != (id[0] == '_') {
				t.Errorf("%s: got %v, %v and %v", id, invoked, submitted, cancelled)
			}
		}
		all := create(t, s, "nightly", schedule.Spec{Every: time.Hour})
		work(t, s, 2*time.Hour+time.Second, all, g)
		equal(t, "ticks", firings(t, s, "nightly"), hours(1, 2))
		once(t, s, "nightly")
	})
}
