package pages_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// ahead is a saver whose clock is ahead of that of its threads.
type ahead struct {
	checkpoint.Saver

	by time.Duration
}

func (s *ahead) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	got, err := s.Saver.Ready(ctx, q)
	got.Now = got.Now.Add(s.by)
	return got, err
}

func (s *ahead) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range s.Saver.Threads(ctx, q) {
			if t.Now = t.Now.Add(s.by); !yield(t, err) {
				return
			}
		}
	}
}

// barsOf returns the classes and widths of the bars of a node, oldest first, and their texts.
func barsOf(svg, node string) (bars, texts []string) {
	for _, m := range regexp.MustCompile(`<rect class="bar (\w+)" x="\d+" y="\d+" width="(\d+)"[^>]*><title>`+node+`: ([^<]*)<`).FindAllStringSubmatch(svg, -1) {
		bars, texts = append(bars, m[1]+" "+m[2]), append(texts, m[3])
	}
	return bars, texts
}

// A superstep with a fast, a slow and a failing task: the tasks that committed have one bar, and
// the page says so. The superstep in progress has the attempts and errors of each task.
func TestTheTimelineTellsTasksApart(t *testing.T) {
	saver := newSaver(t)
	g := graph.New("tasks", ShopSchema)
	policy := graph.RetryPolicy{Attempts: 5, Base: time.Hour, Max: 9 * time.Hour, Jitter: func() float64 { return 1 }}
	slow := make(chan struct{})
	g.Node("fast", func(context.Context, Shop) (ShopUpdate, error) {
		close(slow)
		return ShopUpdate{}, nil
	})
	g.Node("slow", func(ctx context.Context, _ Shop) (ShopUpdate, error) {
		<-slow
		timer := time.NewTimer(20 * time.Millisecond)
		defer timer.Stop()
		<-timer.C
		return ShopUpdate{}, nil
	})
	g.Node("fetch", func(context.Context, Shop) (ShopUpdate, error) {
		return ShopUpdate{}, errors.New("the shelf is empty")
	}, graph.Retry(policy))
	g.Node("pack", note("pack"))
	g.Edge(graph.Start, "fast")
	g.Edge(graph.Start, "slow")
	g.Join([]graph.ID{"fast", "slow"}, "fetch")
	g.Edge("slow", "pack")
	g.Edge("fetch", graph.End)
	g.Edge("pack", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	thread := app.Thread("t")
	if _, err := thread.Invoke(t.Context(), ShopUpdate{}); err != nil {
		t.Fatal(err)
	}
	if _, err := thread.Resume(t.Context(), graph.Rerun("fetch")); err != nil {
		t.Fatal(err)
	}
	// The second attempt was due after an hour, and the third one is due after two.
	body := serve(t, &ahead{saver, 90 * time.Minute}, inspect.Options{}).has("thread?id=t", "A bar is a superstep", ">an attempt was due or failed</span>")
	_, svg, _ := strings.Cut(body, `<section class="timeline"`)
	svg, _, _ = strings.Cut(svg, `<p class="dim">A part`)
	fast, _ := barsOf(svg, "fast")
	slowly, _ := barsOf(svg, "slow")
	if len(fast) != 1 || len(slowly) != 1 || fast[0] != slowly[0] || !strings.HasPrefix(fast[0], "ran ") {
		t.Errorf("the tasks of one superstep: got %q and %q, want one bar each, of one width", fast, slowly)
	}
	pack, texts := barsOf(svg, "pack")
	if len(pack) != 1 || !strings.HasPrefix(pack[0], "ran ") || !strings.HasPrefix(texts[0], "finished, ") {
		t.Errorf("the finished task: got %q, %q", pack, texts)
	}
	if _, details, _ := strings.Cut(body, "<summary>update</summary>"); !strings.Contains(details[:min(len(details), 400)], "pack") || strings.Count(body, "<summary>update</summary>") != 1 {
		t.Errorf("the update of the finished task, and of no other: got %s", details)
	}
	fetch, texts := barsOf(svg, "fetch")
	if len(fetch) != 1 || !strings.HasPrefix(fetch[0], "waiting ") || !strings.HasPrefix(texts[0], "retrying, attempt 3 begins in 30 min, last error: ") ||
		!strings.Contains(texts[0], "the shelf is empty") {
		t.Errorf("the failing task: got %q, %q", fetch, texts)
	}
	if got := strings.Count(svg, `class="tick"`); got != 2 || !strings.Contains(svg, "<title>fetch: attempt 2 was due at ") ||
		!strings.Contains(svg, "<title>fetch: attempt 2 failed at ") {
		t.Errorf("got %d times of attempts, want when the second one was due, and when it failed:\n%s", got, svg)
	}
}

// spread is a saver whose records are as far apart as its pauses say, oldest first.
type spread struct {
	checkpoint.Saver

	pauses []time.Duration
}

// began is when the oldest record of spread was stored.
var began = time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)

func (s *spread) now(n int) time.Time {
	at := began
	for _, d := range s.pauses[:min(n, len(s.pauses))] {
		at = at.Add(d)
	}
	return at
}

func (s *spread) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	got, err := s.Saver.Ready(ctx, q)
	got.Now = s.now(len(s.pauses))
	return got, err
}

func (s *spread) History(ctx context.Context, ref checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		for r, err := range s.Saver.History(ctx, ref, q) {
			r.Created = s.now(int(r.Seq) - 1)
			if !yield(r, err) {
				return
			}
		}
	}
}

// travelled stores a thread t that worked for 55 ms and for 25 s. It paused for 3 hours at a stop.
// Then it worked for 10 s and for 20 s.
func travelled(tb testing.TB) (checkpoint.Saver, *shop) {
	tb.Helper()
	saver := &spread{newSaver(tb), []time.Duration{0, 55 * time.Millisecond, 25 * time.Second, 3 * time.Hour, 10 * time.Second, 20 * time.Second, time.Minute}}
	g := graph.New("travel", ShopSchema)
	nodes := []graph.ID{"search", "book", "pay", "send"}
	for _, node := range nodes {
		g.Node(node, note(string(node)))
	}
	g.Chain(slices.Concat([]graph.ID{graph.Start}, nodes, []graph.ID{graph.End})...)
	app, err := g.Compile(graph.Saver(saver), graph.InterruptBefore("pay"))
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := app.Thread("t").Invoke(tb.Context(), ShopUpdate{}); err != nil {
		tb.Fatal(err)
	}
	if _, err := app.Thread("t").Resume(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return saver, app
}

// The axis of a timeline is in proportion, but for a break. A part of it leads to that part alone.
func TestTheAxisOfATimelineIsInProportion(t *testing.T) {
	saver, app := travelled(t)
	s := serve(t, saver, inspect.Options{}, app)
	width := func(page, node string) int {
		t.Helper()
		bars, _ := barsOf(s.page(page), node)
		if len(bars) != 1 {
			t.Fatalf("%s: got the bars %q of %s, want one", page, bars, node)
		}
		n, err := strconv.Atoi(strings.TrimPrefix(bars[0], "ran "))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, page := range []string{"thread?id=t", "history?id=t"} {
		body := s.has(page, "2026-11-23 UTC", "<title>nothing ran for 3 h</title>", ">09:30:00</text>", ">09:30:20</text>", ">12:30:30</text>", ">12:30:40</text>")
		search, book, pay, send := width(page, "search"), width(page, "book"), width(page, "pay"), width(page, "send")
		near := func(a, b int) bool { return a-b < 3 && b-a < 3 }
		if search > 5 || !near(send, 2*pay) || !near(book*10/25, pay) || pay < 100 {
			t.Errorf("%s: 0.055, 25, 10 and 20 s are %d, %d, %d and %d wide", page, search, book, pay, send)
		}
		link := regexp.MustCompile(`<a href="([^"]*)"><rect class="zoom"[^>]*><title>Zoom to 12:30:30.000 to 12:30:40.000<`).FindStringSubmatch(body)
		if link == nil {
			t.Fatalf("%s has no link to 10 s:\n%s", page, body)
		}
		part := strings.ReplaceAll(strings.ReplaceAll(link[1], "#timeline", ""), "&amp;", "&")
		body = s.has(part, ">Earlier</a>", ">Later</a>", ">Zoom out</a>", ">Show all</a>", ">12:30:32</text>")
		if bars, _ := barsOf(body, "book"); len(bars) != 0 || strings.Contains(body, "<title>nothing ran for") {
			t.Errorf("%s: the part shows other times:\n%s", part, body)
		}
		if part := width(part, "pay") + width(part, "send"); part < 780 || part > 805 {
			t.Errorf("%s: the bars are %d wide, want all of 800", page, part)
		}
	}
	for _, page := range []string{"thread?id=t&from=x&to=y", "history?id=t&from=2026-11-23T09:30:00Z", "thread?id=t&from=2026-11-24T00:00:00Z&to=2026-11-23T00:00:00Z"} {
		if status, body := s.get(page); status != http.StatusBadRequest || !strings.Contains(body, "two times") {
			t.Errorf("%s: got status %d: %s", page, status, body)
		}
	}
	s.has("thread?id=t&from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z", ">Show all</a>", ">09:30:00</text>")
}

// The page of a thread has the newest supersteps. Its links lead to all others.
func TestTheTimelineHasOlderParts(t *testing.T) {
	saver := newSaver(t)
	long(t, saver, 230)
	s := serve(t, saver, inspect.Options{})
	bars := 0
	for page, pages := "thread?id=long", 0; page != ""; pages++ {
		body := s.page(page)
		n := strings.Count(body, `class="bar ran"`)
		if bars += n; n == 0 || pages > 4 {
			t.Fatalf("page %d has %d supersteps", pages, n)
		}
		older := regexp.MustCompile(`<a href="(history[^"]*)#timeline">Older supersteps`).FindStringSubmatch(body)
		if page = ""; older != nil {
			page = strings.ReplaceAll(older[1], "&amp;", "&")
		}
	}
	// A page has one superstep less than checkpoints: its first record only begins one.
	if bars < 225 || bars > 230 {
		t.Errorf("got %s supersteps, want 225 to 230", strconv.Itoa(bars))
	}
}
