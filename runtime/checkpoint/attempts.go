package checkpoint

import "strconv"

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

// Retrying returns "retries, 3 failed attempts" or "no retry, 10 failed attempts" for a failed
// thread. For a running one whose earlier runs have failed or died it returns "2 failed attempts".
// The text is empty for all others. Tools show it next to the status.
func (t Thread) Retrying() string {
	n := t.FailedAttempts()
	if n == 0 || t.Status != Failed && t.Status != Running {
		return ""
	}
	text := strconv.Itoa(n) + " failed attempts"
	if n == 1 {
		text = "1 failed attempt"
	}
	switch {
	case t.Retries():
		return "retries, " + text
	case t.Status == Failed:
		return "no retry, " + text
	}
	return text
}
