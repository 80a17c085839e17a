package pages_test

import (
	"context"
	"fmt"
	"html"
	"iter"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

// shownThread finds the links to threads in a list.
var shownThread = regexp.MustCompile(`<td class="main"><a href="thread\?id=([^"&]+)"`)

// nextLink finds the link to the next page.
var nextLink = regexp.MustCompile(`<a href="([^"]*)" rel="next">`)

// shown returns the ids of the threads in a list, and the address of the next page.
func (s *site) shown(page string) (ids []string, next string) {
	s.Helper()
	body := s.page(page)
	for _, found := range shownThread.FindAllStringSubmatch(body, -1) {
		id, err := url.QueryUnescape(found[1])
		if err != nil {
			s.Fatal(err)
		}
		ids = append(ids, id)
	}
	if found := nextLink.FindStringSubmatch(body); found != nil {
		next = html.UnescapeString(found[1])
	}
	return ids, next
}

// walk returns the ids of all pages.
func (s *site) walk(page string) (ids []string) {
	s.Helper()
	for n := 0; ; n++ {
		found, next := s.shown(page)
		if ids = append(ids, found...); next == "" {
			return ids
		}
		if page = next; n == 10 {
			s.Fatalf("there is always a next page: %q", next)
		}
	}
}

func TestTheListIsNewestFirstOrByID(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		posts := make([]checkpoint.Post, 0, 250)
		for i := range 250 { // many have the same creation time
			posts = append(posts, checkpoint.Post{Thread: fmt.Sprintf("t%03d", (i*77)%250), Graph: fmt.Sprint("g", i%2),
				Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}})
		}
		for chunk := range slices.Chunk(posts, 60) {
			if _, err := saver.Post(t.Context(), chunk...); err != nil {
				t.Fatal(err)
			}
		}
		var newest, byID []string
		for _, list := range []struct {
			q  checkpoint.ThreadQuery
			to *[]string
		}{{checkpoint.ThreadQuery{Order: checkpoint.NewestFirst}, &newest}, {checkpoint.ThreadQuery{}, &byID}} {
			for th, err := range saver.Threads(t.Context(), list.q) {
				if err != nil {
					t.Fatal(err)
				}
				*list.to = append(*list.to, th.ID)
			}
		}
		s := serve(t, saver, inspect.Options{})
		for page, want := range map[string][]string{"": newest, "?sort=newest": newest, "?sort=id": byID, "?sort=id&graph=g1": nil, "?graph=g1&status=ready": nil} { // a filter is newest first
			got := s.walk(page)
			if want != nil && !slices.Equal(got, want) {
				t.Errorf("%q: got %q, want %q", page, got, want)
			}
			if want == nil && len(got) != 125 || slices.IsSorted(got) != (page == "?sort=id") {
				t.Errorf("%q: got %d threads, want those of the graph in the order", page, len(got))
			}
		}
	})
}

func TestTheOrderIsInTheAddresses(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	fail(t, app, "order-2")
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	s.has("?q=order", `<a href="?q=order&amp;sort=id" title="Sort by id">Thread</a>`, `<th aria-sort="descending">Created`)
	s.has("?q=order&sort=id", `<a href="?q=order" title="Newest first">Created</a>`, `<th aria-sort="ascending">Thread`, `<input type="hidden" name="sort" value="id">`)
	s.lacks("?q=order", `name="sort"`)
	s.has("?graph=shop&sort=id", `<th aria-sort="descending">Created`)
	s.lacks("?graph=shop", "sort=id")
	s.lacks("bulk?action=cancel&graph=shop&sort=id", `name="after"`, `name="made"`)
	if ids, _ := s.shown("?after=order-2&sort=id"); len(ids) != 0 {
		t.Errorf("after the last id: got %q", ids)
	}
	for _, bad := range []string{"?sort=x", "?after=order-1", "?after=order-1&made=yesterday", "?past=x&sort=id"} {
		if status, body := s.get(bad); status != http.StatusBadRequest || !strings.Contains(body, "400") {
			t.Errorf("GET %s: got %d: %s", bad, status, body)
		}
	}
}

// damagedSaver lists damaged threads whose creation time cannot be read, as [checkpoint.Saver]
// says.
type damagedSaver struct {
	checkpoint.Saver
	n        int
	nameless bool // their ids cannot be read either
}

func (s *damagedSaver) Threads(ctx context.Context, q checkpoint.ThreadQuery) iter.Seq2[checkpoint.Thread, error] {
	return func(yield func(checkpoint.Thread, error) bool) {
		for i := range s.n {
			t := checkpoint.Thread{ID: fmt.Sprint("bad", i)}
			if s.nameless {
				t.ID = ""
			}
			if q.After == "" && !yield(t, fmt.Errorf("bad%d: %w", i, checkpoint.ErrDamaged)) {
				return
			}
		}
		for t, err := range s.Saver.Threads(ctx, q) {
			if !yield(t, err) {
				return
			}
		}
	}
}

// A page must end after a thread that the next page can follow.
func TestAPageOfDamagedThreadsHasANextPage(t *testing.T) {
	const many = 150
	saver := newSaver(t)
	app := newShop(t, saver)
	for i := range 3 {
		fail(t, app, fmt.Sprint("order-", i))
	}
	s := serve(t, &damagedSaver{Saver: saver, n: many}, inspect.Options{})
	if got := strings.Count(s.page(""), ">damaged<"); got != many {
		t.Errorf("the first page has %d damaged threads, want %d", got, many)
	}
	if got, want := s.walk(""), []string{"order-2", "order-1", "order-0"}; !slices.Equal(got, want) {
		t.Errorf("all pages have %q, want %q", got, want)
	}
}
