package graph

// Outcome says how a task, or one attempt of it, ended.
type Outcome uint8

const (
	// OutcomeDone: the node returned a result. Its superstep is not committed yet. In an any-of join another result that was
	// stored earlier may count instead.
	OutcomeDone Outcome = iota + 1
	// OutcomeWaiting: the node, or one in its subgraph, waits for an answer.
	OutcomeWaiting
	// OutcomePaused: the subgraph stopped for people, or for a shutdown.
	OutcomePaused
	// OutcomeFailed: the node failed. If this is an attempt, Retry may run the node again.
	OutcomeFailed
	// OutcomeCancelled: the node returned because its run was cancelled, or because another node of its superstep failed.
	OutcomeCancelled
	// OutcomeSuperseded: the node returned because another node of its any-of join was faster.
	OutcomeSuperseded
)

// String returns "done", "waiting", "paused", "failed", "cancelled" or "beaten".
func (o Outcome) String() string {
	names := [...]string{"no outcome", "done", "waiting", "paused", "failed", "cancelled", "beaten"}
	if int(o) < len(names) {
		return names[o]
	}
	return "unknown outcome"
}

// failed reports whether the outcome has an error that says why.
func (o Outcome) failed() bool { return o == OutcomeFailed || o == OutcomeCancelled }
