package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// cron is a parsed cron expression. It computes with wall-clock times, which are kept as times in
// UTC. A bit is set for each value that a field admits.
type cron struct {
	minute, hour, day, month, weekday uint64

	either  bool // a day matches by day of month or by weekday; else it must match both
	allHour bool // every hour of the day matches
}

// field describes a field of a cron expression.
type field struct {
	name     string
	min, max int
	names    []string // of the values from min
}

var fields = [...]field{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}},
	{"weekday", 0, 7, []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}},
}

var macros = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// parseCron parses a cron expression of five fields, or a macro such as "@daily".
func parseCron(expr string) (c cron, err error) {
	bad := func(format string, args ...any) (cron, error) {
		return cron{}, fmt.Errorf("cron expression %q: "+format, append([]any{clip(expr)}, args...)...)
	}
	text := expr
	if trimmed := strings.TrimSpace(expr); strings.HasPrefix(trimmed, "@") {
		if text = macros[trimmed]; text == "" {
			return bad("unknown macro; want @hourly, @daily, @weekly, @monthly or @yearly")
		}
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return bad("it has %d fields; want minute, hour, day of month, month and weekday", len(parts))
	}
	var sets [len(fields)]uint64
	for i := range fields {
		if sets[i], err = fields[i].parse(parts[i]); err != nil {
			return bad("field %d: %w", i+1, err)
		}
	}
	const sunday = 1
	if sets[4]&(1<<7) != 0 {
		sets[4] = sets[4]&^(1<<7) | sunday
	}
	c = cron{minute: sets[0], hour: sets[1], day: sets[2], month: sets[3], weekday: sets[4]}
	c.either = !strings.HasPrefix(parts[2], "*") && !strings.HasPrefix(parts[4], "*")
	c.allHour = c.hour == 1<<24-1
	if c.from(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return bad("no date matches")
	}
	return c, nil
}

// parse returns the values of a list such as "1-5,*/10".
func (f *field) parse(list string) (set uint64, err error) {
	for part := range strings.SplitSeq(list, ",") {
		span, stepped, hasStep := strings.Cut(part, "/")
		low, high, step := f.min, f.max, 1
		if f.max == 7 {
			high = 6 // "*" has each weekday once
		}
		if span != "*" {
			from, to, isRange := strings.Cut(span, "-")
			if low, err = f.value(from); err != nil {
				return 0, err
			}
			switch {
			case isRange:
				if high, err = f.value(to); err != nil {
					return 0, err
				}
			case !hasStep:
				high = low
			}
			if low > high {
				return 0, fmt.Errorf("the %s range %q begins after its end", f.name, clip(span))
			}
		}
		if hasStep {
			if step, err = strconv.Atoi(stepped); err != nil || step < 1 || step > f.max {
				return 0, fmt.Errorf("the step %q; want a number from 1 to %d", clip(stepped), f.max)
			}
		}
		for v := low; v <= high; v += step {
			set |= 1 << v
		}
	}
	return set, nil
}

// value parses one number or name.
func (f *field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	v, err := strconv.ParseUint(text, 10, 8) // no sign
	if err != nil || int(v) < f.min || int(v) > f.max {
		return 0, fmt.Errorf("the %s %q; want *, or numbers from %d to %d", f.name, clip(text), f.min, f.max)
	}
	return int(v), nil
}

// longest is the number of years after which each pattern of dates repeats.
const longest = 400

// from returns the first match that is not before a wall-clock time; zero if there is none.
func (c *cron) from(wall time.Time) time.Time {
	at := wall.Truncate(time.Minute)
	if at.Before(wall) {
		at = at.Add(time.Minute)
	}
	year, month, day := at.Date()
	hour, minute := at.Hour(), at.Minute()
	for last := year + longest; year <= last; {
		switch {
		case c.month&(1<<month) == 0:
			year, month, day = time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Date()
			hour, minute = 0, 0
			continue
		case c.matchesDay(year, month, day):
			if h, m, ok := c.timeFrom(hour, minute); ok {
				return time.Date(year, month, day, h, m, 0, 0, time.UTC)
			}
		}
		year, month, day = time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC).Date()
		hour, minute = 0, 0
	}
	return time.Time{}
}

func (c *cron) matchesDay(year int, month time.Month, day int) bool {
	byDay := c.day&(1<<day) != 0
	byWeekday := c.weekday&(1<<time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()) != 0
	if c.either {
		return byDay || byWeekday
	}
	return byDay && byWeekday
}

// timeFrom returns the first matching time of a day that is not before hour:minute.
func (c *cron) timeFrom(hour, minute int) (h, m int, ok bool) {
	if c.hour&(1<<hour) != 0 {
		if rest := c.minute >> minute; rest != 0 {
			return hour, minute + bits.TrailingZeros64(rest), true
		}
	}
	later := c.hour >> (hour + 1)
	if later == 0 {
		return 0, 0, false
	}
	return hour + 1 + bits.TrailingZeros64(later), bits.TrailingZeros64(c.minute), true
}

// clip shortens a text for an error message.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
