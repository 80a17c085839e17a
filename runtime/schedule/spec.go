package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/graphgen-go/graphgen/runtime/internal/enum"
)

// Spec says when a schedule fires. Either Cron or Every is set.
type Spec struct {
	// Cron is an expression of five fields: minute, hour, day of month, month and weekday. A
	// field is a list of numbers, ranges and steps, such as "0,30", "9-17" or "*/15". Months and
	// weekdays have names, such as JAN and MON; 0 and 7 are Sunday. If neither day field begins
	// with "*", a day matches by either of them. @hourly, @daily, @weekly, @monthly and @yearly
	// are expressions, too.
	Cron string
	// Zone is the time zone of Cron, such as "Europe/Lisbon". The default is UTC. A tick that the
	// clocks leave out, when they are put forward, fires right after the gap. A tick that they
	// show twice, when they are put back, fires the first time only. If Cron admits every hour,
	// it fires both times.
	Zone string
	// Every is the time between two ticks, in whole seconds. Ticks are at the multiples of Every
	// since 1970-01-01T00:00:00Z.
	Every time.Duration
	// Jitter delays each firing by up to this time, so that schedules do not fire together. The
	// delay of a tick is always the same, and less than the time until the next tick.
	Jitter time.Duration
	// CatchUp is how late a tick can fire, for example after no worker has run for some time.
	// Later ticks are missed: they are counted and do not fire. The default is 24 hours. It is at
	// least 10 seconds.
	CatchUp time.Duration
	// Overlap says what happens to a tick while the firing before it is not over. The default is
	// Skip.
	Overlap Overlap
}

// String returns when the Spec fires, such as "30 2 * * MON-FRI in Europe/Lisbon" or "every 5m0s".
func (s Spec) String() string {
	switch {
	case s.Every != 0:
		return "every " + s.Every.String()
	case s.Zone != "":
		return s.Cron + " in " + s.Zone
	}
	return s.Cron
}

// Overlap is what happens to a tick while the firing before it is not over.
type Overlap int

const (
	Skip      Overlap = iota // the tick does not fire
	BufferOne                // the tick fires when the other firing is over; further ticks do not fire
	Allow                    // the tick fires
	Cancel                   // the other firing is cancelled; the tick fires when it is over
)

// String returns "skip", "buffer one", "allow" or "cancel".
func (o Overlap) String() string {
	names := [...]string{"skip", "buffer one", "allow", "cancel"}
	if o < 0 || int(o) >= len(names) {
		return "unknown overlap"
	}
	return names[o]
}

// MarshalText implements encoding.TextMarshaler, for packages json and slog. The text is that of
// String.
func (o Overlap) MarshalText() ([]byte, error) {
	return enum.Marshal("schedule: overlap", o, Skip, Cancel)
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (o *Overlap) UnmarshalText(b []byte) error {
	return enum.Unmarshal("schedule: overlap", o, b, Skip, Cancel)
}

// The limits and defaults of a Spec.
const (
	maxCron        = 200 // bytes
	defaultCatchUp = 24 * time.Hour
	leastCatchUp   = 10 * time.Second
)

// Next returns the first tick after an instant, in UTC and without Jitter. It returns the zero
// time if no tick follows, and an error if the Spec is wrong.
func (s Spec) Next(after time.Time) (time.Time, error) {
	t, err := s.ticks()
	if err != nil {
		return time.Time{}, fmt.Errorf("schedule: %w", err)
	}
	return t.next(after), nil
}

// ticks computes the ticks of a Spec.
type ticks struct {
	cron  cron
	zone  *time.Location
	every int64 // seconds; 0 for cron

	jitter, catchUp time.Duration
}

// ticks checks the Spec.
func (s Spec) ticks() (t ticks, err error) {
	t.jitter, t.catchUp = s.Jitter, s.CatchUp
	if t.catchUp == 0 {
		t.catchUp = defaultCatchUp
	}
	switch {
	case (s.Cron == "") == (s.Every == 0):
		return t, errors.New("the Spec needs either Cron or Every")
	case s.Every < 0 || s.Every%time.Second != 0:
		return t, fmt.Errorf("field Every is %s; want whole seconds, at least one", s.Every)
	case s.Every != 0 && s.Zone != "":
		return t, errors.New("field Zone is for Cron, and the Spec has Every")
	case s.Jitter < 0:
		return t, fmt.Errorf("field Jitter is %s; want 0 or more", s.Jitter)
	case t.catchUp < leastCatchUp:
		return t, fmt.Errorf("field CatchUp is %s; want at least %s, or 0 for the default of %s", s.CatchUp, leastCatchUp, defaultCatchUp)
	case s.Overlap < Skip || s.Overlap > Cancel:
		return t, fmt.Errorf("field Overlap is %d; want Skip, BufferOne, Allow or Cancel", int(s.Overlap))
	case len(s.Cron) > maxCron:
		return t, fmt.Errorf("field Cron has %d bytes; want at most %d", len(s.Cron), maxCron)
	}
	if t.every = int64(s.Every / time.Second); t.every > 0 {
		return t, nil
	}
	if t.zone, err = loadZone(s.Zone); err == nil {
		t.cron, err = parseCron(s.Cron)
	}
	return t, err
}

// next returns the first tick after an instant; zero if there is none.
func (t *ticks) next(after time.Time) time.Time {
	if t.every == 0 {
		return nextCron(&t.cron, t.zone, after)
	}
	at := after.Unix()
	rest := at % t.every
	if rest < 0 {
		rest += t.every
	}
	return time.Unix(at-rest+t.every, 0).UTC()
}

// due returns when the tick of a schedule fires: after a delay by Jitter that depends on the
// schedule and the tick alone.
func (t *ticks) due(schedule string, tick time.Time) time.Time {
	most := t.jitter
	if most == 0 {
		return tick
	}
	if next := t.next(tick); !next.IsZero() {
		most = min(most, next.Sub(tick))
	}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(schedule), uint64(tick.Unix())))
	delay, _ := bits.Mul64(binary.BigEndian.Uint64(sum[:]), uint64(most)) // less than most
	return tick.Add(time.Duration(delay))
}

// count returns how many ticks are in (after, until], and the newest of them. It counts at most
// so many ticks of a cron expression. The newest is after if there is none.
func (t *ticks) count(after, until time.Time, most int64) (n int64, newest time.Time) {
	newest = after
	if t.every > 0 {
		if first := t.next(after); !first.After(until) {
			n = (until.Unix()-first.Unix())/t.every + 1
			newest = time.Unix(first.Unix()+(n-1)*t.every, 0).UTC()
		}
		return n, newest
	}
	for n < most {
		next := t.next(newest)
		if next.IsZero() || next.After(until) {
			break
		}
		n, newest = n+1, next
	}
	return n, newest
}
