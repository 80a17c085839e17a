package pages_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// beatOf returns the pulse in a page, and the pulse that its address has now.
func beatOf(t *testing.T, s *site, page string) (then, now string) {
	t.Helper()
	found := regexp.MustCompile(`data-pulse="([^"]*)" data-beat="([^"]+)"`).FindStringSubmatch(s.page(page))
	if found == nil {
		t.Fatalf("GET %s: the page is not live", page)
	}
	return found[2], s.page(strings.ReplaceAll(found[1], "&amp;", "&"))
}

// The pulse of a list is that of its page, also of a page that reads more threads than the pulse.
// It changes with the threads.
func TestThePulseOfAListIsBounded(t *testing.T) {
	c := &counting{Saver: newSaver(t)}
	post := func(id string, n int) {
		t.Helper()
		for i := range n {
			p := checkpoint.Post{Thread: fmt.Sprintf("%s-%d", id, i), Graph: "shop", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}}
			if _, err := c.Saver.Post(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
	}
	post("old", 300)
	post("new", 450)
	s := serve(t, c, inspect.Options{})
	for _, page := range []string{"", "?q=old", "?sort=id", "?q=nothing", "?status=ready&graph=shop"} {
		then, now := beatOf(t, s, page)
		if then != now {
			t.Errorf("GET %q: got the pulse %s, want %s", page, now, then)
		}
		c.rows.Store(0)
		s.page("pulse" + page)
		if rows := c.rows.Load(); rows > 501 {
			t.Errorf("the pulse of %q read %d threads", page, rows)
		}
	}
	then, _ := beatOf(t, s, "?q=new")
	post("newer", 1)
	if now := s.page("pulse?q=new"); now == then {
		t.Error("a new thread does not change the pulse of the list")
	}
}

// The page looks at the queue of a thread after the scan. Its pulse does not change by that.
func TestThePulseOfAStuckThreadIsThatOfItsPage(t *testing.T) {
	saver := newSaver(t)
	g := graph.New("render", ShopSchema)
	g.Node("render", note("render"), graph.Queue("gpu"))
	g.Chain(graph.Start, "render", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Thread("job").Invoke(t.Context(), order("Ada")); err != nil {
		t.Fatal(err)
	}
	s := serve(t, laterSaver{saver}, inspect.Options{})
	s.has("", "but no worker takes it")
	if then, now := beatOf(t, s, ""); then != now {
		t.Errorf("got the pulse %s, want %s", now, then)
	}
	s.lacks("?stuck=1", "data-pulse") // each pulse would look again
	if status, _ := s.get("pulse?stuck=1"); status != http.StatusBadRequest {
		t.Errorf("the pulse of a list that looks: got %d", status)
	}
}

// A thread whose records cannot be read does not break a list, and a list has a budget of looks.
func TestAListThatLooksIsBounded(t *testing.T) {
	saver := newSaver(t)
	g := graph.New("render", ShopSchema)
	g.Node("render", note("render"), graph.Queue("gpu"))
	g.Chain(graph.Start, "render", graph.End)
	app, err := g.Compile(graph.Saver(saver))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 210 {
		if _, err := app.Thread(fmt.Sprintf("job-%03d", i)).Invoke(t.Context(), order("Ada")); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, unloadable{laterSaver{saver}, "job-205"}, inspect.Options{})
	s.has("?waits=queue", ">job-205</a>", ">job-209</a>")
	s.has("?waits=queue&q=job-205", ">job-205</a>")
	s.has("?stuck=1&created=1h&q=job", ">job-209</a>", "Next page")
	none := serve(t, unloadable{laterSaver{saver}, ""}, inspect.Options{})
	none.has("?stuck=1", "among the first 200", "Next page")
}

// unloadable is a saver with a thread whose records are damaged, or with only such threads.
type unloadable struct {
	checkpoint.Saver

	thread string
}

func (s unloadable) Load(ctx context.Context, ref checkpoint.Ref) (checkpoint.Chain, error) {
	if s.thread == "" || ref.Thread == s.thread {
		return checkpoint.Chain{}, checkpoint.ErrDamaged
	}
	return s.Saver.Load(ctx, ref)
}

// laterSaver is a saver whose clock is 5 minutes ahead of what is stored.
type laterSaver struct{ checkpoint.Saver }

func (s laterSaver) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	due, err := s.Saver.Ready(ctx, q)
	due.Now = due.Now.Add(5 * time.Minute)
	return due, err
}

func (s laterSaver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		for t, err := range s.Saver.Threads(ctx, q) {
			if t.Now = t.Now.Add(5 * time.Minute); !yield(t, err) {
				return
			}
		}
	}
}

// Only pages whose place can change are live.
func TestOldPagesAreNotLive(t *testing.T) {
	f := newFixture(t, newSaver(t), inspect.Options{})
	for _, page := range []string{"thread?id=order-1", "history?id=order-1"} {
		if then, now := beatOf(t, f.site, page); then != now {
			t.Errorf("GET %s: got the pulse %s, want %s", page, now, then)
		}
	}
	for _, page := range []string{"history?id=order-1&step=1", "history?id=order-1&before=" + f.ids[1].String(), "thread?id=order-1&version=1",
		"checkpoint?id=order-1&at=" + f.ids[1].String()} {
		f.lacks(page, "data-pulse", "beat=")
	}
}
