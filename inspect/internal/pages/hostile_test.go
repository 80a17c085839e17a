package pages_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// hostile is a text that ends tags, attributes, scripts and addresses. Its last character
// would turn the direction of a text.
const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(2)>&id=other#` + "\u202e"

func TestHostileTextsAreEscaped(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		app := newShop(t, saver)
		u := order(hostile + `\u003c`)
		u.Notes.Put(hostile, "javascript:alert(3)")
		res, err := app.Thread(hostile).Invoke(t.Context(), u, graph.Title(hostile), graph.Label(hostile, hostile))
		if err != nil || len(res.Questions) != 1 {
			t.Fatalf("got %v, %v", res.Status, err)
		}
		if err := app.Thread(hostile).Signal(t.Context(), paid.With(Payment{Card: hostile})); err != nil {
			t.Fatal(err)
		}
		snap, err := app.Thread(hostile).State(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := serve(t, saver, inspect.Options{Allow: inspect.AllActions(), Title: hostile}, app)
		id := "id=" + url.QueryEscape(hostile)
		at := "&at=" + snap.Checkpoint.String()
		pages := []string{"", "?q=" + url.QueryEscape(hostile), "?prefix=" + url.QueryEscape(hostile), "thread?" + id, "history?" + id, "checkpoint?" + id + at,
			"compare?" + id + "&a=" + snap.Parent.String() + "&b=" + snap.Checkpoint.String(), "edit?" + id, "submit?from=" + url.QueryEscape(hostile),
			"bulk?action=cancel&q=" + url.QueryEscape(hostile)}
		for _, page := range pages {
			body := s.page(page)
			for _, bad := range []string{"<script>alert", "<img src=x", "onerror=alert(2)>&id", `href="javascript:`, "&id=other"} {
				if strings.Contains(body, bad) {
					t.Errorf("GET %s has %q:\n%s", page, bad, body)
				}
			}
			if !strings.Contains(body, "&lt;script&gt;alert(1)") {
				t.Errorf("GET %s does not show the text:\n%s", page, body)
			}
		}
		var read struct{ Customer Customer }
		if err := json.Unmarshal([]byte(s.has("state.json?"+id, "<script>alert(1)")), &read); err != nil || read.Customer.Name != hostile+`\u003c` {
			t.Errorf("the JSON of the state: got %q, %v", read.Customer.Name, err)
		}
		s.has("thread?"+id, `\u202e`, `href="edit?id=%22%27%3E%3Cscript%3E`, `offer`)
		s.lacks("thread?"+id, "\u202e</h1>")
		for _, page := range []string{"thread?id=" + url.QueryEscape("<script>alert(9)</script>"), "?status=" + url.QueryEscape("<script>alert(9)</script>"),
			"checkpoint?" + id + "&at=" + url.QueryEscape("<script>alert(9)</script>"), "job?job=%3Cscript%3Ealert(9)%3C/script%3E"} {
			if status, body := s.get(page); status < http.StatusBadRequest || strings.Contains(body, "<script>alert(9)") {
				t.Errorf("GET %s: got status %d: %s", page, status, body)
			}
		}
		s.lacks("?note="+url.QueryEscape("You have won"), "You have won")
		if status, body := s.act(inspect.Wake, hostile); status != http.StatusOK || !strings.Contains(body, "The thread is due now") {
			t.Errorf("an action on the thread: got status %d: %s", status, body)
		}
	})
}

func TestForksAndTheTimeline(t *testing.T) {
	f := newFixture(t, newSaver(t), inspect.Options{})
	if _, err := f.app.Thread("order-1").At(f.ids[2]).UpdateState(t.Context(), ShopUpdate{}); err != nil {
		t.Fatal(err)
	}
	body := f.has("history?id=order-1", `<tr class="fork">`, `<span class="mark">head</span>`)
	if n := strings.Count(body, "<circle"); n != len(f.ids)+1 {
		t.Errorf("got %d checkpoints in the tree, want %d", n, len(f.ids)+1)
	}
	if n := strings.Count(body, `<span class="mark">head</span>`); n != 1 {
		t.Errorf("got %d heads", n)
	}
	f.has("history?id=order-1&source=fork", `<tr class="fork">`)
	f.lacks("history?id=order-1&source=fork", `<tr class="loop">`, "<circle")
	f.has("history?id=order-1&node=price", "price")
	f.has("history?id=order-1&step=77", "No checkpoint matches")
	f.has("thread?id=order-1", `class="bar ran"`, "price: ran", ">stock</text>", `href="checkpoint?at=`)
	for _, bad := range []string{"source=x", "step=-1", "before=x", "lanes=x", "lanes=" + strings.Repeat(",", 32), "version=-1", "version=9"} {
		if status, _ := f.get("history?id=order-1&" + bad); status != http.StatusBadRequest && status != http.StatusNotFound {
			t.Errorf("history?%s: got status %d", bad, status)
		}
	}
	if status, _ := f.get("checkpoint?id=order-1&at=" + checkpoint.ID{1}.String()); status != http.StatusNotFound {
		t.Errorf("an unknown checkpoint: got status %d", status)
	}
}
