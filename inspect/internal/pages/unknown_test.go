package pages_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/savers/encrypt"
)

// Pages without graphs send signals and inputs by the descriptions that threads store. The graph
// then takes them.
func TestThreadsWithoutTheirGraphTakeMessages(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		app := newShop(t, saver)
		res := begin(t, app, "order-1", "Ada")
		s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()})
		body := s.has("thread?id=order-1", `name="signal" value="paid"`, `name="v.Card"`, "Submit like this", "Wake")
		for _, unwanted := range []string{`value="resume"`, `href="edit`, "picture.svg"} {
			if strings.Contains(body, unwanted) {
				t.Errorf("the page of a thread without its graph has %q", unwanted)
			}
		}
		if status, body := s.act(inspect.Signal, "order-1", "signal", "paid", "v.Card", "4000"); status != http.StatusOK {
			t.Fatalf("signal: got %d: %s", status, body)
		}
		for _, bad := range [][]string{{"signal", "nothing", "as", "json", "json", "1"}, {"signal", "paid", "as", "json", "json", `{"Cart": 1}`}} {
			if status, body := s.act(inspect.Signal, "order-1", bad...); status != http.StatusBadRequest {
				t.Errorf("signal %v: got %d: %s", bad, status, body)
			}
		}
		if _, err := app.Thread("order-1").Resume(t.Context(), offer.Answer(res.Questions[0], Verdict{OK: true})); err != nil {
			t.Fatal(err)
		}
		if snap, err := app.Thread("order-1").State(t.Context()); err != nil || !snap.State.Paid {
			t.Errorf("the signal was lost: got %+v, %v", snap.State, err)
		}

		s.has("submit?from=order-1", `&#34;Name&#34;: &#34;Ada&#34;`, "<td><code>Customer</code>", "<option selected>shop</option>")
		s.has("", `href="submit?graph=shop"`)
		form := url.Values{"graph": {"shop"}, "id": {"order-2"}, "json": {`{"Customer": {"Name": "Bob"}}`}, "new": {"1"}, "request": {"r"}}
		if status, body := s.post("submit", form); status != http.StatusOK || !strings.Contains(body, "The input is stored") {
			t.Fatalf("submit: got %d: %s", status, body)
		}
		runDue(t, app, saver, "order-2")
		if snap, err := app.Thread("order-2").State(t.Context()); err != nil || snap.State.Customer.Name != "Bob" {
			t.Errorf("the input was lost: got %+v, %v", snap.State, err)
		}
		form.Set("json", `{"Customer": 1}`)
		form.Set("id", "order-3")
		if status, body := s.post("submit", form); status != http.StatusBadRequest || !strings.Contains(body, "Customer") {
			t.Errorf("an input of another type: got %d: %s", status, body)
		}
		if status, _ := s.get("submit?graph=unknown"); status != http.StatusBadRequest {
			t.Errorf("an input to a graph without threads: got %d", status)
		}
	})
}

// An input for a thread of another graph is refused, also if the pages know neither graph.
func TestUnknownGraphsAreNotMixedUp(t *testing.T) {
	saver := newSaver(t)
	begin(t, newShop(t, saver), "order-1", "Ada")
	post := checkpoint.Post{Thread: "other-1", Graph: "other", Messages: []checkpoint.Message{{ID: "m", Kind: checkpoint.InputMessage}}}
	if _, err := saver.Post(t.Context(), post); err != nil {
		t.Fatal(err)
	}
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()})
	form := url.Values{"graph": {"shop"}, "id": {"other-1"}, "json": {"{}"}, "request": {"r"}}
	if status, body := s.post("submit", form); status != http.StatusBadRequest || !strings.Contains(body, "belongs to the graph") {
		t.Errorf("got %d: %s", status, body)
	}
}

// TestEncryptedDataIsExplained serves an encrypted saver without its key.
func TestEncryptedDataIsExplained(t *testing.T) {
	inner := newSaver(t)
	saver, err := encrypt.New(inner, encrypt.Key{ID: "k1", Secret: make([]byte, encrypt.SecretSize)})
	if err != nil {
		t.Fatal(err)
	}
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	fail(t, app, "order-2")
	explain := func(payload []byte) error {
		if key, ok := encrypt.KeyID(payload); ok {
			return errors.New("sealed with " + key + ", pass the key")
		}
		return nil
	}
	if err := app.Thread("order-1").Cancel(t.Context(), "the secret reason"); err != nil {
		t.Fatal(err)
	}
	s := serve(t, inner, inspect.Options{Allow: inspect.AllActions(), Explain: explain})
	s.has("", "order-1", "order-2", `class="status waiting"`)
	for _, text := range []string{"refused", "key"} { // the latter is in the explanation
		s.has("?error="+text, "order-2", "not searched", "sealed with k1, pass the key")
		s.has("?q=order-2&error="+text, "order-2", "not searched")
		s.has("bulk?action=wake&error="+text, "<strong>0 threads</strong>")
	}
	for thread, due := range map[string]string{"order-1": "approve", "order-2": "check"} {
		body := s.has("thread?id="+thread, "The stored data cannot be read here", "sealed with k1, pass the key", due, "Timeline", "loop")
		for _, unwanted := range []string{"<h2>State</h2>", "Open questions", "Due tasks", "damaged", "\ufffd", "Why it stopped"} {
			if strings.Contains(body, unwanted) {
				t.Errorf("the page of %s has %q:\n%s", thread, unwanted, body)
			}
		}
		s.has("history?id="+thread, "<circle", "loop")
	}
	for _, page := range []string{"state.json?id=order-1", "checkpoint?id=order-1", "submit?from=order-1"} {
		if status, body := s.get(page); status != http.StatusForbidden || !strings.Contains(body, "sealed with k1") {
			t.Errorf("GET %s: got %d: %s", page, status, body)
		}
	}
	if status, body := s.act(inspect.Answer, "order-1", "question", "q", "as", "json", "json", "{}"); status != http.StatusForbidden || !strings.Contains(body, "sealed with k1") {
		t.Errorf("answer: got %d: %s", status, body)
	}
	// With the key of another thread only, the list has each thread.
	other, err := encrypt.New(inner, encrypt.Key{ID: "k2", Secret: make([]byte, encrypt.SecretSize)})
	if err != nil {
		t.Fatal(err)
	}
	s = serve(t, other, inspect.Options{Allow: inspect.AllActions()})
	s.has("", "order-1", "order-2", "encrypted with key &#34;k1&#34;")
	for _, page := range []string{
		"thread?id=order-1", "history?id=order-1", "checkpoint?id=order-1", "edit?id=order-1",
		"submit?from=order-1", "download?id=order-1", "state.json?id=order-1",
	} {
		if status, body := s.get(page); status != http.StatusForbidden || !strings.Contains(body, "encrypted with key") {
			t.Errorf("GET %s with another key: got %d: %s", page, status, body)
		}
	}
	for _, action := range inspect.AllActions() {
		if status, body := s.act(action, "order-2", "question", "q", "as", "json", "json", "{}"); status >= http.StatusInternalServerError {
			t.Errorf("%s with another key: got %d: %s", action, status, body)
		}
	}
	// With the key, nothing needs an explanation.
	s = serve(t, saver, inspect.Options{Explain: explain}, app)
	s.has("thread?id=order-1", "Ada", "Open questions", "the secret reason")
	s.lacks("thread?id=order-1", "sealed")
}
