package pages_test

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/graphgen-go/graphgen/inspect"
	"github.com/graphgen-go/graphgen/runtime/checkpoint"
	"github.com/graphgen-go/graphgen/runtime/graph"
)

// Of several users who create one thread, one succeeds, and the others get a conflict.
func TestOnlyOneUserCreatesAThread(t *testing.T) {
	onSavers(t, func(t *testing.T, saver checkpoint.Saver) {
		t.Helper()
		app := newShop(t, saver)
		s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
		const users = 8
		var got [users]int
		var wait sync.WaitGroup
		for i := range users {
			wait.Go(func() {
				got[i], _ = s.post("submit", url.Values{"graph": {"shop"}, "id": {"order-1"}, "new": {"1"}, "request": {strconv.Itoa(i)},
					"json": {`{"Customer": {"Name": "` + strconv.Itoa(i) + `"}}`}})
			})
		}
		wait.Wait()
		first := -1
		for i, status := range got {
			switch {
			case status == http.StatusOK && first < 0:
				first = i
			case status != http.StatusConflict:
				t.Errorf("user %d: got status %d", i, status)
			}
		}
		if first < 0 {
			t.Fatal("nobody created the thread")
		}
		mail, err := saver.Mail(t.Context(), checkpoint.MailQuery{Thread: "order-1"})
		if err != nil || len(mail) != 1 {
			t.Fatalf("got %d messages, %v", len(mail), err)
		}
		runDue(t, app, saver, "order-1")
		snap, err := app.Thread("order-1").State(t.Context())
		if err != nil || snap.State.Customer.Name != strconv.Itoa(first) {
			t.Errorf("got the input of user %s, want that of %d; %v", snap.State.Customer.Name, first, err)
		}
	})
}

// A thread that exists takes further inputs only if the form says so, also if it is done.
func TestAnExistingThreadIsNotNew(t *testing.T) {
	saver := newSaver(t)
	app := newShop(t, saver)
	if _, err := app.Thread("order-1").Invoke(t.Context(), order("Ada"), graph.MaxSteps(100)); err != nil {
		t.Fatal(err)
	}
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, app)
	form := url.Values{"graph": {"shop"}, "id": {"order-1"}, "new": {"1"}, "request": {"r"}, "json": {"{}"}}
	if status, body := s.post("submit", form); status != http.StatusConflict {
		t.Errorf("as a new thread: got %d: %s", status, body)
	}
	form.Del("new")
	if status, body := s.post("submit", form); status != http.StatusOK {
		t.Errorf("as a thread that may exist: got %d: %s", status, body)
	}
	s.has("submit?graph=shop", `name="new" value="1" checked`)
}

// A thread with a reserved id is not begun (rule 10.7).
func TestAReservedThreadIsNotSubmitted(t *testing.T) {
	saver := newSaver(t)
	s := serve(t, saver, inspect.Options{Allow: inspect.AllActions()}, newShop(t, saver))
	id := graph.ReservedPrefix + "order"
	for _, isNew := range []string{"1", ""} {
		form := url.Values{"graph": {"shop"}, "id": {id}, "new": {isNew}, "request": {"r"}, "json": {"{}"}}
		if status, body := s.post("submit", form); status != http.StatusBadRequest || !strings.Contains(body, "want an id of your own") {
			t.Errorf("new %q: got %d, want a refusal that names the remedy: %s", isNew, status, body)
		}
	}
	if mail, err := saver.Mail(t.Context(), checkpoint.MailQuery{Thread: id}); !errors.Is(err, checkpoint.ErrNotFound) && (err != nil || len(mail) > 0) {
		t.Errorf("got %d messages, %v, want none", len(mail), err)
	}
}

// runDue runs the due threads, as a worker does. The one with the id must be among them.
func runDue(t *testing.T, app *shop, saver checkpoint.Saver, id string) {
	t.Helper()
	due, err := saver.Ready(t.Context(), checkpoint.ReadyQuery{Graphs: []string{"shop"}, Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, d := range due.Threads {
		found = found || d.ID == id
		if _, err := app.ResumeDue(t.Context(), d, graph.DueOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Fatalf("thread %q is not due", id)
	}
}
