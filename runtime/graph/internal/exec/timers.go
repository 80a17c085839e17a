package exec

import (
	"slices"
	"time"
)

// A task that waits for a time runs again when the Host has answered its timer: in the same
// superstep, while other tasks run. If nothing else runs, the caller of Run decides whether it
// waits and calls Wake.

// Unstored returns the tasks with a result or a question that the Host has not stored.
func (s *Superstep) Unstored() (tasks []int) {
	for i := range s.Tasks {
		if t := &s.Tasks[i]; !t.Stored && (t.Progress == Succeeded || t.Progress == Asking) {
			tasks = append(tasks, i)
		}
	}
	return tasks
}

// Wake has the Host answer the timers that are due. It reports whether a task is due again because
// of that.
func (s *Superstep) Wake() (bool, error) {
	woken, err := s.wake(s.asking())
	return len(woken) > 0, err
}

// wake returns those of the tasks, which ask, that are due again because their timers have come.
func (s *Superstep) wake(asking []int) ([]int, error) {
	woken, err := s.host.Wake(asking)
	for _, i := range woken {
		t := &s.Tasks[i]
		*t = Task{Task: t.Task, Carried: t.Carried, Before: t.Before + len(t.Attempts)}
	}
	return woken, err
}

// asking returns the tasks that ask, without those that lost their race.
func (s *Superstep) asking() (tasks []int) {
	for i := range s.Tasks {
		if s.Tasks[i].Progress == Asking && !s.lost(i) {
			tasks = append(tasks, i)
		}
	}
	return tasks
}

// lost reports whether task i, which has no result, has lost its race.
func (s *Superstep) lost(i int) bool {
	race := s.nodes[s.Tasks[i].Node].Race
	return race > 0 && s.winners[race-1] >= 0
}

// alarm is the next time at which a task that asks is due again. The zero alarm rings never.
type alarm struct {
	at    time.Time
	timer *time.Timer
}

// set makes the alarm ring at the given time, if that is before the time that is set.
func (a *alarm) set(at time.Time) {
	if at.IsZero() || !a.at.IsZero() && !at.Before(a.at) {
		return
	}
	a.at = at
	if a.timer == nil {
		a.timer = time.NewTimer(time.Until(at))
		return
	}
	a.timer.Reset(time.Until(at))
}

// rings returns the channel on which the alarm rings; nil if it is not set.
func (a *alarm) rings() <-chan time.Time {
	if a.at.IsZero() {
		return nil
	}
	return a.timer.C
}

// stop ends the alarm.
func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.at = time.Time{}
}

// notice sets the alarm for those of the tasks that ask. All of them have ended.
func (f *fanOut) notice(tasks []int) {
	if !f.s.Timed {
		return
	}
	for _, i := range tasks {
		if f.s.Tasks[i].Progress == Asking {
			f.asks = append(f.asks, i)
			f.alarm.set(f.s.host.Wakes(i))
		}
	}
}

// ring makes the tasks due whose timers have come, and returns how many.
func (f *fanOut) ring() (int, error) {
	f.alarm.stop()
	if f.ctx.Err() != nil {
		return 0, nil //nolint:nilerr // nothing begins any more, and the caller of Run knows why
	}
	asks := slices.DeleteFunc(f.asks, f.s.lost)
	f.asks = nil
	woken, err := f.s.wake(asks)
	f.woken = append(f.woken, woken...)
	f.notice(asks) // those that were not woken still ask
	return len(woken), err
}

// resume runs tasks whose timers have come, while workers are free. Tasks that have not run yet
// come first. left is the number of tasks that have not ended.
func (f *fanOut) resume(left int) {
	for len(f.woken) > 0 && int(f.taken.Load()) >= len(f.s.todo) && left-len(f.woken) < f.s.Workers {
		i := f.woken[0]
		f.woken = f.woken[1:]
		f.wg.Go(func() { f.one(f.worker(), i) })
	}
}
