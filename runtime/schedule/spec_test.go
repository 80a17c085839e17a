package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/schedule"
)

// take returns the next n ticks of a Spec.
func take(tb testing.TB, s schedule.Spec, after time.Time, n int) (all []time.Time) {
	tb.Helper()
	for range n {
		next, err := s.Next(after)
		if err != nil {
			tb.Fatal(err)
		}
		if !next.After(after) {
			tb.Fatalf("%+v: got the tick %s after %s, want a later one", s, next, after)
		}
		all, after = append(all, next), next
	}
	return all
}

func instant(tb testing.TB, text string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		tb.Fatal(err)
	}
	return at
}

func TestNextIsTheFirstTickAfterAnInstant(t *testing.T) {
	for _, c := range []struct {
		spec  schedule.Spec
		after string
		want  string // the next ticks
	}{
		{schedule.Spec{Cron: "* * * * *"}, "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z 2026-01-01T00:02:00Z"},
		{schedule.Spec{Cron: "@hourly"}, "2026-01-01T00:00:01Z", "2026-01-01T01:00:00Z 2026-01-01T02:00:00Z"},
		{schedule.Spec{Cron: "*/20 9-17 * * MON-FRI"}, "2026-01-02T17:30:00Z", "2026-01-02T17:40:00Z 2026-01-05T09:00:00Z 2026-01-05T09:20:00Z"},
		{schedule.Spec{Cron: "0 12 13 * FRI"}, "2026-02-01T00:00:00Z", "2026-02-06T12:00:00Z 2026-02-13T12:00:00Z 2026-02-20T12:00:00Z"},
		{schedule.Spec{Cron: "0 12 13 * *"}, "2026-02-01T00:00:00Z", "2026-02-13T12:00:00Z 2026-03-13T12:00:00Z"},
		{schedule.Spec{Cron: "0 0 */10 * sun"}, "2026-01-01T00:00:00Z", "2026-01-11T00:00:00Z 2026-02-01T00:00:00Z"},
		{schedule.Spec{Cron: "0 0 * * 5-7"}, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z 2026-01-03T00:00:00Z 2026-01-04T00:00:00Z 2026-01-09T00:00:00Z"},
		{schedule.Spec{Cron: "0 0 29 FEB *"}, "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{schedule.Spec{Cron: "0 0 29 2 */7"}, "2060-03-01T00:00:00Z", "2088-02-29T00:00:00Z 2128-02-29T00:00:00Z"},
		{schedule.Spec{Cron: "5/20 0 1 1 *"}, "2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z 2026-01-01T00:25:00Z 2026-01-01T00:45:00Z 2027-01-01T00:05:00Z"},
		{schedule.Spec{Every: 90 * time.Second}, "1970-01-01T00:00:00Z", "1970-01-01T00:01:30Z 1970-01-01T00:03:00Z"},
		{schedule.Spec{Every: 24 * time.Hour}, "2026-01-01T13:00:00Z", "2026-01-02T00:00:00Z"},
		{schedule.Spec{Every: 10 * time.Second}, "1969-12-31T23:59:51Z", "1970-01-01T00:00:00Z 1970-01-01T00:00:10Z"},
		// The clocks are put forward: the tick of the gap fires after it.
		{
			schedule.Spec{Cron: "30 2 * * *", Zone: "America/New_York"}, "2026-03-07T12:00:00Z",
			"2026-03-08T07:00:00Z 2026-03-09T06:30:00Z",
		},
		{
			schedule.Spec{Cron: "*/15 * * * *", Zone: "America/New_York"}, "2026-03-08T06:45:00Z",
			"2026-03-08T07:00:00Z 2026-03-08T07:15:00Z",
		},
		{schedule.Spec{Cron: "@daily", Zone: "America/Havana"}, "2026-03-07T12:00:00Z", "2026-03-08T05:00:00Z 2026-03-09T04:00:00Z"},
		// The clocks are put back: the tick fires the first time, or both times if it fires each
		// hour.
		{
			schedule.Spec{Cron: "30 1 * * *", Zone: "America/New_York"}, "2026-10-31T12:00:00Z",
			"2026-11-01T05:30:00Z 2026-11-02T06:30:00Z",
		},
		{
			schedule.Spec{Cron: "30 * * * *", Zone: "America/New_York"}, "2026-11-01T05:00:00Z",
			"2026-11-01T05:30:00Z 2026-11-01T06:30:00Z 2026-11-01T07:30:00Z",
		},
		{schedule.Spec{Cron: "0 1-3 * * *", Zone: "America/New_York"}, "2026-11-01T06:10:00Z", "2026-11-01T07:00:00Z"},
		{schedule.Spec{Cron: "*/10 * * * *", Zone: "Australia/Lord_Howe"}, "2026-04-04T14:55:00Z", "2026-04-04T15:00:00Z 2026-04-04T15:10:00Z"},
		// A day that the place left out.
		{schedule.Spec{Cron: "0 9,17 30 12 *", Zone: "Pacific/Apia"}, "2011-12-30T00:00:00Z", "2011-12-30T10:00:00Z 2012-12-29T19:00:00Z"},
	} {
		want := strings.Fields(c.want)
		var got []string
		for _, at := range take(t, c.spec, instant(t, c.after), len(want)) {
			got = append(got, at.Format(time.RFC3339Nano))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%+v after %s: got %v, want %v", c.spec, c.after, got, want)
		}
	}
}

func TestAWrongSpecIsAnErrorThatNamesItsPlace(t *testing.T) {
	for _, c := range []struct {
		spec schedule.Spec
		want string
	}{
		{schedule.Spec{}, "either Cron or Every"},
		{schedule.Spec{Cron: "@daily", Every: time.Hour}, "either Cron or Every"},
		{schedule.Spec{Every: 1500 * time.Millisecond}, "Every is 1.5s; want whole seconds"},
		{schedule.Spec{Every: -time.Second}, "Every is -1s; want whole seconds"},
		{schedule.Spec{Every: time.Hour, Zone: "UTC"}, "Zone is for Cron"},
		{schedule.Spec{Cron: "@daily", Zone: "Mars/Olympus"}, `the zone "Mars/Olympus"`},
		{schedule.Spec{Cron: "@daily", Zone: "Local"}, "differs between machines"},
		{schedule.Spec{Cron: "@daily", Zone: "../../etc/passwd"}, "the zone"},
		{schedule.Spec{Cron: "@fortnightly"}, "unknown macro; want @hourly"},
		{schedule.Spec{Cron: "0 0 * *"}, "it has 4 fields; want minute, hour"},
		{schedule.Spec{Cron: "0 0 0 * * *"}, "it has 6 fields"},
		{schedule.Spec{Cron: "60 * * * *"}, `field 1: the minute "60"; want *, or numbers from 0 to 59`},
		{schedule.Spec{Cron: "0,99 * * * *"}, `field 1: the minute "99"`},
		{schedule.Spec{Cron: "* 24 * * *"}, `field 2: the hour "24"`},
		{schedule.Spec{Cron: "* * 0 * *"}, `field 3: the day of month "0"; want *, or numbers from 1 to 31`},
		{schedule.Spec{Cron: "* * L * *"}, `field 3: the day of month "L"`},
		{schedule.Spec{Cron: "* * * 13 *"}, `field 4: the month "13"`},
		{schedule.Spec{Cron: "* * * * 8"}, `field 5: the weekday "8"`},
		{schedule.Spec{Cron: "* * * * MONTUE"}, `field 5: the weekday "MONTUE"`},
		{schedule.Spec{Cron: "+5 * * * *"}, `field 1: the minute "+5"`},
		{schedule.Spec{Cron: "-5 * * * *"}, `field 1: the minute ""`},
		{schedule.Spec{Cron: "1,,2 * * * *"}, `field 1: the minute ""`},
		{schedule.Spec{Cron: "5-1 * * * *"}, `field 1: the minute range "5-1" begins after its end`},
		{schedule.Spec{Cron: "*/0 * * * *"}, `field 1: the step "0"; want a number from 1 to 59`},
		{schedule.Spec{Cron: "*/99999999999999999999 * * * *"}, `field 1: the step "99999999999999999999"`},
		{schedule.Spec{Cron: "0 0 31 2,4 *"}, "no date matches"},
		{schedule.Spec{Cron: strings.Repeat("1,", 200) + "1 * * * *"}, "Cron has 409 bytes; want at most 200"},
	} {
		_, err := c.spec.Next(time.Now())
		if err == nil || !strings.HasPrefix(err.Error(), "schedule: ") || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 300 {
			t.Errorf("%+v: got the error %v, want it to contain %q", c.spec, err, c.want)
		}
	}
}

// element returns a random element of a cron field.
func element(r *rand.Rand, low, high int) string {
	number := func() int { return low + r.IntN(high-low+1) }
	switch r.IntN(6) {
	case 0, 1:
		return "*"
	case 2:
		return fmt.Sprint("*/", 1+r.IntN(high))
	case 3:
		a, b := number(), number()
		return fmt.Sprintf("%d-%d", min(a, b), max(a, b))
	case 4:
		return fmt.Sprintf("%d,%d", number(), number())
	}
	return fmt.Sprint(number())
}

// often returns an element that mostly admits each value.
func often(r *rand.Rand, low, high int) string {
	if r.IntN(3) > 0 {
		return "*"
	}
	return element(r, low, high)
}

// listed returns the values of a field, by a second implementation.
func listed(field string, low, high int) func(v int) bool {
	var has [60]bool
	for v := low; v <= high; v++ {
		for part := range strings.SplitSeq(field, ",") {
			a, b, step := low, high, 1
			switch {
			case strings.HasPrefix(part, "*/"):
				_, _ = fmt.Sscanf(part, "*/%d", &step)
			case strings.Contains(part, "-"):
				_, _ = fmt.Sscanf(part, "%d-%d", &a, &b)
			case part != "*":
				_, _ = fmt.Sscanf(part, "%d", &a)
				b = a
			}
			has[v] = has[v] || v >= a && v <= b && (v-a)%step == 0
		}
	}
	return func(v int) bool { return has[v] }
}

// matcher returns whether a wall-clock time matches a cron expression without names.
func matcher(expr string) func(wall time.Time) bool {
	f := strings.Fields(expr)
	minute, hour, day := listed(f[0], 0, 59), listed(f[1], 0, 23), listed(f[2], 1, 31)
	month, weekday := listed(f[3], 1, 12), listed(f[4], 0, 6)
	either := f[2][0] != '*' && f[4][0] != '*'
	return func(w time.Time) bool {
		d, wd := day(w.Day()), weekday(int(w.Weekday()))
		return minute(w.Minute()) && hour(w.Hour()) && month(int(w.Month())) && (d && wd || either && (d || wd))
	}
}

// walk returns the ticks in a span, by looking at each minute of it.
func walk(expr string, zone *time.Location, from, to time.Time) (all []time.Time) {
	matches := matcher(expr)
	hour := listed(strings.Fields(expr)[1], 0, 23)
	each := true
	for h := range 24 {
		each = each && hour(h)
	}
	wallOf := func(at time.Time) time.Time {
		_, offset := at.In(zone).Zone()
		return at.Add(time.Duration(offset) * time.Second)
	}
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		now, before := wallOf(at), wallOf(at.Add(-time.Minute))
		tick := matches(now)
		for w := before.Add(time.Minute); w.Before(now); w = w.Add(time.Minute) { // a gap
			tick = tick || matches(w)
		}
		if !each {
			for ago := time.Minute; tick && ago <= 3*time.Hour; ago += time.Minute {
				if !wallOf(at.Add(-ago)).Before(now) { // the clocks have shown it
					tick = false
				}
			}
		}
		if tick {
			all = append(all, at)
		}
	}
	return all
}

func TestTicksAreThoseOfAWalkThroughEachMinute(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu", "Africa/Casablanca"}
	r := rand.New(rand.NewPCG(1, 2))
	rounds, ticks := 100, 0
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		expr := strings.Join([]string{element(r, 0, 59), often(r, 0, 23), often(r, 1, 31), often(r, 1, 12), often(r, 0, 6)}, " ")
		spec := schedule.Spec{Cron: expr, Zone: zones[r.IntN(len(zones))]}
		if _, err := spec.Next(time.Now()); err != nil {
			continue // no date matches
		}
		zone, err := time.LoadLocation(spec.Zone)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range changes(zone, 2026) {
			from, to := at.Add(-30*time.Hour), at.Add(30*time.Hour)
			want := walk(expr, zone, from, to)
			var got []time.Time
			for next := from.Add(-time.Nanosecond); ; {
				if next, err = spec.Next(next); err != nil {
					t.Fatal(err)
				}
				if !next.Before(to) {
					break
				}
				got = append(got, next)
			}
			ticks += len(want)
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Fatalf("%+v from %s: got %d ticks %v, want %d ticks %v", spec, from, len(got), got, len(want), want)
			}
		}
	}
	if ticks < 1000 {
		t.Errorf("got %d ticks in all, want more than 1000 to compare", ticks)
	}
}

// changes returns when the clocks of a zone change in a year, and one other instant.
func changes(zone *time.Location, year int) []time.Time {
	all := []time.Time{time.Date(year, 7, 31, 12, 0, 0, 0, time.UTC)}
	at := time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC)
	for {
		_, end := at.In(zone).ZoneBounds()
		if end.IsZero() || end.Year() > year {
			return all
		}
		all = append(all, end.UTC())
		at = end
	}
}

func FuzzCron(f *testing.F) {
	for _, expr := range []string{
		"* * * * *", "*/5 1-3 * JAN-MAR MON", "0 0 29 2 1", "0 0 29 2 */7", "@daily", "59 23 31 12 7", "1,2,3-9/2 5/7 ? * *", "0 0 30 2 *",
	} {
		f.Add(expr, "Europe/Berlin", int64(1774746000))
		f.Add(expr, "", int64(-1))
	}
	f.Fuzz(func(t *testing.T, expr, zone string, unix int64) {
		spec := schedule.Spec{Cron: expr, Zone: zone}
		after := time.Unix(unix%(1<<33), unix%1e9) // about the years 1700 to 2240
		next, err := spec.Next(after)
		if err != nil {
			return
		}
		if !next.After(after) || next.After(after.AddDate(41, 0, 0)) || next.Location() != time.UTC {
			t.Fatalf("%+v after %s: got %s, want a later time in UTC, within 41 years", spec, after, next)
		}
		for _, between := range []time.Time{next.Add(-time.Nanosecond), after.Add(next.Sub(after) / 2)} {
			if again, err := spec.Next(between); err != nil || !again.Equal(next) {
				t.Fatalf("%+v: got %s after %s, and %s, %v after %s", spec, next, after, again, err, between)
			}
		}
		if later, err := spec.Next(next); err != nil || !later.After(next) {
			t.Fatalf("%+v after %s: got %s, %v, want a later one", spec, next, later, err)
		}
	})
}
