package graph

import (
	"github.com/graphgen-go/graphgen/runtime/internal/enum"
)

// Outcome says how a task, or one attempt of it, ended.
type Outcome uint8

const (
	// OutcomeDone: the node returned a result. Its superstep is not committed yet. In an any-of
	// join another result that was stored earlier may count instead.
	OutcomeDone Outcome = iota + 1
	// OutcomeWaiting: the node, or one in its subgraph, waits for an answer.
	OutcomeWaiting
	// OutcomePaused: a static stop holds the subgraph.
	OutcomePaused
	// OutcomeReady: the subgraph was drained.
	OutcomeReady
	// OutcomeFailed: the node failed. If this is an attempt, Retry may run the node again.
	OutcomeFailed
	// OutcomeCancelled: the node returned because its run was cancelled, or because another node
	// of its superstep failed.
	OutcomeCancelled
	// OutcomeSuperseded: the node returned because another node of its any-of join was faster.
	OutcomeSuperseded
	// OutcomeRetrying: the attempt failed, and Retry or the Fallback runs another one. Only an
	// Interceptor gets it. Streams and observers get OutcomeFailed, and then EventTaskRetry or
	// EventTaskFallback.
	OutcomeRetrying
)

// String returns "done", "waiting", "paused", "ready", "failed", "cancelled", "superseded" or
// "retrying".
func (o Outcome) String() string {
	names := [...]string{"no outcome", "done", "waiting", "paused", "ready", "failed", "cancelled", "superseded", "retrying"}
	if int(o) < len(names) {
		return names[o]
	}
	return "unknown outcome"
}

// failed reports whether the outcome has an error that says why.
func (o Outcome) failed() bool {
	return o == OutcomeFailed || o == OutcomeCancelled || o == OutcomeRetrying
}

// MarshalText implements encoding.TextMarshaler, for packages json and slog. The text is that of
// String, and empty for no outcome.
func (o Outcome) MarshalText() ([]byte, error) {
	return enum.Marshal("graph: outcome", o, OutcomeDone, OutcomeRetrying)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Outcome) UnmarshalText(b []byte) error {
	return enum.Unmarshal("graph: outcome", o, b, OutcomeDone, OutcomeRetrying)
}
