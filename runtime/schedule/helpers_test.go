package schedule_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/state"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

type app = graph.Graph[Job, JobUpdate]

// report compiles a graph of one node, which notes its thread.
func report(tb testing.TB, s checkpoint.Saver, work func(context.Context) error) *app {
	tb.Helper()
	b := graph.New("report", JobSchema)
	n := b.Node("write", func(ctx context.Context, _ Job) (u JobUpdate, err error) {
		if work != nil {
			err = work(ctx)
		}
		u.Log.Append("wrote " + graph.CurrentTask(ctx).Thread)
		return u, err
	})
	b.Edge(graph.Start, n)
	b.Edge(n, graph.End)
	g, err := b.Compile(graph.Saver(s))
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

func newSchedules(tb testing.TB, s checkpoint.Saver) *schedule.Schedules {
	tb.Helper()
	all, err := schedule.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

var said = JobUpdate{Log: state.Append("began")}

// create stores a schedule that submits to the graph "report".
func create(tb testing.TB, s checkpoint.Saver, id string, spec schedule.Spec) *schedule.Schedules {
	tb.Helper()
	all := newSchedules(tb, s)
	if err := all.Create(tb.Context(), id, spec, schedule.Submit(report(tb, s, nil), said)); err != nil {
		tb.Fatal(err)
	}
	return all
}

// work runs a worker for a time.
func work(tb testing.TB, s checkpoint.Saver, d time.Duration, apps ...worker.App) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), d)
	defer cancel()
	if err := worker.New(s, worker.Options{}, apps...).Run(ctx); err != nil {
		tb.Error(err)
	}
}

func describe(tb testing.TB, all *schedule.Schedules, id string) schedule.Description {
	tb.Helper()
	d, err := all.Describe(context.WithoutCancel(tb.Context()), id)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// firings returns the threads of the graph "report" without the schedule, in the order of the ids.
func firings(tb testing.TB, s checkpoint.Saver, id string) (all []string) {
	tb.Helper()
	for t, err := range s.Threads(context.WithoutCancel(tb.Context()), checkpoint.ThreadQuery{Graph: "report", Labels: map[string]string{schedule.Label: id}}) {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, strings.TrimPrefix(t.ID, "__tick:"+id+"@"))
	}
	slices.Sort(all)
	return all
}

// hours returns the names of ticks in the first day of the bubbles of synctest.
func hours(all ...int) (names []string) {
	for _, h := range all {
		names = append(names, time.Date(2000, 1, 1, h, 0, 0, 0, time.UTC).Format(time.RFC3339))
	}
	return names
}

func equal(tb testing.TB, what string, got, want []string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("%s: got %d %v, want %d %v", what, len(got), got, len(want), want)
	}
}

// once checks that each firing ran its input once, to the end.
func once(tb testing.TB, s checkpoint.Saver, id string) {
	tb.Helper()
	g, ctx := report(tb, s, nil), context.WithoutCancel(tb.Context())
	for _, tick := range firings(tb, s, id) {
		snap, err := g.Thread("__tick:" + id + "@" + tick).State(ctx)
		if want := []string{"began", "wrote __tick:" + id + "@" + tick}; err != nil || snap.Status != graph.Done || !slices.Equal(snap.State.Log, want) {
			tb.Errorf("tick %s: got %s %v, %v; want done %v", tick, snap.Status, snap.State.Log, err, want)
		}
	}
}

// counter counts by name.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

// add returns the number of names.
func (c *counter) add(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[name]++
	return len(c.n)
}

// repeated lists the names that were counted more than once.
func (c *counter) repeated() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(c.n)) {
		if c.n[name] > 1 {
			fmt.Fprintf(&b, "%s: %d ", name, c.n[name])
		}
	}
	return b.String()
}
