package schedule

import (
	"fmt"
	"time"
)

// Clocks that are put forward leave out wall-clock times, a gap. Clocks that are put back show
// some of them twice. A wall-clock time is kept as a time in UTC.

const (
	// aside is a time before and after each change of the clocks in which they change only once.
	// It is longer than any gap: places have left out a day.
	aside = 25 * time.Hour
	// repeat is the longest time that clocks are put back by.
	repeat = 4 * time.Hour
)

// offset returns by how much the clocks are ahead of UTC.
func offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// instants returns when the clocks show a wall-clock time: for the first time, and for the second
// time, which is zero if there is none. For a time in a gap first is the end of the gap.
func instants(wall time.Time, zone *time.Location) (first, second time.Time) {
	before, after := offset(wall.Add(-aside), zone), offset(wall.Add(aside), zone)
	first, second = wall.Add(-before), wall.Add(-after)
	shown, again := offset(first, zone) == before, offset(second, zone) == after
	switch {
	case shown && again && first.Before(second):
		return first, second
	case shown:
		return first, time.Time{}
	case again:
		return second, time.Time{}
	}
	low, high := second, first // the clocks change after low, and not after high
	for high.Sub(low) > time.Second {
		if mid := low.Add((high.Sub(low) / 2).Truncate(time.Second)); offset(mid, zone) == before {
			low = mid
		} else {
			high = mid
		}
	}
	return high, time.Time{}
}

// nextCron returns the first tick of c after an instant; zero if there is none. A time in a gap
// fires when the gap is over. A time that the clocks show twice fires the first time only, unless
// c admits every hour.
func nextCron(c *cron, zone *time.Location, after time.Time) (best time.Time) {
	after = after.UTC()
	wall := after.Add(offset(after, zone) + 1)
	changing := offset(after.Add(-aside), zone) != offset(after.Add(aside), zone)
	if changing {
		wall = wall.Add(-repeat)
	}
	for wall = c.from(wall); !wall.IsZero(); wall = c.from(wall.Add(1)) {
		first, second := instants(wall, zone)
		if !best.IsZero() && !first.Before(best) {
			return best // the times that follow are later
		}
		switch {
		case first.After(after):
			best = first
		case c.allHour && second.After(after) && (best.IsZero() || second.Before(best)):
			best = second
		}
		if !changing && !best.IsZero() {
			return best
		}
	}
	return best
}

// loadZone returns a time zone. "" is UTC.
func loadZone(name string) (*time.Location, error) {
	if name == "Local" {
		return nil, fmt.Errorf("the zone %q differs between machines; want a name such as Europe/Lisbon", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("the zone %q: %w; want a name such as Europe/Lisbon, and import time/tzdata if the machine has no zones", clip(name), err)
	}
	return zone, nil
}
