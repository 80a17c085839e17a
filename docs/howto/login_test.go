package howto_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/savers/memory"
)

// newProxy returns a proxy that logs users in by their cookie, as a proxy for OpenID Connect does.
func newProxy(t *testing.T, service string) *httptest.Server {
	t.Helper()
	target, err := url.Parse(service)
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{"vera": "viewers", "otto": "staff,operators", "anna": "admins", "nina": "staff"}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Del("X-Forwarded-User")
		r.Out.Header.Del("X-Forwarded-Groups")
		if session, err := r.In.Cookie("session"); err == nil {
			r.Out.Header.Set("X-Forwarded-User", session.Value)
			r.Out.Header.Set("X-Forwarded-Groups", groups[session.Value])
		}
	}})
	t.Cleanup(proxy.Close)
	return proxy
}

func TestPagesBehindALogin(t *testing.T) {
	saver := memory.New()
	app, err := howto.NewReader(func(context.Context, string) (string, error) { return "text", nil }, saver)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Thread("order-7").Invoke(t.Context(), howto.StateUpdate{}); err != nil {
		t.Fatal(err)
	}
	snap, err := app.Thread("order-7").State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pages, err := inspect.New(saver, howto.LoginOptions(), app)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	service := httptest.NewServer(howto.AuditPages(pages, slog.New(slog.NewTextHandler(&log, nil))))
	t.Cleanup(func() {
		service.Close()
		pages.Close()
	})
	proxy := newProxy(t, service.URL)
	submit := url.Values{"graph": {"reader"}, "id": {"order-8"}, "json": {"{}"}, "request": {"r1"}}
	remove := url.Values{"action": {"delete"}, "id": {"order-7"}}
	edit := url.Values{"id": {"order-7"}, "from": {snap.Checkpoint.String()}, "json": {`{"Cents": 5}`}}
	wake := url.Values{"action": {"wake"}, "confirm": {"wake"}}
	pause := url.Values{"action": {"pause"}, "of": {"queue"}, "id": {"gpu"}}
	for _, c := range []struct {
		user, page string
		form       url.Values
		status     int
		want       string // in the page
		audit      string // in the log
	}{
		{"", "/", nil, http.StatusForbidden, "log in first", ""},
		{"nina", "/", nil, http.StatusForbidden, "your groups do not allow this", ""},
		{"vera", "/", nil, http.StatusOK, "order-7", ""},
		{"vera", "/submit", submit, http.StatusForbidden, "your groups do not allow this", `user=vera page=/submit action="" of=thread id=order-8 status=403`},
		{"otto", "/act", remove, http.StatusForbidden, "your groups do not allow this", "user=otto page=/act action=delete of=thread id=order-7 status=403"},
		{"otto", "/submit", submit, http.StatusSeeOther, "", `user=otto page=/submit action="" of=thread id=order-8 status=303`},
		{"vera", "/fleet", pause, http.StatusForbidden, "your groups do not allow this", "user=vera page=/fleet action=pause of=queue id=gpu status=403"},
		{"otto", "/edit", edit, http.StatusForbidden, "your groups do not allow this", `user=otto page=/edit action="" of=thread id=order-7 status=403`},
		{"anna", "/edit", edit, http.StatusSeeOther, "", `user=anna page=/edit action="" of=thread id=order-7 status=303`},
		{"vera", "/bulk", wake, http.StatusForbidden, "your groups do not allow this", `user=vera page=/bulk action=wake of=thread id="" status=403`},
		{"otto", "/bulk", wake, http.StatusSeeOther, "", `user=otto page=/bulk action=wake of=thread id="" status=303`},
		{"anna", "/act", remove, http.StatusSeeOther, "", "user=anna page=/act action=delete of=thread id=order-7 status=303"},
		{"", "/act", remove, http.StatusForbidden, "log in first", `user="" page=/act action=delete of=thread id=order-7 status=403`},
	} {
		log.Reset()
		method := http.MethodGet
		if c.form != nil {
			method = http.MethodPost
		}
		r, err := http.NewRequestWithContext(t.Context(), method, proxy.URL+c.page, strings.NewReader(c.form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Forwarded-User", "anna") // a browser can send anything
		r.Header.Set("X-Forwarded-Groups", "admins")
		if c.user != "" {
			r.AddCookie(&http.Cookie{Name: "session", Value: c.user})
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err := res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if err != nil || res.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%q at %s: got status %d, want %d with %q: %s", c.user, c.page, res.StatusCode, c.status, c.want, body)
		}
		if got := log.String(); (got == "") != (c.audit == "") || !strings.Contains(got, c.audit) {
			t.Errorf("%q at %s: logged %q, want %q", c.user, c.page, got, c.audit)
		}
	}
}
