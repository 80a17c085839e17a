package graph_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/graph/internal/task"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// ofTenant returns a context of a run whose thread has a label.
func ofTenant(tb testing.TB, tenant string) context.Context {
	tb.Helper()
	return task.WithLabels(tb.Context(), task.NewLabels(map[string]string{"tenant": tenant}, nil))
}

// TestALimitPerLabelBoundsEachValue has runs of three tenants, and runs without the label.
func TestALimitPerLabelBoundsEachValue(t *testing.T) {
	for name, of := range map[string]func(string) graph.Limiter{
		"one process": func(string) graph.Limiter { return graph.MaxConcurrent(2) },
		"global":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.New()
				if of == nil {
					of = func(tenant string) graph.Limiter {
						return graph.MaxConcurrentGlobal(s, "model of "+tenant, 2)
					}
				}
				var mu sync.Mutex
				running, most, all := make(map[string]int), make(map[string]int), 0
				b := newWork()
				b.Node("a", func(ctx context.Context, _ work) (update, error) {
					tenant, err := graph.ThreadLabel(ctx, "tenant")
					if err != nil && !errors.Is(err, graph.ErrNoLabel) {
						return update{}, err
					}
					mu.Lock()
					running[tenant]++
					running["all"]++
					most[tenant], all = max(most[tenant], running[tenant]), max(all, running["all"])
					mu.Unlock()
					time.Sleep(time.Minute)
					mu.Lock()
					running[tenant]--
					running["all"]--
					mu.Unlock()
					return update{}, nil
				}, graph.Limit(graph.PerLabel("tenant", of)))
				b.Chain(graph.Start, "a", graph.End)
				app := compile(t, b, graph.Saver(s))
				var runs sync.WaitGroup
				for i := range 20 {
					runs.Go(func() {
						var opts []graph.InvokeOption
						if tenant := []string{"", "ada", "bob", "cy"}[i%4]; tenant != "" {
							opts = append(opts, graph.Label("tenant", tenant))
						}
						if _, err := app.Thread(fmt.Sprint(i)).Invoke(t.Context(), input, opts...); err != nil {
							t.Error(err)
						}
					})
				}
				runs.Wait()
				same(t, "most at a time", most, map[string]int{"": 2, "ada": 2, "bob": 2, "cy": 2})
				same(t, "most of all", all, 8)
			})
		})
	}
}

// TestALimitPerLabelKeepsTheLimitersInUse has more values than it keeps.
func TestALimitPerLabelKeepsTheLimitersInUse(t *testing.T) {
	made := make(map[string]int)
	limit := graph.PerLabel("tenant", func(tenant string) graph.Limiter {
		made[tenant]++
		if tenant == "panics" {
			return limiting(func(context.Context) (func(), error) { panic("bang") })
		}
		return graph.MaxConcurrent(1)
	})
	panics := func() {
		t.Helper()
		defer func() { _ = recover() }() // that of the limiter
		_, err := limit.Acquire(ofTenant(t, "panics"))
		t.Errorf("got %v, want the panic", err)
	}
	panics()
	of := func(tenant string) func() {
		t.Helper()
		release, err := limit.Acquire(ofTenant(t, tenant))
		if err != nil {
			t.Fatal(err)
		}
		return release
	}
	held := of("held")
	of("rests")()
	for i := range 9_999 {
		of(fmt.Sprint(i))()
	}
	of("rests")() // the newest of 10,000
	same(t, "limiters", len(made), 10_002)
	of("one more")() // 0 goes
	for i := range 2 {
		of(fmt.Sprint(i))() // each makes the next one go
	}
	same(t, "0, which rested longest", made["0"], 2)
	same(t, "1, which rested longest after it", made["1"], 2)
	same(t, "rests", made["rests"], 1)
	ctx, cancel := context.WithCancel(ofTenant(t, "held"))
	cancel()
	if _, err := limit.Acquire(ctx); !errors.Is(err, context.Canceled) || made["held"] != 1 {
		t.Errorf("got %v from the limiter that is held, made %d times; want it cancelled, made once", err, made["held"])
	}
	held()
	of("held")()
	same(t, "held", made["held"], 1)
	panics()
	same(t, "the limiter that panicked, which is not in use", made["panics"], 2)
}

// TestALimitPerLabelWithoutALimiter: the function limits only some values.
func TestALimitPerLabelWithoutALimiter(t *testing.T) {
	limit := graph.PerLabel("tenant", func(tenant string) graph.Limiter {
		switch tenant {
		case "free":
			return nil
		case "wrong":
			return graph.MaxConcurrent(0)
		}
		return limiting(func(context.Context) (func(), error) { panic("bang") })
	})
	if release, err := limit.Acquire(ofTenant(t, "free")); err != nil || release != nil {
		t.Errorf("got %v, want no limit", err)
	}
	want := `PerLabel "tenant", for the value "wrong": the Limiter is MaxConcurrent(0); want at least 1`
	if _, err := limit.Acquire(ofTenant(t, "wrong")); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	app := compile(t, wide(1, say("a"), graph.Limit(limit)))
	if _, err := app.Run(t.Context(), input); err == nil || !strings.HasSuffix(err.Error(), "its Limit: panic: bang") {
		t.Errorf("got %v, want the panic", err)
	}
	broken := task.WithLabels(t.Context(), task.NewLabels(nil, func(context.Context) (map[string]string, error) { return nil, errBroken }))
	if _, err := limit.Acquire(broken); !errors.Is(err, errBroken) {
		t.Errorf("got %v, want the error of the label", err)
	}
}

func TestLimitsPerLabelInCompile(t *testing.T) {
	one := func(string) graph.Limiter { return graph.MaxConcurrent(1) }
	for _, l := range []graph.Limiter{graph.PerLabel("", one), graph.PerLabel("tenant", nil)} {
		if _, err := wide(1, say("a"), graph.Limit(l)).Compile(); err == nil || !strings.Contains(err.Error(), "its Limit is PerLabel(") {
			t.Errorf("got %v, want a fault of the Limit", err)
		}
	}
	shared := graph.Limit(graph.PerLabel("tenant", one))
	outer := newWork()
	outer.Subgraph("sub", compile(t, wide(1, say("a"), shared), graph.SubgraphOnly()), shared)
	if _, err := line(outer, "sub").Compile(); err == nil || !strings.Contains(err.Error(), "have the same limiter") {
		t.Errorf("got %v, want that the node waits for its subgraph", err)
	}
}
