// Package workertest runs workers in tests. With the memory saver in a bubble of testing/synctest,
// threads that wait for days take no time.
//
//	synctest.Test(t, func(t *testing.T) {
//		... // store threads that are due
//		events := workertest.RunUntilIdle(t, saver, worker.Options{}, orders)
//	})
package workertest

import (
	"context"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// RunUntilIdle runs a worker until no thread of the apps is due, now or at any later time. It
// returns the events of the worker, in order. An error of Run fails the test.
//
// It waits for pauses of o.Retry and for leases of other runs. So it can take long outside of
// testing/synctest. With o.Engine, it waits for the poll after the last run, up to o.Poll and a
// half. It ignores o.Retention, whose next walk is always due later.
func RunUntilIdle(tb testing.TB, saver checkpoint.Saver, o worker.Options, apps ...worker.App) []worker.Event {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	var events []worker.Event
	next := o.OnEvent
	o.Retention = nil
	o.OnEvent = func(e worker.Event) {
		mu.Lock()
		events = append(events, e)
		mu.Unlock()
		if next != nil {
			next(e)
		}
		if e.Kind == worker.EventIdle && e.Wake.IsZero() {
			cancel()
		}
	}
	if err := worker.New(saver, o, apps...).Run(ctx); err != nil {
		tb.Fatal(err)
	}
	return events
}
