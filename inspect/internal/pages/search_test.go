package pages_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// crowded is a saver with more threads than one page reads.
type crowded struct {
	checkpoint.Saver

	n       int
	queries []checkpoint.ThreadQuery
}

func (s *crowded) Threads(_ context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	s.queries = append(s.queries, q)
	return func(yield func(checkpoint.Thread, error) bool) {
		from, yielded := 0, 0
		if q.After != "" {
			if _, err := fmt.Sscanf(q.After, "order-%d", &from); err != nil {
				yield(checkpoint.Thread{}, err)
				return
			}
			from++
		}
		for i := from; i < s.n; i++ {
			th := checkpoint.Thread{ID: fmt.Sprintf("order-%06d", i), Version: 1, Versions: 1, Graph: "shop", Status: checkpoint.Done, Created: time.Now().Add(-time.Duration(i) * time.Second)}
			if q.SelectsID(th.ID) && (q.Status == 0 || q.Status == th.Status) && (q.Graph == "" || q.Graph == th.Graph) && len(q.Labels) == 0 &&
				!th.Created.Before(q.CreatedSince) {
				if yielded++; !yield(th, nil) || yielded == q.Limit {
					return
				}
			}
		}
	}
}

func TestASearchForAWholeIDReadsNoOtherPage(t *testing.T) {
	saver := &crowded{Saver: newSaver(t), n: 20_000}
	s := serve(t, saver, inspect.Options{})
	s.has("?q=order-019999", "thread?id=order-019999")
	s.has("?q=order-019999&sort=id&graph=shop&status=done&prefix=order", "thread?id=order-019999")
	for _, other := range []string{"&graph=other", "&status=failed", "&prefix=x", "&label=a%3Db", "&idle=1h", "&created=1h", "&stuck=1"} {
		if other == "&idle=1h" {
			continue // it was updated at the zero time
		}
		s.lacks("?q=order-019999"+other, "thread?id=order-019999")
	}
	s.has("?q=er-019999", "thread?id=order-019999")
	if body := s.page("?q=order-000003"); strings.Count(body, `href="thread?id=order-000003"`) != 1 {
		t.Errorf("a thread that the scan finds as well is not listed once:\n%s", body)
	}
	denies := serve(t, saver, inspect.Options{Authorize: func(_ *http.Request, a inspect.Access) error {
		if a.Thread == "order-019999" {
			return errors.New("the thread of another user")
		}
		return nil
	}})
	denies.lacks("?q=order-019999", "thread?id=order-019999")
}

// A search ends a page after 2 seconds, says how far it has come, and continues on the next page.
func TestASearchIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		saver := newSaver(t)
		b := graph.New("cards", ShopSchema)
		b.Node("charge", func(context.Context, Shop) (u ShopUpdate, _ error) { return u, errors.New("the card is expired") })
		b.Chain(graph.Start, "charge", graph.End)
		app, err := b.Compile(graph.Saver(saver))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			if _, err := app.Thread(fmt.Sprintf("order-%02d", i)).Invoke(t.Context(), order("Ada")); err == nil {
				t.Fatal("the node did not fail")
			}
			time.Sleep(time.Second) // the newest one is known
		}
		pages, err := inspect.New(slowSaver{saver}, inspect.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer pages.Close()
		get := func(address string) string {
			r, w := httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil), httptest.NewRecorder()
			pages.ServeHTTP(w, r)
			return w.Body.String()
		}
		first := get("/?error=declined")
		if !strings.Contains(first, "Searched 20 of the newest 10000 failed threads in 2 s; the next page continues") {
			t.Errorf("the first page: got %s", first)
		}
		_, rest, _ := strings.Cut(first, `<nav class="pages"`)
		_, next, _ := strings.Cut(rest, `href="`)
		next, _, _ = strings.Cut(next, `" rel="next"`)
		if got := get("/" + html.UnescapeString(next)); !strings.Contains(got, "Searched 10 of the next 10000 failed threads.") {
			t.Errorf("the next page %s: got %s", next, got)
		}
	})
}

// slowSaver is a saver that takes 100 ms to load a thread.
type slowSaver struct{ checkpoint.Saver }

func (s slowSaver) Load(ctx context.Context, ref checkpoint.Ref) (checkpoint.Chain, error) {
	time.Sleep(100 * time.Millisecond)
	return s.Saver.Load(ctx, ref)
}

func TestASearchByErrorShowsFailedThreads(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		failing := func(name string, err error) *shop {
			b := graph.New(name, ShopSchema)
			b.Node("charge", func(context.Context, Shop) (u ShopUpdate, _ error) { return u, err })
			b.Chain(graph.Start, "charge", graph.End)
			app, compileErr := b.Compile(graph.Saver(saver))
			if compileErr != nil {
				t.Fatal(compileErr)
			}
			return app
		}
		cards, banks := failing("cards", errors.New("the card is <expired>")), failing("banks", errors.New("timeout"))
		for id, app := range map[string]*shop{"order-1": cards, "order-2": banks} {
			if _, err := app.Thread(id).Invoke(t.Context(), order("Ada")); err == nil {
				t.Fatal("the node did not fail")
			}
		}
		begin(t, newShop(t, saver), "order-3", "Ada")
		s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, cards, banks)
		body := s.has("?error=EXPIRED&node=charge", "thread?id=order-1", "newest 10000 failed threads", `value="EXPIRED"`, "bulk?action=wake&amp;error=EXPIRED&amp;node=charge")
		if strings.Contains(body, "order-2") || strings.Contains(body, "order-3") || strings.Contains(body, "data-pulse") {
			t.Errorf("got %s", body)
		}
		s.has("?node=charge&sort=id", "thread?id=order-1", "thread?id=order-2", "newest 10000 threads")
		s.lacks("?node=charge", "order-3")
		s.has("bulk?action=wake&error=timeout", "<strong>1 thread</strong>")
		if status, _ := s.get("?error=timeout&status=done"); status != http.StatusBadRequest {
			t.Errorf("errors of threads that are done: got status %d", status)
		}
	})
}
