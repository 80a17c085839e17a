package exec

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// Retry says when a failed task runs again.
type Retry struct {
	If       func(error) bool // the errors that it is for; nil for all
	Attempts int              // at most, the first one included
	Base     time.Duration    // the pause before the second attempt; 0 is 100 ms. It doubles with each attempt
	Max      time.Duration    // of a pause; 0 is 30 s
	Jitter   func() float64   // how much of the second half of a pause is waited for, from 0 to 1; nil is random
}

// retries reports whether the node of a failed task runs again, and sets the delay. The first
// policy that applies to the error decides. A panic of its functions joins the task's error.
func (s *Superstep) retries(policies []Retry, t *Task, delay *time.Duration) (again bool) {
	if len(policies) == 0 {
		return false
	}
	t.Progress = Failed // as it stays if a function of the policy ends the goroutine
	defer func() {
		if v := recover(); v != nil {
			again, t.Err = false, fmt.Errorf("%w; its Retry: %w", t.Err, s.host.Panicked(v))
		}
	}()
	for i := range policies {
		r := &policies[i]
		if r.If != nil && !r.If(t.Err) {
			continue
		}
		if t.Attempt < r.Attempts {
			*delay = r.Pause(t.Attempt+1, t.Err)
			t.Progress = Waiting
			return true
		}
		break
	}
	return false
}

// Applies reports whether an attempt that fails with err is followed by another one. It calls the
// functions of policies an additional time. If one of them panics, it reports false.
func Applies(policies []Retry, attempt int, err error) (again bool) {
	defer func() {
		if recover() != nil {
			again = false
		}
	}()
	for i := range policies {
		if r := &policies[i]; r.If == nil || r.If(err) {
			return attempt < r.Attempts
		}
	}
	return false
}

// Pause returns how long to wait before the given attempt, counted from 1, after an error. It is
// the delay that the error carries. Else it is the backoff d = min(Max, Base * 2^(attempt-2)) with
// equal jitter: d/2 + random(0, d/2).
func (r *Retry) Pause(attempt int, err error) time.Duration {
	var carrier interface{ RetryAfter() time.Duration }
	if errors.As(err, &carrier) {
		if d := carrier.RetryAfter(); d > 0 {
			return d
		}
	}
	jitter := r.Jitter
	if jitter == nil {
		jitter = rand.Float64
	}
	half := r.backoff(attempt) / 2
	if f := jitter(); f >= 0 { // and no NaN
		return half + time.Duration(min(f, 1)*float64(r.backoff(attempt)-half))
	}
	return half
}

// backoff returns the pause before an attempt, without jitter.
func (r *Retry) backoff(attempt int) time.Duration {
	base, limit := r.Base, r.Max
	if base <= 0 {
		base = 100 * time.Millisecond
	}
	if limit <= 0 {
		limit = 30 * time.Second
	}
	d := base
	for range attempt - 2 {
		if d >= limit/2 {
			return limit
		}
		d *= 2
	}
	return min(d, limit)
}
