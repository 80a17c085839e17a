package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
)

// pauses runs a node that fails with each of the errors in turn. It returns the delays of the
// retries as an observer sees them, the duration of the run, and its error.
func pauses(t *testing.T, retry graph.NodeOption, failures ...error) (delays []time.Duration, took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newWork()
		b.Node("a", func(ctx context.Context, _ work) (update, error) {
			if n := graph.CurrentTask(ctx).Attempt; n <= len(failures) {
				return update{}, failures[n-1]
			}
			return logged("a"), nil
		}, retry)
		b.Chain(graph.Start, "a", graph.End)
		began := time.Now()
		_, err = compile(t, b, graph.Observe(observer(func(e graph.RunEvent) {
			if e.Kind == graph.EventTaskRetry {
				delays = append(delays, e.Delay)
			}
		}))).Run(t.Context(), input)
		took = time.Since(began)
	})
	return delays, took, err
}

// A pause d is d/2 + f*d/2, where f is random, or that of the policy's Jitter.
func TestJitterShortensPauses(t *testing.T) {
	steady := func(f float64) func() float64 { return func() float64 { return f } }
	for f, want := range map[float64][]time.Duration{
		0:           {500 * time.Millisecond, time.Second},
		0.5:         {750 * time.Millisecond, 1500 * time.Millisecond},
		1:           {time.Second, 2 * time.Second},
		-1:          {500 * time.Millisecond, time.Second},
		7:           {time.Second, 2 * time.Second},
		math.Inf(1): {time.Second, 2 * time.Second},
	} {
		policy := graph.RetryPolicy{Attempts: 3, Base: time.Second, Jitter: steady(f)}
		delays, took, err := pauses(t, graph.Retry(policy), errBroken, errBroken)
		if err != nil {
			t.Fatal(err)
		}
		same(t, fmt.Sprint("delays with a jitter of ", f), delays, want)
		same(t, fmt.Sprint("time with a jitter of ", f), took, want[0]+want[1])
	}
	seeded := func() []time.Duration {
		policy := graph.RetryPolicy{Attempts: 4, Base: time.Second, Jitter: rand.New(rand.NewPCG(1, 2)).Float64}
		delays, _, _ := pauses(t, graph.Retry(policy), errBroken, errBroken, errBroken)
		return delays
	}
	same(t, "delays of one seed", seeded(), seeded())
}

func TestJitterIsOnByDefault(t *testing.T) {
	different := make(map[time.Duration]bool)
	for range 20 {
		delays, _, err := pauses(t, graph.Retry(graph.RetryPolicy{Attempts: 2, Base: time.Hour, Max: time.Hour}), errBroken)
		if err != nil {
			t.Fatal(err)
		}
		if d := delays[0]; d < time.Hour/2 || d > time.Hour {
			t.Errorf("got a pause of %s, want 30m to 1h", d)
		}
		different[delays[0]] = true
	}
	if len(different) < 10 { // of 20 random numbers
		t.Errorf("got %d different pauses of 20, want random ones", len(different))
	}
}

// full is the error of a server that says when to come back.
type full struct{ after time.Duration }

func (full) Error() string { return "full" }

func (f full) RetryAfter() time.Duration { return f.after }

func TestAnErrorCanCarryThePause(t *testing.T) {
	policy := graph.Retry(graph.RetryPolicy{Attempts: 9, Base: time.Second, Max: 2 * time.Second, Jitter: whole})
	delays, took, err := pauses(t, policy,
		full{time.Minute}, fmt.Errorf("fetch: %w", full{time.Hour}), graph.RetryAfter(errBroken, 7), full{0}, full{-1})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "delays", delays, []time.Duration{time.Minute, time.Hour, 7, 2 * time.Second, 2 * time.Second})
	same(t, "time", took, time.Minute+time.Hour+7+4*time.Second)

	carrying := graph.RetryAfter(errBroken, time.Second)
	if !errors.Is(carrying, errBroken) || carrying.Error() != errBroken.Error() {
		t.Errorf("got %v, want it to be and to read like %v", carrying, errBroken)
	}
	if err := graph.RetryAfter(nil, time.Second); err != nil {
		t.Errorf("got the error %#v for a call that has succeeded, want nil", err)
	}
}

// The first policy that is for the error counts, and an error that no policy is for is not
// retried.
func TestPoliciesAreForKindsOfErrors(t *testing.T) {
	errInvalid, errLimit := errors.New("invalid"), errors.New("limit")
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	never := graph.RetryPolicy{If: is(errInvalid)}
	patient := graph.RetryPolicy{If: is(errLimit), Attempts: 5, Base: time.Minute, Max: time.Hour, Jitter: whole}
	others := graph.RetryPolicy{Attempts: 2, Base: time.Second, Jitter: whole}
	for _, c := range []struct {
		name     string
		policies []graph.RetryPolicy
		failures []error
		want     []time.Duration
		err      error
	}{
		{"never", []graph.RetryPolicy{never, patient, others}, []error{errInvalid}, nil, errInvalid},
		{
			"patient", []graph.RetryPolicy{never, patient, others}, []error{errLimit, errLimit, errLimit},
			[]time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute}, nil,
		},
		{"others", []graph.RetryPolicy{never, patient, others}, []error{errBroken, errBroken}, []time.Duration{time.Second}, errBroken},
		{"both", []graph.RetryPolicy{never, patient, others}, []error{errLimit, errBroken}, []time.Duration{time.Minute}, errBroken},
		{"no policy", []graph.RetryPolicy{patient}, []error{errBroken}, nil, errBroken},
		{"none", nil, []error{errBroken}, nil, errBroken},
	} {
		delays, _, err := pauses(t, graph.Retry(c.policies...), c.failures...)
		same(t, c.name+": delays", delays, c.want)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: got error %v, want %v", c.name, err, c.err)
		}
	}
	b := newWork()
	b.Node("a", say("a"), graph.Retry(others, patient, others))
	b.Chain(graph.Start, "a", graph.End)
	if _, err := b.Compile(); err == nil || !strings.Contains(err.Error(), "the second never applies") {
		t.Errorf("got %v, want a fault of the policy that never applies", err)
	}
}

// TestAPolicyForPanicsCanFollowOneForAllErrors, which does not apply to panics (rule 11.4).
func TestAPolicyForPanicsCanFollowOneForAllErrors(t *testing.T) {
	panics := graph.RetryPolicy{
		Attempts: 3, Base: 1, If: func(err error) bool { var p *graph.PanicError; return errors.As(err, &p) },
	}
	b := newWork()
	calls := 0
	b.Node("a", func(context.Context, work) (update, error) {
		if calls++; calls < 3 {
			panic("out of range")
		}
		return logged("a"), nil
	}, graph.Retry(graph.RetryPolicy{Attempts: 1}, panics))
	b.Chain(graph.Start, "a", graph.End)
	done(t, graph.Done)(compile(t, b).Run(t.Context(), input))
	same(t, "calls", calls, 3)
}

// A panic in what a run calls to decide on a retry is the error of the task.
func TestAPanicOfAPolicyFailsTheTask(t *testing.T) {
	for name, policy := range map[string]graph.RetryPolicy{
		"If":     {Attempts: 2, If: func(error) bool { panic("bang") }},
		"Jitter": {Attempts: 2, Jitter: func() float64 { panic("bang") }},
	} {
		_, _, err := pauses(t, graph.Retry(policy), errBroken)
		if !errors.Is(err, errBroken) || !strings.HasSuffix(err.Error(), "it broke; its Retry: panic: bang") {
			t.Errorf("%s: got %v, want both", name, err)
		}
	}
}
