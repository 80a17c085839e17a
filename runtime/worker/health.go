package worker

import (
	"io"
	"net/http"
	"sync"
	"time"
)

// stuckAfter is how long a poll may take before the worker counts as stuck.
const stuckAfter = time.Minute

// health is what the handlers report. The zero health is that of a worker that has not begun.
type health struct {
	mu       sync.Mutex
	answers  bool      // the saver has answered the last call
	failures int       // of the saver in a row
	draining bool      // Run ends
	over     bool      // Run has returned
	polling  time.Time // when the poll in progress began; zero for none
}

func (h *health) set(change func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change()
}

func (h *health) polls()    { h.set(func() { h.polling = time.Now() }) }
func (h *health) waits()    { h.set(func() { h.polling = time.Time{} }) }
func (h *health) drains()   { h.set(func() { h.draining, h.polling = true, time.Time{} }) }
func (h *health) ended()    { h.set(func() { h.over = true }) }
func (h *health) answered() { h.set(func() { h.answers, h.failures = true, 0 }) }

// failed notes a failed call, and returns how many have failed in a row.
func (h *health) failed() (failures int) {
	h.set(func() {
		h.answers = false
		h.failures++
		failures = h.failures
	})
	return failures
}

// fails reports whether the last call failed.
func (h *health) fails() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failures > 0
}

// drains is why a worker that ends takes no threads.
const drains = "the worker is draining"

// ready returns why the worker takes no threads; empty if it does.
func (h *health) ready() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.over || h.draining:
		return drains
	case h.failures > 0:
		return "the saver does not answer"
	case !h.answers:
		return "the worker has not begun"
	}
	return ""
}

// live returns why the worker does not make progress; empty if it does.
func (h *health) live() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.over:
		return "the worker has ended"
	case !h.polling.IsZero() && time.Since(h.polling) > stuckAfter:
		return "the worker is stuck"
	}
	return ""
}

// Ready returns a handler for readiness probes. It answers 200 while the worker takes threads. It
// answers 503 before Run, while the saver does not answer, and from the beginning of the drain.
func (w *Worker) Ready() http.Handler { return probe(w.health.ready) }

// Live returns a handler for liveness probes. It answers 503 when Run has returned, or when the
// loop of the worker has made no progress for a minute. Otherwise it answers 200, also before Run.
func (w *Worker) Live() http.Handler { return probe(w.health.live) }

func probe(fault func() string) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		text := fault()
		if text != "" {
			out.WriteHeader(http.StatusServiceUnavailable)
		} else {
			text = "ok"
		}
		_, _ = io.WriteString(out, text+"\n") // the prober may have left
	})
}
