package howto_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/docs/howto"
	"github.com/graphgen-go/graphgen/runtime/graph"
	"github.com/graphgen-go/graphgen/savers/memory"
)

func TestInspectPages(t *testing.T) {
	saver := memory.New()
	app, err := howto.NewReader(func(context.Context, string) (string, error) { return "text", nil }, saver)
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{"ada", "bob"} {
		if _, err := app.Thread(owner+"/1").Invoke(t.Context(), howto.StateUpdate{}, graph.Label("owner", owner)); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := howto.InspectPages(saver, app, func(r *http.Request) string { return r.Header.Get("User") })
	if err != nil {
		t.Fatal(err)
	}
	defer pages.Close()
	for _, c := range []struct {
		user, page string
		status     int
		want, not  string
	}{
		{"", "/", http.StatusForbidden, "log in first", "ada/1"},
		{"ada", "/", http.StatusOK, "ada/1", "bob/1"},
		{"ada", "/thread?id=bob/1", http.StatusNotFound, "not found", "picture.svg"},
		{"ada", "/thread?id=bob/9", http.StatusNotFound, "not found", "picture.svg"},
		{"", "/thread?id=bob/1", http.StatusForbidden, "log in first", "picture.svg"},
		{"", "/thread?id=bob/9", http.StatusForbidden, "log in first", "picture.svg"},
		{"operator", "/", http.StatusOK, "bob/1", "No thread"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.page, nil)
		r.Header.Set("User", c.user)
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		if body := w.Body.String(); w.Code != c.status || !strings.Contains(body, c.want) || strings.Contains(body, c.not) {
			t.Errorf("%q gets %s: got status %d, want %d with %q and without %q: %s", c.user, c.page, w.Code, c.status, c.want, c.not, body)
		}
	}
}
