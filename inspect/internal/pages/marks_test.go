package pages_test

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/runtime/state"
)

// listed is a saver whose list has other threads.
type listed struct {
	checkpoint.Saver

	threads []checkpoint.Thread
}

func (s *listed) Threads(_ context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		for _, t := range s.threads {
			if strings.HasPrefix(t.ID, q.Prefix) && (q.Status == 0 || q.Status == t.Status) && !yield(t, nil) {
				return
			}
		}
	}
}

// TestThreadsThatNeedALookAreMarked lists threads in each state that the pages mark, and next to
// each one that is fine.
func TestThreadsThatNeedALookAreMarked(t *testing.T) {
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	thread := func(id string, status checkpoint.Status, set func(*checkpoint.Thread)) checkpoint.Thread {
		th := checkpoint.Thread{ID: id, Version: 1, Versions: 1, Graph: "shop", Status: status, Created: ago(900 * time.Hour), Updated: ago(time.Second)}
		set(&th)
		return th
	}
	held := func(th *checkpoint.Thread) { th.Holder, th.Lease = "host-7", now.Add(time.Minute) }
	marks := map[string]string{
		"cancelling": "cancel pending", "died": ">stuck<", "unserved": "a worker, but none takes it", "retried": "retry after 2 failed runs <time", "often": "retry after 4 failed runs <time",
		"left": "gave up after 10 failed runs",
		"slow": ">stuck<", "queue": "2 queued", "forked": "a resume, because no worker runs it by itself",
	}
	saver := &listed{newSaver(t), []checkpoint.Thread{
		thread("cancelling", checkpoint.Running, func(th *checkpoint.Thread) { held(th); th.Cancels = 1 }),
		thread("died", checkpoint.Running, func(*checkpoint.Thread) {}),
		thread("unserved", checkpoint.Ready, func(th *checkpoint.Thread) { th.Wake = ago(2 * time.Minute) }),
		thread("retried", checkpoint.Failed, func(th *checkpoint.Thread) { th.Attempts, th.Wake = 1, now.Add(time.Hour) }),
		thread("often", checkpoint.Failed, func(th *checkpoint.Thread) { th.Attempts, th.Wake = 3, now.Add(time.Hour) }),
		thread("left", checkpoint.Failed, func(th *checkpoint.Thread) { th.Attempts = 9 }),
		thread("slow", checkpoint.Waiting, func(th *checkpoint.Thread) { th.Updated = ago(200 * time.Hour) }),
		thread("forked", checkpoint.Ready, func(*checkpoint.Thread) {}),
		thread("queue", checkpoint.Waiting, func(th *checkpoint.Thread) { th.Inputs = 2 }),

		thread("fine-running", checkpoint.Running, held),
		thread("fine-ready", checkpoint.Ready, func(th *checkpoint.Thread) { th.Wake = ago(time.Second) }),
		thread("fine-waiting", checkpoint.Waiting, func(th *checkpoint.Thread) { th.Updated = ago(100 * time.Hour) }),
		thread("fine-timer", checkpoint.Waiting, func(th *checkpoint.Thread) { th.Updated, th.Wake = ago(900*time.Hour), now.Add(time.Hour) }),
		thread("fine-done", checkpoint.Done, func(th *checkpoint.Thread) { th.Updated, th.Attempts = ago(900*time.Hour), 1 }),
	}}
	s := serve(t, saver, inspect.Options{})
	for id, mark := range marks {
		s.has("?prefix="+id, mark)
	}
	s.lacks("?prefix=fine", `class="mark`)
	s.has("?waits=lease", "lease of a dead process", "died")
	s.lacks("?waits=lease", "unserved")
	s.lacks("?waits=retry&stuck=1", "often")
	body := s.has("?stuck=1", "cancelling", "died", "unserved", "left", "slow")
	if strings.Contains(body, "fine-") {
		t.Errorf("the list of marked threads has others:\n%s", body)
	}
	s.has("?status=failed", "often", "retried")
	s.lacks("?status=failed", "unserved")
	serve(t, saver, inspect.Options{LongWait: time.Hour}).has("?prefix=fine-waiting", ">stuck<")
}

// TestRetriesAndPausesAreShown runs a node that fails, and one that sleeps for days.
func TestRetriesAndPausesAreShown(t *testing.T) {
	saver := newSaver(t)
	g := graph.New("pauses", ShopSchema)
	policy := graph.RetryPolicy{Attempts: 5, Base: time.Hour, Max: time.Hour, Jitter: func() float64 { return 1 }}
	calls := 0
	g.Node("fetch", func(context.Context, Shop) (ShopUpdate, error) {
		calls++
		return ShopUpdate{}, errors.New("the shelf is <empty>")
	}, graph.Retry(policy))
	g.Node("nap", func(ctx context.Context, _ Shop) (ShopUpdate, error) {
		return ShopUpdate{Log: state.Append("rested")}, graph.Sleep(ctx, 72*time.Hour)
	})
	g.Edge(graph.Start, "fetch")
	g.Edge(graph.Start, "nap")
	g.Edge("fetch", graph.End)
	g.Edge("nap", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := app.Thread("t").Invoke(t.Context(), ShopUpdate{}); err != nil || len(res.Timers) != 2 {
		t.Fatalf("got %v, %v, %v; want two timers", res.Status, res.Timers, err)
	}
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	s.has("thread?id=t", `class="status retrying"`, "the shelf is &lt;empty&gt;", `<td class="num" data-l="Failed attempt">1</td><td data-l="Next attempt">attempt 2 <time`, ">in 1 h<", "Retry now",
		`class="status sleeping"`, ">in 3 d<", "nap: sleeping")
	if status, body := s.act(inspect.Resume, "t", "node", "fetch"); status != http.StatusOK {
		t.Fatalf("retry now: got %d: %s", status, body)
	}
	if err := app.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if calls != 2 {
		t.Errorf("the node ran %d times, want 2", calls)
	}
}

// TestWaitsForQueuesAndChildrenAreShown runs a node whose queue nobody serves, and one that waits
// for a child.
func TestWaitsForQueuesAndChildrenAreShown(t *testing.T) {
	saver := newSaver(t)
	kid := graph.New("kids", ShopSchema)
	kid.Node("work", func(context.Context, Shop) (ShopUpdate, error) { return ShopUpdate{}, nil })
	kid.Chain(graph.Start, "work", graph.End)
	child, err := kid.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	g := graph.New("parents", ShopSchema)
	g.Node("render", func(context.Context, Shop) (ShopUpdate, error) { return ShopUpdate{}, nil }, graph.Queue("gpu"))
	g.Node("call", func(ctx context.Context, _ Shop) (ShopUpdate, error) {
		_, err := graph.Child(ctx, child, "t-kid", ShopUpdate{})
		return ShopUpdate{}, err
	})
	for _, id := range []graph.ID{"render", "call"} {
		g.Edge(graph.Start, id)
		g.Edge(id, graph.End)
	}
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	if res, err := app.Thread("t").Invoke(t.Context(), ShopUpdate{}); err != nil || res.Status != graph.Waiting {
		t.Fatalf("got %v, %v; want Waiting", res.Status, err)
	}
	s := serve(t, saver, inspect.Options{}, app)
	s.has("thread?id=t", `class="status queued"`, `for queue <a href="fleet" title="Who serves it">gpu</a>, since <time`, `child <a href="thread?id=t-kid">t-kid</a></span> of kids`)
	s.has("thread?id=t-kid", "__parent")
}

// TestQuestionsOfOneNodeAreAnsweredInTurn answers the second question of a node, and one without a
// description by JSON.
func TestQuestionsOfOneNodeAreAnsweredInTurn(t *testing.T) {
	saver := newSaver(t)
	g := graph.New("asks", ShopSchema)
	g.Node("ask", func(ctx context.Context, _ Shop) (ShopUpdate, error) {
		first, err := offer.Ask(ctx, Offer{Item: "tea"})
		if err != nil {
			return ShopUpdate{}, err
		}
		second, err := offer.Ask(ctx, Offer{Item: "a cup for " + first.Note})
		return ShopUpdate{Log: state.Append(first.Note + " and " + second.Note)}, err
	}, offer)
	g.Edge(graph.Start, "ask")
	g.Edge("ask", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	thread := app.Thread("t")
	if _, err := thread.Invoke(t.Context(), ShopUpdate{}); err != nil {
		t.Fatal(err)
	}
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	body := s.has("thread?id=t", "tea", `name="v.Note"`)
	if status, body := s.act(inspect.Answer, "t", "question", field(t, body, "question"), "v.OK", "true", "v.Note", "Ada"); status != http.StatusOK {
		t.Fatalf("the first answer: got %d: %s", status, body)
	}
	if _, err := thread.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The pages of a saver that has lost the description take JSON.
	bare := serve(t, &undescribed{saver}, inspect.Options{Allow: inspect.AllActions()})
	body = bare.has("thread?id=t", "a cup for Ada", `name="as" value="json"`)
	if strings.Contains(body, `name="v.Note"`) {
		t.Error("a question without a description has a form")
	}
	if status, body := bare.act(inspect.Answer, "t", "question", field(t, body, "question"), "as", "json", "json", `{"OK": tru}`); status != http.StatusBadRequest {
		t.Errorf("wrong JSON: got %d: %s", status, body)
	}
	body = s.has("thread?id=t", "a cup for Ada", `name="v.Note"`)
	if status, body := s.act(inspect.Answer, "t", "question", field(t, body, "question"), "v.OK", "true", "v.Note", "Bob"); status != http.StatusOK {
		t.Fatalf("the second answer: got %d: %s", status, body)
	}
	res, err := thread.Resume(t.Context())
	if err != nil || len(res.State.Log) != 1 || res.State.Log[0] != "Ada and Bob" {
		t.Errorf("got %q, %v", res.State.Log, err)
	}
}

// undescribed is a saver whose threads have no descriptions.
type undescribed struct{ checkpoint.Saver }

func (*undescribed) Schemas(context.Context, string, int) (map[uint64][]byte, error) { return nil, nil }

// TestIdleDaysAreNarrowInTheTimeline answers a question after days.
func TestIdleDaysAreNarrowInTheTimeline(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	at := time.Now().Add(-96 * time.Hour)
	s := serve(t, &aged{saver, at}, inspect.Options{})
	body := s.page("thread?id=order-1")
	_, svg, _ := strings.Cut(body, `<section class="timeline"`)
	svg, _, _ = strings.Cut(svg, `<p class="dim">A part`)
	wait := regexp.MustCompile(`<rect class="bar waiting" x="\d+" y="\d+" width="(\d+)"[^>]*><title>approve: waiting, 4 d`).FindStringSubmatch(svg)
	ran := regexp.MustCompile(`<rect class="bar ran" x="\d+" y="\d+" width="(\d+)"[^>]*><title>check: ran`).FindStringSubmatch(svg)
	if wait == nil || ran == nil {
		t.Fatalf("the timeline lacks the wait or the work:\n%s", svg)
	}
	if w, _ := strconv.Atoi(wait[1]); w > 50 {
		t.Errorf("four idle days are %d pixels wide", w)
	}
	if !strings.Contains(svg, `class="gap"`) || !strings.Contains(svg, ">4 d</text>") {
		t.Errorf("the pause has no label:\n%s", svg)
	}
}

// aged is a saver whose records are as old as at.
type aged struct {
	checkpoint.Saver

	at time.Time
}

func (s *aged) History(ctx context.Context, ref checkpoint.Ref, q checkpoint.Query) iter.Seq2[checkpoint.Record, error] {
	return func(yield func(checkpoint.Record, error) bool) {
		n := 0
		for r, err := range s.Saver.History(ctx, ref, q) {
			n++
			r.Created = s.at.Add(-time.Duration(n) * time.Second) // newest first
			if !yield(r, err) {
				return
			}
		}
	}
}

// updated is a saver whose threads were last updated at another time than their runs.
type updated struct {
	checkpoint.Saver

	at time.Time
}

func (s *updated) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range s.Saver.Threads(ctx, q) {
			t.Updated = s.at
			if !yield(t, err) {
				return
			}
		}
	}
}

// A failed task has the number of its last attempt and the time of its error, which is not that of
// the thread.
func TestAFailedTaskHasItsAttemptAndTime(t *testing.T) {
	saver := newSaver(t)
	g := graph.New("fails", ShopSchema)
	g.Node("fetch", func(context.Context, Shop) (ShopUpdate, error) {
		return ShopUpdate{}, errors.New("the shelf is empty")
	}, graph.Retry(graph.RetryPolicy{Attempts: 3, Base: time.Microsecond}))
	g.Edge(graph.Start, "fetch")
	g.Edge("fetch", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	var node *graph.NodeError
	if _, err := app.Thread("t").Invoke(t.Context(), ShopUpdate{}); !errors.As(err, &node) {
		t.Fatalf("got %v, want an error of the node", err)
	}
	snap, err := app.Thread("t").State(t.Context())
	if err != nil || len(snap.Tasks) != 1 {
		t.Fatalf("got the tasks %+v, %v", snap.Tasks, err)
	}
	at := snap.Tasks[0].FailedAt.Format("2006-01-02 15:04:05.000 UTC")
	s := serve(t, &updated{saver, time.Now().Add(-72 * time.Hour)}, inspect.Options{})
	s.has("thread?id=t", "<dt>Updated</dt><dd><time datetime=", ">3 d ago</time>",
		`<span class="status failed">failed</span>`, `<div class="dim"><time datetime="`+at+`"`, `<td class="num" data-l="Failed attempt">3</td>`)
}
