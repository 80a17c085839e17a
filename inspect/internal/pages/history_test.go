package pages_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// long returns a thread, long, with n supersteps.
func long(t *testing.T, saver checkpoint.Saver, n int) {
	t.Helper()
	g := graph.New("loop", ShopSchema)
	g.Node("turn", func(context.Context, Shop) (ShopUpdate, error) {
		var u ShopUpdate
		u.Cents.Add(1)
		return u, nil
	})
	g.Edge(graph.Start, "turn")
	g.Route("turn", func(_ context.Context, s Shop) (graph.Next, error) {
		if s.Cents < n {
			return graph.To("turn"), nil
		}
		return graph.To(graph.End), nil
	}, "turn", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Thread("long").Invoke(t.Context(), order("Ada"), graph.MaxSteps(n+10), graph.Async); err != nil {
		t.Fatal(err)
	}
}

// A filter reads a bounded number of checkpoints for a page. The next page continues.
func TestAHistoryFilterIsBounded(t *testing.T) {
	c := &counting{Saver: newSaver(t)}
	long(t, c.Saver, 10_500)
	s := serve(t, c, inspect.Options{})
	page, matches, pages := "history?id=long&step=100", 0, 0
	for ; page != ""; pages++ {
		c.rows.Store(0)
		body := s.page(page)
		if rows := c.rows.Load(); rows > 10_100 {
			t.Fatalf("page %d read %d rows", pages, rows)
		}
		matches += strings.Count(body, `<td class="num" data-l="Step">100</td>`)
		page = nextPage(body)
	}
	if matches != 1 || pages != 2 {
		t.Errorf("got %d matches on %d pages", matches, pages)
	}
	s.has("history?id=long&step=10400", `<td class="num" data-l="Step">10400</td>`)
	s.has("history?id=long&step=100", "No checkpoint matches", "10000 checkpoints read; older ones follow")
	c.rows.Store(0)
	s.page("history?id=long")
	if rows := c.rows.Load(); rows > 200 {
		t.Errorf("a page without a filter read %d rows", rows)
	}
}

// nextPage returns the address of the next page of a history; empty if there is none.
func nextPage(body string) string {
	found := regexp.MustCompile(`<a href="([^"]*)" rel="next">`).FindStringSubmatch(body)
	if found == nil {
		return ""
	}
	return strings.ReplaceAll(found[1], "&amp;", "&")
}

// The filter for failures shows the checkpoint whose task failed, until a later one continues it.
func TestAHistoryShowsFailures(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		broken := true
		app := newShop(t, saver, graph.Intercept(graph.Interceptor{
			Task: func(ctx context.Context, info graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
				if info.Node == "price" && broken {
					return errors.New("no prices")
				}
				_, err := next(ctx)
				return err
			},
		}))
		var failed *graph.NodeError
		if _, err := app.Thread("order-1").Invoke(t.Context(), order("Ada")); !errors.As(err, &failed) {
			t.Fatalf("got %v, want a failure", err)
		}
		head, err := app.Thread("order-1").State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, saver, inspect.Options{}, app)
		body := s.has("history?id=order-1&failed=1", head.Checkpoint.String(), " read")
		if n := strings.Count(body, `name="a"`); n != 1 {
			t.Errorf("got %d failed checkpoints, want 1", n)
		}
		broken = false
		if _, err := app.Thread("order-1").Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.has("history?id=order-1&failed=1", "No checkpoint matches")
	})
}

// TestThePageOfAThreadHasTheFailedAttemptsOfItsTasks fails a task in two runs, the second one by a
// panic.
func TestThePageOfAThreadHasTheFailedAttemptsOfItsTasks(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		runs := 0
		app := newShop(t, saver, graph.Holder("host-7"), graph.Intercept(graph.Interceptor{
			Task: func(ctx context.Context, info graph.TaskInfo, next func(context.Context) (graph.Outcome, error)) error {
				if info.Node == "check" {
					if runs++; runs > 1 {
						panic("no <shelf>")
					}
					return errors.New("no light")
				}
				_, err := next(ctx)
				return err
			},
		}))
		s := serve(t, saver, inspect.Options{}, app)
		if _, err := app.Thread("order-1").Invoke(t.Context(), order("Ada")); err == nil {
			t.Fatal("the node did not fail")
		}
		s.lacks("thread?id=order-1", "failed attempts")
		if _, err := app.Thread("order-1").Resume(t.Context()); err == nil {
			t.Fatal("the node did not fail")
		}
		for range 3 {
			if _, err := app.Thread("order-1").Resume(t.Context()); err == nil {
				t.Fatal("the node did not fail")
			}
		}
		if body := s.has("thread?id=order-1", "resumed <span class=\"dim\">4 times</span>"); strings.Count(body, `<tr class="resume">`) != 1 {
			t.Errorf("the history has not one row of resumes:\n%s", body)
		}
		s.has("thread?id=order-1", "5 failed attempts", "no light", "panic: no &lt;shelf&gt;", "host-7", "<summary>stack</summary>", "history_test.go")
	})
}

// A checkpoint with more branches than columns is drawn in the first columns. The next page of its
// tree is served, too.
func TestManyBranchesAreDrawn(t *testing.T) {
	f := newFixture(t, newSaver(t), inspect.Options{})
	const forks = 130
	for range forks {
		if _, err := f.app.Thread("order-1").At(f.ids[2]).UpdateState(t.Context(), ShopUpdate{}); err != nil {
			t.Fatal(err)
		}
	}
	page, drawn := "history?id=order-1", 0
	for page != "" {
		if len(page) > 2000 {
			t.Errorf("the address of a page has %d bytes", len(page))
		}
		status, body := f.get(page)
		if status != http.StatusOK {
			t.Fatalf("GET %s: got %d", page, status)
		}
		drawn += strings.Count(body, "<circle")
		for _, width := range regexp.MustCompile(`<svg width="(\d+)" height="34"`).FindAllStringSubmatch(body, -1) {
			if n, err := strconv.Atoi(width[1]); err != nil || n > 12*14 {
				t.Errorf("a tree is %s wide", width[1])
			}
		}
		page = nextPage(body)
	}
	if want := forks + len(f.ids); drawn != want {
		t.Errorf("got %d checkpoints, want %d", drawn, want)
	}
}

// The tree of a thread with a resume has one branch, on the page of the thread as in its history.
func TestAResumeIsPartOfTheTree(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	fail(t, app, "order-2")
	s := serve(t, saver, inspect.Options{}, app)
	for _, page := range []string{"thread?id=order-2", "history?id=order-2"} {
		body := s.has(page, `>ran approve <span class="dim">after 1 resume</span>`, ">input taken<", ">input merged<", ">ran stock, price<")
		for _, width := range regexp.MustCompile(`<svg width="(\d+)" height="34"`).FindAllStringSubmatch(body, -1) {
			if width[1] != "14" {
				t.Errorf("%s: a row of the tree is %s wide, want one branch of 14", page, width[1])
			}
		}
		if n := strings.Count(body, "<circle"); n != 5 {
			t.Errorf("%s: got %d rows, want 5", page, n)
		}
	}
}
