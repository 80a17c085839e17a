package operate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/internal/fixtures"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/operate"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/worker"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// text returns the loads of a fleet as text, and how many workers it has.
func text(f *operate.Fleet) string {
	var all []string
	for _, l := range append(append([]operate.Load{}, f.Graphs...), f.Queues...) {
		one := fmt.Sprintf("%s%v: %d due", l.Queue, l.Graphs, l.Due)
		if l.More {
			one += " or more"
		}
		if l.Oldest != nil {
			one += fmt.Sprintf(" for %s", f.Now.Sub(*l.Oldest).Round(time.Second))
		}
		if l.Workers > 0 {
			one += fmt.Sprintf(", %d of %d slots of %d", l.Used, l.Slots, l.Workers)
		}
		for mark, is := range map[string]bool{", paused": l.Paused, ", stuck": l.Stuck(f.Now)} {
			if is {
				one += mark
			}
		}
		all = append(all, one)
	}
	return strings.Join(all, "; ")
}

// counted counts the calls that read what is due.
type counted struct {
	*memory.Saver
	ready atomic.Int64
}

func (c *counted) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	c.ready.Add(1)
	return c.Saver.Ready(ctx, q)
}

// TestTheFleetSaysWhatIsDueAndWhoServesIt has a queue without a worker, a paused graph, and a
// worker of another queue.
func TestTheFleetSaysWhatIsDueAndWhoServesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &counted{Saver: memory.New()}
		app := newApp(t, s, func(context.Context) error { return nil }, graph.Queue("gpu"))
		o := &operate.Operator{Saver: s, Graphs: map[string]graph.Untyped{"parcels": app.Untyped()}}
		for i := range 3 {
			if _, err := app.Thread(fmt.Sprint("t", i)).Invoke(t.Context(), fixtures.ParcelUpdate{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Minute)
		fleet := func() string {
			s.ready.Store(0)
			f, err := o.Fleet(t.Context(), 2, "letters")
			if err != nil {
				t.Fatal(err)
			}
			if loads, calls := len(f.Graphs)+len(f.Queues), int(s.ready.Load()); calls != loads {
				t.Errorf("%d loads took %d calls of Ready; want one for each", loads, calls)
			}
			return text(&f)
		}
		if got, want := fleet(), "[letters]: 0 due; [parcels]: 0 due; gpu[parcels]: 2 due or more for 2m0s, stuck"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		for target, unpause := range map[operate.Target]bool{{Queue: "gpu"}: false, {Graph: "letters"}: true} {
			if err := o.Pause(t.Context(), target, ""); err != nil {
				t.Fatal(err)
			}
			if unpause {
				if err := o.Unpause(t.Context(), target, ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, want := fleet(), "[letters]: 0 due; [parcels]: 0 due; gpu[parcels]: 2 due or more for 2m0s, paused"; got != want {
			t.Errorf("paused: got  %s\nwant %s", got, want)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, 1)
		go func() {
			ended <- worker.New(s, worker.Options{Slots: 5, Queues: map[string]int{"gpu": 2}, Register: true}, app).Run(ctx)
		}()
		time.Sleep(time.Second)
		want := "[letters]: 0 due; [parcels]: 0 due, 0 of 5 slots of 1; gpu[parcels]: 2 due or more for 2m1s, 0 of 2 slots of 1, paused"
		if got := fleet(); got != want {
			t.Errorf("with a worker: got  %s\nwant %s", got, want)
		}
		o.Sees = func(*checkpoint.Thread) bool { return false }
		if got, want := fleet(), "[letters]: 0 due; [parcels]: 0 due; gpu[parcels]: 0 due or more, paused"; got != want {
			t.Errorf("without sight: got  %s\nwant %s", got, want)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestAPausedGraphDoesNotMakeItsQueueStuck has a queue of two graphs. One had another name before.
func TestAPausedGraphDoesNotMakeItsQueueStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		apps := make(map[string]graph.Untyped)
		for name, former := range map[string]string{"parcels": "boxes", "letters": ""} {
			b := graph.New(name, fixtures.ParcelSchema)
			b.Node("work", func(context.Context, fixtures.Parcel) (u fixtures.ParcelUpdate, err error) { return u, nil }, graph.Queue("gpu"))
			b.Chain(graph.Start, "work", graph.End)
			opts := []graph.Option{graph.Saver(s)}
			if former != "" {
				opts = append(opts, graph.FormerNames(former))
			}
			app, err := b.Compile(opts...)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := app.Thread(name).Invoke(t.Context(), fixtures.ParcelUpdate{}); err != nil {
				t.Fatal(err)
			}
			apps[name] = app.Untyped()
			time.Sleep(time.Minute)
			if former == "" {
				continue
			}
			// The registered worker knows the former name.
			if err := worker.PauseQueue(t.Context(), s, "gpu"); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- worker.New(s, worker.Options{Queues: map[string]int{"gpu": 1}, Register: true}, app).Run(ctx)
			}()
			defer func() {
				if stop(); <-ended != nil {
					t.Error("the worker failed")
				}
			}()
		}
		time.Sleep(5 * time.Minute)
		o := &operate.Operator{Saver: s, Graphs: apps}
		queue := func() string {
			f, err := o.Fleet(t.Context(), 10)
			if err != nil || len(f.Queues) != 1 {
				t.Fatalf("got %v, %v; want one queue", f.Queues, err)
			}
			l := &f.Queues[0]
			return fmt.Sprintf("%d due, paused %t, stuck %t", l.Due, l.Paused, l.Stuck(f.Now))
		}
		for _, step := range []struct{ pause, want string }{
			{"boxes", "2 due, paused true, stuck false"},
			{"", "1 due, paused false, stuck true"},
			{"letters", "2 due, paused true, stuck false"},
		} {
			if step.pause == "" {
				if err := worker.ResumeQueue(t.Context(), s, "gpu"); err != nil {
					t.Fatal(err)
				}
			} else if err := worker.Pause(t.Context(), s, step.pause); err != nil {
				t.Fatal(err)
			}
			if got := queue(); got != step.want {
				t.Errorf("pause of %q: got %s, want %s", step.pause, got, step.want)
			}
		}
	})
}

// mortal has a switch that makes all writes of leases fail, as for a process that has died.
type mortal struct {
	*memory.Saver
	dead atomic.Bool
}

func (m *mortal) PutWrites(ctx context.Context, p checkpoint.PutWrites) (checkpoint.PutResult, error) {
	if m.dead.Load() {
		return checkpoint.PutResult{}, errors.New("the process has died")
	}
	return m.Saver.PutWrites(ctx, p)
}

// TestLeasesOfDeadProcessesAreNotStuck has a worker and a permit of a process that dies.
func TestLeasesOfDeadProcessesAreNotStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &mortal{Saver: memory.New()}
		app := newApp(t, s, func(context.Context) error { return nil })
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- worker.New(s, worker.Options{Register: true}, app).Run(ctx) }()
		release, err := graph.MaxConcurrentGlobal(s, "model", 1).Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		s.dead.Store(true)
		time.Sleep(5 * time.Minute)
		o := &operate.Operator{Saver: s}
		leases := 0
		for th, err := range s.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Standing(&th, time.Now()); th.Holder != "" || got.Stuck || got.Kind != "" {
				t.Errorf("%s has the holder %q: got %+v, want nothing that it waits for", th.ID, th.Holder, got)
			}
			leases++
		}
		if leases != 2 {
			t.Errorf("got %d threads, want a worker and a permit", leases)
		}
		release()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestAFilterSelectsByTheAgeOfTheWait has a thread that waits, and one that is done.
func TestAFilterSelectsByTheAgeOfTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		broken := newApp(t, s, func(context.Context) error { return errors.New("broken") })
		if _, err := broken.Thread("failed").Invoke(t.Context(), fixtures.ParcelUpdate{}); err == nil {
			t.Fatal("the node did not fail")
		}
		if _, err := newApp(t, s, func(context.Context) error { return nil }).Thread("done").Invoke(t.Context(), fixtures.ParcelUpdate{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		for waited, want := range map[time.Duration]string{time.Hour: "[failed]", 3 * time.Hour: "[]"} {
			var got []string
			for th, err := range (&operate.Operator{Saver: s}).Threads(t.Context(), checkpoint.ThreadQuery{}, operate.Filter{Waited: waited}) {
				if got = append(got, th.ID); err != nil {
					t.Fatal(err)
				}
			}
			if fmt.Sprint(got) != want {
				t.Errorf("longer than %s: got %v, want %s", waited, got, want)
			}
		}
	})
}

func TestPausesNeedOneName(t *testing.T) {
	o := &operate.Operator{Saver: memory.New()}
	for _, target := range []operate.Target{{}, {Graph: "a", Queue: "b"}, {Queue: "a", Schedule: "b"}} {
		var wrong *operate.RequestError
		if err := o.Pause(t.Context(), target, ""); !errors.As(err, &wrong) {
			t.Errorf("%+v: got %v, want a RequestError", target, err)
		}
	}
	if err := o.Unpause(t.Context(), operate.Target{Schedule: "none"}, ""); !errors.Is(err, checkpoint.ErrNotFound) {
		t.Errorf("a schedule that does not exist: got %v, want ErrNotFound", err)
	}
}

// unreadable cannot load one thread.
type unreadable struct {
	*memory.Saver
	thread string
}

func (u *unreadable) Load(ctx context.Context, r checkpoint.Ref) (checkpoint.Chain, error) {
	if r.Thread == u.thread {
		return checkpoint.Chain{}, checkpoint.ErrDamaged
	}
	return u.Saver.Load(ctx, r)
}

// TestAnUnreadableScheduleHasItsID has one between two others. Sees can hide it.
func TestAnUnreadableScheduleHasItsID(t *testing.T) {
	s := &unreadable{Saver: memory.New()}
	app := newApp(t, s, func(context.Context) error { return nil })
	all, err := schedule.New(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := all.Create(t.Context(), id, schedule.Spec{Every: time.Hour}, schedule.Submit(app, fixtures.ParcelUpdate{})); err != nil {
			t.Fatal(err)
		}
	}
	s.thread = schedule.Thread("b")
	o := &operate.Operator{Saver: s}
	listed := func() (text string) {
		for one, err := range o.Schedules(t.Context()) {
			text += fmt.Sprint(one.ID, " damaged ", errors.Is(err, checkpoint.ErrDamaged), "; ")
		}
		return text
	}
	if got, want := listed(), "a damaged false; b damaged true; c damaged false; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	o.Sees = func(t *checkpoint.Thread) bool { return t.Graph == schedule.Graph && t.ID != s.thread }
	if got, want := listed(), "a damaged false; c damaged false; "; got != want {
		t.Errorf("with a schedule out of sight: got %s, want %s", got, want)
	}
}

// TestSchedulesSayWhatTheyFire triggers a paused schedule, and backfills it.
func TestSchedulesSayWhatTheyFire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		app := newApp(t, s, func(context.Context) error { return nil })
		all, err := schedule.New(s)
		if err != nil {
			t.Fatal(err)
		}
		spec := schedule.Spec{Every: time.Hour}
		if err := all.Create(t.Context(), "hourly", spec, schedule.Submit(app, fixtures.ParcelUpdate{})); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- worker.New(s, worker.Options{}, app, all).Run(ctx) }()
		o := &operate.Operator{Saver: s}
		listed := func() operate.Schedule {
			time.Sleep(time.Minute)
			for one, err := range o.Schedules(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				return one
			}
			return operate.Schedule{}
		}
		if got := listed(); got.When != "every 1h0m0s" || got.Graph != "parcels" || len(got.Next) != 3 || got.Next[1].Sub(got.Next[0]) != time.Hour || got.Last != nil {
			t.Errorf("got %+v", got)
		}
		err = errors.Join(o.Pause(t.Context(), operate.Target{Schedule: "hourly"}, "too many"), o.Trigger(t.Context(), "hourly"))
		if err != nil {
			t.Fatal(err)
		}
		if got := listed(); !got.Paused || got.Note != "too many" || len(got.Next) != 0 || got.Fired != 1 || got.Last == nil || got.Last.Status != "done" {
			t.Errorf("paused and triggered: got %+v", got)
		}
		if err := o.Backfill(t.Context(), "hourly", time.Now().Add(-3*time.Hour), time.Now()); err != nil {
			t.Fatal(err)
		}
		if got := listed(); got.Fired != 4 {
			t.Errorf("after the backfill of 3 hours: got %d firings, want 4", got.Fired)
		}
		o.Sees = func(*checkpoint.Thread) bool { return false }
		if got := listed(); got.ID != "" {
			t.Errorf("without sight: got %+v", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestTheFleetKeepsWhatTheStorageThatAnswersSays has a worker, a pause, a due thread and a
// schedule on the part of the storage that answers.
func TestTheFleetKeepsWhatTheStorageThatAnswersSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		app := newApp(t, s, func(context.Context) error { return nil })
		if _, err := app.Thread("t").Submit(t.Context(), fixtures.ParcelUpdate{}); err != nil {
			t.Fatal(err)
		}
		if err := worker.Pause(t.Context(), s, "parcels"); err != nil {
			t.Fatal(err)
		}
		all, err := schedule.New(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := all.Create(t.Context(), "nightly", schedule.Spec{Cron: "@daily"}, schedule.Submit(app, fixtures.ParcelUpdate{})); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- worker.New(s, worker.Options{Name: "desk-1", Register: true, Slots: 3}, app).Run(ctx) }()
		time.Sleep(time.Second)
		o := &operate.Operator{Saver: &halfDown{s}}
		f, err := o.Fleet(t.Context(), 0)
		if got, want := text(&f), "[parcels]: 1 due for 1s, 0 of 3 slots of 1, paused"; !errors.Is(err, checkpoint.ErrPartial) || len(f.Workers) != 1 || got != want {
			t.Errorf("got %q and the workers %v, %v; want %q, desk-1 and %v", got, f.Workers, err, want, checkpoint.ErrPartial)
		}
		var got []string
		for s, err := range o.Schedules(t.Context()) {
			got = append(got, fmt.Sprintf("%s %t", s.ID, errors.Is(err, checkpoint.ErrPartial)))
		}
		if fmt.Sprint(got) != "[nightly false  true]" {
			t.Errorf("got the schedules and errors %q; want nightly, and then the error", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
