package pages_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/schedule"
	"github.com/graphgen-go/graphgen/savers/shards"
)

// outage is a saver that can be unavailable.
type outage struct {
	checkpoint.Saver
	down bool
}

func (o *outage) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	if o.down {
		return func(yield func(checkpoint.Thread, error) bool) { yield(checkpoint.Thread{}, checkpoint.ErrUnavailable) }
	}
	return o.Saver.Threads(ctx, q)
}

func (o *outage) Ready(ctx context.Context, q checkpoint.ReadyQuery) (checkpoint.ReadyThreads, error) {
	if o.down {
		return checkpoint.ReadyThreads{}, checkpoint.ErrUnavailable
	}
	return o.Saver.Ready(ctx, q)
}

// sharded returns a saver with the shards a and b, and the latter.
func sharded(t *testing.T) (*shards.Saver, *outage) {
	t.Helper()
	b := &outage{Saver: newSaver(t)}
	of := func(s checkpoint.Saver) func(context.Context) (checkpoint.Saver, error) {
		return func(context.Context) (checkpoint.Saver, error) { return s, nil }
	}
	saver, err := shards.Open(t.Context(), shards.Shard{Name: "a", Open: of(newSaver(t))}, shards.Shard{Name: "b", Open: of(b)})
	if err != nil {
		t.Fatal(err)
	}
	return saver, b
}

// A list over shards shows the threads of those that answer, and says that others are missing.
// Nothing is offered for all threads that match, because some of them are unknown.
func TestAListWithoutTheThreadsOfAShardSaysSo(t *testing.T) {
	saver, b := sharded(t)
	app := newShop(t, saver)
	on := map[string][]string{}
	for n := range 40 { // more than a shard's part of one page
		id := fmt.Sprint("order-", n)
		begin(t, app, id, "Ada")
		on[saver.Shard(id)] = append(on[saver.Shard(id)], id)
	}
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	s.lacks("", "are missing")
	b.down = true
	for _, page := range []string{"?", "?q=order", "?q=" + on["b"][0], "?graph=shop", "?status=waiting", "?sort=id"} {
		body := s.has(page, "Threads are missing from this list", "shard &#34;b&#34;")
		if strings.Contains(body, on["b"][0]+"<") {
			t.Errorf("GET %s shows a thread of the shard that is down", page)
		}
	}
	s.has("", on["a"][0]+"<")
	if status, body := s.get("bulk?action=wake"); status == http.StatusOK || !strings.Contains(body, "shard &#34;b&#34;") {
		t.Errorf("a bulk action is offered with %d:\n%s", status, body)
	}
}

// The page of workers shows what the other shards say.
func TestThePageOfWorkersWithoutAShardSaysSo(t *testing.T) {
	saver, b := sharded(t)
	app := newShop(t, saver)
	all, err := schedule.New(saver)
	if err != nil {
		t.Fatal(err)
	}
	kept := ""
	for n := range 40 {
		id := fmt.Sprint("nightly-", n)
		if err := all.Create(t.Context(), id, schedule.Spec{Cron: "@daily"}, schedule.Submit(app, order("Ada"))); err != nil {
			t.Fatal(err)
		}
		if saver.Shard(schedule.Thread(id)) == "a" {
			kept = id
		}
		if _, err := app.Thread(id).Submit(t.Context(), order("Ada")); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	s.lacks("fleet", "is missing")
	b.down = true
	body := s.has("fleet", "A part of the storage is missing", "shard &#34;b&#34;", kept+"</td>", `<a href="./?graph=shop">shop</a>`)
	if strings.Contains(body, `data-l="Due">0<`) || strings.Contains(body, `data-l="Due">40<`) {
		t.Errorf("the page shows none or all of the due threads:\n%s", body)
	}
}
