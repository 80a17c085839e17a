package pages_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/sqlite"
)

type userKey struct{}

var errForeign = errors.New("this thread belongs to somebody else")

// tenants allows threads whose label "tenant" is the user in the context of the request, and new
// threads whose id begins with the user.
func tenants(r *http.Request, a inspect.Access) error {
	user, ok := r.Context().Value(userKey{}).(string)
	switch {
	case !ok:
		return errors.New("log in")
	case a.Thread == "" || a.Labels["tenant"] == user || a.New && strings.HasPrefix(a.Thread, user):
		return nil
	}
	return errForeign
}

// loggedIn serves pages for the user that the header User names.
func loggedIn(t *testing.T, saver checkpoint.Saver, o inspect.Options, apps ...inspect.App) *site {
	t.Helper()
	pages, err := inspect.New(saver, o, apps...)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel() // as a login does that ends with the request
		if user := r.Header.Get("User"); user != "" {
			ctx = context.WithValue(ctx, userKey{}, user)
		}
		pages.ServeHTTP(w, r.WithContext(ctx))
	}))
	t.Cleanup(func() {
		s.Close()
		pages.Close()
	})
	return &site{t, s.URL + "/"}
}

// as does a request as a user.
func (s *site) as(user, method, page string, form url.Values) (int, string) {
	s.Helper()
	return s.do(method, page, form, http.Header{"User": {user}})
}

// beginFor starts a thread of a tenant.
func beginFor(t *testing.T, app *shop, id, tenant string) graph.Result[Shop] {
	t.Helper()
	res, err := app.Thread(id).Invoke(t.Context(), order(tenant), graph.Label("tenant", tenant))
	if err != nil || len(res.Questions) != 1 {
		t.Fatalf("got %v, %v", res.Status, err)
	}
	return res
}

func TestTenantsSeeOnlyTheirThreads(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		app := newShop(t, saver)
		beginFor(t, app, "a-secret", "ada")
		beginFor(t, app, "b-1", "bob")
		if _, err := app.Thread("a-secret").Submit(t.Context(), order("ada")); err != nil {
			t.Fatal(err)
		}
		if _, err := app.Thread("a-due").Submit(t.Context(), order("ada"), graph.Label("tenant", "ada")); err != nil {
			t.Fatal(err)
		}
		before := threadOf(t, saver, "a-secret")
		s := loggedIn(t, saver, inspect.Options{Allow: inspect.AllActions(), Authorize: tenants}, app)
		for _, page := range []string{"", "?q=a", "?stuck=1", "bulk?action=delete", "bulk?action=cancel&label=tenant%3Dada"} {
			status, body := s.as("bob", http.MethodGet, page, nil)
			if status != http.StatusOK || strings.Contains(body, "a-secret") || strings.Contains(body, "a-due") ||
				strings.Contains(body, "the oldest for") || strings.Contains(body, "2 threads") {
				t.Errorf("GET %q shows the threads of another user: %d: %s", page, status, body)
			}
		}
		if _, body := s.as("ada", http.MethodGet, "", nil); !strings.Contains(body, "due, the oldest for") || strings.Contains(body, "b-1") {
			t.Errorf("the user's own due threads: %s", body)
		}
		for _, page := range []string{"thread?", "history?", "state.json?", "picture.svg?", "pulse?", "edit?", "submit?", "checkpoint?at=" + before.Head.String() + "&",
			"compare?a=" + before.Head.String() + "&b=" + before.Head.String() + "&"} {
			status, body := s.as("bob", http.MethodGet, page+"id=a-secret", nil)
			gone, absent := s.as("bob", http.MethodGet, page+"id=a-gone", nil)
			text := strings.ReplaceAll(body, before.Head.String(), "") // which can have the digits ada
			if strings.ReplaceAll(body, "a-secret", "a-gone") != absent || status != gone || strings.Contains(text, "ada") || status < 400 {
				t.Errorf("GET %s: got status %d: %s; for a thread that does not exist: %d: %s", page, status, body, gone, absent)
			}
		}
		for _, page := range []string{"", "thread?id=b-1"} {
			if status, _ := s.get(page); status != http.StatusForbidden {
				t.Errorf("GET %q without a login: got status %d", page, status)
			}
		}
		forms := []url.Values{{"graph": {"shop"}, "id": {"a-secret"}, "json": {`{"Cents": 1}`}}, {"graph": {"shop"}, "id": {"a-new"}, "json": {`{"Cents": 1}`}}}
		for _, form := range forms {
			if status, body := s.as("bob", http.MethodPost, "submit", form); status != http.StatusForbidden {
				t.Errorf("submit to %s: got status %d: %s", form.Get("id"), status, body)
			}
		}
		if status, body := s.as("bob", http.MethodGet, "submit?from=a-secret", nil); status != http.StatusNotFound {
			t.Errorf("the input of another user's thread: got status %d: %s", status, body)
		}
		for _, action := range inspect.AllActions() {
			status, body := s.as("bob", http.MethodPost, "act", url.Values{"id": {"a-secret"}, "action": {string(action)}})
			_, absent := s.as("bob", http.MethodPost, "act", url.Values{"id": {"a-gone"}, "action": {string(action)}})
			if status != http.StatusNotFound || strings.ReplaceAll(body, "a-secret", "a-gone") != absent {
				t.Errorf("%s: got status %d: %s; for a thread that does not exist: %s", action, status, body, absent)
			}
		}
		if after := threadOf(t, saver, "a-secret"); after.Head != before.Head || after.Posted != before.Posted {
			t.Errorf("another user changed the thread: got %+v, want %+v", after, before)
		}
		if status, body := s.as("bob", http.MethodPost, "submit", url.Values{"graph": {"shop"}, "id": {"bob-2"}, "json": {`{"Cents": 1}`}}); status != http.StatusNotFound {
			t.Errorf("the page of a new thread without the label: got status %d: %s", status, body)
		}
		if got := threadOf(t, saver, "bob-2"); got.Inputs != 1 {
			t.Errorf("the input of a new thread was not stored: %+v", got)
		}
	})
}

// threadOf returns what a saver has of a thread.
func threadOf(t *testing.T, saver checkpoint.Saver, id string) checkpoint.Thread {
	t.Helper()
	for th, err := range saver.Threads(t.Context(), checkpoint.ThreadQuery{Prefix: id, Limit: 1}) {
		if err != nil || th.ID != id {
			t.Fatalf("got %q, %v", th.ID, err)
		}
		return th
	}
	t.Fatalf("there is no thread %q", id)
	return checkpoint.Thread{}
}

// The last thread that a page has read can be one that the reader must not see.
func TestTheNextPageHidesIDs(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	if _, err := app.Thread("visible").Submit(t.Context(), ShopUpdate{}, graph.Label("tenant", "bob")); err != nil {
		t.Fatal(err)
	}
	tenant := graph.Label("tenant", "ada")
	for i := range 5001 {
		if _, err := app.Thread("secret-"+strconv.Itoa(i)).Submit(t.Context(), ShopUpdate{}, tenant); err != nil {
			t.Fatal(err)
		}
	}
	s := loggedIn(t, saver, inspect.Options{Authorize: tenants}, app)
	for _, order := range []string{"", "sort=id"} { // the visible thread is the last one in both
		status, body := s.as("bob", http.MethodGet, "?"+order, nil)
		before, _, ok := strings.Cut(body, `" rel="next"`)
		link := before[strings.LastIndex(before, `"`)+1:]
		next := strings.ReplaceAll(link, "&amp;", "&")
		if status != http.StatusOK || !ok || !strings.Contains(next, "past=") || strings.Contains(next, "after=") || strings.Contains(next, "made=") ||
			strings.Contains(body, "secret") || strings.Contains(body, "5000") {
			t.Fatalf("%q: got status %d, next page %q: %s", order, status, next, body)
		}
		if _, body := s.as("bob", http.MethodGet, next, nil); !strings.Contains(body, "visible") || strings.Contains(body, "secret") {
			t.Errorf("%q: the next page: %s", order, body)
		}
		other := loggedIn(t, saver, inspect.Options{Authorize: tenants}, app)
		if status, body := other.as("bob", http.MethodGet, next, nil); status != http.StatusBadRequest || !strings.Contains(body, "another process") {
			t.Errorf("%q: another process: got status %d: %s", order, status, body)
		}
	}
}

func TestHeadersOfEachPage(t *testing.T) {
	f := newFixture(t, newSaver(t), inspect.Options{Allow: inspect.AllActions()})
	at := "&at=" + f.ids[0].String()
	for page, style := range map[string]string{"": "'self'", "thread?id=order-1": "'self'", "history?id=order-1": "'self'", "checkpoint?id=order-1" + at: "'self'",
		"compare?id=order-1&a=" + f.ids[0].String() + "&b=" + f.ids[1].String(): "'self'", "edit?id=order-1": "'self'", "submit": "'self'",
		"bulk?action=wake": "'self'", "thread?id=none": "'self'", "state.json?id=order-1": "'self'", "pulse?id=order-1": "'self'",
		"style.css": "'self'", "page.js": "'self'", "picture.svg?id=order-1": "'unsafe-inline'"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, f.url+page, nil)
		r.RequestURI = ""
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		policy := res.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "style-src " + style, "frame-ancestors 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("GET %s: the policy lacks %s: %s", page, want, policy)
			}
		}
		if strings.Contains(policy, "script-src") && !strings.Contains(policy, "script-src 'self';") {
			t.Errorf("GET %s: the policy allows other scripts: %s", page, policy)
		}
		want := "no-store"
		if page == "style.css" || page == "page.js" {
			want = "max-age=3600"
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": want} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("GET %s: %s: got %q, want %q", page, name, got, want)
			}
		}
		if res.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("GET %s: other sites may read it", page)
		}
	}
}

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	f := newFixture(t, newSaver(t), inspect.Options{Allow: inspect.AllActions()})
	form := url.Values{"id": {"order-1"}, "action": {"delete"}}
	for _, header := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"https://evil.example"}}, {"Origin": {"null"}}} {
		for _, page := range []string{"act", "edit", "submit", "bulk", "job"} {
			if status, _ := f.do(http.MethodPost, page, form, header); status != http.StatusForbidden {
				t.Errorf("POST %s with %v: got status %d", page, header, status)
			}
		}
	}
	if f.stored("order-1").ID == "" {
		t.Fatal("another site has deleted the thread")
	}
	for _, page := range []string{"act?action=delete&id=order-1", "job"} {
		if status, _ := f.get(page); status == http.StatusOK {
			t.Errorf("GET %s: got status %d", page, status)
		}
	}
	origin := http.Header{"Origin": {strings.TrimSuffix(f.url, "/inspect/")}, "Sec-Fetch-Site": {"same-origin"}}
	form.Set("action", "wake")
	if status, body := f.do(http.MethodPost, "act", form, origin); status != http.StatusOK {
		t.Errorf("the page itself: got status %d: %s", status, body)
	}
}

func TestHostsOfOtherSitesAreRefused(t *testing.T) {
	f := newFixture(t, newSaver(t), inspect.Options{})
	for host, want := range map[string]int{"evil.example": 403, "evil.example:80": 403, "10.0.0.1": 403, "localhost.evil.example": 403, "": 200,
		"localhost": 200, "LOCALHOST.": 200, "app.localhost:1234": 200, "127.0.0.1:9": 200, "[::1]:9": 200} {
		if status, body := f.do(http.MethodGet, "", nil, http.Header{"Host": {host}}); status != want || want == 403 && strings.Contains(body, "order-1") {
			t.Errorf("host %q: got status %d, want %d", host, status, want)
		}
	}
	open := serve(t, f.saver, inspect.Options{Authorize: func(*http.Request, inspect.Access) error { return nil }}, f.app)
	if status, _ := open.do(http.MethodGet, "", nil, http.Header{"Host": {"ops.example"}}); status != http.StatusOK {
		t.Errorf("with Authorize: got status %d", status)
	}
}

func TestLargeRequestsAreRefused(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions(), MaxBody: 1000}, app)
	form := url.Values{"graph": {"shop"}, "id": {"x"}, "json": {`{"Cents": 1` + strings.Repeat(" ", 1000) + "}"}}
	for _, page := range []string{"submit", "act", "edit", "bulk", "job"} {
		if status, body := s.post(page, form); status != http.StatusRequestEntityTooLarge {
			t.Errorf("POST %s: got status %d: %s", page, status, body)
		}
	}
}

func TestADamagedThreadIsShownToThoseWhoMaySeeIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "threads.db")
	saver, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := saver.Close(); err != nil {
			t.Error(err)
		}
	}()
	app := newShop(t, saver)
	beginFor(t, app, "a-1", "ada")
	beginFor(t, app, "b-1", "bob")
	db, err := sql.Open("sqlite", "file:"+path+"?_busy_timeout=10000")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `UPDATE graph_thread SET data = x'ff' WHERE pk = CAST('a-1' AS BLOB)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	all := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	all.has("", "a-1", "damaged", "b-1")
	all.has("?q=a-1", "damaged")
	all.lacks("?q=b-1", "damaged")
	if status, body := all.get("thread?id=a-1"); status != http.StatusInternalServerError || !strings.Contains(body, "damaged") {
		t.Errorf("the page of the thread: got status %d: %s", status, body)
	}
	s := loggedIn(t, saver, inspect.Options{Allow: inspect.AllActions(), Authorize: tenants}, app)
	for _, page := range []string{"", "bulk?action=delete"} {
		if _, body := s.as("bob", http.MethodGet, page, nil); strings.Contains(body, "a-1") || strings.Contains(body, "damaged") {
			t.Errorf("GET %q shows a damaged thread of unknown labels: %s", page, body)
		}
	}
	if status, _ := s.as("bob", http.MethodGet, "thread?id=a-1", nil); status != http.StatusNotFound {
		t.Errorf("the page of the damaged thread: got status %d", status)
	}
}
