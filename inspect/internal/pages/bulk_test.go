package pages_test

import (
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// jobOf returns the address of the job in the page of a job that is in progress or has ended.
func jobOf(t *testing.T, s *site, header http.Header, form url.Values) string {
	t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"bulk", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header.Clone()
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	to := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, "job?job=") {
		t.Fatalf("POST bulk: got status %d, %q", res.StatusCode, to)
	}
	return to
}

// ended returns the page of a job after its end.
func ended(t *testing.T, s *site, header http.Header, page string) string {
	t.Helper()
	for {
		status, body := s.do(http.MethodGet, page, nil, header)
		if status != http.StatusOK {
			t.Fatalf("GET %s: got status %d: %s", page, status, body)
		}
		if !strings.Contains(body, "In progress") {
			return body
		}
		runtime.Gosched()
	}
}

// The job continues after the login has ended the context of its request, and acts for its user.
func TestAnActionOnManyThreadsActsForItsUser(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		app := newShop(t, saver)
		tenant := map[int]string{0: "ada", 1: "bob"}
		for i := range 250 { // more than one page
			if _, err := app.Thread("t-"+strconv.Itoa(i)).Submit(t.Context(), ShopUpdate{}, graph.Label("tenant", tenant[i%2])); err != nil {
				t.Fatal(err)
			}
		}
		s := loggedIn(t, saver, inspect.Options{Allow: inspect.AllActions(), Authorize: tenants,
			Actor: func(r *http.Request) string { return r.Header.Get("User") }}, app)
		bob, ada := http.Header{"User": {"bob"}}, http.Header{"User": {"ada"}}
		if status, body := s.do(http.MethodGet, "bulk?action=cancel", nil, bob); status != http.StatusOK || !strings.Contains(body, "<strong>125 threads</strong>") {
			t.Errorf("the confirmation: got status %d: %s", status, body)
		}
		page := jobOf(t, s, bob, url.Values{"action": {"cancel"}, "confirm": {"cancel"}, "reason": {"closed"}})
		if body := ended(t, s, bob, page); !strings.Contains(body, `<dd id="done">125</dd>`) || !strings.Contains(body, `<dd id="failed">0</dd>`) ||
			!strings.Contains(body, "Done after") || strings.Contains(body, "Threads read") {
			t.Errorf("the job: %s", body)
		}
		if status, _ := s.do(http.MethodGet, page, nil, ada); status != http.StatusBadRequest {
			t.Errorf("another user sees the job: got status %d", status)
		}
		if status, _ := s.do(http.MethodPost, "job", url.Values{"job": {strings.TrimPrefix(page, "job?job=")}}, ada); status != http.StatusBadRequest {
			t.Errorf("another user stops the job: got status %d", status)
		}
		for th, err := range saver.Threads(t.Context(), checkpoint.ThreadQuery{}) {
			if err != nil {
				t.Fatal(err)
			}
			if want := th.Labels["tenant"] == "bob"; th.Cancels > 0 != want {
				t.Errorf("thread %s of %s: got %d cancels", th.ID, th.Labels["tenant"], th.Cancels)
			}
		}
		ended(t, s, bob, jobOf(t, s, bob, url.Values{"action": {"delete"}, "confirm": {"delete"}, "prefix": {"t-1"}}))
		for th, err := range saver.Threads(t.Context(), checkpoint.ThreadQuery{Prefix: "t-1"}) {
			if err != nil || th.Labels["tenant"] != "ada" {
				t.Errorf("thread %s of %s is still there, %v", th.ID, th.Labels["tenant"], err)
			}
		}
	})
}

func TestAnActionOnManyThreadsStops(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	for i := range 20 {
		if _, err := app.Thread("t-"+strconv.Itoa(i)).Submit(t.Context(), ShopUpdate{}); err != nil {
			t.Fatal(err)
		}
	}
	reached, released := make(chan struct{}), make(chan struct{})
	var armed atomic.Bool
	var asked atomic.Int32
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions(), Authorize: func(_ *http.Request, a inspect.Access) error {
		if armed.Load() && a.Thread != "" && a.Action == inspect.Delete && asked.Add(1) == 10 {
			close(reached)
			<-released
		}
		return nil
	}}, app)
	armed.Store(true)
	page := jobOf(t, s, http.Header{}, url.Values{"action": {"delete"}, "confirm": {"delete"}})
	<-reached
	if body := s.has(page, "In progress", `http-equiv="refresh"`, "<button>Stop</button>"); strings.Contains(body, "Done after") {
		t.Errorf("the job has ended: %s", body)
	}
	if status, body := s.post("job", url.Values{"job": {strings.TrimPrefix(page, "job?job=")}}); status != http.StatusOK {
		t.Errorf("stop: got status %d: %s", status, body)
	}
	close(released)
	if body := ended(t, s, nil, page); !strings.Contains(body, "Ended: ") {
		t.Errorf("the stopped job: %s", body)
	}
	n := 0
	for _, err := range saver.Threads(t.Context(), checkpoint.ThreadQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n == 0 {
		t.Error("the stopped job deleted all threads")
	}
}

// Two threads gave up, one waits, and one is done.
func TestAllThatGaveUpAreRetried(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		app := newShop(t, saver)
		fail(t, app, "order-1")
		fail(t, app, "order-2")
		begin(t, app, "order-3", "Ada")
		f := &fixture{site: serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app), saver: saver, app: app}
		body := f.has("?waits=gave-up", "order-1", "order-2", `href="bulk?action=wake&amp;waits=gave-up">Retry all</a>`)
		if strings.Contains(body, "order-3") {
			t.Errorf("the list has a thread that did not give up:\n%s", body)
		}
		f.has("bulk?action=wake&waits=gave-up", "<strong>2 threads</strong>")
		page := jobOf(t, f.site, http.Header{}, url.Values{"action": {"wake"}, "waits": {"gave-up"}, "confirm": {"wake"}})
		if body := ended(t, f.site, nil, page); !strings.Contains(body, `<dd id="done">2</dd>`) {
			t.Errorf("the job: %s", body)
		}
		if !f.due("order-1") || !f.due("order-2") || f.due("order-3") {
			t.Error("want order-1 and order-2 due, and order-3 as it was")
		}
	})
}

// Threads are signalled, and replayed from the checkpoint at which a node is due.
func TestManyThreadsAreSignalledAndReplayed(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		app := newShop(t, saver)
		fail(t, app, "order-1")
		fail(t, app, "order-2")
		begin(t, app, "order-3", "Ada")
		s := serve(t, saver, inspect.Options{Allow: inspect.AllActions(), Actor: func(*http.Request) string { return "ann" }}, app)
		s.has("?status=failed", `href="bulk?action=signal&amp;status=failed">Signal all</a>`, `href="bulk?action=replay&amp;status=failed">Replay all</a>`)
		s.has("bulk?action=replay&status=failed", "<strong>2 threads</strong>", `name="to" required`)
		do := func(form url.Values, done, failed string) {
			t.Helper()
			form.Set("confirm", form.Get("action"))
			body := ended(t, s, nil, jobOf(t, s, http.Header{}, form))
			if !strings.Contains(body, `<dd id="done">`+done+`</dd>`) || !strings.Contains(body, `<dd id="failed">`+failed+`</dd>`) {
				t.Errorf("%v: %s", form, body)
			}
		}
		do(url.Values{"action": {"signal"}, "signal": {"paid"}, "json": {`{"Card": 1}`}}, "0", "3") // Card is a string
		do(url.Values{"action": {"signal"}, "signal": {"paid"}, "json": {`{"Card": "12"}`}, "status": {"waiting"}}, "1", "0")
		if th, err := checkpoint.FindThread(t.Context(), saver, "order-3"); err != nil || th.Others != 1 {
			t.Errorf("order-3: got %d messages, %v; want the signal", th.Others, err)
		}
		s.has("bulk?action=signal&status=waiting", `type="hidden" name="request" value="`)
		for range 2 { // a form that is sent again signals nobody twice
			do(url.Values{"action": {"signal"}, "signal": {"paid"}, "json": {`{"Card": "12"}`}, "request": {"r-1"}, "status": {"waiting"}}, "1", "0")
		}
		if th, err := checkpoint.FindThread(t.Context(), saver, "order-3"); err != nil || th.Others != 2 {
			t.Errorf("order-3: got %d messages, %v; want the signals of two forms", th.Others, err)
		}
		begin(t, app, "order-4", "Bob")
		if err := app.Thread("order-4").Cancel(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if res, err := app.Thread("order-4").Resume(t.Context()); res.Status != graph.Cancelled {
			t.Fatalf("order-4: got %v, %v", res.Status, err)
		}
		page := jobOf(t, s, http.Header{}, url.Values{"action": {"signal"}, "signal": {"paid"}, "json": {"null"}, "status": {"cancelled"}, "confirm": {"signal"}})
		if body := ended(t, s, nil, page); !strings.Contains(body, `<dd id="done">0</dd>`) || !strings.Contains(body, `<dd id="left">1</dd>`) {
			t.Errorf("signals to a thread that has ended: %s", body)
		}
		do(url.Values{"action": {"replay"}, "to": {"due:approve"}, "status": {"failed"}}, "2", "0")
		for _, id := range []string{"order-1", "order-2"} {
			snap, err := app.Thread(id).State(t.Context())
			if err != nil || len(snap.Next) != 1 || snap.Next[0] != "approve" || snap.Source != checkpoint.Fork || snap.Metadata["actor"] != "ann" {
				t.Errorf("%s: got %v due from a %v of %v, %v; want approve, from a replay of ann", id, snap.Next, snap.Source, snap.Metadata, err)
			}
		}
		if status, _ := s.post("bulk", url.Values{"action": {"replay"}, "confirm": {"replay"}}); status != http.StatusBadRequest {
			t.Errorf("a replay from no checkpoint: got status %d", status)
		}
	})
}
