package pages_test

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/runtime/worker"
)

// rendering compiles a graph whose only node has the queue gpu.
func rendering(tb testing.TB, s checkpoint.Saver) *shop {
	tb.Helper()
	b := graph.New("videos", ShopSchema)
	b.Node("render", func(context.Context, Shop) (u ShopUpdate, err error) { return u, nil }, graph.Queue("gpu"))
	b.Chain(graph.Start, "render", graph.End)
	g, err := b.Compile(graph.Saver(s))
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// until waits for a condition, at most some minutes.
func until(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !is(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("after 5 minutes, it is not true that %s", what)
		}
	}
}

// registered starts a worker that registers, and waits until the saver has it.
func registered(tb testing.TB, s checkpoint.Saver, o worker.Options, apps ...worker.App) {
	tb.Helper()
	o.Register = true
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- worker.New(s, o, apps...).Run(ctx) }()
	tb.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	until(tb, "the worker registers", func() bool {
		all, err := worker.Workers(tb.Context(), s)
		if err != nil {
			tb.Fatal(err)
		}
		return slices.ContainsFunc(all, func(r worker.Registered) bool { return r.Name == o.Name })
	})
}

// fleetOf fills a saver with a task of a queue that nobody serves, a paused graph and a schedule.
// It starts a worker that serves neither.
func fleetOf(tb testing.TB, s checkpoint.Saver) []inspect.App {
	tb.Helper()
	shop, videos := newShop(tb, s), rendering(tb, s)
	if _, err := videos.Thread("v-1").Invoke(tb.Context(), order("Ada")); err != nil {
		tb.Fatal(err)
	}
	if _, err := shop.Thread("order-9").Submit(tb.Context(), order("Bob")); err != nil {
		tb.Fatal(err)
	}
	if err := worker.Pause(tb.Context(), s, "shop"); err != nil {
		tb.Fatal(err)
	}
	all, err := schedule.New(s)
	if err != nil {
		tb.Fatal(err)
	}
	nightly := schedule.Spec{Cron: "30 2 * * *", Zone: "Europe/Lisbon"}
	if err := all.Create(tb.Context(), "nightly", nightly, schedule.Submit(videos, order("Cem"))); err != nil {
		tb.Fatal(err)
	}
	registered(tb, s, worker.Options{Name: "desk-1", Slots: 8}, all, shop)
	return []inspect.App{shop, videos}
}

func TestThePageOfWorkersShowsWhoServesWhat(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		apps := fleetOf(t, saver)
		s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, apps...)
		s.has("fleet", `desk-1`, `<span class="status done">alive</span>`, `0 of 8`,
			`<td class="main" data-l="Queue">gpu</td>`, `<a href="./?graph=shop">shop</a> <span class="mark">paused</span>`,
			`<td class="main" data-l="Schedule">nightly</td>`, `30 2 * * * in Europe/Lisbon`)
		for _, c := range []struct{ of, name, mark string }{
			{"queue", "gpu", `>gpu <span class="mark">paused</span>`},
			{"graph", "videos", `>videos</a> <span class="mark">paused</span>`},
		} {
			for _, action := range []string{"pause", "unpause"} {
				status, body := s.post("fleet", url.Values{"action": {action}, "of": {c.of}, "id": {c.name}})
				if status != http.StatusOK || strings.Contains(body, c.mark) != (action == "pause") {
					t.Errorf("%s of the %s %s: got status %d: %s", action, c.of, c.name, status, body)
				}
			}
		}
		if status, body := s.post("fleet", url.Values{"action": {"trigger"}, "of": {"schedule"}, "id": {"nightly"}}); status != http.StatusOK || !strings.Contains(body, "asked to fire") {
			t.Errorf("trigger: got status %d: %s", status, body)
		}
		until(t, "a worker fires the schedule", func() bool {
			return strings.Contains(s.page("fleet"), `<td class="num" data-l="Fired">1</td>`)
		})
		s.has("fleet", `thread?id=__tick%3anightly%40trigger-`)
		for _, form := range []url.Values{
			{"action": {"pause"}, "of": {"planet"}, "id": {"mars"}}, {"action": {"shake"}, "of": {"queue"}, "id": {"gpu"}},
			{"action": {"pause"}, "of": {"graph"}},
		} {
			if status, body := s.post("fleet", form); status != http.StatusBadRequest {
				t.Errorf("%v: got status %d: %s", form, status, body)
			}
		}
		if status, _ := s.post("fleet", url.Values{"action": {"pause"}, "of": {"schedule"}, "id": {"weekly"}}); status != http.StatusNotFound {
			t.Errorf("pause of a schedule that does not exist: got status %d", status)
		}
	})
}

// TestTenantsSeeNoWorkersAndPauseNothing shows the page to a user who sees own threads only.
func TestTenantsSeeNoWorkersAndPauseNothing(t *testing.T) {
	saver := newSaver(t)
	apps := fleetOf(t, saver)
	s := loggedIn(t, saver, inspect.Options{Allow: inspect.AllActions(), Authorize: tenants}, apps...)
	status, body := s.as("bob", http.MethodGet, "fleet", nil)
	if status != http.StatusOK || strings.Contains(body, "desk-1") || strings.Contains(body, "nightly") || strings.Contains(body, "<button") {
		t.Errorf("got status %d: %s", status, body)
	}
	if status, _ := s.get("fleet"); status != http.StatusForbidden {
		t.Errorf("without a login: got status %d", status)
	}
	for of, want := range map[string]int{"graph": http.StatusForbidden, "queue": http.StatusForbidden, "schedule": http.StatusNotFound} {
		if status, _ := s.as("bob", http.MethodPost, "fleet", url.Values{"action": {"pause"}, "of": {of}, "id": {"nightly"}}); status != want {
			t.Errorf("pause of a %s: got status %d, want %d", of, status, want)
		}
	}
	graphs, queues, err := worker.Paused(t.Context(), saver)
	if err != nil || len(graphs) != 1 || len(queues) != 0 {
		t.Errorf("got paused %q and %q, %v; want only shop", graphs, queues, err)
	}
}
