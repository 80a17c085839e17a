package checkpoint

// FailedAttempts returns how many runs in a row have failed or died without a new result. The
// number includes the newest run if that has failed or died, and Attempts does not. It is the
// number that a worker compares with the Attempts of its Retry, and that its events have.
func (t Thread) FailedAttempts() int {
	return failedAttempts(t.Attempts, t.Status, t.Holder != "")
}

// FailedAttempts is that of Thread: no run holds a thread that is due.
func (t ReadyThread) FailedAttempts() int { return failedAttempts(t.Attempts, t.Status, false) }

func failedAttempts(attempts int, s Status, held bool) int {
	if !held && (s == Failed || s == Running) {
		attempts++
	}
	return attempts
}

// Retries reports whether a worker runs a failed thread again by itself, at its Wake. It does not
// after the last attempt, after an error that its Retry excludes, and if no worker ran the thread.
func (t Thread) Retries() bool { return t.Status == Failed && !t.Wake.IsZero() }
