package worker_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/runtime/worker/workertest"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestRunUntilIdleWaitsForAllThatIsDueLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, failures := memory.New(), 0
		submit(t, s, "orders", ids("t", 3)...)
		g := line(t, "orders", s, func(context.Context, Job) (JobUpdate, error) {
			if failures++; failures <= 2 {
				return JobUpdate{}, graph.RetryAfter(errBroken, 7*24*time.Hour)
			}
			return said("a"), nil
		})
		begin, idle := time.Now(), 0
		events := workertest.RunUntilIdle(t, s, worker.Options{Slots: 1, OnEvent: func(e worker.Event) {
			if e.Kind == worker.EventIdle {
				idle++
			}
		}}, g)
		for _, id := range ids("t", 3) {
			if th := listed(t, s, id); th.Status != graph.Done {
				t.Errorf("got the thread %s %s, want it done", id, th.Status)
			}
		}
		if took := time.Since(begin); took < 7*24*time.Hour {
			t.Errorf("RunUntilIdle returned after %s, want after the pause of a week", took)
		}
		if len(events) == 0 || idle < 2 {
			t.Errorf("got %d events and %d of them idle, want two idle ones at least", len(events), idle)
		}
	})
}

// TestAWorkerIsNotIdleWithAThreadThatRanInThePoll: the answer of Ready does not have the wake of a
// thread that ran since.
func TestAWorkerIsNotIdleWithAThreadThatRanInThePoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, failures := &slowReady{Saver: memory.New()}, 0
		submit(t, s, "orders", "t")
		g := line(t, "orders", s, func(context.Context, Job) (JobUpdate, error) {
			if failures++; failures == 1 {
				return JobUpdate{}, graph.RetryAfter(errBroken, 7*24*time.Hour)
			}
			return said("a"), nil
		})
		begin := time.Now()
		events := workertest.RunUntilIdle(t, s, worker.Options{Limits: []worker.Limit{{Graph: "orders", Max: 2}}}, g, line(t, "mails", s, say("mail")))
		wantStatus(t, s, "t", graph.Done)
		i := slices.IndexFunc(events, func(e worker.Event) bool { return e.Kind == worker.EventIdle })
		if wait := events[i].Wake.Sub(begin); wait < 7*24*time.Hour {
			t.Errorf("the worker is first idle until %s later, want a week", wait)
		}
	})
}

// failing keeps the message of Fatalf.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// unsubmitted returns the message with which RequireSubmitted fails; empty if it does not.
func unsubmitted(tb testing.TB, s checkpoint.Saver, thread string, requests ...string) string {
	tb.Helper()
	fake, done := &failing{TB: tb}, make(chan struct{})
	go func() {
		defer close(done)
		workertest.RequireSubmitted(fake, s, thread, requests...)
	}()
	<-done
	return fake.message
}

func TestRequireSubmittedFindsTheInputsThatWait(t *testing.T) {
	s := memory.New()
	g := line(t, "orders", s, say("a"))
	for _, id := range []string{"first", "second"} {
		if _, err := g.Thread("t").Submit(t.Context(), said(id), graph.RequestID(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := g.Thread("t").Wake(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := workertest.RequireSubmitted(t, s, "t", "first", "second"); len(got) != 2 || len(got[0].Payload) == 0 {
		t.Errorf("got %v, want both inputs", got)
	}
	workertest.RequireSubmitted(t, s, "t")
	for want, requests := range map[string][]string{`want ["second" "first"]`: {"second", "first"}, `want ["first"]`: {"first"}} {
		got := unsubmitted(t, s, "t", requests...)
		if !strings.Contains(got, want) {
			t.Errorf("with %q: got the failure %q, want %q in it", requests, got, want)
		}
	}
	if got := unsubmitted(t, s, "none"); !strings.Contains(got, "no input waits") {
		t.Errorf("without inputs: got the failure %q, want that no input waits", got)
	}
}
