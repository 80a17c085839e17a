package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
)

func TestTheListShowsThreads(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	fail(t, app, "order-2")
	s := serve(t, saver, inspect.Options{}, app)
	s.has("", "order-1", "order-2", `class="status waiting"`, `class="status failed"`, "2 threads read")
	s.has("?status=failed", "order-2")
	s.lacks("?status=failed", "order-1")
	s.has("?q=ORDER-1", "order-1")
	s.lacks("?q=ORDER-1", "order-2")
	s.has("?prefix=x", "No thread matches")
	for _, bad := range []string{"?status=x", "?created=yesterday", "?label=x", "?idle=-1h"} {
		if status, body := s.get(bad); status != http.StatusBadRequest || !strings.Contains(body, "400") {
			t.Errorf("GET %s: got %d: %s", bad, status, body)
		}
	}
}

func TestAThreadShowsWhereItStands(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	s := serve(t, saver, inspect.Options{}, app)
	s.has("thread?id=order-1", "Customer", "Ada", `src="picture.svg?beat=`, "approve", "offer", "Timeline", "input", "loop", "state.json?id=order-1")
	s.lacks("thread?id=order-1", "<button class=\"primary\">Answer", `value="wake"`)
	s.has("picture.svg?id=order-1", "<svg", "approve", "waiting")
	s.has("state.json?id=order-1", `"Name": "Ada"`)
	s.has("history?id=order-1", "<circle", "loop", `<td data-l="Due next">Start</td>`)
	s.lacks("history?id=order-1", "__start__")
	if status, _ := s.get("thread?id=none"); status != http.StatusNotFound {
		t.Errorf("a thread that does not exist: got status %d", status)
	}
}

func TestThreadsWithoutTheirGraphAreShown(t *testing.T) {
	saver := newSaver(t)
	begin(t, newShop(t, saver), "order-1", "Ada")
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()})
	body := s.has("thread?id=order-1", "Customer", "Ada", "offer", `name="v.Note"`)
	question := field(t, body, "question")
	s.lacks("thread?id=order-1", "picture.svg", "Edit")
	status, body := s.act(inspect.Answer, "order-1", "question", question, "v.OK", "true", "v.Cents", "5", "v.Note", "fine", "v.Details.Count", "2")
	if status != http.StatusOK || !strings.Contains(body, "The answer is stored") {
		t.Fatalf("answer: got %d: %s", status, body)
	}
}

// field returns the value of the first hidden input with a name.
func field(t *testing.T, body, name string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, `name="`+name+`" value="`)
	value, _, closed := strings.Cut(rest, `"`)
	if !ok || !closed {
		t.Fatalf("no input %s in %s", name, body)
	}
	return value
}

func TestACheckpointShowsItsChange(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	s := serve(t, saver, inspect.Options{}, app)
	snap, err := app.Thread("order-1").State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page := strings.TrimPrefix(inspect.CheckpointURL(s.url, "order-1", snap.Checkpoint), s.url)
	s.has(page, "Changed since its parent", "Cents", "700", "Parent", "stock")
	body := s.page("history?id=order-1")
	var ids []string
	for part := range strings.SplitSeq(body, `name="a" value="`) {
		if id, _, ok := strings.Cut(part, `"`); ok && len(id) == 36 {
			ids = append(ids, id)
		}
	}
	if len(ids) < 3 {
		t.Fatalf("got %d checkpoints in the history", len(ids))
	}
	s.has("compare?"+url.Values{"id": {"order-1"}, "a": {ids[len(ids)-1]}, "b": {ids[0]}}.Encode(), "Customer", "not there")
	s.has("compare?"+url.Values{"id": {"order-1"}, "a": {ids[0]}, "b": {ids[0]}}.Encode(), "The states are equal")
	if status, _ := s.get("compare?id=order-1&a=x&b=y"); status != http.StatusBadRequest {
		t.Errorf("bad ids: got status %d", status)
	}
}

func TestAReleasedVersionIsShown(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	begin(t, app, "order-1", "Ada")
	snap, err := app.Thread("order-1").State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Thread("order-1").Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := serve(t, saver, inspect.Options{}, app)
	s.has("thread?id=order-1", "Ada", "version 1")
	begin(t, app, "order-1", "Bob")
	s.has("thread?id=order-1", "Bob", "Version 1", "Version 2")
	s.has("thread?id=order-1&version=1", "Ada")
	s.has("checkpoint?id=order-1&at="+snap.Checkpoint.String(), "Ada", "version 1")
}

func TestASubgraphCallIsShown(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	res := begin(t, app, "order-1", "Ada")
	thread := app.Thread("order-1")
	if _, err := thread.Resume(t.Context(), offer.Answer(res.Questions[0], Verdict{OK: true})); err != nil {
		t.Fatal(err)
	}
	if err := thread.Signal(t.Context(), paid.With(Payment{Card: "4000"})); err != nil {
		t.Fatal(err)
	}
	if _, err := thread.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	body := s.has("thread?id=order-1", "wrap/ribbon", "gift", "Subgraph calls")
	_, form, _ := strings.Cut(body, `<article class="card question"`)
	if form, _, _ = strings.Cut(form, "</form>"); !strings.Contains(form, `name="v.OK" value="true"`) || !strings.Contains(form, `name="v.Note"`) {
		t.Errorf("the question inside the subgraph has no form: %s", form)
	}
	_, rest, _ := strings.Cut(body, `Subgraph calls</h2><ul class="plain"><li><a href="`)
	link, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatal("there is no link to the call")
	}
	link = strings.ReplaceAll(link, "&amp;", "&")
	s.has(link, "box", "subgraph call", "State", `<td class="main">ribbon</td><td data-l="State"><span class="status waiting">`, "asked by ribbon")
	if svg := s.page(strings.Replace(link, "thread?", "picture.svg?", 1)); !strings.Contains(svg, `class="node waiting"`) {
		t.Errorf("the picture of the call has no node that waits: %s", svg)
	}
	s.lacks(link, `value="wake"`)
	if status, body := s.act(inspect.Answer, "order-1", "question", field(t, body, "question"), "v.OK", "true", "v.Note", "red"); status != http.StatusOK {
		t.Fatalf("answer: got %d: %s", status, body)
	}
	final, err := thread.Resume(t.Context())
	if err != nil || final.Status != checkpoint.Done {
		t.Fatalf("got %v, %v", final.Status, err)
	}
	if got := final.State.Log[len(final.State.Log)-2]; got != "ribbon: red" {
		t.Errorf("the answer was lost: got %q", got)
	}
	closed, open := s.page("picture.svg?id=order-1"), s.page("picture.svg?id=order-1&expand=1")
	if outside, all := strings.Count(closed, `class="node done"`), strings.Count(open, `class="node done"`); all != outside+2 {
		t.Errorf("the picture has %d nodes that are done, and %d with those of the subgraph; want 2 more", outside, all)
	}
}
