package inspect_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
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
