package schedule_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// stored returns how much a saver keeps of the thread of a schedule.
func stored(tb testing.TB, s checkpoint.Saver, id string) (records, writes, messages, bytes int) {
	tb.Helper()
	for item, err := range s.Export(context.WithoutCancel(tb.Context()), "__schedule:"+id, 0) {
		switch {
		case err != nil:
			tb.Fatal(err)
		case item.Record != nil:
			records++
			bytes += len(item.Record.Payload)
		case item.Write != nil:
			writes++
			bytes += len(item.Write.Payload)
		case item.Message != nil:
			messages++
			bytes += len(item.Message.Payload)
		}
	}
	return records, writes, messages, bytes
}

func TestAScheduleDoesNotGrowWithItsTicks(t *testing.T) {
	for overlap, ticks := range map[schedule.Overlap]int{schedule.Skip: 2000, schedule.Allow: 300} {
		if testing.Short() {
			ticks /= 3
		}
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			all := create(t, s, "often", schedule.Spec{Every: time.Second, Overlap: overlap})
			for half := range 2 {
				work(t, s, time.Duration(ticks)*time.Second, all)
				if r, w, m, b := stored(t, s, "often"); r > 150 || w > 10 || m > 0 || b > 150_000 {
					t.Errorf("%s, after %d ticks: got %d records, %d writes, %d messages, %d bytes; want at most 150, 10, 0, 150,000",
						overlap, (half+1)*ticks, r, w, m, b)
				}
			}
			if d := describe(t, all, "often"); d.Fired+d.Skipped < int64(2*ticks)-2 {
				t.Errorf("%s: got %d fired and %d skipped, want about %d", overlap, d.Fired, d.Skipped, 2*ticks)
			}
		})
	}
}

func TestCommandsLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		all := create(t, s, "s", schedule.Spec{Every: time.Hour})
		for range 100 {
			for _, command := range []func() error{
				func() error { return all.Pause(t.Context(), "s", "p") },
				func() error { return all.Trigger(t.Context(), "s") },
				func() error { return all.Unpause(t.Context(), "s", "u") },
			} {
				if err := command(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond) // commands take effect in the order of their times
			}
			work(t, s, time.Second, all)
		}
		if r, w, _, b := stored(t, s, "s"); r > 200 || w > 10 || b > 200_000 {
			t.Errorf("after 300 commands: got %d records, %d writes, %d bytes; want them bounded", r, w, b)
		}
		if d := describe(t, all, "s"); d.Paused || d.Fired+d.Skipped != 100 {
			t.Errorf("got %+v, want it running, with 100 triggers", d)
		}
	})
}

func TestABackfillOfAYearKeepsTheScheduleSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		all := create(t, s, "s", schedule.Spec{Every: 6 * time.Hour, Overlap: schedule.Allow})
		from, to := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 2 { // the second one fires the same threads
			if err := all.Backfill(t.Context(), "s", from, to); err != nil {
				t.Fatal(err)
			}
			work(t, s, time.Minute, all)
		}
		got := firings(t, s, "s")
		if len(got) != 365*4 || got[0] != "1999-01-01T00:00:00Z" || got[len(got)-1] != "1999-12-31T18:00:00Z" {
			t.Errorf("got %d firings, want the %d of the year before", len(got), 365*4)
		}
		if _, _, _, bytes := stored(t, s, "s"); bytes > 500_000 {
			t.Errorf("got %d bytes, want at most 500,000", bytes)
		}
	})
}

func TestIDsOfSchedulesAreAnyBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, ctx := memory.New(), t.Context()
		all, g := newSchedules(t, s), report(t, s, nil)
		ids := []string{
			"a", "a@", "a@2000-01-01T01:00:00Z", "@", "a/b", "../../x", " ", "schedule", "trigger-", "a@trigger-1", "schedule:", "__schedule:a", "__tick:a", "\x00", "\xff\xfe", "☃", "%s%d",
			strings.Repeat("x", 200),
		}
		for _, id := range ids {
			if err := all.Create(ctx, id, schedule.Spec{Every: time.Hour, Overlap: schedule.Allow}, schedule.Submit(g, said)); err != nil {
				t.Errorf("Create(%q): %v", id, err)
			}
		}
		for _, id := range []string{"", strings.Repeat("x", 201)} {
			err := all.Create(ctx, id, schedule.Spec{Every: time.Hour}, schedule.Submit(g, said))
			if err == nil || !strings.HasPrefix(err.Error(), "schedule ") || len(err.Error()) > 200 {
				t.Errorf("Create(%q): got the error %v, want one that names the id", id, err)
			}
		}
		for _, id := range ids {
			if err := all.Trigger(ctx, id); err != nil {
				t.Errorf("Trigger(%q): %v", id, err)
			}
		}
		work(t, s, 2*time.Hour+time.Second, all, g)
		var found []string
		for d, err := range all.List(ctx, "") {
			if err != nil || d.Fired != 3 || d.Graph != "report" || d.Spec.Every != time.Hour {
				t.Errorf("got the schedule %+v, %v; want 3 firings", d, err)
			}
			found = append(found, d.ID)
		}
		slices.Sort(ids)
		equal(t, "List", found, ids)
		for _, id := range ids {
			once(t, s, id)
			triggers := 0
			for _, name := range firings(t, s, id) {
				of, tick, ok := schedule.Tick("__tick:" + id + "@" + name)
				if !ok || of != id || tick.IsZero() != strings.HasPrefix(name, "trigger-") {
					t.Errorf("Tick(%q): got %q, %s, %t", "__tick:"+id+"@"+name, of, tick, ok)
				}
				if tick.IsZero() {
					triggers++
				}
			}
			if n := len(firings(t, s, id)); n != 3 || triggers != 1 {
				t.Errorf("schedule %q: got %d firings and %d triggers, want 3 and 1", id, n, triggers)
			}
		}
		for _, thread := range []string{"", "a", "a@b", "@2000-01-01T01:00:00Z", "order@7", "a@2000-01-01T01:00:00Z", "__tick:@2000-01-01T01:00:00Z"} {
			if id, tick, ok := schedule.Tick(thread); ok || id != "" || !tick.IsZero() {
				t.Errorf("Tick(%q): got %q, %s, %t; want none", thread, id, tick, ok)
			}
		}
	})
}

func TestWrongCallsStoreNothing(t *testing.T) {
	s, ctx := memory.New(), t.Context()
	all, g := newSchedules(t, s), report(t, s, nil)
	hourly := schedule.Spec{Every: time.Hour}
	labels := make([]graph.SubmitOption, 0, checkpoint.MaxLabels)
	for i := range checkpoint.MaxLabels {
		labels = append(labels, graph.Label(strings.Repeat("l", i+1), "v"))
	}
	for what, err := range map[string]error{
		"no fields":       all.Create(ctx, "s", schedule.Spec{}, schedule.Submit(g, said)),
		"wrong cron":      all.Create(ctx, "s", schedule.Spec{Cron: "x"}, schedule.Submit(g, said)),
		"a short CatchUp": all.Create(ctx, "s", schedule.Spec{Every: time.Hour, CatchUp: time.Second}, schedule.Submit(g, said)),
		"negative Jitter": all.Create(ctx, "s", schedule.Spec{Every: time.Hour, Jitter: -1}, schedule.Submit(g, said)),
		"unknown Overlap": all.Create(ctx, "s", schedule.Spec{Every: time.Hour, Overlap: 7}, schedule.Submit(g, said)),
		"no action":       all.Create(ctx, "s", hourly, schedule.Action{}),
		"IfIdle":          all.Create(ctx, "s", hourly, schedule.Submit(g, said, graph.IfIdle())),
		"CancelPending":   all.Create(ctx, "s", hourly, schedule.Submit(g, said, graph.CancelPending(""))),
		"many labels":     all.Create(ctx, "s", hourly, schedule.Submit(g, said, labels...)),
		"no such":         all.Update(ctx, "s", hourly, schedule.Submit(g, said)),
		"times in turn":   all.Backfill(ctx, "s", time.Unix(2, 0), time.Unix(1, 0)),
	} {
		if err == nil || !strings.HasPrefix(err.Error(), `schedule "s": `) {
			t.Errorf("%s: got the error %v, want one of the schedule", what, err)
		}
	}
	for th, err := range s.Threads(ctx, checkpoint.ThreadQuery{}) {
		t.Errorf("got the thread %q, %v; want none", th.ID, err)
	}
	if _, err := schedule.New(nil); err == nil {
		t.Error("New without a saver: got no error")
	}
}

func TestTheLongestDurations(t *testing.T) {
	for _, spec := range []schedule.Spec{
		{Every: 1<<63 - 1 - (1<<63-1)%time.Second}, {Every: time.Hour, Jitter: 1<<63 - 1}, {Every: time.Hour, CatchUp: 1<<63 - 1},
		{Cron: "@yearly", Jitter: 1<<63 - 1, CatchUp: 1<<63 - 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := memory.New()
			all := create(t, s, "s", spec)
			work(t, s, 3*time.Hour, all)
			if d := describe(t, all, "s"); d.Missed != 0 || d.Next.Before(time.Now()) {
				t.Errorf("%+v: got %+v, want nothing missed and a next tick", spec, d)
			}
		})
	}
}
