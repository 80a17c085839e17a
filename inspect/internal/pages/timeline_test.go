package pages_test

import (
	"context"
	"errors"
	"regexp"
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
	svg, _, _ = strings.Cut(svg, "</svg>")
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
