package schedule_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestAYearOfTicksFiresEachDayOnceInItsZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		spec := schedule.Spec{Cron: "30 2 * * *", Zone: "America/New_York"}
		all := create(t, s, "nightly", spec)
		begin := time.Now()
		work(t, s, 366*24*time.Hour, all, report(t, s, nil))
		var want []string
		for _, tick := range take(t, spec, begin, 366) {
			want = append(want, tick.Format(time.RFC3339))
		}
		equal(t, "ticks of a leap year", firings(t, s, "nightly"), want)
		once(t, s, "nightly")
		d := describe(t, all, "nightly")
		if d.Fired != 366 || d.Missed != 0 || d.Skipped != 0 || len(d.Recent) != 10 || d.Recent[9].Tick.Format(time.RFC3339) != want[365] {
			t.Errorf("got %+v, want 366 firings and the newest 10 of them", d)
		}
	})
}

func TestThreeWorkersFireEachTickOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, runs := memory.New(), new(counter)
		create(t, s, "often", schedule.Spec{Every: time.Minute})
		create(t, s, "seldom", schedule.Spec{Every: time.Hour, Overlap: schedule.Allow})
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				work(t, s, 6*time.Hour+time.Second, newSchedules(t, s), report(t, s, func(ctx context.Context) error {
					runs.add(graph.CurrentTask(ctx).Thread)
					return nil
				}))
			})
		}
		group.Wait()
		if got := len(firings(t, s, "often")); got != 360 {
			t.Errorf("got %d firings in 6 hours, want one each minute", got)
		}
		equal(t, "each hour", firings(t, s, "seldom"), hours(1, 2, 3, 4, 5, 6))
		if len(runs.n) != 366 {
			t.Errorf("got %d threads, want 366", len(runs.n))
		}
		if repeated := runs.repeated(); repeated != "" {
			t.Errorf("these threads ran more than once: %s", repeated)
		}
		once(t, s, "often")
	})
}

func TestOverlapSaysWhatHappensToATickDuringAFiring(t *testing.T) {
	for overlap, want := range map[schedule.Overlap]struct {
		ticks, cancelled []string
		skipped          int64
	}{
		schedule.Skip:      {ticks: hours(1, 4, 7), skipped: 6},
		schedule.BufferOne: {ticks: hours(1, 2, 4, 7), skipped: 4},
		schedule.Allow:     {ticks: hours(1, 2, 3, 4, 5, 6, 7, 8, 9)},
		schedule.Cancel:    {ticks: hours(1, 2, 3, 4, 5, 6, 7, 8, 9), cancelled: hours(1, 2, 3, 4, 5, 6, 7, 8)},
	} {
		t.Run(overlap.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				all := create(t, s, "slow", schedule.Spec{Every: time.Hour, Overlap: overlap})
				slow := report(t, s, func(ctx context.Context) error { return graph.Sleep(ctx, 150*time.Minute) })
				work(t, s, 9*time.Hour+5*time.Minute, all, slow)
				equal(t, "ticks", firings(t, s, "slow"), want.ticks)
				var cancelled []string
				for th, err := range s.Threads(context.Background(), checkpoint.ThreadQuery{Graph: "report", Status: graph.Cancelled}) {
					if err != nil {
						t.Fatal(err)
					}
					cancelled = append(cancelled, strings.TrimPrefix(th.ID, "__tick:slow@"))
				}
				slices.Sort(cancelled)
				equal(t, "cancelled", cancelled, want.cancelled)
				d := describe(t, all, "slow")
				if d.Skipped != want.skipped || d.Fired != int64(len(want.ticks)) || d.Missed != 0 {
					t.Errorf("got %d fired, %d skipped, %d missed; want %d, %d, 0", d.Fired, d.Skipped, d.Missed, len(want.ticks), want.skipped)
				}
			})
		})
	}
}

func TestAFiringThatFailedForGoodHoldsNoTickUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		all := create(t, s, "broken", schedule.Spec{Every: time.Hour})
		g := report(t, s, func(context.Context) error { return errors.New("it broke") })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour+time.Minute)
		defer cancel()
		if err := worker.New(s, worker.Options{Retry: graph.RetryPolicy{Attempts: 2}}, all, g).Run(ctx); err != nil {
			t.Error(err)
		}
		equal(t, "ticks", firings(t, s, "broken"), hours(1, 2, 3))
	})
}

func TestTicksOfADowntimeFireWithinCatchUp(t *testing.T) {
	for _, c := range []struct {
		spec   schedule.Spec
		want   []string
		missed int64
	}{
		{schedule.Spec{Every: time.Hour, CatchUp: 3 * time.Hour, Overlap: schedule.Allow}, hours(6, 7, 8, 9), 5},
		{schedule.Spec{Cron: "@hourly", CatchUp: 3 * time.Hour, Overlap: schedule.Allow}, hours(6, 7, 8, 9), 5},
		{schedule.Spec{Cron: "@hourly", Overlap: schedule.Allow}, hours(1, 2, 3, 4, 5, 6, 7, 8, 9), 0},
		{schedule.Spec{Every: time.Hour}, hours(1), 0}, // the others came during the first
	} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			all := create(t, s, "late", c.spec)
			time.Sleep(9 * time.Hour)
			work(t, s, time.Second, all)
			equal(t, fmt.Sprintf("%+v", c.spec), firings(t, s, "late"), c.want)
			d := describe(t, all, "late")
			if d.Missed != c.missed || d.Fired+d.Skipped+d.Missed != 9 {
				t.Errorf("%+v: got %d fired, %d skipped, %d missed; want %d missed and 9 in all", c.spec, d.Fired, d.Skipped, d.Missed, c.missed)
			}
		})
	}
}

func TestMissedTicksOfAYearAreCounted(t *testing.T) {
	for _, spec := range []schedule.Spec{{Every: time.Second, CatchUp: time.Minute}, {Cron: "*/10 * * * *", CatchUp: time.Minute}} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			all := create(t, s, "s", spec)
			time.Sleep(366*24*time.Hour + 500*time.Millisecond)
			work(t, s, time.Millisecond, all)
			d := describe(t, all, "s")
			each := int64(1)
			if spec.Every == 0 {
				each = 600
			}
			if want := 366 * 24 * 3600 / each; d.Fired+d.Skipped+d.Missed != want || d.Missed < want-60 {
				t.Errorf("%+v: got %d fired, %d skipped, %d missed; want %d in all, nearly all missed", spec, d.Fired, d.Skipped, d.Missed, want)
			}
		})
	}
}

func TestJitterDelaysEachTickByItsOwnTime(t *testing.T) {
	delays := func(id string) (all []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			schedules := create(t, s, id, schedule.Spec{Every: time.Hour, Jitter: 2 * time.Hour})
			for range 10 {
				next := describe(t, schedules, id).Next
				work(t, s, time.Until(next)+time.Minute, schedules, report(t, s, nil))
				all = append(all, next.Sub(next.Truncate(time.Hour)))
			}
			for i, f := range describe(t, schedules, id).Recent {
				if late := f.At.Sub(f.Tick.Add(all[i])); late < 0 || late > time.Minute {
					t.Errorf("tick %s fired at %s, want it after its delay of %s", f.Tick, f.At, all[i])
				}
			}
		})
		return all
	}
	a, again, b := delays("a"), delays("a"), delays("b")
	if len(a) != 10 || !slices.Equal(a, again) || slices.Equal(a, b) {
		t.Errorf("got the delays %v, %v and those of another schedule %v; want the same ones for one schedule only", a, again, b)
	}
	if least, most := slices.Min(a), slices.Max(a); least < 0 || most >= time.Hour || most-least < 10*time.Minute {
		t.Errorf("got the delays %v, want different ones within the hour until the next tick", a)
	}
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := memory.New(), t.Context()
		all := create(t, s, "s", schedule.Spec{Every: time.Hour})
		g := report(t, s, nil)
		serve, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- worker.New(s, worker.Options{}, all, g).Run(serve) }()
		do := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			synctest.Wait()
		}
		time.Sleep(90 * time.Minute)
		do("pause", all.Pause(ctx, "s", "the printer burns"))
		if d := describe(t, all, "s"); !d.Paused || d.Note != "the printer burns" || !d.Next.IsZero() {
			t.Errorf("got %+v, want it paused with the note, and no next tick", d)
		}
		time.Sleep(3 * time.Hour)
		do("trigger", all.Trigger(ctx, "s"))
		do("backfill", all.Backfill(ctx, "s", time.Now().Add(-2*time.Hour-30*time.Minute), time.Now().Add(-30*time.Minute)))
		time.Sleep(time.Minute)
		do("unpause", all.Unpause(ctx, "s", ""))
		d := describe(t, all, "s")
		if d.Paused || d.Note != "" || d.Next.Format("15:04") != "05:00" || d.Missed != 0 {
			t.Errorf("got %+v, want it to continue at 05:00 without missed ticks", d)
		}
		time.Sleep(time.Hour)
		do("update", all.Update(ctx, "s", schedule.Spec{Every: 2 * time.Hour}, schedule.Submit(g, said, graph.Title("new"))))
		time.Sleep(2 * time.Hour)
		got := firings(t, s, "s")
		if len(got) > 0 && strings.HasPrefix(got[len(got)-1], "trigger-") {
			got[len(got)-1] = "trigger"
		}
		equal(t, "firings", got, append(hours(1, 2, 3, 5, 6), "trigger"))
		do("delete", all.Delete(ctx, "s"))
		time.Sleep(12 * time.Hour)
		if got := firings(t, s, "s"); len(got) != 6 {
			t.Errorf("after Delete: got the firings %v, want the 6 from before", got)
		}
		for what, err := range map[string]error{
			"pause": all.Pause(ctx, "s", ""), "trigger": all.Trigger(ctx, "s"), "delete": all.Delete(ctx, "s"),
			"describe": func() error { _, err := all.Describe(ctx, "s"); return err }(),
		} {
			if !errors.Is(err, checkpoint.ErrNotFound) || !strings.Contains(err.Error(), `schedule "s"`) {
				t.Errorf("%s of a deleted schedule: got %v, want ErrNotFound with its name", what, err)
			}
		}
		do("create again", all.Create(ctx, "s", schedule.Spec{Every: time.Hour}, schedule.Submit(g, said)))
		if err := all.Create(ctx, "s", schedule.Spec{Every: time.Hour}, schedule.Submit(g, said)); !errors.Is(err, schedule.ErrExists) {
			t.Errorf("create twice: got %v, want ErrExists", err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
