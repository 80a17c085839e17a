package journal

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/graphgen-go/graphgen/runtime/wire"
)

// StoredAttempt is a failed attempt of a task.
type StoredAttempt struct {
	Ordinal int       // among the failed attempts of the task, from 1
	Number  int       // of the attempt in its run, from 1; 0 if only merging or a route failed
	Failed  time.Time // when it failed
	Worker  string    // the holder of its run; empty if it is unknown
	Text    string    // of the error
	Stack   string    // of a panic
}

// KeptAttempts is how many failed attempts of a task are stored: the newest ones.
const KeptAttempts = 20

// attemptPrefix begins the names of failed attempts.
const attemptPrefix = "attempt#"

// AttemptName returns the name of the Failure that has a failed attempt. It takes the place of the
// one that is KeptAttempts older.
func AttemptName(ordinal int) string { return attemptPrefix + strconv.Itoa(ordinal%KeptAttempts) }

// IsAttempt reports whether a Failure with this name has a failed attempt.
func IsAttempt(name string) bool { return strings.HasPrefix(name, attemptPrefix) }

// AppendAttempt appends a failed attempt.
func AppendAttempt(b []byte, a *StoredAttempt) []byte {
	b = wire.AppendInt(wire.AppendInt(wire.AppendArrayLen(b, 6), int64(a.Ordinal)), int64(a.Number))
	b = wire.AppendString(wire.AppendTime(b, a.Failed), a.Worker)
	return wire.AppendString(wire.AppendString(b, a.Text), a.Stack)
}

// ReadAttempt reads what AppendAttempt wrote.
func ReadAttempt(b []byte) (a StoredAttempt, err error) {
	r := wire.NewReader("attempt", b)
	if n := r.ArrayLen(); n != 6 {
		r.Damage(0, fmt.Errorf("got %d elements; want the 6 of an attempt", n))
	}
	a = StoredAttempt{Ordinal: r.Int(), Number: r.Int(), Failed: r.Time(), Worker: r.Str(), Text: r.Str(), Stack: r.Str()}
	if err = r.End(); !r.Framed() {
		return StoredAttempt{}, err
	}
	return a, nil
}
