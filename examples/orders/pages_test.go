package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/examples/orders/partners"
)

// TestThePagesShowAnOrder reads the pages of an order that waits for its payment.
func TestThePagesShowAnOrder(t *testing.T) {
	t.Parallel()
	p := httptest.NewServer(new(partners.Partners))
	defer p.Close()
	r := start(t, storeIn(t.TempDir()), p.URL)
	r.want(http.StatusAccepted, http.MethodPut, "/orders/a", tea)
	r.until("a", "waiting")
	for page, texts := range map[string][]string{
		"/inspect/":                    {"<title>Threads", "2 tea", `href="thread?id=a"`, ">" + name + "</td>", `class="status waiting"`},
		"/inspect/thread?id=a":         {"2 tea", `href="./?graph=` + name + `"`, `src="picture.svg?`, "Cents", "700", "Waits for signals"},
		"/inspect/history?id=a":        {"<circle", "loop"},
		"/inspect/picture.svg?id=a":    {"<svg"},
		"/inspect/state.json?id=a":     {`"Item": "tea"`},
		"/inspect/style.css":           {"--accent"},
		"/inspect/?label=item%3Dtea":   {`href="thread?id=a"`},
		"/inspect/?label=item%3Danvil": {"No thread matches"},
	} {
		body := string(r.want(http.StatusOK, http.MethodGet, page, ""))
		for _, text := range texts {
			if !strings.Contains(body, text) {
				t.Errorf("GET %s lacks %q:\n%s", page, text, body)
			}
		}
	}
	// The pages only show.
	if status, body := r.send(http.MethodPost, "/inspect/act?id=a&action=delete", ""); status < 400 {
		t.Errorf("a deletion: got %d %s", status, body)
	}
	r.want(http.StatusForbidden, http.MethodGet, "/inspect/submit?graph="+name, "")
	r.want(http.StatusNotFound, http.MethodGet, "/inspect/thread?id=unknown", "")
	r.want(http.StatusOK, http.MethodGet, "/orders/a", "")
}
