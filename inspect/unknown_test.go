package inspect_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
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
